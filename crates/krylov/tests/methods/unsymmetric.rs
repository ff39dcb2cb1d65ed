//! Indefinite and unsymmetric matrices and varying preconditioners, for which the methods other than
//! conjugate gradients are meant.

use coarsen_core::{Error, Identity, Outcome, Preconditioner, PreconditionerKind, Stop, Vector};
use coarsen_krylov::{
    BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, Richardson, SingleReductionCg,
};

use crate::common::{Dense, Scaling, distance, gmres, random, richardson, spread};

/// A random matrix with eigenvalues around `shift`.
fn unsymmetric(n: usize, shift: f64, seed: u64) -> Dense<f64> {
    let e = random(n * n, seed);
    let size = 1.0 / (n as f64).sqrt();
    Dense::from_fn(n, |i, j| e[i * n + j] * size + if i == j { shift } else { 0.0 })
}

#[test]
fn minres_solves_indefinite_systems() {
    for seed in 0..6 {
        let n = 20 + 7 * seed as usize;
        let mut d = spread(n, 0.5, 40.0);
        d.iter_mut().step_by(3).for_each(|d| *d = -*d);
        let a = Dense::<f64>::with_spectrum(&d, seed);
        let b = random(n, 40 + seed);
        let mut x = random(n, 50 + seed);
        let scale = random(n, 60).iter().map(|v| 1.5 + v).collect();
        let mut m = Scaling { d: scale, kind: PreconditionerKind::Symmetric };
        let report = Minres::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{report}");
        assert!(distance(&x, &a.solve(&b)) < 1e-8);
    }
}

#[test]
fn minres_residuals_never_grow() {
    let mut d = spread(50, 1.0, 100.0);
    d.iter_mut().step_by(2).for_each(|d| *d = -*d);
    let a = Dense::<f64>::with_spectrum(&d, 3);
    let mut history = coarsen_core::History::default();
    let mut method = Minres::new(Stop::relative(1e-9));
    let (b, mut x) = (random(50, 1), vec![0.0; 50]);
    let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut |it| history.record(it));
    assert_eq!(report.unwrap().outcome, Outcome::Converged);
    assert!(history.relative.windows(2).all(|r| r[1] <= r[0] * (1.0 + 1e-12)));
}

#[test]
fn minres_has_typed_outcomes() {
    let a = Dense::<f64>::diagonal(&[1.0, -2.0, 3.0]);
    let b = vec![1.0; 3];
    let run = |a: &Dense<f64>, d: f64, b: &[f64]| {
        let mut m = Scaling { d: vec![d; 3], kind: PreconditionerKind::Symmetric };
        Minres::default().solve(a, &mut m, &b.to_vec(), &mut vec![0.0; 3]).unwrap()
    };
    assert_eq!(run(&a, -1.0, &b).outcome, Outcome::IndefinitePreconditioner);
    assert_eq!(run(&a, 0.0, &b).outcome, Outcome::Breakdown);
    let singular = Dense::diagonal(&[1.0, -2.0, 0.0]);
    let least = run(&singular, 1.0, &b);
    assert_eq!(least.outcome, Outcome::Inconsistent, "{least}");
    assert!((least.true_residual - 1.0 / 3.0_f64.sqrt()).abs() < 1e-12); // the least-squares residual
    assert_eq!(run(&singular, 1.0, &[1.0, 1.0, 0.0]).outcome, Outcome::Converged);
}

