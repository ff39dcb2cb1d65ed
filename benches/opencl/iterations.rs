//! The cost of an iteration of preconditioned conjugate gradients.

use coarsen::smoothed_aggregation::tamstorf;
use std::fmt::Write;
use std::time::Instant;

use coarsen::backend::{Backend, Cpu, SetupError};
use coarsen::krylov::Cg;
use coarsen::opencl::OpenCl;
use coarsen::relax::{BlockJacobi, Chebyshev};
use coarsen::sparse::Bsr;
use coarsen::{Preconditioner, Stop, Vector};

/// The number of timed iterations.
const ITERATIONS: usize = 20;

/// Preconditioners that run on a device.
const METHODS: [&str; 3] = ["block-jacobi", "chebyshev", "tamstorf"];

fn build<B: Backend>(
    name: &str,
    a: &Bsr<f64>,
    backend: &B,
) -> Result<Box<dyn Preconditioner<B::Vector>>, SetupError> {
    Ok(match name {
        "chebyshev" => Box::new(Chebyshev::default().build(a, backend)?),
        "tamstorf" => Box::new(tamstorf().build(a, backend)?),
        _ => Box::new(BlockJacobi::default().build(a, backend)?),
    })
}

/// The time of an iteration in seconds, with one convergence check at the end; `launches` counts commands.
fn seconds<B: Backend<Real = f64>>(
    name: &str,
    a: &Bsr<f64>,
    backend: &B,
    launches: impl Fn() -> u64,
) -> Result<(f64, f64), SetupError> {
    let mut m = build(name, a, backend)?;
    let (matrix, b) = (backend.matrix(a)?, backend.vector(&vec![1.0; a.shape().0])?);
    let mut x = b.like()?;
    let stop = Stop { max_iterations: ITERATIONS, check_every: ITERATIONS, ..Stop::relative(0.0) };
    let mut cg = Cg::new(stop);
    let mut best = (f64::INFINITY, 0.0);
    for _ in 0..3 {
        x.fill(0.0);
        x.sync()?;
        let (start, before) = (Instant::now(), launches());
        let report = cg.solve(&matrix, &mut *m, &b, &mut x)?;
        x.sync()?;
        let count = report.iterations.max(1) as f64;
        let time = start.elapsed().as_secs_f64() / count;
        if time < best.0 {
            best = (time, (launches() - before) as f64 / count);
        }
    }
    Ok(best)
}

/// Prints a line for each preconditioner.
pub(crate) fn table(
    backend: &OpenCl<f64>,
    name: &str,
    a: &Bsr<f64>,
    cpu: bool,
    text: &mut String,
) -> Result<(), Box<dyn std::error::Error>> {
    for method in METHODS {
        let (there, launches) = seconds(method, a, backend, || backend.counters().launches)?;
        let here = if cpu {
            format!("{:.2}", seconds(method, a, &Cpu::new(), || 0)?.0 * 1e3)
        } else {
            "–".to_owned()
        };
        let there = there * 1e3;
        writeln!(text, "| {name} | cg + {method} | {ITERATIONS} | {there:.2} | {launches:.1} | {here} |")?;
    }
    Ok(())
}
