//! Are small systems as fast on two threads as on one, and what is the cost of a call?
//!
//! A fork costs about a microsecond, more than a pass over a thousand unknowns, so the loops of small systems
//! should run on one thread. This benchmark runs complete solves of 1,000 to 300,000 unknowns alternately on
//! one thread and on all threads. It also compares conjugate gradients with the variant that needs one
//! reduction per iteration.
//!
//! ```text
//! cargo bench -p coarsen-benches --bench small
//! ```
//!
//! *Output* medians: microseconds of a solve to 1e-8 on one thread and on all threads, their ratio, and
//! microseconds per iteration.

use std::time::Instant;

use coarsen_backend::Cpu;
use coarsen_core::{Preconditioner, Stop, parallel};
use coarsen_krylov::{Cg, Krylov, SingleReductionCg};
use coarsen_problems::{Options, Problem};
use coarsen_relax::{BlockJacobi, GaussSeidel, Ic0};
use coarsen_sparse::Bsr;

/// The total time of the repetitions of one solve in seconds.
const SECONDS: f64 = 0.5;

/// The minimum number of repetitions.
const LEAST: usize = 5;

/// The maximum number of repetitions.
const MOST: usize = 501;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let cores = std::thread::available_parallelism()?.get();
    println!(
        "{:16} {:>8} {:18} {:14} {:>5} {:>10} {:>10} {:>6} {:>8} {:>8}",
        "matrix",
        "unknowns",
        "method",
        "precond",
        "its",
        "us, 1",
        "us, all",
        "ratio",
        "us/it, 1",
        "us/it, all"
    );
    for name in [
        "poisson3d:10",
        "poisson3d:16",
        "poisson3d:22",
        "poisson3d:31",
        "elasticity3d:7",
        "elasticity3d:20",
        "cloth:31",
        "cloth:101",
        "cloth:201",
        "elasticity3d:31",
    ] {
        let a = Problem::parse(name, &Options::default())?.matrix;
        let backend = Cpu::mixed();
        let mut block_jacobi = BlockJacobi::default().build(&a, &backend)?;
        let mut gauss_seidel = GaussSeidel::default().build(&a, &backend)?;
        let mut ic0 = Ic0::default().build(&a, &backend)?;
        let stop = Stop::relative(1e-8);
        let mut cg = Cg::new(stop);
        row(name, &a, cores, ("cg", &mut cg), ("block-jacobi", &mut block_jacobi))?;
        row(
            name,
            &a,
            cores,
            ("one reduction", &mut SingleReductionCg::new(stop)),
            ("block-jacobi", &mut block_jacobi),
        )?;
        row(name, &a, cores, ("cg", &mut cg), ("gauss-seidel", &mut gauss_seidel))?;
        row(name, &a, cores, ("cg", &mut cg), ("ic0", &mut ic0))?;
    }
    Ok(())
}

/// A method or a preconditioner with its name.
type Named<'a, T> = (&'static str, &'a mut T);

/// Measures one solve and prints a line.
fn row<K, M>(
    name: &str,
    a: &Bsr<f64>,
    cores: usize,
    method: Named<'_, K>,
    m: Named<'_, M>,
) -> Result<(), Box<dyn std::error::Error>>
where
    K: Krylov<Vec<f64>> + Send,
    M: Preconditioner<Vec<f64>> + Send,
{
    let n = a.shape().0;
    let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
    let (mut x, mut iterations) = (vec![0.0; n], 0);
    let mut times = [const { Vec::new() }; 2];
    let mut spent = 0.0;
    while times[0].len() < LEAST || (spent < SECONDS && times[0].len() < MOST) {
        for (times, threads) in times.iter_mut().zip([1, cores]) {
            let run = || {
                let mut seconds = 0.0;
                for _ in 0..2 {
                    // The second call is measured; by then the threads are awake.
                    x.fill(0.0);
                    let start = Instant::now();
                    iterations = method.1.solve(a, m.1, &b, &mut x)?.converged()?.iterations;
                    seconds = start.elapsed().as_secs_f64();
                }
                Ok::<_, coarsen_core::Error>(seconds)
            };
            let seconds = parallel::threads(threads, run)??;
            times.push(seconds * 1e6);
            spent += 2.0 * seconds;
        }
    }
    let [one, all] = times.map(|mut t| {
        t.sort_by(f64::total_cmp);
        t[t.len() / 2]
    });
    let each = |total: f64| total / iterations.max(1) as f64;
    println!(
        "{name:16} {n:8} {:18} {:14} {iterations:5} {one:10.1} {all:10.1} {:6.2} {:8.1} {:8.1}",
        method.0,
        m.0,
        all / one,
        each(one),
        each(all)
    );
    Ok(())
}
