//! The data that rules keep between steps: chains, refreshes, second proposals.

use crate::common::{Quadratic, Valley, noise};
use coarsen_core::{
    Error, Identity, LinearOperator, Monitor, Preconditioner, PreconditionerKind, Report, Stop,
};
use coarsen_krylov::{Cg, Krylov};
use coarsen_optimize::*;

const N: usize = 40;

/// Steepest descent that refuses every `period`-th proposal. It checks that it learns only from its own
/// steps.
struct Picky {
    period: usize,
    asked: usize,
    proposed: bool,
    learnt: usize,
    of_others: usize,
}

impl Picky {
    fn new(period: usize) -> Self {
        Self { period, asked: 0, proposed: false, learnt: 0, of_others: 0 }
    }
}

impl<F: ?Sized> Direction<Vec<f64>, F> for Picky {
    fn propose(
        &mut self,
        _: &mut F,
        _: &Vec<f64>,
        g: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        self.asked += 1;
        self.proposed = !self.asked.is_multiple_of(self.period);
        d.iter_mut().zip(g).for_each(|(d, g)| *d = -0.01 * g);
        Ok(if self.proposed { Proposal::Unit } else { Proposal::Refused(Refusal::NotFinite) })
    }
    fn learn(&mut self, _: &Vec<f64>, _: &Vec<f64>, _: f64) {
        assert!(self.proposed, "the step of another");
        self.learnt += 1;
    }
    fn learn_from_other(&mut self, _: &Vec<f64>, _: &Vec<f64>) {
        self.of_others += 1;
    }
}

#[test]
fn links_of_a_chain_know_whose_step_it_was() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let mut chain = OrElse::new(Picky::new(3), Picky::new(1000));
    let stop = Stop { max_iterations: 30, ..Stop::relative(1e-9) };
    let report = Descent::new(Backtracking::default(), stop).minimize(&mut f, &mut chain, &mut noise(N, 1));
    let report = report.unwrap();
    assert_eq!((report.iterations, report.fallbacks), (30, 10));
    assert_eq!((chain.first.learnt, chain.first.of_others), (20, 10));
    assert_eq!((chain.second.learnt, chain.second.of_others), (10, 20));
}

/// After two hundred steps of another rule, accelerated gradients have kept their step length, and conjugate
/// gradients restart.
#[test]
fn steps_of_others_do_not_set_the_scale() {
    let stop = Stop { max_iterations: 201, ..Stop::relative(1e-12) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    let (mut f, inverse) = Quadratic::spread(N, 10.0);
    let mut chain = OrElse::new(Picky::new(201), AcceleratedGradient::new(0.9, inverse.clone()));
    let report = descent.minimize(&mut f, &mut chain, &mut noise(N, 1)).unwrap();
    assert_eq!((report.fallbacks, report.values), (1, report.iterations + 1), "{report}"); // no step shortened

    // Conjugate gradients take the 11th step, along -M⁻¹g, which is exact here. Earlier proposals have no
    // effect.
    let exact = MoreThuente { decrease: 1e-10, curvature: 1e-9, ..MoreThuente::default() };
    let mut descent = Descent::new(exact, Stop { max_iterations: 11, ..stop });
    let mut chain = OrElse::new(Picky::new(11), NonlinearCg::new(Beta::PolakRibierePlus, inverse));
    let (x, d) = (&mut noise(N, 1), &mut vec![0.0; N]);
    let second: &mut dyn Direction<Vec<f64>, Quadratic> = &mut chain.second;
    second.propose(&mut f, x, &noise(N, 2), d).unwrap(); // data of an older step
    let report = descent.minimize(&mut f, &mut chain, x).unwrap();
    assert_eq!(report.fallbacks, 1);
    assert!(report.gradient < 1e-8 * report.initial_gradient, "{report}");
}

/// M = −I until it is updated.
struct Wrong(f64);

impl Preconditioner<Vec<f64>> for Wrong {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        z.iter_mut().zip(r).for_each(|(z, r)| *z = self.0 * r);
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

/// After a failure at the first x the preconditioner is rebuilt, because it may be old.
#[test]
fn a_failure_at_the_start_asks_for_a_refresh() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let update = |_: &mut Quadratic, _: &Vec<f64>, d: &mut Gradient<Vec<f64>, Wrong>| {
        d.inverse.0 = 1.0;
        Ok(true)
    };
    let mut gradient = Refreshed::new(Gradient::fixed(Wrong(-1.0)), update);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    for _ in 0..2 {
        gradient.direction.inverse.0 = -1.0;
        let report = descent.minimize(&mut f, &mut gradient, &mut noise(N, 3)).unwrap();
        assert_eq!(report.converged().unwrap().refreshes, 1);
    }
}

/// A chain tries its first direction again after a refresh, and also after a failed descent.
#[test]
fn a_refreshed_link_is_tried_again() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let update = |_: &mut Quadratic, _: &Vec<f64>, d: &mut Gradient<Vec<f64>, Wrong>| {
        d.inverse.0 = 1.0;
        Ok(true)
    };
    let first = Refreshed::new(Gradient::fixed(Wrong(-1.0)), update);
    let mut chain = OrElse::new(first, Gradient::fixed(Wrong(-1.0)));
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    let report = descent.minimize(&mut f, &mut chain, &mut noise(N, 3)).unwrap();
    assert_eq!(report.converged().unwrap().refreshes, 1);
    assert_eq!(report.fallbacks, 1); // before the refresh, to the second direction, which fails

    let mut chain = OrElse::new(Gradient::fixed(Wrong(-1.0)), Gradient::fixed(Wrong(-1.0)));
    let report = descent.minimize(&mut f, &mut chain, &mut noise(N, 3)).unwrap();
    assert!(report.converged().is_err());
    chain.first.inverse.0 = 1.0;
    let report = descent.minimize(&mut f, &mut chain, &mut noise(N, 3)).unwrap();
    assert_eq!(report.converged().unwrap().fallbacks, 0);
}

