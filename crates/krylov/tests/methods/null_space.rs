//! Singular systems with every method.

use coarsen_core::{Error, Identity, Iteration, LinearOperator, Outcome, PreconditionerKind, Stop};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, NullSpaceError, Projected};

use crate::common::{Dense, Scaling, distance, gmres, neumann, random, richardson, spread};

/// Every method, Richardson iteration with the given ω.
fn methods(stop: Stop<f64>, omega: f64) -> Vec<Box<dyn Krylov<Vec<f64>>>> {
    vec![
        Box::new(Cg::new(stop)),
        Box::new(FlexibleCg::new(stop)),
        Box::new(Minres::new(stop)),
        Box::new(Gmres::new(stop)),
        Box::new(gmres(stop, 30, true)),
        Box::new(BiCgStab::new(stop)),
        Box::new(richardson(stop, omega)),
    ]
}

#[test]
fn every_method_finds_the_shortest_solution() {
    let n = 24;
    let a = neumann(n);
    let mean = |x: &[f64]| x.iter().sum::<f64>() / n as f64;
    let mut exact = random(n, 1);
    let m = mean(&exact);
    exact.iter_mut().for_each(|x| *x -= m);
    let mut b = vec![0.0; n];
    a.apply(&exact, &mut b);
    let d: Vec<f64> = (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect();
    for (k, mut method) in methods(Stop::relative(1e-10), 0.45).into_iter().enumerate() {
        let has_test = method.stop_in_preconditioner(None);
        let mut method = Projected::new(method, NullSpace::constants(&b).unwrap());
        assert_eq!(method.stop_in_preconditioner(None), has_test, "{k}");
        method.stop_mut().max_iterations = 20_000;
        let mut x: Vec<f64> = random(n, 2).iter().map(|v| v + 100.0).collect();
        let mut m = Scaling { d: d.clone(), kind: PreconditionerKind::Symmetric };
        let report = method.solve(&a, &mut m, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{k}: {report}");
        assert!(distance(&x, &exact) < 1e-7 && mean(&x).abs() < 1e-12, "{k}");

        let load: Vec<f64> = b.iter().map(|b| b + 0.5).collect();
        let mut x = vec![0.0; n];
        let report = method.solve(&a, &mut m, &load, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Inconsistent, "{k}: {report}");
        assert!(distance(&x, &exact) < 1e-6, "{k}");
        let norm = load.iter().map(|v| v * v).sum::<f64>().sqrt();
        let part = 0.5 * (n as f64).sqrt();
        assert!((report.true_residual - part / norm).abs() < 1e-9, "{k}: {report}");
        assert!((report.initial_residual - 1.0).abs() < 1e-12 && report.tolerance == 1e-10, "{k}");
        assert_eq!(method.stop_mut().relative, 1e-10);
    }
}

#[test]
fn a_load_all_in_the_null_space_is_inconsistent() {
    let n = 10;
    let a = neumann(n);
    let b = vec![0.1; n];
    let mut method = Projected::new(Cg::default(), NullSpace::constants(&b).unwrap());
    let mut x = random(n, 1);
    let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!((report.outcome, report.iterations > 50), (Outcome::Inconsistent, false), "{report}");
    assert!(x.iter().all(|x| x.abs() < 1e-6) && (report.true_residual - 1.0).abs() < 1e-12);
    let report = method.solve(&a, &mut Identity, &vec![0.0; n], &mut x).unwrap();
    assert_eq!((report.outcome, &x), (Outcome::Converged, &vec![0.0; n]));
}

#[test]
fn a_part_below_the_tolerance_is_not_reported() {
    let n = 16;
    let a = neumann(n);
    let mut b = vec![0.0; n];
    a.apply(&random(n, 3), &mut b);
    b.iter_mut().for_each(|b| *b += 1e-7);
    for (tolerance, expected) in [(1e-5, Outcome::Converged), (1e-9, Outcome::Inconsistent)] {
        let mut method =
            Projected::new(Cg::new(Stop::relative(tolerance)), NullSpace::constants(&b).unwrap());
        let report = method.solve(&a, &mut Identity, &b, &mut vec![0.0; n]).unwrap();
        assert_eq!(report.outcome, expected, "{report}");
    }
}

#[test]
fn vectors_outside_the_null_space_are_found() {
    let n = 12;
    let a = neumann(n);
    let mut method = Projected::new(Cg::default(), NullSpace::new(vec![random(n, 5)]).unwrap());
    let mut b = vec![0.0; n];
    a.apply(&random(n, 3), &mut b);
    let report = method.solve(&a, &mut Identity, &b, &mut vec![0.0; n]).unwrap();
    assert_ne!(report.outcome, Outcome::Converged, "{report}");
}

#[test]
fn null_space_vectors_are_orthonormalised() {
    let mut d = spread(20, 1.0, 30.0);
    d[3] = 0.0;
    d[11] = 0.0;
    let a = Dense::<f64>::with_spectrum(&d, 2);
    let unit = |k: usize| (0..20).map(|i| f64::from(u8::from(i == k))).collect::<Vec<_>>();
    // The projection onto the null space, from the same Q.
    let kernel_of_a = Dense::<f64>::with_spectrum(
        &d.iter().map(|&d| if d == 0.0 { 1.0 } else { 0.0 }).collect::<Vec<_>>(),
        2,
    );
    let kernel = |k: usize| {
        let mut v = vec![0.0; 20];
        kernel_of_a.apply(&unit(k), &mut v);
        v
    };
    let space = NullSpace::new(vec![kernel(0), kernel(5)]).unwrap();
    for (i, v) in space.vectors().iter().enumerate() {
        for (j, w) in space.vectors().iter().enumerate() {
            let dot: f64 = v.iter().zip(w).map(|(a, b)| a * b).sum();
            assert!((dot - f64::from(u8::from(i == j))).abs() < 1e-14);
        }
    }
    let mut method = Projected::new(Minres::new(Stop::relative(1e-10)), space);
    let mut b = vec![0.0; 20];
    a.apply(&random(20, 4), &mut b);
    let report = method.solve(&a, &mut Identity, &b, &mut vec![0.0; 20]).unwrap();
    assert_eq!(report.outcome, Outcome::Converged);

    let dependent = NullSpace::new(vec![kernel(0), kernel(5), kernel(7)]).err();
    assert!(matches!(dependent, Some(NullSpaceError::Dependent { vector: 2, share }) if share < 1e-8));
}

#[test]
fn vectors_that_span_nothing_are_named() {
    let refused = |vectors: Vec<Vec<f64>>| NullSpace::new(vectors).err().unwrap();
    assert_eq!(refused(vec![vec![0.0; 3]]), NullSpaceError::Dependent { vector: 0, share: 0.0 });
    assert_eq!(refused(vec![vec![1.0, f64::NAN]]), NullSpaceError::NotFinite { vector: 0 });
    let length = NullSpaceError::Length { vector: 1, expected: 2, found: 3 };
    assert_eq!(refused(vec![vec![1.0; 2], vec![1.0; 3]]), length);
    let mut method = Projected::new(Cg::default(), NullSpace::constants(&vec![0.0; 4]).unwrap());
    let shape = method.solve(&neumann(5), &mut Identity, &vec![1.0; 5], &mut vec![0.0; 5]);
    assert!(matches!(shape, Err(Error::Shape { what: "the null space", expected: 5, found: 4 })));
}

/// The length of a vector of the null space has no meaning, so its square may overflow or underflow.
#[test]
fn vectors_of_any_length_span_the_same_space() {
    let vectors = |size: f64| vec![vec![size; 4], [1.0, -1.0, 2.0, 0.5].map(|v| v * size).to_vec()];
    let expected = NullSpace::new(vectors(1.0)).unwrap();
    for size in [2.0_f64.powi(700), 2.0_f64.powi(-700), f64::from_bits(8)] {
        let space = NullSpace::new(vectors(size)).unwrap();
        let [found, expected] = [&space, &expected].map(|space| space.vectors().concat());
        assert!(found.iter().zip(&expected).all(|(v, w)| (v - w).abs() < 1e-15), "{size:e}: {found:?}");
    }
    let dependent = NullSpace::new(vec![vec![1e-200; 4], vec![1e200; 4]]).err();
    assert!(matches!(dependent, Some(NullSpaceError::Dependent { vector: 1, .. })));
    let single = NullSpace::new(vec![vec![1e-30_f32; 4]]).unwrap();
    assert_eq!(single.vectors()[0], [0.5; 4]);
}

/// A guess whose residual cannot be squared in the unit of b is replaced by zeros.
#[test]
fn a_guess_far_above_a_tiny_load_does_not_end_the_solve() {
    let mut a = neumann(24);
    a.entries.iter_mut().for_each(|v| *v *= 1e6);
    let mut b = vec![0.0; 24];
    a.apply(&random(24, 3).iter().map(|v| 1e-156 * v).collect(), &mut b);
    let stop = Stop { max_iterations: 9000, ..Stop::relative(1e-8) };
    for (k, method) in methods(stop, 0.45e-6).into_iter().enumerate() {
        let mut method = Projected::new(method, NullSpace::constants(&b).unwrap());
        let report = method.solve(&a, &mut Identity, &b, &mut random(24, 5)).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{k}: {report}");
    }
}

/// The inner method refuses M before anything is written, so x is as it was, whatever the unit of b.
#[test]
fn an_error_of_the_method_leaves_the_guess() {
    for size in [1.0, 1e-200] {
        let b = vec![size, -size];
        let mut method = Projected::new(Cg::default(), NullSpace::constants(&b).unwrap());
        let (mut m, mut x) = (Scaling { d: vec![1.0; 2], kind: PreconditionerKind::Linear }, vec![5.0, 3.0]);
        let refused = method.solve(&neumann(2), &mut m, &b, &mut x);
        assert!(matches!(refused, Err(Error::Preconditioner { .. })), "{refused:?}");
        assert_eq!(x, [5.0, 3.0], "{size:e}");
    }
}

/// A null-space component of b just above the tolerance ends the solve as inconsistent. A component just
/// below the tolerance is ignored.
#[test]
fn a_part_at_the_tolerance_decides() {
    let n = 16;
    let a = neumann(n);
    let mut b = vec![0.0; n];
    a.apply(&random(n, 3), &mut b);
    let norm = b.iter().map(|b| b * b).sum::<f64>().sqrt();
    for (part, expected) in [
        (0.5, Outcome::Converged),
        (0.95, Outcome::Converged),
        (1.05, Outcome::Inconsistent),
        (2.0, Outcome::Inconsistent),
    ] {
        let b: Vec<f64> = b.iter().map(|b| b + part * 1e-6 * norm / (n as f64).sqrt()).collect();
        let mut method = Projected::new(Cg::new(Stop::relative(1e-6)), NullSpace::constants(&b).unwrap());
        let report = method.solve(&a, &mut Identity, &b, &mut vec![0.0; n]).unwrap();
        assert_eq!(report.outcome, expected, "{part}: {report}");
    }
}

/// If the null-space component of b uses up most of the tolerance, the projected system is solved to half of
/// the tolerance, and no further.
#[test]
fn the_rest_is_solved_to_half_the_tolerance_at_least() {
    let n = 24;
    let a = neumann(n);
    let d: Vec<f64> = (0..n).map(|i| 1.0 / a.entries[i * n + i]).collect();
    let rest = random(n, 5);
    let mean = rest.iter().sum::<f64>() / n as f64;
    let rest: Vec<f64> = rest.iter().map(|v| v - mean).collect();
    let size = rest.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (share, outcome) in [
        (0.5, Outcome::Converged),
        (0.8, Outcome::Converged),
        (0.9, Outcome::Inconsistent),
        (0.99, Outcome::Inconsistent),
    ] {
        // ‖Nᵀb‖ as a fraction of the threshold.
        let tolerance = 1e-3;
        let part = share * tolerance * size / (n as f64).sqrt();
        let b: Vec<f64> = rest.iter().map(|v| v + part).collect();
        let mut method =
            Projected::new(richardson(Stop::relative(tolerance), 0.45), NullSpace::constants(&b).unwrap());
        method.stop_mut().max_iterations = 100_000;
        let mut m = Scaling { d: d.clone(), kind: PreconditionerKind::Symmetric };
        let report = method.solve(&a, &mut m, &b, &mut vec![0.0; n]).unwrap();
        assert_eq!(report.outcome, outcome, "{share}: {report}");
        // Richardson converges slowly, so its last residual is within a few per cent of the tolerance.
        let threshold = tolerance * b.iter().map(|v| v * v).sum::<f64>().sqrt() / size;
        let asked =
            (threshold * threshold - (share * tolerance).powi(2)).max(threshold * threshold / 4.0).sqrt();
        let unsolved = (report.true_residual * threshold / tolerance).powi(2) - (share * tolerance).powi(2);
        let unsolved = unsolved.sqrt();
        assert!(unsolved <= asked * 1.0001 && unsolved > 0.9 * asked, "{share}: {unsolved:e} of {asked:e}");
    }
}

/// A monitor receives the iterates, unless b is so small that a scaled system is solved.
#[test]
fn monitors_see_the_iterates_in_the_unit_of_the_caller() {
    let a = neumann(24);
    for (size, shown) in [(1.0, true), (1e-200, false)] {
        let mut b: Vec<f64> = random(24, 5).iter().map(|v| v * size).collect();
        let mean = b.iter().sum::<f64>() / 24.0;
        b.iter_mut().for_each(|b| *b -= mean);
        let mut seen = 0;
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            seen += 1;
            assert_eq!(it.x.is_some(), shown, "{size:e}");
            std::ops::ControlFlow::Continue(())
        };
        let mut method = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::constants(&b).unwrap());
        method
            .solve_with(&a, &mut Identity, &b, &mut vec![0.0; 24], &mut monitor)
            .unwrap()
            .converged()
            .unwrap();
        assert!(seen > 3);
    }
}

/// (v, M⁻¹v) = 0 is a breakdown. A value that is negative beyond round-off means that M is indefinite.
#[test]
fn minres_tells_a_length_of_zero_from_one_below() {
    let a = Dense::<f64>::diagonal(&[1.0, 2.0]);
    for (d, outcome) in [([1.0, -1.0], Outcome::Breakdown), ([1.0, -1.1], Outcome::IndefinitePreconditioner)]
    {
        let mut m = Scaling { d: d.to_vec(), kind: PreconditionerKind::Symmetric };
        let report =
            Minres::<Vec<f64>>::default().solve(&a, &mut m, &vec![1.0, 1.0], &mut vec![0.0; 2]).unwrap();
        assert_eq!(report.outcome, outcome, "{d:?}: {report}");
    }
}
