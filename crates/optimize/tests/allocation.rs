//! The second descent allocates nothing.

#[path = "optimize/common.rs"]
mod common;
#[path = "../../../tests/counting/mod.rs"]
mod counting;

use coarsen_core::{Identity, Stop};
use coarsen_krylov::Cg;
use coarsen_optimize::*;
use common::{Quadratic, Valley};
use counting::bytes;

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

fn main() {
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
                let report = armijo.minimize(&mut f, &mut direction, &mut x, &mut ()).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
                x.copy_from_slice(&start);
                direction.as_mut().forget();
                let report = wolfe.minimize(&mut f, &mut direction, &mut x, &mut ()).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
            }
        };
        twice(1); // one step allocates all vectors of a long descent
        assert_eq!(bytes(|| twice(15)), 0, "{name}");
    }
}
