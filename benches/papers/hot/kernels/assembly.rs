//! The blocks of the Hessian on and above the diagonal: gathered by rows, and scattered by particles.

use mpm::energy::{Hessian, Increment};
use mpm::step::Begun;

use crate::scatter::Scatter;
use crate::stage::Stage;
use crate::{Outcome, fastest, on_threads};

/// Multiplications and additions of a particle: 27 times the three blocks of a node, 378 blocks of two nodes.
const OPERATIONS: f64 = 27.0 * 9.0 * 3.0 * 5.0 + 378.0 * 9.0 * 6.0;

/// Prints GFLOP/s and their share of the peak.
pub(crate) fn run(stage: &Stage, peak: [f64; 2]) -> Outcome<()> {
    let mut state = stage.state.clone();
    let begun = stage.begin_next(&mut state)?;
    let given = || begun.given(&state.particles, &stage.bodies, stage.setting.gravity);
    let Begun { grid, nodes, constraints, .. } = &begun;
    let count = state.particles.len() as f64;
    println!(
        "\n| assembly | one thread, ms | GFLOP/s | of the peak | two threads, ms | GFLOP/s | gain |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    let line = |name: &str, [one, two]: [f64; 2]| {
        let rate = |s: f64| OPERATIONS * count / s * 1e-9;
        println!(
            "| {name} | {:.1} | {:.1} | {:.0} % | {:.1} | {:.1} | {:.2} |",
            one * 1e3,
            rate(one),
            100.0 * rate(one) / peak[0],
            two * 1e3,
            rate(two),
            one / two
        );
    };
    let (mut known, given) = (Hessian::new(grid, nodes, constraints)?, given());
    let mut f = Increment::new(given)?;
    f.stiffness(&vec![0.0; f.size()], true, &mut known.stiffness);
    let gathered =
        [1, 2].map(|threads| coarsen_core::parallel::threads(threads, || fastest(|| known.gather(&given))));
    let [one, two] = gathered;
    let gathered = [one?, two?];
    line("gathered", gathered);
    let scatter = Scatter::new(grid, nodes, constraints, known.system.matrix.pattern());
    let scattered = on_threads(|_| {
        let mut blocks = scatter.zeros();
        fastest(|| scatter.sum(&known.stiffness, &mut blocks))
    })?;
    line("scattered", scattered);
    let mut blocks = scatter.zeros();
    scatter.sum(&known.stiffness, &mut blocks);
    println!(
        "\nscattered over gathered: {:.2}, {:.2}",
        scattered[0] / gathered[0],
        scattered[1] / gathered[1]
    );
    println!("largest difference over largest entry: {:.1e}", scatter.difference(&blocks, &known.upper));
    Ok(())
}
