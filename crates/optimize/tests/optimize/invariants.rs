//! Tests of theorems about the methods.

use crate::common::{Inverse, Quadratic, Valley, noise};
use coarsen_core::{Dot, Identity, LinearOperator, Objective, Stop, Vector};
use coarsen_krylov::{Cg, Krylov};
use coarsen_optimize::*;

const N: usize = 40;

#[test]
fn lbfgs_with_the_exact_inverse_takes_one_step() {
    let (mut f, inverse) = Quadratic::spread(N, 1e4);
    let mut x = noise(N, 1);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-10));
    let report = descent.minimize(&mut f, &mut Lbfgs::new(8, inverse), &mut x).unwrap();
    assert_eq!(report.converged().unwrap().iterations, 1);
}

#[test]
fn newton_takes_one_step_on_a_quadratic() {
    let (f, inverse) = Quadratic::spread(N, 1e4);
    let a = f.clone();
    let mut f = Linearized::new(f, a, inverse, |_, _: &Vec<f64>, _| Ok(()), |_, _, _| Ok(()));
    let mut x = noise(N, 1);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-9));
    let report = descent.minimize(&mut f, &mut Newton::exact(), &mut x).unwrap();
    assert_eq!(report.converged().unwrap().iterations, 1);
}

/// With exact line searches, both formulas for β give the iterates of linear conjugate gradients.
#[test]
fn nonlinear_cg_is_cg_on_a_quadratic() {
    for beta in [Beta::PolakRibierePlus, Beta::DaiKou] {
        let (mut f, _) = Quadratic::spread(N, 100.0);
        let weights: Vec<f64> = (0..N).map(|i| 1.0 + (i % 3) as f64).collect();
        let (a, b) = (f.clone(), f.b.clone());
        let mut iterates = Vec::new();
        let mut x = vec![0.0; N];
        let stop = Stop { max_iterations: 12, ..Stop::relative(0.0) };
        let _ = Cg::new(stop)
            .solve_with(&a, &mut Inverse(weights.clone()), &b, &mut x, &mut |it| {
                iterates.push(it.x.unwrap().clone());
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        // A small η makes the search exact: the cubic through two points of a parabola is the parabola.
        let search = MoreThuente { decrease: 1e-10, curvature: 1e-9, ..MoreThuente::default() };
        let mut seen = Vec::new();
        let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
            seen.push(it.x.clone());
            std::ops::ControlFlow::Continue(())
        };
        let mut x = vec![0.0; N];
        let mut ncg = NonlinearCg::new(beta, Inverse(weights));
        let _ = Descent::new(search, stop).minimize_with(&mut f, &mut ncg, &mut x, &mut monitor).unwrap();
        assert_eq!((seen.len(), iterates.len()), (13, 13));
        for (k, (nonlinear, linear)) in seen.iter().zip(&iterates).enumerate() {
            let gap: f64 = nonlinear.iter().zip(linear).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            assert!(gap < 1e-6 * linear.norm().max(1e-3), "{beta:?}, iterate {k}: {gap:e}");
        }
    }
}

/// ‖g_{k+1}‖ = C ‖g_k‖²: the measured order of the last steps is 2.
#[test]
fn newton_converges_quadratically() {
    let mut f = Valley::<f64>::new(10).linearized();
    let mut x: Vec<f64> = (0..10).map(|i| 1.05 + 0.01 * i as f64).collect();
    let mut history = DescentHistory::default();
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-11));
    let mut record = |it: &Iterate<'_, Vec<f64>>| history.record(it);
    let report = descent.minimize_with(&mut f, &mut Newton::exact(), &mut x, &mut record).unwrap();
    assert!(report.converged().unwrap().iterations < 10);
    let logs: Vec<f64> = history.gradients.iter().filter(|g| **g > 1e-12).map(|g| g.ln()).collect();
    let orders: Vec<f64> = logs.windows(3).map(|w| (w[2] - w[1]) / (w[1] - w[0])).collect();
    println!("gradients {:?}, orders {orders:.2?}", history.gradients);
    assert!(orders[orders.len() - 1] > 1.7, "{orders:?}");
}

