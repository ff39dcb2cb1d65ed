//! Solves of small systems: bad input, singular systems, limits, round-off, causes.

use std::ops::ControlFlow;

use coarsen_auto::{Auto, Ending, MEMORY, Method, Precond, attainable, relative_residual};
use coarsen_backend::SetupError;
use coarsen_core::{Cancel, Outcome};
use coarsen_problems::{poisson2d, random_vector};
use coarsen_sparse::assembly::from_triplets;
use coarsen_sparse::{Bsr, System};

#[test]
fn a_factor_replaces_a_method_that_has_spent_its_iterations() {
    let a = poisson2d(25).unwrap().matrix;
    let (b, mut x) = (random_vector(625, 1), vec![0.0; 625]);
    let solved = Auto { max_iterations: 2, ..Auto::default() }.solve(&a, &b, &mut x).unwrap();
    assert_eq!(
        (&solved.ending, solved.method()),
        (&Ending::Method(Outcome::Converged), Some(Method::Direct)),
        "{solved}"
    );
    assert!(relative_residual(&a, &b, &x) <= 1e-8);
}

#[test]
fn tolerances_out_of_range_are_refused() {
    let a = poisson2d(3).unwrap().matrix;
    for tolerance in [f64::NAN, -1.0] {
        let mut x = vec![0.0; 9];
        let refused = Auto { tolerance, ..Auto::default() }.solve(&a, &[1.0; 9], &mut x);
        assert!(matches!(refused, Err(SetupError::Core(_))), "{tolerance}");
    }
}

#[test]
fn a_guess_beyond_the_range_of_b_counts_as_zeros() {
    let a = poisson2d(20).unwrap().matrix;
    let (b, mut x) = (vec![1e-300; 400], vec![1e20; 400]);
    let solved = Auto::default().solve(&a, &b, &mut x).unwrap();
    assert!(solved.ending.converged(), "{solved}");
    assert!(x.iter().all(|v| v.is_finite() && *v > 0.0));
}

/// For b = 0 the residual of a guess has no scale, so the guess is not a solution however small A is.
#[test]
fn nothing_to_solve_has_the_solution_zero() {
    for size in [1e-12, 1.0] {
        let a = from_triplets(2, 2, &[(0, 0, size), (1, 1, size)]).unwrap();
        let mut x = vec![1.0; 2];
        let solved = Auto::default().solve(&a, &[0.0; 2], &mut x).unwrap();
        assert!(solved.ending.converged() && solved.true_residual == 0.0, "{solved}");
        assert_eq!(x, [0.0; 2], "{size:e}");
    }
}

#[test]
fn round_off_says_what_was_reached() {
    let text = |reached, tolerance| Ending::RoundOff { bound: reached, reached, tolerance }.to_string();
    let ordinary = text(2e-16, 0.0);
    assert!(
        ordinary.contains("loosen the tolerance to 4e-16") && !ordinary.contains("ill-conditioned"),
        "{ordinary}"
    );
    let far = Ending::RoundOff { bound: 1e-7, reached: 2.4e-8, tolerance: 1e-8 }.to_string();
    assert!(far.contains("2.4e-8 was reached") && !far.contains("1e-7"), "only what was reached: {far}");
    let ill = text(1e-6, 1e-8);
    assert!(ill.contains("ill-conditioned") && ill.contains("1.0e-6 was reached"), "{ill}");
}