/// A constant preconditioner is not counted as refreshed, and a refused direction is not proposed again.
#[test]
fn constant_preconditioners_are_not_refreshed() {
    let (f, _) = Quadratic::spread(N, 10.0);
    let saddle = Quadratic { a: vec![-1.0; N], b: vec![0.0; N] };
    let mut assembled = 0;
    let assemble = |_: &mut Quadratic, _: &Vec<f64>, _: &mut Quadratic| {
        assembled += 1;
        Ok(())
    };
    let mut f =
        Linearized::new(f, saddle, Identity, assemble, |_, _, _| unreachable!()).with_constant_inverse();
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    descent.refresh = Refresh::Every(1);
    let report = descent.minimize(&mut f, &mut Newton::exact(), &mut noise(N, 4)).unwrap();
    assert!(matches!(report.outcome, DescentOutcome::NoDirection(Refusal::Inner(_))), "{report}");
    drop(f);
    assert_eq!((report.refreshes, assembled), (0, 1));
}

/// A direction whose update changes nothing is not tried again after a failure.
#[test]
fn an_unchanged_direction_is_not_tried_again() {
    let (mut f, _) = Quadratic::spread(N, 10.0);
    let mut asked = 0;
    let update = |_: &mut Quadratic, _: &Vec<f64>, _: &mut Gradient<Vec<f64>, Wrong>| {
        asked += 1;
        Ok(false)
    };
    let mut gradient = Refreshed::new(Gradient::fixed(Wrong(-1.0)), update);
    let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
    descent.refresh = Refresh::Every(1);
    let report = descent.minimize(&mut f, &mut gradient, &mut noise(N, 3)).unwrap();
    drop(gradient);
    assert!(matches!(report.outcome, DescentOutcome::NoDirection(_)), "{report}");
    assert_eq!((report.refreshes, report.iterations, asked), (0, 0, 1));
}

/// If the size changes, all data of the old problem are dropped, including the scale of its Hessian.
#[test]
fn another_size_is_another_problem() {
    let mut lbfgs = Lbfgs::<Vec<f64>, _>::scaled(4);
    let proposed = |lbfgs: &mut Lbfgs<Vec<f64>, Identity>, n: usize| {
        let (x, g, mut d) = (vec![0.0; n], vec![1.0; n], vec![0.0; n]);
        lbfgs.propose(&mut (), &x, &g, &mut d).unwrap();
        d[0]
    };
    assert_eq!(proposed(&mut lbfgs, 3), -1.0);
    Direction::<Vec<f64>, ()>::learn(&mut lbfgs, &vec![1e-6; 3], &vec![1.0; 3], 1.0);
    assert!((proposed(&mut lbfgs, 3) + 1e-6).abs() < 1e-12);
    assert_eq!(proposed(&mut lbfgs, 5), -1.0);
}