/// Minimises Rosenbrock's function of 200 variables, from near its minimum.
fn in_a_valley(newton: &mut Newton<Vec<f64>, Cg<Vec<f64>>>) -> (DescentReport<f64>, Vec<f64>) {
    let mut f = Valley::<f64>::new(200).linearized();
    let mut x: Vec<f64> = (0..200).map(|i| 1.05 + 0.001 * i as f64).collect();
    let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-8));
    (descent.minimize(&mut f, newton, &mut x).unwrap(), x)
}

/// Eisenstat-Walker forcing needs at most two more steps and fewer inner iterations than exact solves.
#[test]
fn inexact_newton_wastes_less() {
    let run = |mut newton: Newton<_, _>| {
        let report = in_a_valley(&mut newton).0.converged().unwrap();
        (report.iterations, report.inner)
    };
    let (exact, forced) = (run(Newton::exact()), run(Newton::inexact()));
    let scaled = run(Newton::with(Cg::default(), Forcing::Preconditioned { min_norm: 1e-9 }));
    println!("exact {exact:?}, Eisenstat-Walker {forced:?}, preconditioned {scaled:?}");
    assert!(forced.1 < exact.1 && scaled.1 < exact.1);
    assert!(forced.0 <= exact.0 + 2);
}

/// τ is a lower bound: from τ = 1/4 on every inner solve ends at η = 1/2, with fewer inner iterations than by a small
/// τ.
#[test]
fn a_minimum_bounds_the_accuracy_of_inner_solves() {
    let run = |forcing: Forcing<f64>| {
        let (report, x) = in_a_valley(&mut Newton::with(Cg::default(), forcing));
        let report = report.converged().unwrap();
        (report.iterations, report.inner, x)
    };
    for with in [|min_norm| Forcing::Preconditioned { min_norm }, |min_norm| Forcing::Gradient { min_norm }] {
        let (half, one, small) = (run(with(0.25)), run(with(1.0)), run(with(1e-9)));
        assert_eq!(half, one);
        assert!(half.1 < small.1, "{} {} {} {}", half.0, half.1, small.0, small.1);
    }
}

/// `AsGiven` after a forcing term takes the same steps as from the start, by the rule of the inner method; a rule that
/// is set afterwards counts.
#[test]
fn a_forcing_term_does_not_outlive_its_choice() {
    let run = |newton: &mut Newton<_, _>| {
        let (report, x) = in_a_valley(newton);
        (report.iterations, x)
    };
    let expected = run(&mut Newton::exact());
    let forced = [
        Forcing::Preconditioned { min_norm: 1e-9 },
        Forcing::Gradient { min_norm: 1e-9 },
        Forcing::EisenstatWalker,
    ];
    for first in forced {
        let mut newton = Newton::exact();
        let rule = *newton.inner.stop_mut();
        newton.forcing = first;
        assert_ne!(run(&mut newton), expected);
        newton.forcing = Forcing::AsGiven;
        assert_eq!(run(&mut newton), expected, "{first:?}");
        assert_eq!(*newton.inner.stop_mut(), rule);
        for own in [1e-3, 0.0] {
            // A forcing term that is tested in the norm of the preconditioner sets the relative tolerance to 0 too.
            newton.forcing = first;
            run(&mut newton);
            newton.inner.stop_mut().relative = own;
            newton.forcing = Forcing::AsGiven;
            run(&mut newton);
            assert_eq!(newton.inner.stop_mut().relative, own, "{first:?}");
        }
    }
}

