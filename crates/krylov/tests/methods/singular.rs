//! Singular systems without a given null space.

use coarsen_core::{History, Identity, Outcome, PreconditionerKind, Real, Stop, from_fn};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, SingleReductionCg};

use crate::common::{Dense, Scaling, gmres, neumann, random, spread};

#[test]
fn singular_systems_without_their_null_space() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0, 3.0, 0.0]);
    let run = |b: [f64; 4]| {
        let methods: [Box<dyn Krylov<Vec<f64>>>; 2] =
            [Box::new(Gmres::default()), Box::new(BiCgStab::default())];
        methods.map(|mut method| {
            let mut x = vec![0.0; 4];
            let report = method.solve(&a, &mut Identity, &b.to_vec(), &mut x).unwrap();
            assert!(x.iter().all(|x| x.is_finite()));
            report
        })
    };
    for report in run([1.0, 1.0, 1.0, 0.0]) {
        assert_eq!(report.outcome, Outcome::Converged);
    }
    for report in run([1.0, 1.0, 1.0, 1.0]) {
        // BiCGStab adds multiples of the null vector until x overflows.
        let ends = [Outcome::Breakdown, Outcome::Stagnated, Outcome::NotFinite];
        assert!(ends.contains(&report.outcome) && report.true_residual <= 1.0, "{report}");
    }
}

/// At a breakdown the residual of GMRES is the residual of a least-squares solution, not 0.
#[test]
fn gmres_tells_what_a_breakdown_leaves() {
    let a = Dense::<f64>::diagonal(&[1.0, 0.0, 0.0]);
    for flexible in [false, true] {
        let mut history = History::default();
        let (b, mut x) = (vec![1.0, 1.0, 0.0], vec![0.0; 3]);
        let mut method = gmres(Stop::default(), 30, flexible);
        let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut |it| history.record(it)).unwrap();
        assert!(matches!(report.outcome, Outcome::Breakdown | Outcome::Stagnated), "{report}");
        assert!((report.true_residual - 0.5_f64.sqrt()).abs() < 1e-12, "{report}");
        assert!(history.relative.iter().all(|told| *told > 0.7), "{:?}", history.relative);
    }
}

/// Second differences without boundary conditions, with a load at one end.
#[test]
fn minres_ends_at_a_least_squares_solution() {
    for n in [2, 3, 10, 40, 101, 150] {
        let a = neumann(n);
        for size in [1e-200_f64, 1.0, 1e200] {
            let mut b = vec![0.0; n];
            b[0] = size;
            let d: Vec<f64> = (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect();
            for d in [vec![1.0; n], d] {
                let mut x = vec![0.0; n];
                let mut m = Scaling { d, kind: PreconditionerKind::Symmetric };
                let mut rarely = Minres::new(Stop { check_every: 7, ..Stop::default() });
                let report = rarely.solve(&a, &mut m, &b, &mut x).unwrap();
                assert!(report.usable().is_err() && report.true_residual <= 1.0, "{n}, {size}: {report}");
                x.fill(0.0);
                let report = Minres::default().solve(&a, &mut m, &b, &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::Inconsistent, "{n}, {size}: {report}");
                let told = report.usable().unwrap_err().to_string();
                assert!(
                    told.contains("A is singular") && told.contains("give the null space (constants"),
                    "{told}"
                );
                let least = (n as f64).sqrt().recip(); // the component of b along the constants
                assert!(
                    report.true_residual < 1.5 * least && report.iterations < 2 * n,
                    "{n}, {size}: {report}"
                );
                assert!(x.iter().all(|x| x.abs() < 1e4 * size), "{n}, {size}: {x:?}");
            }
        }
    }
}

/// Second differences on a square grid without boundary conditions, for several sizes and in both precisions.
#[test]
fn least_squares_solutions_of_larger_systems() {
    fn go<T: Real>(k: usize, load: &[f64]) {
        let n = k * k;
        let a = from_fn(n, move |x: &Vec<T>, y: &mut Vec<T>| {
            for at in 0..n {
                let beside = [(at % k > 0, 1), (at >= k, k)].into_iter().filter(|b| b.0).map(|b| at - b.1);
                let after =
                    [(at % k + 1 < k, 1), (at + k < n, k)].into_iter().filter(|b| b.0).map(|b| at + b.1);
                y[at] = beside.chain(after).map(|other| x[at] - x[other]).sum();
            }
        });
        let b: Vec<T> = load.iter().map(|&b| T::from_f64(b)).collect();
        let mut x = vec![T::zero(); n];
        let report = Minres::default().solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Inconsistent, "{} {k}: {report}", T::NAME);
        let norm = load.iter().map(|b| b * b).sum::<f64>().sqrt();
        let least = load.iter().sum::<f64>().abs() / (n as f64).sqrt() / norm;
        assert!(
            report.true_residual.as_f64() < 1.001 * least && report.iterations < 12 * k,
            "{} {k}: {report}",
            T::NAME
        );
        assert!(x.iter().all(|x| x.as_f64().abs() < 1e4 * norm), "{} {k}", T::NAME);
    }
    for k in [5, 10, 30] {
        let point: Vec<f64> = (0..k * k).map(|i| f64::from(u8::from(i == 0))).collect();
        let even = (0..k * k).map(|i| 1.0 + f64::from(u8::from(i == 3))).collect();
        for load in [point, even, random(k * k, 3)] {
            go::<f64>(k, &load);
            go::<f32>(k, &load);
        }
    }
}

