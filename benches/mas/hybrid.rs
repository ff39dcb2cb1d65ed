//! Coarse levels above the finest domains, and the composition of levels: iterations and time under mesh
//! refinement.

use coarsen_smoothed_aggregation::smoothed_aggregation;
use std::time::Instant;

use coarsen::OverDomains;
use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Preconditioner, Stop, parallel};
use coarsen_krylov::Cg;
use coarsen_multigrid::{Cycle, Multigrid};
use coarsen_problems::{Problem, cloth};
use coarsen_schwarz::{Coarse, Schwarz};
use coarsen_smoothed_aggregation::{Modes, SmoothedAggregation};

use crate::{Outcome, fastest, median};

/// Domains of `nodes` nodes as the smoother of smoothed aggregation.
fn over(nodes: usize) -> Multigrid<SmoothedAggregation, OverDomains> {
    let mut parameters = OverDomains::multiplicative();
    parameters.smoothing.domains.schwarz.domain = nodes;
    parameters
}

/// Cloth at 10 ms to 1e-5 on two threads, with 317 and 601 vertices per side.
pub(crate) fn hybrid() -> Outcome<()> {
    println!("hybrid: cloth at 10 ms to 1e-5, 2 threads; seconds, an application in ms");
    println!("theirs: 317 314 iterations, total 3.1 (a tenth: 0.31); 601: 564, 20.4");
    println!("   n form                   build  update   apply   its   solve   total");
    for n in [317, 601] {
        let p = cloth(n, 0.01)?;
        let plain = Schwarz { coarse: Coarse::Domains, ..Schwarz::multilevel() };
        row(n, &p, "additive, domains", &plain)?;
        row(n, &p, "additive, factor", &Schwarz::multilevel())?;
        row(n, &p, "hybrid, domains", &OverDomains::hybrid())?;
        row(n, &p, "hybrid, W-cycle", &Multigrid { cycle: Cycle::W, ..OverDomains::hybrid() })?;
        for (name, nodes) in [("sa over 12", 12), ("sa over 16", 16), ("sa over 24", 24), ("sa over 32", 32)]
        {
            row(n, &p, name, &over(nodes))?;
        }
        let mut other = over(16);
        other.coarsening.omega_of_sets = 4.0 / 3.0;
        row(n, &p, "sa over 16, smoothed P", &other)?;
        other.coarsening.modes = Modes::Constants;
        row(n, &p, "sa over 16, constants", &other)?;
        row(n, &p, "sa alone", &smoothed_aggregation())?;
    }
    Ok(())
}

fn row<R: Setup<f64, Cpu<f64, f32>> + Sync>(
    n: usize,
    p: &Problem,
    name: &str,
    parameters: &R,
) -> Outcome<()> {
    let b = p.right_hand_side(1);
    parallel::threads(2, || -> Outcome<()> {
        let backend = Cpu::mixed();
        let mut m = parameters.build_from(p.system(), &backend)?;
        let build = fastest(3, || drop(parameters.build_from(p.system(), &backend)));
        let update = fastest(3, || drop(coarsen_backend::Update::update_from(&mut m, p.system())));
        let (mut z, stop) = (vec![0.0; b.len()], Stop::relative(1e-5));
        let apply = 1e3 * median(11, || m.apply(&b, &mut z));
        let (mut x, begun) = (vec![0.0; b.len()], Instant::now());
        let report = Cg::new(stop).solve(&p.matrix, &mut m, &b, &mut x)?.converged()?;
        let (solve, its) = (begun.elapsed().as_secs_f64(), report.iterations);
        println!(
            "{n:>4} {name:22} {build:7.3} {update:7.3} {apply:7.2} {its:>5} {solve:7.3} {:7.3}",
            build + solve
        );
        Ok(())
    })?
}
