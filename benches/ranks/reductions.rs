//! Conjugate gradients with one sum over all ranks per iteration beside those with two, on simulated ranks.

use coarsen_core::{Stop, Vector};
use coarsen_distributed::DistVector;
use coarsen_distributed::simulation::{Machine, SimComm, Topology};
use coarsen_distributed_schwarz::DistSchwarz;
use coarsen_krylov::{Cg, Krylov, SingleReductionCg};
use coarsen_problems::random_vector;

use crate::Outcome;
use crate::model::MACHINE;
use crate::solvers::{Method, Sheet, build, sheet};

/// Seconds per message: a fast network, one of a cluster, and Ethernet.
const ALPHAS: [f64; 3] = [2e-6, 1e-5, 5e-5];

/// The iterations that are timed.
const TIMED: usize = 40;

/// The seconds of an iteration with block Jacobi.
fn iteration(sheet: &Sheet, alpha: f64, ranks: usize, single: bool) -> Outcome<f64> {
    let [_, beta, per_scalar] = MACHINE;
    let machine = Machine { alpha, beta, per_scalar, topology: Topology::switch(ranks)? };
    let b = random_vector(sheet.a.shape().0, 1);
    let all = SimComm::run(&machine, |comm| -> Outcome<f64> {
        let (a, mut m) = build(sheet, comm.clone(), Method::Jacobi, &DistSchwarz::default())?;
        let b = a.rows().part_of(&b)?;
        let mut x = b.like()?;
        let stop = Stop { max_iterations: TIMED, ..Stop::relative(1e-6) };
        let mut method: Box<dyn Krylov<DistVector<SimComm>>> =
            if single { Box::new(SingleReductionCg::new(stop)) } else { Box::new(Cg::new(stop)) };
        comm.restart()?;
        let iterations = method.solve(&a, &mut *m, &b, &mut x)?.iterations;
        Ok(comm.clock() / iterations as f64)
    });
    let mut longest = 0.0_f64;
    for rank in all {
        longest = longest.max(rank??);
    }
    Ok(longest)
}

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let side = asked.first().map_or(Ok(241), |side| side.parse())?;
    let sheet = sheet(side)?;
    println!("cloth:{side}, block Jacobi; ms per iteration of Cg and SingleReductionCg, and their ratio");
    println!(
        "{:>6} {}",
        "ranks",
        ALPHAS.map(|alpha| format!("{:>25}", format!("{alpha:e} s per message"))).join(" ")
    );
    for ranks in [1, 2, 4, 8, 16, 32, 64] {
        let mut columns = Vec::new();
        for alpha in ALPHAS {
            let two = iteration(&sheet, alpha, ranks, false)?;
            let one = iteration(&sheet, alpha, ranks, true)?;
            columns.push(format!("{:>9.3} {:>9.3} {:>5.2}", 1e3 * two, 1e3 * one, one / two));
        }
        println!("{ranks:>6} {}", columns.join(" "));
    }
    Ok(())
}
