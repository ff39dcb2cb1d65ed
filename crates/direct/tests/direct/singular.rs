//! Systems that are singular, nearly singular, indefinite with zeros on the diagonal, or negative definite.
//!
//! Systems of other libraries come from the folder that the environment variable COARSEN_DATA names; without this
//! variable their tests pass and print a message.

use coarsen_core::LinearOperator;
use coarsen_direct::{Direct, DirectError, Engine, Factor, Inertia, Method, Solved};
use coarsen_matrix_market as matrix_market;
use coarsen_sparse::{Bsr, assembly};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::common::{build, direct, residual, small, unconstrained};

const SEED: u64 = 5;

/// A factor that is kept although A is singular to working precision.
fn kept(a: &Bsr<f64>) -> Result<Factor, DirectError> {
    Direct { accept: f64::INFINITY, ..direct(Method::Auto) }.factor(a)
}

/// Solves for b, and checks the reported residual.
fn solve(factor: &mut Factor, a: &Bsr<f64>, b: &[f64]) -> Solved {
    let mut x = vec![0.0; b.len()];
    let solved = factor.solve(b, &mut x).unwrap();
    assert_eq!(solved.relative_residual, residual(a, b, &x));
    solved
}

/// Entries of both signs between 0.5 and 1.
fn random(n: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    (0..n)
        .map(|_| if rng.random_range(0..2) == 0 { 1.0 } else { -1.0 } * rng.random_range(0.5..1.0))
        .collect()
}

/// A right-hand side for which A x = b has a solution.
fn compatible(a: &Bsr<f64>) -> Vec<f64> {
    let mut b = vec![0.0; a.shape().0];
    a.apply(&random(a.shape().0), &mut b);
    b
}

/// A system of the data folder; `None`, with the reason printed, if it cannot be read.
fn system(matrix: &str, rhs: &str) -> Option<(Bsr<f64>, Vec<f64>)> {
    let folder = crate::data::data()?.join("cases");
    let read = |name: &str| -> Bsr<f64> { matrix_market::read(folder.join(name)).unwrap() };
    let (a, column) = (read(matrix), read(rhs));
    let mut b = vec![0.0; a.shape().0];
    column.apply(&vec![1.0], &mut b);
    Some((a, b))
}

/// [H Bᵀ; B 0] with a random definite or indefinite H and more columns than rows in B, in random order.
fn saddle(free: u32, constraints: u32, seed: u64) -> Bsr<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let n = free + constraints;
    let mut order: Vec<u32> = (0..n).collect();
    (1..n as usize).rev().for_each(|i| order.swap(i, rng.random_range(0..=i)));
    let mut entries = Vec::new();
    let mut add = |i: u32, j: u32, v: f64| {
        let (i, j) = (order[i as usize], order[j as usize]);
        entries.push((i, j, v));
        if i != j {
            entries.push((j, i, v));
        }
    };
    for i in 0..free {
        add(i, i, if seed.is_multiple_of(2) { 4.0 } else { rng.random_range(-4.0..4.0) });
        add(i, (i + 1 + rng.random_range(0..free - 1)) % free, rng.random_range(-1.0..1.0));
    }
    for k in 0..constraints {
        add(free + k, k, 1.0);
        (0..3).for_each(|_| add(free + k, rng.random_range(0..free), rng.random_range(-1.0..1.0)));
    }
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Rows without a diagonal entry may come first in the order of elimination; LDLᵀ delays them.
#[test]
fn zeros_on_the_diagonal_are_no_obstacle() {
    for (free, constraints, seed) in [(5, 3, 0), (40, 30, 1), (220, 120, 2), (400, 200, 3), (500, 450, 4)] {
        let a = saddle(free, constraints, seed);
        let n = a.shape().0;
        let mut factor = build(Method::Auto, &a).unwrap();
        assert_eq!(factor.method(), Method::Ldlt, "{n}");
        let solved = solve(&mut factor, &a, &random(n));
        assert!(solved.relative_residual < 1e-12, "{n}: {solved:?}");
        let full = Direct { engine: Engine::Own, ..direct(Method::Ldlt) }.factor(&a).unwrap();
        assert_eq!(factor.inertia(), full.inertia(), "{n}");
        if seed.is_multiple_of(2) {
            let (positive, negative) = (free as usize, constraints as usize);
            assert_eq!(factor.inertia(), Some(Inertia { positive, negative }));
        }
        let before = solve(&mut factor, &a, &random(n));
        factor.refactor(&a).unwrap();
        assert_eq!(solve(&mut factor, &a, &random(n)), before);
    }
}