/// Conjugate gradients raise the residual of this chain tenfold before they reduce it. If they are ended there, the guess is still
/// the x with the smallest residual.
#[test]
fn an_ended_solve_returns_the_x_with_the_smallest_residual() {
    let n = 200_u32;
    let links = |i: u32| [(i, i, 2.0), (i, i.saturating_sub(1), -1.0), (i.saturating_sub(1), i, -1.0)];
    let entries: Vec<_> = (0..n).flat_map(|i| links(i).into_iter().take(if i > 0 { 3 } else { 1 })).collect();
    let a: Bsr<f64> = from_triplets(n as usize, n as usize, &entries).unwrap();
    let (b, mut x) = (vec![1.0; n as usize], vec![0.0; n as usize]);
    let auto = Auto { method: Some(Method::Cg), precond: Some(Precond::None), ..Auto::default() };
    let mut largest: f64 = 0.0;
    let mut end = |iteration: usize, residual: f64| {
        largest = largest.max(residual);
        if iteration == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let (solved, _) = auto.solve_and_keep(&a, &b, &mut x, &mut end).unwrap();
    assert_eq!(solved.ending, Ending::TimeLimit);
    assert!(largest > 5.0, "{largest}");
    assert_eq!((solved.true_residual, relative_residual(&a, &b, &x)), (1.0, 1.0), "{solved}");
}

/// If CG finds a negative curvature, its preconditioner is not built again in f64, and the factor has pivots at once.
#[test]
fn an_indefinite_operator_is_factored_with_pivots() {
    let laplace = poisson2d(100).unwrap().matrix;
    let mut shift = Bsr::identity(10_000, 1).unwrap();
    shift.values_mut().fill(-0.05);
    let (a, b, mut x) = (&laplace + &shift, random_vector(10_000, 1), vec![0.0; 10_000]);
    let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
    let [first, last] = &solved.attempts[..] else { panic!("{:?}", solved.notes()) };
    assert_eq!(first.ending, Ending::Method(Outcome::IndefiniteOperator));
    assert_eq!(last.factorised, Some((coarsen_direct::Method::Ldlt, None)));
}

/// A ring of n nodes whose rows sum to zero.
fn ring(n: u32) -> Bsr<f64> {
    let entries: Vec<_> =
        (0..n).flat_map(|i| [(i, i, 2.0), (i, (i + 1) % n, -1.0), (i, (i + n - 1) % n, -1.0)]).collect();
    from_triplets(n as usize, n as usize, &entries).unwrap()
}

#[test]
fn an_unconstrained_body_is_called_singular_in_both_precisions() {
    for n in [100, 2000] {
        let (mut b, mut x) = (vec![0.0; n as usize], vec![0.0; n as usize]);
        b[0] = 1.0;
        let solved = Auto::default().solve(&ring(n), &b, &mut x).unwrap();
        assert!(matches!(solved.ending, Ending::Singular(_)), "{n}: {solved}");
        assert!(solved.to_string().contains("null space"), "{solved}");
        assert_eq!(solved.unbounded, Some(Ending::FactorExcluded));
        let [.., first, last] = &solved.attempts[..] else { panic!("{n}: {solved}") };
        assert_eq!((first.method, first.precond, first.single), (last.method, last.precond, true), "{n}");
        let notes = solved.notes();
        assert!(!last.single && notes.last().unwrap().ends_with("repeated in f64"), "{n}: {notes:?}");
        assert!(!notes.iter().any(|note| note.contains("ended without a solution")), "{n}: {notes:?}");
    }
}

#[test]
fn a_cost_without_a_bound_says_so() {
    let a = poisson2d(30).unwrap().matrix;
    let (b, mut x) = (random_vector(900, 1), vec![0.0; 900]);
    let solved = Auto { memory: 0, max_iterations: 2, ..Auto::default() }.solve(&a, &b, &mut x).unwrap();
    assert!(matches!(solved.unbounded, Some(Ending::FactorTooLarge { .. })), "{solved}");
    assert!(solved.to_string().contains("the cost has no bound"), "{solved}");
    let solved = Auto::default().solve(&a, &b, &mut vec![0.0; 900]).unwrap().converged().unwrap();
    assert_eq!(solved.unbounded, None);
}

/// A chain of springs that one weak spring holds: x is 4e13 times b. With b = 1 some processors leave no residual.
#[test]
fn iterations_that_end_at_round_off_are_told_so() {
    let n = 400_u32;
    let entries: Vec<(u32, u32, f64)> = (0..n)
        .flat_map(|i| {
            let held = if i == 0 { 1e-11 } else { 0.0 };
            let links = if i == 0 || i == n - 1 { 1.0 } else { 2.0 };
            let mut row = vec![(i, i, links + held)];
            row.extend((i > 0).then(|| (i, i - 1, -1.0)));
            row.extend((i < n - 1).then(|| (i, i + 1, -1.0)));
            row
        })
        .collect();
    let b: Vec<f64> = (0..n).map(|i| 1.0 + 0.3 * f64::from(i).sin()).collect();
    let n = n as usize;
    let a = from_triplets(n, n, &entries).unwrap();
    for memory in [0, MEMORY] {
        let mut x = vec![0.0; n];
        let auto = Auto { memory, max_iterations: 3000, ..Auto::default() };
        let solved = auto.solve(&a, &b, &mut x).unwrap();
        let Ending::RoundOff { bound, reached, .. } = solved.ending.clone() else { panic!("{solved}") };
        assert!(bound > 1e-8 && reached == solved.true_residual, "{solved}");
        assert!(solved.to_string().contains("the tolerance 1e-8 is not reached"), "{solved}");
        assert_eq!(relative_residual(&a, &b, &x), solved.true_residual);
        // The residual that was reached is within a factor of three of what any tolerance gives.
        for tolerance in [2.0, 0.3, 1e-2].map(|share| share * reached) {
            let mut y = vec![0.0; n];
            let other = Auto { tolerance, ..auto }.solve(&a, &b, &mut y).unwrap();
            assert!(3.0 * other.true_residual >= reached, "{other} after {solved}");
            assert!(tolerance < reached || other.ending.converged(), "{other}");
        }
    }
}

/// −A x = −b has the same x, by the same methods at the same cost.
#[test]
fn negative_definite_systems_are_solved_as_their_negatives() {
    for n in [10, 60] {
        let a = poisson2d(n).unwrap().matrix;
        let negative = -&a;
        let (b, mut x, mut y) = (random_vector(n * n, 3), vec![0.0; n * n], vec![0.0; n * n]);
        let minus: Vec<f64> = b.iter().map(|v| -v).collect();
        let solved = Auto::default().solve(&a, &b, &mut x).unwrap().converged().unwrap();
        let other = Auto::default().solve(&negative, &minus, &mut y).unwrap().converged().unwrap();
        assert_eq!((x, solved.method(), solved.iterations), (y, other.method(), other.iterations));
        assert!(!solved.negated && other.negated);
    }
}

/// For a lower bidiagonal matrix restarted GMRES stagnates, but ILU(0) is exact.
#[test]
fn unsymmetric_systems_are_solved_by_some_method() {
    let n = 400_u32;
    let entries: Vec<_> = (0..n)
        .flat_map(|i| [(i, i, 0.97), (i, i.saturating_sub(1), if i > 0 { 1.0 } else { 0.0 })])
        .collect();
    let a = from_triplets(n as usize, n as usize, &entries).unwrap();
    let mut b = vec![0.0; n as usize];
    b[0] = 1.0;
    let mut x = vec![0.0; n as usize];
    let solved = Auto { memory: 0, ..Auto::default() }.solve(&a, &b, &mut x).unwrap().converged().unwrap();
    assert_eq!(solved.attempts.last().unwrap().precond, Precond::Ilu0, "{solved}");
    let solved = Auto { memory: 0, ..Auto::default() }.solve(&a, &b, &mut x).unwrap();
    assert_eq!(solved.method(), None, "the guess is a solution");
}

/// Every failure names its cause, and the best x is returned.
#[test]
fn failures_keep_their_causes() {
    // The second row is twice the first, and b does not agree.
    let n = 400_u32;
    let mut entries: Vec<_> = (0..n).map(|i| (i, i, 1.0)).collect();
    entries.extend([(0, 1, 1.0), (1, 0, 2.0), (1, 1, 1.0), (2, 3, 0.5)]);
    let a = from_triplets(n as usize, n as usize, &entries).unwrap();
    let mut x = vec![0.0; n as usize];
    let solved =
        Auto { max_iterations: 100, ..Auto::default() }.solve(&a, &vec![1.0; n as usize], &mut x).unwrap();
    assert!(!solved.ending.converged() && solved.true_residual < 0.1, "{solved}");
    assert!(x.iter().any(|v| *v != 0.0));
    // Every attempt is in the report, with its cause.
    let failed = solved.attempts.iter().filter(|attempt| !attempt.ending.to_string().is_empty());
    assert!(failed.count() > 1, "{:?}", solved.attempts);
    assert!(
        solved.notes().iter().any(|note| note.contains("ended without a solution (")),
        "{:?}",
        solved.notes()
    );
}

/// A failed factor and a failed setup are the endings of their attempts, and a repetition in f64 names the cause too.
#[test]
fn factors_and_setups_that_fail_are_typed_causes() {
    let (b, x) = ([1.0, 0.0], [0.0; 2]);
    let singular = from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 0, 2.0), (1, 1, 4.0)]).unwrap();
    let auto = Auto { method: Some(Method::Direct), ..Auto::default() };
    let solved = auto.solve(&singular, &b, &mut x.clone()).unwrap();
    assert!(matches!(solved.ending, Ending::Factor(_)), "{solved}");
    assert_eq!(solved.attempts.last().unwrap().ending, solved.ending);

    let unsymmetric = from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 1, 4.0)]).unwrap();
    let auto = Auto { method: Some(Method::Cg), precond: Some(Precond::Ic0), ..Auto::default() };
    let solved = auto.solve(&unsymmetric, &b, &mut x.clone()).unwrap();
    let cause = Ending::Setup(SetupError::Unsymmetric { method: "ic0", row: 0, column: 1 });
    let endings: Vec<_> = solved.attempts.iter().map(|attempt| attempt.ending.clone()).collect();
    assert_eq!(endings, [cause.clone(), cause.clone()], "in f32 and in f64");
    let repeated = format!("ic0 stored in f32 failed (setup_failed: {cause}); repeated in f64");
    assert_eq!(solved.notes(), [repeated]);
}