#[test]
fn rosenbrock_is_minimised_in_2_and_10_000_dimensions() {
    for n in [2, 10_000] {
        let solve = |name: &str, f: &mut dyn FnMut(&mut Vec<f64>) -> DescentReport<f64>| {
            let mut x = Rosenbrock::start::<f64>(n);
            if n > 2 {
                // Every pair of variables has a different starting point.
                x.iter_mut().zip(noise(n, 5)).for_each(|(x, noise)| *x += 0.2 * noise);
            }
            let report = f(&mut x);
            println!("{name} in {n}: {report}");
            report.converged().unwrap_or_else(|e| panic!("{name} in {n} dimensions: {e}"));
            let far = x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
            assert!(far < 1e-4, "{name} in {n} dimensions: {far:e}");
        };
        let stop = Stop { max_iterations: 100_000, ..Stop::absolute(1e-6) };
        let mut armijo = Descent::new(Backtracking::default(), stop);
        let mut wolfe = Descent::new(MoreThuente::default(), stop);
        let mut tight = Descent::new(MoreThuente::tight(), stop);
        solve("l-bfgs", &mut |x| wolfe.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), x).unwrap());
        solve("l-bfgs, armijo", &mut |x| armijo.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), x).unwrap());
        for beta in [Beta::PolakRibierePlus, Beta::DaiKou] {
            solve("ncg", &mut |x| {
                tight.minimize(&mut Rosenbrock, &mut NonlinearCg::new(beta, Identity), x).unwrap()
            });
        }
        solve("newton", &mut |x| {
            let mut chain = OrElse::new(Newton::exact(), Lbfgs::scaled(8));
            armijo.minimize(&mut Valley::<f64>::new(n).linearized(), &mut chain, x).unwrap()
        });
        if n == 2 {
            solve("accelerated", &mut |x| {
                armijo.minimize(&mut Rosenbrock, &mut AcceleratedGradient::new(0.99, Identity), x).unwrap()
            });
            solve("gradient", &mut |x| {
                armijo.minimize(&mut Rosenbrock, &mut Gradient::steepest(), x).unwrap()
            });
        }
    }
}

/// With a matrix that bounds the Hessian from above, factored or in an inner solve, steps of 1 always
/// descend.
#[test]
fn constant_matrices_descend() {
    let (mut f, _) = Quadratic::spread(N, 100.0);
    let above = vec![101.0; N];
    let stop = Stop { max_iterations: 2000, ..Stop::relative(1e-6) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    let mut x = noise(N, 2);
    let factored = &mut Gradient::fixed(Inverse(above.clone()));
    let first = descent.minimize(&mut f, factored, &mut x).unwrap().converged().unwrap();
    assert_eq!(first.values, first.iterations + 1); // no step was shortened
    let matrix = Quadratic { a: above, b: vec![0.0; N] };
    let mut solved = Constant::new(matrix, Identity, Cg::new(Stop::relative(1e-10)));
    let mut x = noise(N, 2);
    let second = descent.minimize(&mut f, &mut solved, &mut x).unwrap().converged().unwrap();
    assert!(first.iterations.abs_diff(second.iterations) <= 1);
}

/// Every method runs in single precision.
#[test]
fn every_driver_runs_in_f32() {
    let stop = Stop { max_iterations: 20_000, ..Stop::absolute(1e-3_f32) };
    let close = |name: &str, x: &[f32]| {
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-2), "{name}: {x:?}");
    };
    let mut armijo = Descent::new(Backtracking::default(), stop);
    let mut tight = Descent::new(MoreThuente::tight(), stop);
    let mut x = Rosenbrock::start::<f32>(2);
    armijo.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(8), &mut x).unwrap().converged().unwrap();
    close("l-bfgs", &x);
    let mut x = Rosenbrock::start::<f32>(2);
    let mut ncg = NonlinearCg::new(Beta::DaiKou, Identity);
    tight.minimize(&mut Rosenbrock, &mut ncg, &mut x).unwrap().converged().unwrap();
    close("ncg", &x);
    let mut x = Rosenbrock::start::<f32>(2);
    let mut agd = AcceleratedGradient::new(0.99, Identity);
    armijo.minimize(&mut Rosenbrock, &mut agd, &mut x).unwrap().converged().unwrap();
    close("accelerated", &x);
    let mut x = vec![1.1_f32; 2];
    let mut f = Valley::<f32>::new(2).linearized();
    armijo.minimize(&mut f, &mut Newton::exact(), &mut x).unwrap().converged().unwrap();
    close("newton", &x);
    let mut x = vec![0.9_f32, 0.8];
    armijo.minimize(&mut Rosenbrock, &mut Gradient::steepest(), &mut x).unwrap().converged().unwrap();
    close("gradient", &x);
    let mut valley = Valley::<f32>::new(2);
    valley.assemble(&[1.0; 2]);
    let mut constant = Constant::new(valley.hessian, Identity, Cg::new(Stop::relative(1e-3)));
    let mut x = vec![0.9_f32, 0.8];
    armijo.minimize(&mut Rosenbrock, &mut constant, &mut x).unwrap().converged().unwrap();
    close("constant", &x);
    let mut chain = OrElse::new(Newton::inexact(), Lbfgs::scaled(4));
    let mut x = Rosenbrock::start::<f32>(2);
    let mut f = Valley::<f32>::new(2).linearized();
    armijo.minimize(&mut f, &mut chain, &mut x).unwrap().converged().unwrap();
    close("chain", &x);
}