#[test]
fn a_mixed_method_of_a_client_is_factored() {
    let name = |part: &str| format!("clients/skfem-ex37-mixed-13608.{part}mtx.gz");
    let Some((a, b)) = system(&name(""), &name("b.")) else { return };
    let mut factor = build(Method::Auto, &a).unwrap();
    if super::ENGINE == Engine::Fastest {
        assert_eq!((factor.method(), factor.fallback()), (Method::Ldlt, None));
        assert!(factor.weakest_pivot().is_some_and(|(_, ratio)| ratio > 1e-6));
    }
    assert!(solve(&mut factor, &a, &b).relative_residual < 1e-8);
}

/// −A is factored as A is, by the same operations.
#[test]
fn a_negative_definite_matrix_costs_what_its_negative_costs() {
    for (a, n) in [(unconstrained(50), 50), (unconstrained(900), 900)] {
        let [mut a, mut minus] = [a.clone(), a];
        a.values_mut()[0] += 1.0;
        minus.values_mut().iter_mut().zip(a.values()).for_each(|(m, v)| *m = -v);
        let [mut one, mut other] = [build(Method::Auto, &a).unwrap(), build(Method::Auto, &minus).unwrap()];
        assert_eq!((other.method(), other.fallback()), (Method::Cholesky, None));
        assert_eq!((other.stats(), other.weakest_pivot()), (one.stats(), one.weakest_pivot()));
        assert_eq!(other.inertia(), Some(Inertia { positive: 0, negative: n }));
        let (b, mut x, mut y) = (random(n), vec![0.0; n], vec![0.0; n]);
        assert_eq!(one.solve(&b, &mut x), other.solve(&b, &mut y));
        assert!(x.iter().zip(&y).all(|(x, y)| *x == -y));
        // The sign may change in an update.
        other.refactor(&a).unwrap();
        assert_eq!(other.inertia(), one.inertia());
        other.solve(&b, &mut y).unwrap();
        assert_eq!(x, y);
        assert!(matches!(
            build(Method::Cholesky, &saddle(200, 150, 0)),
            Err(DirectError::NotPositiveDefinite { .. })
        ));
    }
}

/// Where every solution is accepted, a singular matrix is factored, and systems that have a solution are solved.
#[test]
fn singular_systems_with_a_solution_are_solved() {
    let transition = |n: u32| {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let mut entries: Vec<_> = (0..n).map(|i| (i, i, 1.0)).collect();
        for i in 0..n {
            entries.extend(
                [(i + 1, 0.25), (i + 7, 0.5), (rng.random_range(0..n), 0.25)].map(|(j, p)| (j % n, i, -p)),
            );
        }
        assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
    };
    let redundant = |n: u32| {
        let mut entries: Vec<_> = (0..n).flat_map(|i| [(i, i, 2.0), (i, n, 1.0), (n, i, 1.0)]).collect();
        entries.extend((0..n).flat_map(|i| [(i, n + 1, 1.0), (n + 1, i, 1.0)]));
        assembly::from_triplets(n as usize + 2, n as usize + 2, &entries).unwrap()
    };
    for n in [40, 1100] {
        for (name, a) in [("path", unconstrained(n)), ("chain", transition(n)), ("redundant", redundant(n))] {
            assert!(matches!(build(Method::Auto, &a), Err(DirectError::Singular { .. })), "{name} {n}");
            let mut factor = kept(&a).unwrap();
            assert!(matches!(factor.singular(), Some(DirectError::Singular { .. })), "{name} {n}");
            let solved = solve(&mut factor, &a, &compatible(&a));
            assert!(solved.relative_residual < 1e-9, "{name} {n}: {solved:?}");
            factor.refactor(&a).unwrap();
            assert!(factor.singular().is_some());
            let solved = solve(&mut factor, &a, &compatible(&a));
            assert!(solved.relative_residual < 1e-9, "{name} {n}, updated: {solved:?}");
        }
    }
    let mut regular = unconstrained(400);
    regular.values_mut()[0] += 1.0;
    assert!(kept(&regular).unwrap().singular().is_none());
}

