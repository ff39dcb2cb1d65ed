//! Solves over the whole exponent range of A and b.

use coarsen_core::{Error, Identity, Outcome, Preconditioner, PreconditionerKind, Real, Stop};
use coarsen_krylov::{BiCgStab, Cg, Gmres, Krylov, NullSpace, Projected};

use crate::common::{self, Dense, Method, Scaling, distance, neumann, random, richardson, spread};

const N: usize = 12;

/// Every method, for a matrix with eigenvalues between `size` and 10 `size`.
fn methods<T: Real>(stop: Stop<T>, size: f64) -> Vec<(&'static str, Method<T>)> {
    common::methods(stop, (0.15 / size).min(T::max_value().as_f64()))
}

/// The largest power of two up to the largest entry, and the entries divided by it.
fn normalised<T: Real>(v: &[T]) -> (i32, Vec<f64>) {
    let largest = v.iter().fold(0.0_f64, |m, v| m.max(v.as_f64().abs()));
    let power = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
    // In two steps, since the reciprocal of a tiny power of two overflows.
    (
        power,
        v.iter()
            .map(|v| v.as_f64() * 2.0_f64.powi(-power / 2) * 2.0_f64.powi(-(power - power / 2)))
            .collect(),
    )
}

/// ‖b − A x‖ / ‖b‖, computed so that products and squares neither overflow nor underflow.
fn truth<T: Real>(a: &Dense<T>, b: &[T], x: &[T]) -> f64 {
    let ((pa, a), (pb, b), (px, x)) = (normalised(&a.entries), normalised(b), normalised(x));
    let factor = 2.0_f64.powi((pa + px - pb).clamp(-1000, 400));
    let r = |i: usize| b[i] - factor * (0..b.len()).map(|j| a[i * b.len() + j] * x[j]).sum::<f64>();
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    norm(&(0..b.len()).map(r).collect::<Vec<_>>()) / norm(&b)
}

/// Numbers times 10 to the power of `exponent`, in two steps, since the power itself may be out of range.
fn sized<T: Real>(v: &[f64], exponent: i32) -> Vec<T> {
    let half = 10.0_f64.powi(exponent / 2);
    v.iter().map(|v| T::from_f64(v * half * 10.0_f64.powi(exponent - exponent / 2))).collect()
}

/// Solves with A and b scaled by powers of ten. Every result reported as converged must be a solution. The
/// exponents in `must` must converge.
fn check<T: Real>(exponents: &[i32], tolerance: f64, must: impl Fn(i32, i32) -> bool) {
    let base = Dense::<f64>::with_spectrum(&spread(N, 1.0, 10.0), 5);
    for &ea in exponents {
        let a = Dense { n: N, entries: sized::<T>(&base.entries, ea) };
        for &eb in exponents {
            let b = sized::<T>(&random(N, 77), eb);
            for scaled in [false, true] {
                for (name, mut method) in methods(Stop::relative(T::from_f64(tolerance)), 10.0_f64.powi(ea)) {
                    method.stop_mut().max_iterations = 300;
                    let d = (0..N).map(|i| T::one() / a.entries[i * N + i]).collect();
                    let mut jacobi = Scaling { d, kind: PreconditionerKind::Symmetric };
                    let m: &mut dyn Preconditioner<Vec<T>> = if scaled { &mut jacobi } else { &mut Identity };
                    if scaled && name == "Richardson" {
                        method = Box::new(richardson(*method.stop_mut(), 0.3));
                    }
                    let mut x = vec![T::zero(); N];
                    let report = method.solve(&a, m, &b, &mut x).unwrap();
                    let told = format!("{name}, {}, A 1e{ea}, b 1e{eb}, M {scaled}: {report}", T::NAME);
                    assert!(x.iter().all(|x| x.is_finite()), "{told}");
                    let truth = truth(&a, &b, &x);
                    if report.outcome == Outcome::Converged {
                        assert!(truth <= 1.01 * tolerance, "{told}, but {truth:e}");
                    }
                    let solved = report.outcome == Outcome::Converged;
                    // Without a preconditioner it computes A A r.
                    let squares = name == "PipelinedCg" && !scaled;
                    let may = squares && 3.0 * f64::from(ea.abs()) > T::max_value().as_f64().log10();
                    assert!(solved || may || !must(ea, eb), "{told}");
                }
            }
        }
    }
}

