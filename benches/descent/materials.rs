//! A bar whose middle differs in stiffness from its ends: the experiment of HOT on meshes.

use coarsen::descent::HostObjective;
use coarsen::optimize::{DescentReport, Forcing, Newton, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::problems::Scene;

use crate::body::{Body, inverse, method};

/// The number of cells across the bar.
const CELLS: usize = 12;

/// Young's modulus of the ends in Pa.
const ENDS: f64 = 1e5;

/// The time step in seconds.
const STEP: f64 = 1.0 / 30.0;

/// The tolerance per node in the characteristic norm: Wang et al. 2020, §7.1.
const TOLERANCE: f64 = 1e-7;

pub(crate) fn run() {
    println!(
        "\n| middle, Pa | L-BFGS, one hierarchy | L-BFGS, refreshed | refreshes | Newton + tamstorf, inner | Newton + diagonal CG, inner |\n\
         |---:|---:|---:|---:|---:|---:|"
    );
    for power in 5..=10 {
        let middle = 10.0_f64.powi(power);
        let scene = || Scene::bar_step(CELLS, [ENDS, middle], STEP).expect("a bar");
        // HOT uses one hierarchy, from the Hessian at the start. The other hierarchy is updated when the
        // descent becomes slower.
        let [once, refreshed] = [Refresh::Never, Refresh::WhenSlower(1)].map(|refresh| {
            let Scene { body, start: mut x, .. } = scene();
            let norm = norm(&body);
            let (mut f, mut direction, search) = method("lbfgs", "tamstorf-contrast", body, &x);
            let mut descent = Descent::new(search, Stop::absolute(TOLERANCE));
            descent.norm = norm;
            descent.refresh = refresh;
            descent.minimize(&mut f, &mut direction, &mut x).expect("a Hessian")
        });
        let newton = ["tamstorf-contrast", "jacobi"].map(|precond| {
            let Scene { mut body, start: mut x, .. } = scene();
            let norm = norm(&body);
            let m = inverse(precond, &mut body, &x);
            let stop = Stop { max_iterations: 20_000, ..Stop::default() };
            let mut newton = Newton::with(Cg::new(stop), Forcing::EisenstatWalker);
            let mut descent = Descent::new(Backtracking::default(), Stop::absolute(TOLERANCE));
            descent.norm = norm;
            descent.refresh = Refresh::Every(1);
            let report = descent.minimize(&mut HostObjective::new(body, m), &mut newton, &mut x);
            let report = report.expect("a Hessian");
            format!("{}, {}", steps(&report), report.inner)
        });
        println!(
            "| 1e{power} | {} | {} | {} | {} | {} |",
            steps(&once),
            steps(&refreshed),
            refreshed.refreshes,
            newton[0],
            newton[1]
        );
    }
}

/// The characteristic norm of a body.
fn norm(body: &Body) -> Norm<Vec<f64>> {
    Norm::weighted(node_weights(&body.characteristic(), 3).expect("a stiffness at every node"))
        .expect("finite weights")
}

/// The number of iterations, with a mark if the method did not converge.
fn steps(report: &DescentReport<f64>) -> String {
    let mark = if report.converged().is_ok() { "" } else { " (not converged)" };
    format!("{}{mark}", report.iterations)
}