/// If the exact Hessian is indefinite, the approximation is used for one step, and the fallback is counted.
#[test]
fn hessians_are_projected_on_demand() {
    /// Σ ¼ x⁴ − ½ x², with its Hessian 3 x² − 1.
    struct Wells {
        stand_in: bool,
    }
    impl Objective<Vec<f64>> for Wells {
        fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
            x.iter().map(|x| 0.25 * x.powi(4) - 0.5 * x * x).sum::<f64>().into()
        }
        fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
            g.iter_mut().zip(x).for_each(|(g, x)| *g = x.powi(3) - x);
        }
    }
    let run = |demand: bool| {
        let hessian = Quadratic { a: vec![0.0; N], b: vec![0.0; N] };
        let assemble = |f: &mut Wells, x: &Vec<f64>, a: &mut Quadratic| {
            let curvature = |x: f64| 3.0 * x * x - 1.0;
            a.a.iter_mut().zip(x).for_each(|(a, &x)| {
                *a = if f.stand_in { curvature(x).max(0.1) } else { curvature(x) };
            });
            Ok(())
        };
        let mut f =
            Linearized::new(Wells { stand_in: false }, hessian, Identity, assemble, |_, _: &Vec<f64>, _| {
                Ok(())
            });
        if demand {
            f = f.projecting(|f, stand_in| f.stand_in = stand_in);
        }
        let mut x: Vec<f64> = (0..N).map(|i| 0.1 + 0.03 * i as f64).collect();
        let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-10));
        descent.refresh = Refresh::Every(1);
        let report = descent.minimize(&mut f, &mut Newton::exact(), &mut x).unwrap();
        (report, x)
    };
    let (refused, _) = run(false);
    assert!(matches!(refused.outcome, DescentOutcome::NoDirection(Refusal::Inner(_))), "{refused}");
    let (report, x) = run(true);
    report.converged().unwrap();
    assert!(report.fallbacks > 0 && report.fallbacks < report.iterations, "{report:?}");
    assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-9), "{x:?}");
}

#[test]
fn hessians_are_checked() {
    let mut valley = Valley::<f64>::new(12);
    let x = Rosenbrock::start::<f64>(12);
    valley.assemble(&x);
    let a = valley.hessian.clone();
    let (d, e) = (noise(12, 7), noise(12, 8));
    assert!(check_hessian(&mut valley, &a, &x, [&d, &e]).unwrap().error < 1e-9);
    let mut wrong = a.clone();
    wrong.lower[2] *= 1.001;
    assert!(check_hessian(&mut valley, &wrong, &x, [&d, &e]).unwrap().error > 1e-7);
    assert_eq!(a.shape(), (12, 12));
}