#[test]
fn any_scale_is_solved_in_f64() {
    let exponents: Vec<i32> = (-300..=300).step_by(50).chain([-318]).collect();
    check::<f64>(&exponents, 1e-8, |ea, eb| ea.abs() <= 200 && (-290..300).contains(&(eb - ea)) && eb > -310);
}

#[test]
fn any_scale_is_solved_in_f32() {
    let exponents: Vec<i32> = (-37..=37).step_by(4).chain([-42]).collect();
    check::<f32>(&exponents, 1e-4, |ea, eb| ea.abs() <= 20 && (-33..36).contains(&(eb - ea)) && eb > -33);
}

/// Singular systems: second differences without boundary conditions, with right-hand sides in the range of A.
fn check_singular<T: Real>(exponents: &[i32], tolerance: f64, must: impl Fn(i32, i32) -> bool) {
    let chain = neumann(N);
    let mut b: Vec<f64> = random(N, 3);
    let mean = b.iter().sum::<f64>() / N as f64;
    b.iter_mut().for_each(|b| *b -= mean);
    for &ea in exponents {
        let a = Dense { n: N, entries: sized::<T>(&chain.entries, ea) };
        for &eb in exponents {
            let b = sized::<T>(&b, eb);
            for (name, mut method) in methods(Stop::relative(T::from_f64(tolerance)), 10.0_f64.powi(ea)) {
                method.stop_mut().max_iterations = 3000; // Richardson needs 2000
                let mut method = Projected::new(method, NullSpace::constants(&b).unwrap());
                let mut x = vec![T::zero(); N];
                let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
                let told = format!("{name}, {}, A 1e{ea}, b 1e{eb}: {report}", T::NAME);
                let truth = truth(&a, &b, &x);
                assert!(x.iter().all(|x| x.is_finite()), "{told}");
                let solved = report.outcome == Outcome::Converged;
                assert!(!solved || truth <= 1.01 * tolerance, "{told}, but {truth:e}");
                // Each step reduces the residual by only a few per cent. The last residual is so close to the
                // threshold that round-off of the projections can lift it above.
                let near = name == "Richardson" && truth <= 1.01 * tolerance;
                assert!(solved || near || !must(ea, eb), "{told}");
            }
        }
    }
}

#[test]
fn any_scale_of_a_singular_system_is_solved() {
    let exponents: Vec<i32> = (-300..=300).step_by(30).chain([-318]).collect();
    check_singular::<f64>(&exponents, 1e-8, |ea, eb| {
        ea.abs() <= 100 && (-290..300).contains(&(eb - ea)) && eb > -300
    });
    let exponents: Vec<i32> = (-37..=37).step_by(3).chain([-42]).collect();
    check_singular::<f32>(&exponents, 1e-4, |ea, eb| {
        ea.abs() <= 12 && (-33..36).contains(&(eb - ea)) && eb > -33
    });
}

/// Sizes of b for which r·r underflows but b·b does not.
#[test]
fn squares_that_vanish_are_no_solutions() {
    let a = Dense::<f64>::with_spectrum(&spread(N, 1.0, 1e3), 5);
    for eb in (-170..-150).chain(-322..-290) {
        let b = sized::<f64>(&random(N, 7), eb);
        let mut x = vec![0.0; N];
        let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b, &mut x).unwrap();
        let truth = truth(&a, &b, &x);
        assert!(report.outcome != Outcome::Converged || truth <= 1.01e-10, "1e{eb}: {report}");
        assert!((report.true_residual - truth).abs() <= 1e-13, "1e{eb}: {report}, but {truth}");
    }
}

