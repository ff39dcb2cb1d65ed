//! Iterations of multilevel additive Schwarz over ranks, by the length of chunks and the size of the gathered level.

use coarsen_backend::Cpu;
use coarsen_core::{Stop, Vector};
use coarsen_distributed::SelfComm;
use coarsen_distributed_solvers::DistSchwarz;
use coarsen_krylov::Cg;
use coarsen_problems::random_vector;
use coarsen_schwarz::{Order, Schwarz};

use crate::Outcome;
use crate::solvers::{Method, build, sheet};

pub(crate) fn run(asked: &[String]) -> Outcome<()> {
    let sides = asked.iter().map(|side| side.parse::<usize>()).collect::<Result<Vec<_>, _>>()?;
    for side in if sides.is_empty() { vec![101, 201] } else { sides } {
        let sheet = sheet(side)?;
        let b = random_vector(sheet.a.shape().0, 1);
        let natural = Schwarz { order: Order::Natural, ..Schwarz::multilevel() };
        let mut m = natural.build(&sheet.a, &Cpu::new())?;
        let mut x = vec![0.0; b.len()];
        let report = Cg::new(Stop::relative(1e-8)).solve(&sheet.a, &mut m, &b, &mut x)?.converged()?;
        println!("cloth:{side} in Morton order, {} unknowns; without ranks: {}", b.len(), report.iterations);
        println!(
            "    chunk iterations if coarse levels up to 1000, 5000, 20000, 60000 unknowns are gathered"
        );
        for chunk in [128, 256, 512, 1024, 2048, 4096, 8192] {
            let mut found = Vec::new();
            for gather_below in [1000, 5000, 20_000, 60_000] {
                let domains = DistSchwarz { chunk, gather_below, ..DistSchwarz::default() };
                let (a, mut m) = build(&sheet, SelfComm, Method::Mas, &domains)?;
                let b = a.rows().part_of(&b)?;
                let mut x = b.like()?;
                let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
                found.push(report.iterations.to_string());
            }
            println!("{chunk:>9} {}", found.join("  "));
        }
    }
    Ok(())
}