#[test]
fn unsymmetric_systems_are_solved() {
    for seed in 0..6 {
        let n = 30 + 11 * seed as usize;
        let a = unsymmetric(n, 2.0, seed);
        let (b, d) = (random(n, 90 + seed), random(n, 91).iter().map(|v| 1.0 + 0.3 * v).collect::<Vec<_>>());
        let stop = Stop::relative(1e-11);
        let methods: [Box<dyn Krylov<Vec<f64>>>; 3] = [
            Box::new(gmres(stop, 10, false)),
            Box::new(gmres(stop, 200, true)),
            Box::new(BiCgStab::new(stop)),
        ];
        for (k, mut method) in methods.into_iter().enumerate() {
            let mut x = random(n, 95);
            let mut m = Scaling { d: d.clone(), kind: PreconditionerKind::Linear };
            let report = method.solve(&a, &mut m, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{k}: {report}");
            assert!(distance(&x, &a.solve(&b)) < 1e-9);
        }
    }
}

#[test]
fn gmres_ends_within_n_steps() {
    let n = 25;
    let a = unsymmetric(n, 0.0, 4); // eigenvalues all around 0
    let (b, mut x) = (random(n, 1), vec![0.0; n]);
    let mut method = Gmres::new(Stop::relative(1e-10));
    let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged);
    assert!(report.iterations <= n && distance(&x, &a.solve(&b)) < 1e-7);
}

#[test]
fn gmres_with_short_restarts_stagnates() {
    let n = 12;
    let shift = Dense::<f64>::from_fn(n, |i, j| f64::from(u8::from((i + 1) % n == j)));
    let mut b = vec![0.0; n];
    b[0] = 1.0;
    let run = |restart| {
        let mut method = gmres(Stop::default(), restart, false);
        method.solve(&shift, &mut Identity, &b, &mut vec![0.0; n]).unwrap()
    };
    assert_eq!((run(11).outcome, run(11).iterations), (Outcome::Stagnated, 11));
    assert_eq!((run(12).outcome, run(12).iterations), (Outcome::Converged, 12));
    let mut none = gmres(Stop::default(), 0, false);
    let refused = none.solve(&shift, &mut Identity, &b, &mut vec![0.0; n]);
    assert!(matches!(refused, Err(Error::Parameter { name: "Gmres::restart", .. })));
}

#[test]
fn gmres_keeps_its_basis_orthogonal() {
    // A v and v are nearly parallel. With one Gram-Schmidt pass the basis would not be orthogonal, and the
    // residual estimate would be wrong.
    let n = 40;
    let mut d = vec![1.0; n];
    d.iter_mut().enumerate().for_each(|(i, d)| *d += 1e-9 * i as f64);
    d[0] = 1e8;
    let a = Dense::<f64>::with_spectrum(&d, 6);
    let mut x = vec![0.0; n];
    let report = Gmres::new(Stop::relative(1e-9)).solve(&a, &mut Identity, &random(n, 2), &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report}");
    assert!(report.iterations <= 6, "{report}");
}

#[test]
fn bicgstab_breaks_down_where_it_must() {
    let turn = Dense::<f64>::from_fn(2, |i, j| [[0.0, 1.0], [-1.0, 0.0]][i][j]);
    let report = BiCgStab::default().solve(&turn, &mut Identity, &vec![1.0, 1.0], &mut vec![0.0; 2]).unwrap();
    assert_eq!((report.outcome, report.true_residual), (Outcome::Breakdown, 1.0));
}

/// Jacobi with a weight that changes with every application.
struct Moody {
    d: Vec<f64>,
    calls: usize,
}

impl Preconditioner<Vec<f64>> for Moody {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.calls += 1;
        let weight = 1.0 + 0.5 * (self.calls as f64).sin();
        for (i, (z, r)) in z.iter_mut().zip(r).enumerate() {
            *z = if (i + self.calls).is_multiple_of(3) { weight } else { 1.0 } * self.d[i] * r;
        }
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Variable
    }

    fn size(&self) -> Option<usize> {
        Some(self.d.len())
    }
}

