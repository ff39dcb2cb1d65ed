//! A bar of three materials: the question of HOT on meshes.

use coarsen::optimize::{Forcing, Newton, ScaledNorm};
use coarsen::prelude::*;
use coarsen::problems::Scene;

use crate::body::{elastic, inverse, method};

/// Cells across, E of the ends in Pa, the time step in seconds.
const CELLS: usize = 12;
const ENDS: f64 = 1e5;
const STEP: f64 = 1.0 / 30.0;

/// The tolerance per node in the characteristic norm: Wang et al. 2020, §5.2.
const TOLERANCE: f64 = 1e-7;

pub(crate) fn run() {
    println!(
        "\n| middle, Pa | L-BFGS + SA | Newton + SA, inner | Newton + diagonal CG, inner |\n|---:|---:|---:|---:|"
    );
    for power in 5..=10 {
        let middle = 10.0_f64.powi(power);
        let scene = || Scene::bar_step(CELLS, [ENDS, middle], STEP).expect("a bar");
        let norm = |scene: &Scene| {
            let characteristic = scene.body.potential.characteristic();
            let weights: Vec<f64> = characteristic.iter().flat_map(|c| [1.0 / c; 3]).collect();
            ScaledNorm::new(weights, TOLERANCE * (characteristic.len() as f64).sqrt()).expect("memory")
        };
        // HOT: one hierarchy, from the Hessian at the start.
        let mut s = scene();
        let mut monitor = norm(&s);
        let m = inverse("sa", &mut s.body, &s.start);
        let (mut direction, search) = method("lbfgs", m);
        let spare = inverse("jacobi", &mut s.body, &s.start);
        let mut descent = Descent::new(search, Stop::relative(0.0));
        let lbfgs = descent.minimize(&mut elastic(s.body, spare), &mut direction, &mut s.start, &mut monitor);
        let lbfgs = lbfgs.expect("a Hessian");
        let newton = ["sa", "jacobi"].map(|precond| {
            let mut s = scene();
            let mut monitor = norm(&s);
            let m = inverse(precond, &mut s.body, &s.start);
            let stop = Stop { max_iterations: 20_000, ..Stop::default() };
            let mut newton = Newton::with(Cg::new(stop), Forcing::EisenstatWalker);
            let mut descent = Descent::new(Backtracking::default(), Stop::relative(0.0));
            descent.refresh = Refresh::Every(1);
            let report = descent.minimize(&mut elastic(s.body, m), &mut newton, &mut s.start, &mut monitor);
            let report = report.expect("a Hessian");
            let mark = if report.converged().is_ok() { "" } else { " (not converged)" };
            format!("{}, {}{mark}", report.iterations, newton.inner_iterations)
        });
        let mark = if lbfgs.converged().is_ok() { "" } else { " (not converged)" };
        println!("| 1e{power} | {}{mark} | {} | {} |", lbfgs.iterations, newton[0], newton[1]);
    }
}
