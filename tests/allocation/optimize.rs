//! The second descent allocates nothing, nor does a descent with fewer unknowns.

#[path = "../../crates/optimize/tests/optimize/common.rs"]
mod common;

use coarsen_core::{Identity, Stop};
use coarsen_krylov::Cg;
use coarsen_optimize::*;
use common::{Quadratic, Valley};

use crate::counting::bytes;

type Rule<F> = (&'static str, Box<dyn Direction<Vec<f64>, F>>);

fn directions<F: Linearize<Vec<f64>> + 'static>(n: usize) -> Vec<Rule<F>> {
    let above = Quadratic { a: vec![3000.0; n], b: vec![0.0; n] };
    vec![
        ("gradient", Box::new(Gradient::steepest())),
        ("ncg+", Box::new(NonlinearCg::new(Beta::PolakRibierePlus, Identity))),
        ("ncg", Box::new(NonlinearCg::new(Beta::DaiKou, Identity))),
        ("accelerated", Box::new(AcceleratedGradient::new(0.9, Identity))),
        ("lbfgs", Box::new(Lbfgs::scaled(4))),
        ("lbfgs, gathered", Box::new(Lbfgs::scaled(4).gathering())),
        ("newton", Box::new(OrElse::new(Newton::exact(), Gradient::steepest()))),
        ("newton, inexact", Box::new(OrElse::new(Newton::inexact(), Gradient::steepest()))),
        ("newton, fixed", Box::new(OrElse::new(Newton::fixed(8), Gradient::steepest()))),
        ("constant", Box::new(Constant::new(above, Identity, Cg::new(Stop::relative(1e-3))))),
    ]
}

/// Descents of other sizes run in the memory of the largest and take the steps of a new descent.
fn other_sizes() {
    let sizes = [500, 10, 400, 60, 500];
    let mut problems = sizes.map(|n| Valley::<f64>::new(n).linearized());
    let starts = sizes.map(Rosenbrock::start::<f64>);
    let mut ends = starts.clone();
    let weights: [Vec<f64>; 5] = sizes.map(|n| (0..n).map(|i| 1.0 + (i % 7) as f64).collect());
    let mut norms = weights.each_ref().map(|weights| Norm::weighted(weights.clone()).unwrap());
    let new = || {
        let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-12));
        descent.stop.max_iterations = 12;
        descent.norm = Norm::weighted(weights[0].clone()).unwrap();
        descent
    };
    for (k, (name, mut direction)) in directions(sizes[0]).into_iter().enumerate() {
        if name == "constant" {
            continue; // its matrix has one size
        }
        let mut descent = new();
        let mut descend = |f: &mut _, x: &mut Vec<f64>, norm: &mut Norm<Vec<f64>>| {
            direction.as_mut().forget();
            std::mem::swap(&mut descent.norm, norm);
            let report = descent.minimize(f, &mut direction, x).unwrap();
            std::mem::swap(&mut descent.norm, norm);
            assert!(report.iterations > 0, "{name}: {report}");
        };
        let mut round = || {
            for (k, (f, x)) in problems.iter_mut().zip(&mut ends).enumerate() {
                x.copy_from_slice(&starts[k]);
                descend(f, x, &mut norms[k]);
            }
        };
        round();
        assert_eq!(bytes(round), 0, "{name}");
        if name == "accelerated" {
            continue; // the length of its first step is that of the descent before
        }
        for (j, (f, end)) in problems.iter_mut().zip(&ends).enumerate() {
            let (_, mut direction) = directions(sizes[j]).swap_remove(k);
            let (mut descent, mut x) = (new(), starts[j].clone());
            descent.norm = Norm::weighted(weights[j].clone()).unwrap();
            let report = descent.minimize(f, &mut direction, &mut x).unwrap();
            assert_eq!(x, *end, "{name} with {} unknowns: {report}", x.len());
        }
    }
}

pub(crate) fn run() {
    other_sizes();
    let n = 5000;
    let mut f = Valley::<f64>::new(n).linearized();
    let stop = Stop::relative(1e-12);
    let mut armijo = Descent::new(Backtracking::default(), stop);
    armijo.refresh = Refresh::Every(4);
    let mut wolfe = Descent::new(MoreThuente::tight(), stop);
    let start = Rosenbrock::start::<f64>(n);
    let mut x = start.clone();
    for (name, mut direction) in directions(n) {
        let mut twice = |most| {
            (armijo.stop.max_iterations, wolfe.stop.max_iterations) = (most, most);
            for _ in 0..2 {
                x.copy_from_slice(&start);
                direction.as_mut().forget();
                let report = armijo.minimize(&mut f, &mut direction, &mut x).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
                x.copy_from_slice(&start);
                direction.as_mut().forget();
                let report = wolfe.minimize(&mut f, &mut direction, &mut x).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
            }
        };
        twice(1); // one step allocates all vectors of a long descent
        assert_eq!(bytes(|| twice(15)), 0, "{name}");
    }
}