/// A cancelled setup ends the solve, and no other method begins.
#[test]
fn a_cancelled_solve_ends() {
    let a = poisson2d(150).unwrap().matrix;
    let cancel = Cancel::default();
    cancel.cancel();
    let (b, mut x) = (random_vector(22_500, 1), vec![0.0; 22_500]);
    let auto = Auto { memory: 0, ..Auto::default() };
    let solved = auto.solve(System { cancel: Some(&cancel), ..(&a).into() }, &b, &mut x).unwrap();
    assert!(matches!(solved.ending, Ending::Setup(SetupError::Cancelled)), "{solved}");
    assert_eq!(solved.attempts.len(), 1);
}

/// A solution beyond the largest number is no solution.
#[test]
fn a_solution_that_overflows_is_not_converged() {
    let a: Bsr<f64> = from_triplets(1, 1, &[(0, 0, 1e-20)]).unwrap();
    let mut x = vec![0.0];
    let solved = Auto::default().solve(&a, &[1e300], &mut x).unwrap();
    assert!(!solved.ending.converged() && x == [0.0], "{solved} {x:?}");
}

#[test]
fn the_attainable_residual_grows_with_the_solution_alone() {
    let a = from_triplets(2, 2, &[(0, 0, 1.0), (1, 1, -1e-12)]).unwrap();
    let bound = attainable(&a, &[1.0, 1.0], &[1.0, -1e12]);
    assert!((bound / f64::EPSILON - 2.0).abs() < 1e-9, "A x = b row by row: {bound}");
    let cancelling = from_triplets(1, 2, &[(0, 0, 1.0), (0, 1, -1.0)]).unwrap();
    let bound = attainable(&cancelling, &[1.0], &[1e12 + 1.0, 1e12]);
    assert!((bound / f64::EPSILON - 2e12).abs() < 1e3);
    assert_eq!(attainable(&a, &[0.0, 0.0], &[0.0, 0.0]), 0.0);
    assert!(attainable(&a, &[1e300, 1e300], &[1e300, 0.0]).is_finite());
}

/// Cahn-Hilliard: concentrations and potentials with the skew blocks [I, 9 K; −9 K, I]. Its incomplete factor is useless, since its
/// pivots are small beside what it drops.
#[test]
fn skew_blocks_do_not_begin_with_an_incomplete_factor() {
    let k = poisson2d(30).unwrap().matrix;
    let mut entries = Vec::new();
    for i in 0..900 {
        entries.extend([0, 1].map(|c| (2 * i + c, 2 * i + c, 1.0)));
        for (j, v) in k.row(i as usize) {
            entries.extend([(2 * i, 2 * j as u32 + 1, 9.0 * v[0]), (2 * i + 1, 2 * j as u32, -9.0 * v[0])]);
        }
    }
    let a = from_triplets(1800, 1800, &entries).unwrap();
    let plan = Auto::default().plan(&a).unwrap();
    assert!(plan.candidates.iter().any(|candidate| candidate.1 == Precond::Ilu0));
    assert_ne!(plan.begins().1, Precond::Ilu0, "{plan}");
    let solved = Auto::default().solve(&a, &random_vector(1800, 1), &mut vec![0.0; 1800]).unwrap();
    assert!(solved.ending.converged(), "{solved}");
}
