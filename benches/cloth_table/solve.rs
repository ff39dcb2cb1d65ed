//! The time of one method on one system.

use coarsen::skinning::skinning;
use coarsen::smoothed_aggregation::{smoothed_aggregation, tamstorf};
use std::path::Path;
use std::time::Instant;

use coarsen::Solver;
use coarsen::auto::Auto;
use coarsen::matrix_market;
use coarsen_backend::{Cpu, Setup, SetupError};
use coarsen_core::{Preconditioner, Stop};
use coarsen_direct::{Direct, Method};
use coarsen_krylov::{Cg, Krylov};
use coarsen_relax::BlockJacobi;
use coarsen_schwarz::Schwarz;
use coarsen_sparse::{Bsr, System, Zeros};

use crate::Outcome;

/// The tolerance (§11).
const TOLERANCE: f64 = 1e-5;

/// A system of an animation.
pub(crate) struct Problem {
    matrix: Bsr<f64>,
    rhs: Vec<f64>,
    positions: Vec<[f64; 3]>,
}

/// The seconds of a solve.
pub(crate) struct Times {
    pub(crate) unknowns: usize,
    pub(crate) setup: f64,
    /// To the norm of the preconditioner, and to the true residual.
    pub(crate) iterations: [usize; 2],
    pub(crate) solve: [f64; 2],
    pub(crate) failed: [bool; 2],
}

impl Times {
    /// A method whose setup fails.
    fn refused(method: &str, unknowns: usize, failure: &dyn std::error::Error) -> Self {
        eprintln!("{method}: {failure}");
        Self { unknowns, setup: 0.0, iterations: [0; 2], solve: [0.0; 2], failed: [true; 2] }
    }
}

/// Reads the system after a frame.
pub(crate) fn read(folder: &Path, frame: usize) -> Outcome<Problem> {
    let file = |what: &str| folder.join(format!("{what}_{frame:04}.mtx"));
    let matrix = matrix_market::read(file("system"))?.reblock((3, 3), Zeros::Drop)?;
    let rhs = matrix_market::read_vector(file("rhs"))?;
    let x = matrix_market::read_dense(file("positions"))?;
    let positions = (0..x.rows()).map(|i| [0, 1, 2].map(|k| x.get(i, k))).collect();
    Ok(Problem { matrix, rhs, positions })
}

/// The seconds within which a measurement is repeated, and how often at most. The fastest counts.
const REPEATED: f64 = 0.5;
const TIMES: usize = 5;

/// The result of a call, and the seconds of its fastest repetition.
fn fastest<T>(mut call: impl FnMut() -> Outcome<T>) -> Outcome<(T, f64)> {
    let (begun, mut best) = (Instant::now(), f64::INFINITY);
    let mut last = None;
    for _ in 0..TIMES {
        let start = Instant::now();
        last = Some(call()?);
        best = best.min(start.elapsed().as_secs_f64());
        if begun.elapsed().as_secs_f64() > REPEATED {
            break;
        }
    }
    Ok((last.ok_or("no repetition")?, best))
}

/// Measures a method: its setup, and a solve from zero for each norm. `auto` keeps what it chose
/// for the systems before.
pub(crate) fn time(method: &str, problem: &Problem, solver: &mut Option<Solver>) -> Outcome<Times> {
    let (a, b) = (&problem.matrix, &problem.rhs);
    let (unknowns, mut x) = (b.len(), vec![0.0; b.len()]);
    if method == "cholesky" {
        let parameters = Direct { method: Method::Cholesky, ..Direct::default() };
        let (mut factor, setup) = match fastest(|| Ok(parameters.factor(a)?)) {
            Ok(measured) => measured,
            Err(failure) => return Ok(Times::refused(method, unknowns, &*failure)),
        };
        let (_, solve) = fastest(|| Ok(factor.solve(b, &mut x)?))?;
        return Ok(Times { unknowns, setup, iterations: [0; 2], solve: [solve; 2], failed: [false; 2] });
    }
    let system = System { positions: Some(&problem.positions), ..System::from(a) };
    if method == "auto" {
        let begun = Instant::now();
        let solver = match solver {
            Some(solver) => {
                solver.update(system)?;
                solver
            }
            none => none.insert(Solver::new(system)?),
        };
        solver.auto = Auto { tolerance: TOLERANCE, ..Auto::default() };
        let solved = solver.solve(b, &mut x)?.converged()?;
        let solve = begun.elapsed().as_secs_f64();
        eprintln!("auto: {solved}");
        let iterations = [solved.iterations; 2];
        return Ok(Times { unknowns, setup: 0.0, iterations, solve: [solve; 2], failed: [false; 2] });
    }
    let (mut m, setup) = match fastest(|| Ok(build(method, system)?)) {
        Ok(measured) => measured,
        Err(failure) => return Ok(Times::refused(method, unknowns, &*failure)),
    };
    let mut times = Times { unknowns, setup, iterations: [0; 2], solve: [0.0; 2], failed: [false; 2] };
    for (k, own) in [true, false].into_iter().enumerate() {
        let relative = if own { 0.0 } else { TOLERANCE };
        let mut cg = Cg::new(Stop { max_iterations: 100_000, ..Stop::relative(relative) });
        cg.stop_in_preconditioner(own.then_some(TOLERANCE));
        let report;
        (report, times.solve[k]) = fastest(|| {
            x.fill(0.0);
            Ok(cg.solve(a, &mut m, b, &mut x)?)
        })?;
        match report.converged() {
            Ok(report) => times.iterations[k] = report.iterations,
            Err(failure) => {
                eprintln!("{method}: {failure}");
                times.failed[k] = true;
            }
        }
    }
    Ok(times)
}

fn build(method: &str, system: System<'_, f64>) -> Result<Box<dyn Preconditioner<Vec<f64>>>, SetupError> {
    let backend = Cpu::new();
    Ok(match method {
        "sa-f32" => Box::new(smoothed_aggregation().build_f32(system)?),
        "sa" => Box::new(smoothed_aggregation().build_from(system, &backend)?),
        "tamstorf" => Box::new(tamstorf().build_from(system, &backend)?),
        "mas" => Box::new(Schwarz::multilevel().build_from(system, &backend)?),
        "skinning" => Box::new(skinning().build_from(system, &backend)?),
        _ => Box::new(BlockJacobi::default().build_from(system, &backend)?),
    })
}
