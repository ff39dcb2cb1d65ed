//! Conjugate gradients with three reductions, with one, and with one that is hidden, on simulated ranks.
//!
//! Beside the products, the clock counts passes over vectors: a number of 8 bytes takes the time of a stored scalar.

use coarsen_core::{Preconditioner, PreconditionerKind, Stop, Vector};
use coarsen_distributed::simulation::{Machine, SimComm, Topology};
use coarsen_distributed::{Communicator, DistVector};
use coarsen_distributed_solvers::DistSchwarz;
use coarsen_krylov::{Cg, Krylov, PipelinedCg, SingleReductionCg};
use coarsen_problems::random_vector;

use crate::Outcome;
use crate::model::MACHINE;
use crate::solvers::{Method, Sheet, build, sheet};

/// The numbers of simulated ranks.
const RANKS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];

/// The seconds of a message: a fast network, and a slow one.
const ALPHAS: [f64; 2] = [2e-6, 2e-5];

/// The iterations that are timed, of which pipelined conjugate gradients refresh their products in one.
const TIMED: usize = 100;

/// Passes over vectors of block Jacobi: r, z, and three numbers of the blocks for each.
const JACOBI: usize = 5;

/// Name, passes over vectors, and reductions of an iteration that wait one after the other.
const METHODS: [(&str, usize, f64); 3] =
    [("Cg", 11, 3.0), ("SingleReductionCg", 13, 1.0), ("PipelinedCg", 25, 1.0)];

/// Block Jacobi that counts the passes of the method and its own on the simulated clock.
struct Counting<M> {
    m: M,
    passes: usize,
}

impl<C: Communicator, M: Preconditioner<DistVector<C>>> Preconditioner<DistVector<C>> for Counting<M> {
    fn apply(&mut self, r: &DistVector<C>, z: &mut DistVector<C>) {
        self.m.apply(r, z);
        z.partition().comm().worked(self.passes * z.local_size());
    }

    fn kind(&self) -> PreconditionerKind {
        self.m.kind()
    }

    fn size(&self) -> Option<usize> {
        self.m.size()
    }
}

/// Seconds of an iteration on the simulated clock.
fn simulate(sheet: &Sheet, k: usize, ranks: usize, alpha: f64) -> Outcome<f64> {
    let [_, beta, per_scalar] = MACHINE;
    let machine = Machine { alpha, beta, per_scalar, topology: Topology::switch(ranks)? };
    let b = random_vector(sheet.a.shape().0, 1);
    let all = SimComm::run(&machine, |comm| -> Outcome<f64> {
        let (a, m) = build(sheet, comm.clone(), Method::Jacobi, &DistSchwarz::default())?;
        let mut m = Counting { m, passes: METHODS[k].1 + JACOBI };
        let b = a.rows().part_of(&b)?;
        let mut x = b.like()?;
        let stop = Stop { max_iterations: TIMED, ..Stop::relative(1e-30) };
        let mut method: Box<dyn Krylov<_>> = match k {
            0 => Box::new(Cg::new(stop)),
            1 => Box::new(SingleReductionCg::new(stop)),
            _ => Box::new(PipelinedCg::new(stop)),
        };
        comm.restart()?;
        let report = method.solve(&a, &mut m, &b, &mut x)?;
        Ok(comm.clock() / report.iterations as f64)
    });
    let mut last = 0.0_f64;
    for rank in all {
        last = last.max(rank??);
    }
    Ok(last)
}

/// The seconds of an iteration by the cost model; `scalars` are those of all ranks.
fn model(k: usize, scalars: f64, nodes: f64, ranks: usize, alpha: f64) -> f64 {
    let ([_, beta, gamma], p) = (MACHINE, ranks as f64);
    let (steps, neighbours) = (p.log2().ceil(), (p - 1.0).min(6.0));
    let border = 4.0 * (nodes / p).sqrt() * 2.0 * 24.0;
    let work = gamma * scalars / p + neighbours * alpha + beta * border;
    let sums = 2.0 * METHODS[k].2 * steps * alpha;
    // The product and M of the next iteration hide the sum.
    if k == 2 { work.max(sums) } else { work + sums }
}

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let side = asked.first().map_or(Ok(241), |side| side.parse::<usize>())?;
    let sheet = sheet(side)?;
    let [_, beta, gamma] = MACHINE;
    println!("cloth:{side}, block Jacobi; {beta:e} s per byte, {gamma:e} s per number; ms per iteration");
    for alpha in ALPHAS {
        println!("\nalpha {alpha:e} s per message");
        print!("{:<18}", "ranks");
        RANKS.iter().chain(&[1024]).for_each(|ranks| print!("{ranks:>9}"));
        println!("{:>12}", "64 by model");
        for (k, (name, ..)) in METHODS.iter().enumerate() {
            print!("{name:<18}");
            let mut one = None;
            for ranks in RANKS {
                let seconds = simulate(&sheet, k, ranks, alpha)?;
                one.get_or_insert(seconds / gamma);
                print!("{:>9.4}", 1e3 * seconds);
            }
            let (scalars, nodes) = (one.unwrap_or_default(), sheet.a.pattern().rows() as f64);
            let [far, near] = [1024, 64].map(|ranks| 1e3 * model(k, scalars, nodes, ranks, alpha));
            println!("{far:>9.4}{near:>12.4}");
        }
    }
    Ok(())
}