/// Gathered reductions give the iterates of the two loops with separate reductions.
#[test]
fn gathered_reductions_give_the_same_directions() {
    for window in [1, 3, 8, 11] {
        let run = |gathered: bool| {
            let (mut f, _) = Quadratic::spread(N, 1e3);
            let lbfgs = Lbfgs::scaled(window);
            let mut lbfgs = if gathered { lbfgs.gathering() } else { lbfgs };
            let mut history = DescentHistory::default();
            let stop = Stop { max_iterations: 25, ..Stop::relative(1e-12) };
            let mut descent = Descent::new(MoreThuente::default(), stop);
            let mut x = noise(N, 11);
            let mut record = |it: &Iterate<'_, Vec<f64>>| history.record(it);
            let _ = descent.minimize_with(&mut f, &mut lbfgs, &mut x, &mut record).unwrap();
            history.gradients
        };
        let (sequence, gathered) = (run(false), run(true));
        assert_eq!(sequence.len(), gathered.len());
        for (a, b) in sequence.iter().zip(&gathered) {
            assert!((a - b).abs() < 1e-6 * a, "window {window}: {a:e} {b:e}");
        }
    }
}

/// The size may change between two calls.
#[test]
fn drivers_accept_a_change_of_size() {
    let mut lbfgs = Lbfgs::scaled(4);
    let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(1e-6));
    for n in [4, 10, 2] {
        let mut x = Rosenbrock::start::<f64>(n);
        lbfgs.forget();
        descent.minimize(&mut Rosenbrock, &mut lbfgs, &mut x).unwrap().converged().unwrap();
    }
}

#[test]
fn hessians_are_checked_by_duals() {
    let mut valley = Valley::<f64>::new(2);
    let (x, d, e) = (vec![-1.2, 1.0], vec![0.3, -0.2], vec![0.7, 0.4]);
    valley.assemble(&x);
    let again = |x: &[Dual<f64>], g: &mut [Dual<f64>]| {
        let [one, two, two_hundred, four_hundred] = [1.0, 2.0, 200.0, 400.0].map(Dual::constant);
        let bend = x[1] - x[0] * x[0];
        g[0] = -four_hundred * x[0] * bend - two * (one - x[0]);
        g[1] = two_hundred * bend;
    };
    assert!(check_hessian_by_duals(&valley.hessian, again, &x, [&d, &e]).unwrap().error < 1e-14);
    valley.hessian.diagonal[0] *= 1.0 + 1e-10;
    assert!(check_hessian_by_duals(&valley.hessian, again, &x, [&d, &e]).unwrap().error > 1e-12);
}

/// The weights of the characteristic norm of a grid: with equal forces 24 Δx² ξ Δt on all nodes the norm is 1.
#[test]
fn a_characteristic_force_on_every_node_has_norm_one() {
    let stiffness = [1e5, 3e9, 2.0, 7e6];
    let (spacing, time_step) = (0.01, 1.0 / 24.0);
    let weights = grid_weights(&stiffness, spacing, time_step, 3).unwrap();
    let g = stiffness.iter().flat_map(|xi| [24.0 * spacing * spacing * xi * time_step, 0.0, 0.0]).collect();
    let norm: f64 = Norm::weighted(weights).unwrap().of(&g);
    assert!((norm - 1.0).abs() < 1e-14);
    for (stiffness, spacing, time_step) in
        [(0.0, 0.1, 0.1), (1.0, 0.0, 0.1), (1.0, 0.1, -0.1), (1.0, f64::NAN, 0.1)]
    {
        assert!(grid_weights(&[stiffness], spacing, time_step, 3).is_err());
    }
}