#[test]
fn flexible_methods_take_varying_preconditioners() {
    let n = 60;
    let a = Dense::<f64>::with_spectrum(&spread(n, 1.0, 500.0), 8);
    let b = random(n, 1);
    let d: Vec<f64> = (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect();
    let stop = Stop::relative(1e-9);
    let methods: [Box<dyn Krylov<Vec<f64>>>; 2] =
        [Box::new(FlexibleCg::new(stop)), Box::new(gmres(stop, 60, true))];
    for mut method in methods {
        let mut x = vec![0.0; n];
        let report = method.solve(&a, &mut Moody { d: d.clone(), calls: 0 }, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{report}");
        assert!(distance(&x, &a.solve(&b)) < 1e-6);
    }
}

#[test]
fn flexible_equals_plain_with_a_fixed_preconditioner() {
    let n = 60;
    let a = Dense::<f64>::with_spectrum(&spread(n, 1.0, 50.0), 8);
    let b = random(n, 1);
    let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
    let stop = Stop { max_iterations: 12, ..Stop::default() };
    let plain = Cg::new(stop).solve(&a, &mut Identity, &b, &mut x).unwrap();
    let flexible = FlexibleCg::new(stop).solve(&a, &mut Identity, &b, &mut y).unwrap();
    assert_eq!((plain.outcome, flexible.outcome), (Outcome::IterationLimit, Outcome::IterationLimit));
    y.axpy(&-1.0, &x);
    assert!(y.norm() < 1e-12 * x.norm());
}

#[test]
fn richardson_that_diverges_returns_its_best() {
    let a = Dense::<f64>::diagonal(&[1.0, 3.0]);
    let mut x = vec![0.0; 2];
    let report = Richardson::default().solve(&a, &mut Identity, &vec![1.0, 1e-3], &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Diverged);
    assert!(report.usable().is_err());
    assert!(report.true_residual < 1.0 && x.iter().all(|x| x.is_finite()), "{report}");
    let mut bad = richardson(Stop::default(), 0.0);
    assert!(matches!(bad.solve(&a, &mut Identity, &vec![1.0; 2], &mut x), Err(Error::Parameter { .. })));
}

/// A diverging solve ends as `Diverged`, which is not `usable`, and returns the best iterate found.
#[test]
fn growing_residuals_are_reported_as_diverged() {
    let n = 30;
    let shear = Dense::<f64>::from_fn(n, |i, j| {
        if i == j {
            1.0
        } else if j == i + 1 {
            1.5
        } else {
            0.0
        }
    });
    for seed in 0..8 {
        let b = random(n, seed);
        let stop = Stop::default();
        let methods: [Box<dyn Krylov<Vec<f64>>>; 5] = [
            Box::new(Cg::new(stop)),
            Box::new(SingleReductionCg::new(stop)),
            Box::new(PipelinedCg::new(stop)),
            Box::new(FlexibleCg::new(stop)),
            Box::new(Minres::new(stop)),
        ];
        for (k, mut method) in methods.into_iter().enumerate() {
            let mut x = vec![0.0; n];
            let report = method.solve(&shear, &mut Identity, &b, &mut x).unwrap();
            assert!(
                report.true_residual <= 1.0 && distance(&x, &[1.0; 30]).is_finite(),
                "{k}, {seed}: {report}"
            );
            assert!(k > 0 || report.outcome == Outcome::Diverged, "{seed}: {report}");
            let minimises = k == 4; // the residual of this method never grows, for any A
            assert!(minimises || report.usable().is_err(), "{k}, {seed}: {report}");
        }
    }
}

/// The first reduced residual is orthogonal to the shadow residual and not zero, so BiCGStab restarts from
/// it.
#[test]
fn bicgstab_restarts_where_the_shadow_sees_nothing() {
    let rows = [[1.0, 0.0, 1.0], [1.0, 2.0, 0.0], [0.0, 1.0, 3.0]];
    let a = Dense::<f64>::from_fn(3, |i, j| rows[i][j]);
    let (b, mut x) = (vec![1.0, 0.0, 0.0], vec![0.0; 3]);
    let report = BiCgStab::new(Stop::relative(1e-12)).solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report}");
    assert!(distance(&x, &a.solve(&b)) < 1e-11);
}