/// Every method rejects NaN and infinity in b or x and reports the index, even if sums over b overflow.
#[test]
fn entries_not_finite_are_refused_with_their_index() {
    let a = Dense::<f64>::with_spectrum(&spread(N, 1.0, 10.0), 5);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut b = sized::<f64>(&random(N, 77), 200);
        b[3] = bad;
        for projected in [false, true] {
            for (name, mut method) in methods(Stop::default(), 1.0) {
                if projected {
                    method = Box::new(Projected::new(method, NullSpace::constants(&b).unwrap()));
                }
                let mut x = random(N, 1);
                let refused = method.solve(&a, &mut Identity, &b, &mut x);
                let expected = Err(Error::NotFinite { what: "b", index: 3 });
                assert_eq!(refused, expected, "{name}, {bad}, {projected}");
                assert_eq!(x, random(N, 1), "{name}, {bad}, {projected}");
                x[N - 1] = bad;
                let refused = method.solve(&a, &mut Identity, &random(N, 77), &mut x);
                let expected = Err(Error::NotFinite { what: "x", index: N - 1 });
                assert_eq!(refused, expected, "{name}, {bad}, {projected}");
                assert_eq!(x[..N - 1], random(N, 1)[..N - 1], "{name}, {bad}, {projected}");
            }
        }
    }
}

/// An absolute tolerance is in the unit of b, and so are the residuals passed to monitors.
#[test]
fn units_are_those_of_the_caller() {
    let a = Dense::<f64>::with_spectrum(&spread(N, 1.0, 10.0), 5);
    for size in [1e-200, 1e-100, 1.0, 1e100, 1e200] {
        let b: Vec<f64> = random(N, 7).iter().map(|b| size * b).collect();
        let norm = random(N, 7).iter().map(|b| b * b).sum::<f64>().sqrt();
        for (name, mut method) in methods(Stop::absolute(1e-6 * size), 1.0) {
            let (mut x, mut first) = (vec![0.0; N], None);
            let mut monitor = |it: &coarsen_core::Iteration<'_, Vec<f64>>| {
                first.get_or_insert((it.residual, it.relative));
                if let Some(x) = it.x {
                    assert!(
                        (truth(&a, &b, x) - it.relative).abs() < 1e-12,
                        "{name}, {size}: x in another unit"
                    );
                }
                std::ops::ControlFlow::Continue(())
            };
            let report = method.solve_with(&a, &mut Identity, &b, &mut x, &mut monitor).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{name}, {size}: {report}");
            assert!((report.tolerance * norm / 1e-6 - 1.0).abs() < 1e-12, "{name}, {size}: {report}");
            let (residual, relative) = first.unwrap();
            assert!(
                (residual / size / norm - 1.0).abs() < 1e-12 && (relative - 1.0).abs() < 1e-12,
                "{name}, {size}"
            );
            assert!(report.iterations > 1 && truth(&a, &b, &x) * norm <= 1e-6, "{name}, {size}: {report}");
        }
    }
}

/// A residual whose square underflows does not count as zero.
#[test]
fn residuals_without_a_square_count() {
    let a = Dense::<f32>::diagonal(&[1.0, 1.0, 2.0]);
    let tiny = 2.0_f32.powi(-72);
    let b = vec![2.0_f32.powi(-30), tiny, tiny];
    for (name, mut method) in methods(Stop::relative(1e-13), 1.0) {
        let mut x = vec![b[0], 0.0, 0.0];
        let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
        let truth = truth(&a, &b, &x);
        assert!(report.outcome != Outcome::Converged || truth <= 1e-13, "{name}: {report}, but {truth:e}");
        assert!(
            (f64::from(report.true_residual) - truth).abs() < 1e-3 * truth + 1e-20,
            "{name}: {report}, but {truth:e}"
        );
    }
}

/// Null-space components are found in right-hand sides of any magnitude.
#[test]
fn inconsistent_systems_of_any_size() {
    let pair = Dense::<f64>::from_fn(2, |i, j| if i == j { 1.0 } else { -1.0 });
    for size in [1e-300, 1e-200, 1.0, 1e200, 1e300] {
        let b = vec![3.0 * size, size];
        let mut method = Projected::new(Cg::<Vec<f64>>::default(), NullSpace::constants(&b).unwrap());
        let mut x = vec![0.0; 2];
        let report = method.solve(&pair, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Inconsistent, "{size}: {report}");
        assert!((report.true_residual - 0.8_f64.sqrt()).abs() < 1e-12, "{size}: {report}");
        assert!((x[0] / size - 0.5).abs() < 1e-12 && (x[1] / size + 0.5).abs() < 1e-12, "{size}: {x:?}");
    }
}