/// A first step that is zero, negative or NaN is refused.
#[test]
fn first_steps_lie_above_zero() {
    for first in [0.0, -1.0, f64::NAN] {
        let start = Start { value: 0.0, round_off: 0.0, slope: -1.0, first, least: 0.0, most: f64::INFINITY };
        let searches: [&mut dyn LineSearch<f64>; 2] =
            [&mut Backtracking::default(), &mut MoreThuente::default()];
        for search in searches {
            let refused = search.search(&mut |a: f64| -a, &mut |_| -1.0, &start);
            assert!(matches!(refused, Err(LineSearchFailure::Blocked { .. })), "{first}: {refused:?}");
        }
    }
}

/// CG that keeps the relative tolerance of its last solve.
#[derive(Default)]
struct Watched {
    cg: Cg<Vec<f64>>,
    relative: f64,
}

impl Krylov<Vec<f64>> for Watched {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<Vec<f64>>,
        m: &mut dyn Preconditioner<Vec<f64>>,
        b: &Vec<f64>,
        x: &mut Vec<f64>,
        monitor: &mut Monitor<'_, Vec<f64>>,
    ) -> Result<Report<f64>, Error> {
        self.relative = self.cg.stop_mut().relative;
        self.cg.solve_with(a, m, b, x, monitor)
    }

    fn stop_mut(&mut self) -> &mut Stop<f64> {
        self.cg.stop_mut()
    }
}

/// A second proposal at the same x is as accurate as the first proposal, and the rule of the inner method comes back.
#[test]
fn forcing_terms_belong_to_a_point() {
    let mut f = Valley::<f64>::new(10).linearized();
    let mut newton = Newton::with(Watched::default(), Forcing::EisenstatWalker);
    let own = *newton.inner.stop_mut();
    let (x, mut d) = (vec![1.05; 10], vec![0.0; 10]);
    let mut at = |norm: f64, step: bool| {
        let mut g = vec![0.0; 10];
        g[0] = norm;
        newton.propose(&mut f, &x, &g, &mut d).unwrap();
        if step {
            learn(&mut newton, &f, &x, &g);
        }
        assert_eq!(*newton.inner.stop_mut(), own);
        newton.inner.relative
    };
    let etas = [at(1.0, true), at(0.1, true), at(0.01, false), at(0.01, true)];
    assert_eq!(etas[0], 0.5);
    assert!((etas[2] - 0.009).abs() < 1e-12 && etas[2] == etas[3], "{etas:?}");
}

/// η = min(1/2, √max(‖g‖, τ)).
#[test]
fn a_forcing_term_has_a_minimum_and_a_maximum() {
    let eta = |norm: f64, min_norm: f64| {
        let mut f = Valley::<f64>::new(10).linearized();
        let mut newton = Newton::with(Watched::default(), Forcing::Gradient { min_norm });
        let (x, mut g, mut d) = (vec![1.05; 10], vec![0.0; 10], vec![0.0; 10]);
        g[0] = norm;
        newton.propose(&mut f, &x, &g, &mut d).unwrap();
        newton.inner.relative
    };
    assert_eq!([1e-8, 1e-4, 0.25, 9.0].map(|min_norm| eta(1e-8, min_norm)), [1e-4, 1e-2, 0.5, 0.5]);
    assert_eq!([1e-6, 0.04, 0.25, 9.0].map(|norm| eta(norm, 1e-4)), [1e-2, 0.2, 0.5, 0.5]);
}

/// Lets the rule learn a step s with α = 1; f only fixes the type of the objective.
fn learn<F>(rule: &mut impl Direction<Vec<f64>, F>, _: &F, s: &Vec<f64>, y: &Vec<f64>) {
    rule.learn(s, y, 1.0);
}

#[test]
fn parameters_are_checked_before_the_first_step() {
    let mut descent = Descent::new(Backtracking { trials: 0, ..Backtracking::default() }, Stop::default());
    let x = &mut Rosenbrock::start::<f64>(2);
    let none = descent.minimize(&mut Rosenbrock, &mut Lbfgs::scaled(4), x);
    assert!(none.unwrap_err().to_string().contains("Backtracking::trials"));
    descent.search.trials = 60;
    for radius in [1.0, -0.1, f64::NAN] {
        let mut agd = AcceleratedGradient::new(radius, Identity);
        let refused = descent.minimize(&mut Rosenbrock, &mut agd, x);
        assert!(matches!(refused, Err(DescentError::Core(coarsen_core::Error::Parameter { .. }))));
    }
    assert_eq!(*x, Rosenbrock::start::<f64>(2));
}