#[test]
fn singular_systems_of_clients_are_solved() {
    for (matrix, rhs) in [
        (
            "clients/skfem-ex32-enclosed-stokes-1854.mtx.gz",
            "clients/skfem-ex32-enclosed-stokes-1854.b.mtx.gz",
        ),
        ("05-stokes.mtx", "05-stokes_b.mtx"),
        ("02-neumann-unsym.mtx", "02-neumann-unsym_b.mtx"),
    ] {
        let Some((a, b)) = system(matrix, rhs) else { return };
        let mut factor = kept(&a).unwrap();
        assert!(factor.singular().is_some(), "{matrix}");
        let solved = solve(&mut factor, &a, &b);
        assert!(solved.relative_residual < 1e-10, "{matrix}: {solved:?}");
    }
}

/// A has the condition number 5e15: no digit of x is certain, but the residual is small.
#[test]
fn a_nearly_singular_system_is_solved_as_well_as_possible() {
    for (n, symmetric) in [(60_usize, true), (60, false), (600, true), (600, false)] {
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        let mut rows = vec![vec![0.0; n]; n];
        for i in 0..n {
            for _ in 0..4 {
                let (j, v) = (rng.random_range(0..n), rng.random_range(-1.0..1.0));
                rows[i][j] += v;
                if symmetric {
                    rows[j][i] += v;
                }
            }
            rows[i][i] += 3.0;
        }
        // Row 1 becomes row 0, up to 1e-15, and so does column 1.
        rows[1] = rows[0].clone();
        if symmetric {
            (0..n).for_each(|i| rows[i][1] = rows[i][0]);
        }
        rows[1][1] += 1e-15;
        let a = small(&rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        let mut factor = kept(&a).unwrap();
        let b = compatible(&a);
        let solved = solve(&mut factor, &a, &b);
        assert!(solved.relative_residual < 1e-12, "{n} {symmetric}: {solved:?}");
        // A right-hand side that no moderate x reaches: better than x = 0, and never worse.
        let solved = solve(&mut factor, &a, &random(n));
        assert!(solved.relative_residual <= 1.0, "{n} {symmetric}: {solved:?}");
    }
}

/// A pattern that makes every matrix singular is an error.
#[test]
fn a_singular_pattern_is_refused() {
    let mut entries: Vec<_> = (1..400).map(|i| (i, i, 1.0)).collect();
    entries.extend([(0, 1, 1.0), (2, 0, 1.0), (0, 399, 0.0)]);
    let a = assembly::from_triplets(400, 400, &entries).unwrap();
    assert!(matches!(kept(&a), Err(DirectError::Singular { .. })));
    let a = assembly::from_triplets(400, 400, &entries[..399]).unwrap();
    assert!(matches!(kept(&a), Err(DirectError::EmptyRow { row: 0 })));
}

/// The buffer of faer takes twice the last-level cache, so small matrices are factored without it.
#[test]
fn a_small_matrix_needs_no_buffer() {
    for method in [Method::Cholesky, Method::Ldlt, Method::Lu] {
        let parameters = Direct { method, ..Direct::default() };
        let mut a = unconstrained(299);
        a.values_mut()[0] += 1.0;
        assert_eq!(parameters.factor(&a).unwrap().stats().products, 0);
    }
}

/// The sizes of LU are known before it is computed; both engines bound them alike.
#[test]
fn the_size_of_lu_is_bounded() {
    let diagonal =
        assembly::from_triplets(400, 400, &(0..400).map(|i| (i, i, 2.0)).collect::<Vec<_>>()).unwrap();
    let stats = direct(Method::Lu).estimate(&diagonal).unwrap().1;
    assert_eq!((stats.nnz, stats.flops), (400, 800.0));
    let full: Vec<_> =
        (0..300_u32).flat_map(|i| (0..300).map(move |j| (i, j, f64::from(1 + i * j % 7)))).collect();
    let full = assembly::from_triplets(300, 300, &full).unwrap();
    let stats = direct(Method::Lu).estimate(&full).unwrap().1;
    assert_eq!(stats.nnz, 90_000);
    assert!((stats.flops / 1.8e7 - 1.0).abs() < 0.01);
    let name = |part: &str| format!("clients/skfem-ex42-periodic-21170.{part}mtx.gz");
    let Some((a, _)) = system(&name(""), &name("b.")) else { return };
    let nnz = |engine| Direct { engine, ..direct(Method::Lu) }.estimate(&a).unwrap().1.nnz as f64;
    let ratio = nnz(Engine::Fastest) / nnz(Engine::Own);
    assert!((0.5..2.0).contains(&ratio), "{ratio}");
}

/// Blocks of very different scale do not delay pivots until the factor is full: [h² M, K; K, -1e-6 h² M] of a control problem with a small penalty,
/// and [1e-8 K, B; Bᵀ, 0] of a flow with a small viscosity.
#[test]
fn blocks_of_different_scales_do_not_fill_the_factor() {
    let n = 40_u32;
    let at = |i: u32, j: u32| i * n + j;
    let m = n * n;
    let h2 = 1.0 / f64::from(m);
    // K = -Δ and M = 1 on a square; B couples a point with its right neighbour.
    let (mut control, mut flow) = (Vec::new(), Vec::new());
    for (i, j) in (0..m).map(|k| (k / n, k % n)) {
        let k = at(i, j);
        control.extend([(k, k, h2), (m + k, m + k, -1e-6 * h2), (k, m + k, 4.0), (m + k, k, 4.0)]);
        flow.push((k, k, 4e-8));
        for (p, q) in [(i.wrapping_sub(1), j), (i + 1, j), (i, j.wrapping_sub(1)), (i, j + 1)] {
            if p < n && q < n {
                control.extend([(k, m + at(p, q), -1.0), (m + k, at(p, q), -1.0)]);
                flow.push((k, at(p, q), -1e-8));
            }
        }
        if i % 2 == 0 && j % 2 == 0 {
            let (row, right) = (m + (i * n / 4 + j / 2), at(i, j + 1));
            flow.extend([(row, k, 1.0), (k, row, 1.0), (row, right, -1.0), (right, row, -1.0)]);
        }
    }
    for (size, entries) in [(2 * m, control), (m + m / 4, flow)] {
        let size = size as usize;
        let a = assembly::from_triplets(size, size, &entries).unwrap();
        if super::ENGINE == Engine::Own {
            // It has no pivots of order 2, and Method::Auto goes on with LU.
            let mut factor = build(Method::Auto, &a).unwrap();
            assert!(solve(&mut factor, &a, &random(size)).relative_residual <= 1e-8);
            continue;
        }
        let direct = direct(Method::Ldlt);
        let forecast = direct.estimate(&a).unwrap().1.nnz;
        let mut factor = direct.factor(&a).unwrap();
        assert!(solve(&mut factor, &a, &random(size)).relative_residual <= 1e-8);
        let nnz = factor.stats().nnz;
        assert!(nnz <= 3 * forecast, "{nnz} entries, {forecast} forecast");
    }
}
