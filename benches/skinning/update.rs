//! An update of a hierarchy of skinning beside the product A x: the armadillo and a cube of 85,184 nodes.

use coarsen::backend::{Backend, Update};
use coarsen::prelude::*;

use crate::Outcome;
use crate::cut::{fastest, fastest_of};
use crate::which::problem;

/// Prints one row for each body, then the hierarchies with the seconds of the last update. A time is the least of
/// `runs`.
pub(crate) fn run(runs: usize) -> Outcome<()> {
    let mut tables = Vec::new();
    println!(
        "| body | nodes | build ms | update ms | product AP ms | A x, f64, ms | A x, f32, ms | products in f64 |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (name, of) in [("armadillo", "armadillo"), ("cube", "softbody:43")] {
        let p = problem(of, 0.01)?;
        let (system, b) = (p.system(), p.right_hand_side(1));
        let nodes = p.matrix.pattern().rows();
        let (build, mut m) = fastest(|| Ok(skinning().build(system, &Cpu::mixed())?))?;
        let (update, _) = fastest_of(runs, || Ok(m.update_from(system)?))?;
        tables.push(m.to_string());
        let u = m.prolongation(0).ok_or("no coarse level")?.clone();
        let mut plan = coarsen::sparse::GalerkinPlan::new(&p.matrix, &u)?;
        let mut coarse = plan.build(&p.matrix, &u)?;
        let (product, ()) = fastest_of(runs, || Ok(plan.update(&p.matrix, &u, &mut coarse)?))?;
        let mut y = b.clone();
        let double = Cpu::new().matrix(&p.matrix)?;
        let (double, ()) = fastest_of(runs, || {
            double.apply(&b, &mut y);
            Ok(())
        })?;
        let single = Cpu::mixed().matrix(&p.matrix)?;
        let (single, ()) = fastest_of(runs, || {
            single.apply(&b, &mut y);
            Ok(())
        })?;
        let products = update / double;
        println!(
            "| {name} | {nodes} | {build:.1} | {update:.2} | {product:.2} | {double:.3} | {single:.3} | {products:.0} |"
        );
    }
    tables.iter().for_each(|table| println!("\n{table}"));
    Ok(())
}
