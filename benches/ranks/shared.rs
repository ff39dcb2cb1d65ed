//! Two ranks as threads of one process beside two threads without ranks: seconds per iteration of conjugate gradients.

use coarsen_smoothed_aggregation::tamstorf;
use std::time::{Duration, Instant};

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Preconditioner, Stop, Vector, parallel};
use coarsen_distributed::{Communicator, ThreadComm};
use coarsen_distributed_solvers::DistSchwarz;
use coarsen_krylov::Cg;
use coarsen_problems::random_vector;
use coarsen_relax::BlockJacobi;
use coarsen_schwarz::{Order, Schwarz};
use coarsen_sparse::System;

use crate::Outcome;
use crate::solvers::{Method, Sheet, build, sheet};

/// Alternations of both; the least time of each counts.
const ROUNDS: usize = 7;

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let side = asked.first().map_or(Ok(301), |side| side.parse())?;
    let sheet = sheet(side)?;
    let b = random_vector(sheet.a.shape().0, 1);
    println!("cloth:{side} in Morton order, {} unknowns", b.len());
    println!("{:<14} {:>18} {:>18} {:>7}", "", "2 threads, ms", "2 ranks, ms", "ratio");
    for method in Method::ALL {
        let (mut threads, mut ranks) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..ROUNDS {
            threads = threads.min(parallel::threads(2, || without(&sheet, &b, method))??);
            ranks = ranks.min(over(&sheet, &b, method)?);
        }
        println!(
            "{:<14} {:>18.2} {:>18.2} {:>7.2}",
            method.name(),
            1e3 * threads,
            1e3 * ranks,
            ranks / threads
        );
    }
    Ok(())
}

/// Enough iterations to be timed; none of the methods converges earlier.
fn stop() -> Stop<f64> {
    Stop { max_iterations: 15, ..Stop::relative(1e-12) }
}

fn without(sheet: &Sheet, b: &Vec<f64>, method: Method) -> Outcome<f64> {
    let (backend, system) =
        (Cpu::new(), System { near_kernel: Some(&sheet.kernel), ..System::from(&sheet.a) });
    let mut m: Box<dyn Preconditioner<Vec<f64>>> = match method {
        Method::Jacobi => Box::new(BlockJacobi::default().build_from(system, &backend)?),
        Method::Mas => {
            Box::new(Schwarz { order: Order::Natural, ..Schwarz::multilevel() }.build_from(system, &backend)?)
        }
        // The parameters of multigrid on ranks.
        Method::Tamstorf => Box::new(tamstorf().build_from(system, &backend)?),
    };
    let (mut x, mut cg) = (vec![0.0; b.len()], Cg::new(stop()));
    let begun = Instant::now();
    let iterations = cg.solve(&sheet.a, &mut *m, b, &mut x)?.iterations;
    Ok(begun.elapsed().as_secs_f64() / iterations as f64)
}

fn over(sheet: &Sheet, b: &[f64], method: Method) -> Outcome<f64> {
    let all = ThreadComm::run(2, Duration::from_secs(300), |comm| -> Outcome<f64> {
        let (a, mut m) = build(sheet, comm.clone(), method, &DistSchwarz::default())?;
        let b = a.rows().part_of(b)?;
        let (mut x, mut cg) = (b.like()?, Cg::new(stop()));
        comm.barrier()?;
        let begun = Instant::now();
        let iterations = cg.solve(&a, &mut m, &b, &mut x)?.iterations;
        Ok(begun.elapsed().as_secs_f64() / iterations as f64)
    });
    let mut longest = 0.0_f64;
    for rank in all {
        longest = longest.max(rank??);
    }
    Ok(longest)
}