/// If A is multiplied by a power of two, no digit of x changes, even if the factor is the square root of the
/// smallest number.
#[test]
fn gmres_keeps_every_digit_of_a_tiny_matrix() {
    let (a, b, tiny) =
        (Dense::<f64>::with_spectrum(&spread(N, 1.0, 10.0), 5), random(N, 6), 2.0_f64.powi(-511));
    let small = Dense::from_fn(N, |i, j| tiny * a.entries[i * N + j]);
    let solve = |a: &Dense<f64>| {
        let mut x = vec![0.0; N];
        let _ = Gmres::new(Stop::relative(1e-8)).solve(a, &mut Identity, &b, &mut x).unwrap();
        x
    };
    let scaled: Vec<f64> = solve(&small).iter().map(|x| tiny * x).collect();
    assert_eq!(scaled, solve(&a));
}

/// A guess is scaled like b, and a residual of 0 meets a tolerance of 0.
#[test]
fn a_tiny_system_that_is_solved_has_converged() {
    let (a, b) = (Dense::<f64>::diagonal(&[2.0; N]), vec![2.0_f64.powi(-600); N]);
    for (guess, iterations) in [(2.0_f64.powi(-601), 0), (0.0, 1)] {
        let mut x = vec![guess; N];
        let report = Cg::new(Stop::relative(0.0)).solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!((report.outcome, report.iterations), (Outcome::Converged, iterations));
        assert_eq!(x, [2.0_f64.powi(-601); N]);
    }
}

/// Each step doubles the residual. Growth by 2²⁶ does not count as divergence; larger growth does.
#[test]
fn a_residual_has_diverged_beyond_the_root_of_the_precision() {
    let a = Dense::<f64>::diagonal(&[3.0]);
    for (steps, outcome) in [(26, Outcome::IterationLimit), (27, Outcome::Diverged)] {
        let stop = Stop { max_iterations: steps, ..Stop::relative(1e-8) };
        let report = richardson(stop, 1.0).solve(&a, &mut Identity, &vec![1.0], &mut vec![0.0]).unwrap();
        assert_eq!(report.outcome, outcome, "{steps}");
    }
}

/// x is near the largest number, so r·x overflows although r and x do not.
#[test]
fn a_large_x_is_finite() {
    let a = Dense::<f64>::diagonal(&[1e-238, 3e-238]);
    let b = vec![1e70, 1e70];
    for (name, mut method) in methods(Stop::relative(1e-10), 1e-238) {
        let mut x = vec![0.0; 2];
        let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{name}: {report}");
        assert!(distance(&x, &[1e308, 1e308 / 3.0]) < 1e-8, "{name}");
    }
}

/// Inner products with A p overflow, although b·b is in the range.
#[test]
fn the_size_of_a_is_seen_beside_a_small_b() {
    let base = Dense::<f64>::with_spectrum(&spread(N, 1.0, 10.0), 5);
    for (ea, eb) in [(220, -35), (210, -40), (225, -38)] {
        let iterations = |ea: i32, eb: i32| {
            let a = Dense { n: N, entries: sized::<f64>(&base.entries, ea) };
            let (b, mut x) = (sized::<f64>(&random(N, 77), eb), vec![0.0; N]);
            let report = BiCgStab::new(Stop::relative(1e-8)).solve(&a, &mut Identity, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "A 1e{ea}, b 1e{eb}: {report}");
            assert!(truth(&a, &b, &x) < 1.01e-8);
            report.iterations
        };
        // Without scaling of A, every step would be a step of steepest descent.
        assert!(iterations(ea, eb) <= iterations(0, 0) + 3, "A 1e{ea}, b 1e{eb}");
    }
}