/// An ill-conditioned matrix is not reported as singular.
#[test]
fn minres_does_not_call_ill_conditioned_systems_singular() {
    fn go<T: Real>(d: &[f64], b: &[f64], tolerance: f64) {
        let a = Dense::<T>::diagonal(d);
        let b: Vec<T> = b.iter().map(|&b| T::from_f64(b)).collect();
        let mut x = vec![T::zero(); d.len()];
        let report =
            Minres::new(Stop::relative(T::from_f64(tolerance))).solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{} {:e}: {report}", T::NAME, d[0].abs());
    }
    let n = 12;
    for (least, signs) in [(1e-6, 1.0), (1e-6, -1.0), (1e-9, 1.0), (1e-9, -1.0), (1e-11, 1.0), (1e-11, -1.0)]
    {
        let mut d = spread(n, least, 1.0);
        d.iter_mut().step_by(2).for_each(|d| *d *= signs);
        // b lies mostly along the eigenvectors of the smallest eigenvalues.
        for share in [1.0, 1e-3, 1e-6] {
            let b: Vec<f64> = (0..n).map(|i| if i < 4 { 1.0 } else { share }).collect();
            go::<f64>(&d, &b, 1e-8);
        }
    }
    for (least, signs) in [(1e-2, 1.0), (1e-2, -1.0), (1e-4, 1.0), (1e-4, -1.0)] {
        let mut d = spread(n, least, 1.0);
        d.iter_mut().step_by(2).for_each(|d| *d *= signs);
        for share in [1.0, 1e-1, 1e-3] {
            let b: Vec<f64> = (0..n).map(|i| if i < 4 { 1.0 } else { share }).collect();
            go::<f32>(&d, &b, 1e-4);
        }
    }
}

/// For a singular Laplacian, the advice of every method mentions singularity, the null space and the remedy.
#[test]
fn singular_laplacians_are_named() {
    let n = 24;
    let a = neumann(n);
    for seed in 0..5 {
        let b: Vec<f64> = random(n, seed).iter().map(|b| b + 0.3).collect();
        let methods: [Box<dyn Krylov<Vec<f64>>>; 7] = [
            Box::new(Cg::default()),
            Box::new(SingleReductionCg::default()),
            Box::new(PipelinedCg::default()),
            Box::new(FlexibleCg::default()),
            Box::new(Minres::default()),
            Box::new(Gmres::default()),
            Box::new(BiCgStab::default()),
        ];
        for (k, mut method) in methods.into_iter().enumerate() {
            let mut x = vec![0.0; n];
            let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
            let told = report.converged().unwrap_err().to_string();
            for words in ["singular", "null space"] {
                assert!(told.contains(words), "{k}: {told}");
            }
            assert!(told.contains("fix an unknown") || told.contains("a fixed unknown"), "{k}: {told}");
        }
    }
}

/// With a tolerance of zero, the last residual of a consistent system is round-off and not an inconsistency.
#[test]
fn round_off_is_not_inconsistent() {
    let n = 24;
    let a = neumann(n);
    for seed in 0..8 {
        let mut b = random(n, seed);
        let mean = b.iter().sum::<f64>() / n as f64;
        b.iter_mut().for_each(|b| *b -= mean);
        let mut x = vec![0.0; n];
        let report = Minres::new(Stop::relative(0.0)).solve(&a, &mut Identity, &b, &mut x).unwrap();
        let ends = [Outcome::Stagnated, Outcome::IterationLimit]; // r keeps a null-space component
        assert!(ends.contains(&report.outcome), "{report}");
        assert!(report.true_residual < 1e-11, "{report}");
    }
}
