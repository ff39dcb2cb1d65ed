//! The reports of a factor by faer: refinement steps, dependent rows, pivots, statistics and bytes. Statistics are those of its
//! memory layout.

use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind};
use coarsen_direct::{Dense, Direct, DirectError, Factor, Inertia, Method, Solved};
use coarsen_sparse::{Bsr, assembly};

use super::common::{self, beside, small, unconstrained};

/// A factor by faer; small matrices stand beside a unit matrix.
fn build(method: Method, a: &Bsr<f64>) -> Result<Factor, DirectError> {
    if a.shape().0 < 300 { common::build(method, &beside(a)) } else { common::build(method, a) }
}

/// A symmetric matrix from the nonzero entries on and below the diagonal.
fn symmetric(n: u32, value: impl Fn(u32, u32) -> f64) -> Bsr<f64> {
    let entries: Vec<_> = (0..n)
        .flat_map(|i| (0..n).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, value(i.max(j), i.min(j))))
        .filter(|e| e.2 != 0.0)
        .collect();
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Each step reduces the residual. The first step that does not reduce it is undone and not counted, and no
/// further step follows, for any limit.
#[test]
fn refinement_goes_on_while_the_residual_falls() {
    const MOST: usize = 20;
    const N: u32 = 320;
    // Without couplings over nine rows A is nearly singular, so that residuals end above ε on every processor.
    let matrix = |far: f64| {
        symmetric(N, |i, j| match i - j {
            0 => 2.0 + f64::from(i % 7) * far / 300.0,
            1 => -1.0,
            9 => far,
            _ => 0.0,
        })
    };
    let (mut taken, mut stopped) = (0, 0);
    for (method, far) in [(Method::Ldlt, 0.3), (Method::Lu, 0.3), (Method::Ldlt, 0.0), (Method::Lu, 0.0)] {
        let a = matrix(far);
        for seed in 0..8_usize {
            let b: Vec<f64> =
                (0..N as usize).map(|i| ((i * 13 + seed * 7) % 17) as f64 / 16.0 - 0.45).collect();
            let limited = |refinements: usize| -> (Vec<f64>, Solved) {
                let parameters = Direct { method, refinements, accept: f64::INFINITY, ..Direct::default() };
                let mut x = vec![0.0; N as usize];
                let solved = parameters.factor(&a).unwrap().solve(&b, &mut x).unwrap();
                (x, solved)
            };
            let (best, last) = limited(MOST);
            assert!(last.refinements < MOST, "{last:?}");
            let mut before = f64::INFINITY;
            for limit in 0..=last.refinements + 2 {
                let (x, solved) = limited(limit);
                let mut r = vec![0.0; N as usize];
                a.residual(&b, &x, &mut r);
                let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
                assert_eq!(solved.relative_residual, norm(&r) / norm(&b));
                if limit <= last.refinements {
                    assert_eq!(solved.refinements, limit);
                    assert!(solved.relative_residual < before, "{method:?} {seed}: step {limit}");
                    before = solved.relative_residual;
                } else {
                    assert_eq!((&x, solved), (&best, last), "{method:?} {seed}: {limit} allowed");
                    stopped += usize::from(solved.relative_residual > f64::EPSILON);
                }
            }
            taken += last.refinements;
        }
    }
    assert!(taken > 0 && stopped > 0, "{taken} steps, {stopped} taken back");
}

/// If the weakest pivot is strong, no test solve is made. So a matrix of tiny entries is factored, and a
/// solution that overflows is an error of the solve.
#[test]
fn a_matrix_of_tiny_entries_is_not_singular() {
    let tiny = 2.0_f64.powi(-1060);
    let mut factor = common::build(Method::Cholesky, &small(&[&[tiny]])).unwrap();
    let mut x = [7.0];
    assert_eq!(factor.solve(&[1.0], &mut x), Err(DirectError::Overflow { index: 0, storage: "f64" }));
    assert_eq!(x, [7.0]);
    factor.solve(&[3.0 * tiny], &mut x).unwrap();
    assert_eq!(x, [3.0]);
}

/// If the remaining matrix becomes zero, the error names the row with the largest coefficient in the linear
/// combination of rows that vanishes, for any units.
#[test]
fn the_dependent_row_is_found_for_every_order_and_unit() {
    let named = |method: Method, a: &Bsr<f64>, row: usize, what: &str| {
        let error = build(method, a).err();
        let right = matches!(error, Some(DirectError::Singular { row: found, .. }) if found == row);
        assert!(right, "{method:?}, {what}: {error:?}, not {row}");
    };
    // Row 3 is a tenth of row 0; row 4, with larger or smaller entries, depends on no other row.
    let last = [1.0, 1.0 / 4096.0];
    for (shift, last) in (0..5).flat_map(|shift| last.map(|last| (shift, last))) {
        let rows = [
            [10.0, 20.0, 0.0, 0.0, 0.0],
            [0.0, 3.0, 1.0, 0.0, 0.0],
            [4.0, 0.0, 5.0, 0.0, 2.0],
            [1.0, 2.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, last, 7.0 * last, last],
        ];
        for unit in [1.0, 2.0_f64.powi(-460), 2.0_f64.powi(460)] {
            let turned: Vec<Vec<f64>> = (0..5)
                .map(|i| (0..5).map(|j| unit * rows[(i + 5 - shift) % 5][(j + 5 - shift) % 5]).collect())
                .collect();
            let turned: Vec<&[f64]> = turned.iter().map(|row| &row[..]).collect();
            named(
                Method::Lu,
                &small(&turned),
                (3 + shift) % 5,
                &format!("turned by {shift}, in {unit:e}, {last:e}"),
            );
        }
    }
    // One row is twice the other.
    named(Method::Ldlt, &small(&[&[1.0, 2.0], &[2.0, 4.0]]), 0, "the first of two");
    named(Method::Ldlt, &small(&[&[4.0, 2.0], &[2.0, 1.0]]), 1, "the second of two");
    // A path without supports: the rows divided by their scales add up to 0. The row is checked only if the
    // last pivot is exactly 0, which depends on round-off.
    let mut exact = 0;
    for (n, row) in (2..12).flat_map(|n| (0..n).map(move |row| (n, row))) {
        let scale = |i: u32| if i == row { 0.125 } else { 1.0 };
        let path = symmetric(n, |i, j| {
            let degree = f64::from(u32::from(i > 0) + u32::from(i + 1 < n));
            scale(i) * scale(j) * [degree, -1.0, 0.0][(i - j).min(2) as usize]
        });
        let Err(DirectError::Singular { row: found, residual }) = build(Method::Ldlt, &path) else {
            panic!("a path of {n} that nothing holds")
        };
        if residual.is_infinite() {
            assert_eq!(found, row as usize, "a path of {n}");
            exact += 1;
        }
    }
    assert!(exact > 20, "{exact}");
}

/// In random matrices with two proportional rows and many zeros, the error names one of the two, whatever
/// the pattern.
#[test]
fn a_row_without_a_part_in_the_dependence_is_not_blamed() {
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut found = 0;
    for _ in 0..400 {
        let n = 4 + next(4) as usize;
        let mut entry = || if next(2) == 0 { 0.0 } else { next(9) as f64 - 4.0 };
        let mut rows: Vec<Vec<f64>> = (0..n).map(|_| (0..n).map(|_| entry()).collect()).collect();
        let regular = rows.clone();
        let (from, to) = (next(n as u64) as usize, next(n as u64) as usize);
        rows[to] = rows[from].iter().map(|v| 2.0 * v).collect();
        let [rows, regular_rows] =
            [&rows, &regular].map(|rows| rows.iter().map(|row| &row[..]).collect::<Vec<_>>());
        // Only if the other rows are independent, which the matrix before tells.
        if from == to || build(Method::Lu, &small(&regular_rows)).is_err() {
            continue;
        }
        match build(Method::Lu, &small(&rows)).err() {
            Some(DirectError::EmptyColumn { .. }) => {}
            Some(DirectError::Singular { row, .. }) => {
                assert!(row == from || row == to, "{rows:?}: row {row}, not {from} or {to}");
                found += 1;
            }
            other => panic!("{rows:?}: {other:?}"),
        }
    }
    assert!(found > 100, "{found}");
}

/// The ratio of the weakest pivot is the share of its diagonal entry that remains after elimination, in any
/// order.
#[test]
fn the_weakest_pivot_is_told() {
    // Schur complements: 3 − 2²/4 = 2 of 3, and 4 − 2²/3 = 8/3 of 4.
    let a = small(&[&[4.0, 2.0], &[2.0, 3.0]]);
    let (row, ratio) = build(Method::Cholesky, &a).unwrap().weakest_pivot().unwrap();
    assert!(row < 2 && (ratio - 2.0 / 3.0).abs() < 1e-14, "{row} {ratio}");
    // Rows 1 and 3 are nearly equal; the other rows are not coupled.
    let a = small(&[
        &[7.0, 0.0, 0.0, 0.0],
        &[0.0, 2.0, 0.0, 2.0],
        &[0.0, 0.0, 0.5, 0.0],
        &[0.0, 2.0, 0.0, 2.0 + 2e-6],
    ]);
    for method in [Method::Cholesky, Method::Ldlt] {
        let (row, ratio) = build(method, &a).unwrap().weakest_pivot().unwrap();
        assert!(row == 1 || row == 3, "{method:?}: {row}");
        assert!((ratio / 1e-6 - 1.0).abs() < 1e-3, "{method:?}: {ratio:e}");
    }
    assert_eq!(build(Method::Lu, &a).unwrap().weakest_pivot(), None);
}

/// The pivots of a block of order 2 of B are the eigenvalues of [p q; q s]: both signs are counted, and the
/// smaller one is divided by the largest entry, |q|.
#[test]
fn pivots_of_two_are_eigenvalues() {
    for (p, q, s) in
        [(0.0, 1.0, 0.0), (0.01, 4.0, 0.02), (-0.01, 5.0, 5e-3), (2.5e-3, -3.0, -0.01), (5e-3, 6.0, 1e-3)]
    {
        let factor = build(Method::Ldlt, &small(&[&[p, q], &[q, s]])).unwrap();
        assert_eq!(factor.inertia(), Some(Inertia { positive: 301, negative: 1 }));
        let (middle, radius) = (0.5 * (p + s), f64::hypot(0.5 * (p - s), q));
        let least = f64::min((middle + radius).abs(), (middle - radius).abs());
        let (_, ratio) = factor.weakest_pivot().unwrap();
        assert!((ratio - least / q.abs()).abs() < 1e-14, "{p} {q} {s}: {ratio} for {}", least / q.abs());
    }
}

/// Each row of a block of order 2 gets one of its eigenvalues: if all signs change, the weakest pivot is in
/// the other row.
#[test]
fn a_block_of_two_has_a_pivot_for_each_row() {
    for (p, q, s) in [(2.5e-3, 3.0, 5e-3), (5e-3, -6.0, 1e-3), (0.01, 4.0, 0.02)] {
        let weakest = |sign: f64| {
            let a = small(&[&[sign * p, sign * q], &[sign * q, sign * s]]);
            let factor = build(Method::Ldlt, &a).unwrap();
            assert_eq!(factor.inertia(), Some(Inertia { positive: 301, negative: 1 }));
            factor.weakest_pivot().unwrap()
        };
        let (one, other) = (weakest(1.0), weakest(-1.0));
        assert_eq!((one.0 + other.0, one.1), (1, other.1), "{p} {q} {s}: {one:?} {other:?}");
    }
}

/// If rows have equal pivots, LDLᵀ and Cholesky report the same row.
#[test]
fn of_equal_pivots_one_is_named() {
    for a in [
        symmetric(5, |i, j| if i == j { 3.0 } else { 0.0 }),
        symmetric(4, |i, j| [2.0, -1.0, 0.0, 0.0][(i - j) as usize]),
    ] {
        let named = |method| build(method, &a).unwrap().weakest_pivot().unwrap().0;
        assert_eq!(named(Method::Cholesky), named(Method::Ldlt));
    }
}

/// The weakest pivot of dense blocks: two rows are nearly dependent, all other rows are nearly uncoupled.
#[test]
fn the_weakest_pivot_of_a_dense_block() {
    for (low, high) in [(17, 41), (0, 149), (90, 91)] {
        let a = symmetric(300, |i, j| match (i, j) {
            _ if i == j && i == low => 20.0,
            _ if i == j && i == high => 50.0,
            _ if i == j => 30.0 + f64::from(i) / 10.0,
            _ if (j, i) == (low, high) => (1000.0_f64 * (1.0 - 1e-3)).sqrt(),
            _ => 1e-4,
        });
        for method in [Method::Cholesky, Method::Ldlt] {
            let factor = build(method, &a).unwrap();
            assert!(factor.stats().products > 0, "{method:?} has dense blocks");
            let (row, ratio) = factor.weakest_pivot().unwrap();
            assert!(row == low as usize || row == high as usize, "{method:?}: {row}");
            let size = if method == Method::Cholesky || row == high as usize {
                1.0
            } else {
                20.0 / 999.0_f64.sqrt()
            };
            assert!((ratio / (1e-3 * size) - 1.0).abs() < 1e-3, "{method:?}, row {row}: {ratio:e}");
        }
    }
}

#[test]
fn stats_count_the_entries_of_the_factor() {
    // Tridiagonal matrices have no fill: n + n − 1 entries.
    let mut a = unconstrained(400);
    a.values_mut()[0] += 1.0;
    let factor = build(Method::Auto, &a).unwrap();
    assert_eq!(factor.stats().nnz, 799);
    let (method, estimate) = Direct::default().estimate(&a).unwrap();
    assert_eq!((method, estimate.nnz), (Method::Cholesky, 799));
    assert!(estimate.bytes >= 8 * 799 && estimate.bytes < factor.stats().bytes);
    // Dense: n (n + 1) / 2 entries, n³/3 operations to leading order.
    let dense: Vec<_> = (0..300_u32)
        .flat_map(|i| (0..300_u32).map(move |j| (i, j, if i == j { 300.0 } else { 0.5 })))
        .collect();
    let a = assembly::from_triplets(300, 300, &dense).unwrap();
    let stats = build(Method::Auto, &a).unwrap().stats();
    assert_eq!(stats.nnz, 45_150);
    assert!((stats.flops / 9e6 - 1.0).abs() < 0.05);
}

/// The bytes are the sum of all arrays: L, its indices and orders, the lower triangle by columns, two copies
/// of A and four vectors.
#[test]
fn bytes_count_every_array() {
    let n = 300;
    let mut path = unconstrained(n as u32);
    path.values_mut()[0] += 1.0;
    let (below, stored) = (2 * n - 1, 3 * n - 2);
    let lower = (n + 1) + 2 * below;
    let factor = 2 * below + 2 * n + 2 * n;
    let stats = build(Method::Cholesky, &path).unwrap().stats();
    assert_eq!(stats.bytes, 8 * (lower + factor + 2 * stored + 4 * n));
    assert_eq!((stats.products, stats.flops), (0, 4.0 * 299.0 + 1.0));
    // A full matrix is one front: L, the front and L D, the scales; the entries of A by columns and in the order of elimination.
    let n = 300_u32;
    let dense: Vec<_> =
        (0..n).flat_map(|i| (0..n).map(move |j| (i, j, if i == j { 300.0 } else { 0.5 }))).collect();
    let n = n as usize;
    let stats = build(Method::Ldlt, &assembly::from_triplets(n, n, &dense).unwrap()).unwrap().stats();
    let stored = n * (n + 1) / 2;
    let (of_8, of_4) = ((n + 1) + 2 * stored + 2 + (n + 1) + stored, 3 * n + 2 + stored);
    let factor = 3 * n * n + 4 * n;
    assert_eq!(stats.bytes, 8 * (of_8 + factor + 2 * n * n + 4 * n) + 4 * of_4);
    assert!(stats.products > 0);
    assert_eq!(stats.flops, (1..=n).map(|c| (c * c) as f64).sum());
}

/// Each full diagonal block of a matrix is one dense block.
#[test]
fn stats_count_every_dense_block() {
    for (count, size) in [(1, 300), (10, 30), (15, 20)] {
        let a = symmetric(count * size, |i, j| match (i == j, i / size == j / size) {
            (true, _) => 50.0,
            (_, true) => 0.5,
            _ => 0.0,
        });
        let stats = build(Method::Ldlt, &a).unwrap().stats();
        let columns = (0..count).flat_map(|_| 1..=size);
        assert_eq!(stats.nnz, columns.clone().sum::<u32>() as usize);
        assert_eq!(stats.flops, columns.map(|c| f64::from(c * c)).sum());
    }
}

/// A diagonal entry that is not stored is 0.
#[test]
fn a_diagonal_that_is_not_stored_is_not_positive() {
    for (rows, row) in [
        ([[2.0, 0.0, 1.0], [0.0, 3.0, 1.0], [1.0, 1.0, 0.0]], 2),
        ([[2.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 2.0]], 1),
        ([[0.0, 1.0, 0.0], [1.0, 5.0, 1.0], [0.0, 1.0, 2.0]], 0),
    ] {
        let a = small(&rows.each_ref().map(|row| &row[..]));
        assert!(a.pattern().find(row, row).is_none());
        assert_eq!(build(Method::Cholesky, &a).err(), Some(DirectError::NotPositiveDefinite { row }));
        let factor = build(Method::Auto, &a).unwrap();
        assert_eq!((factor.method(), factor.fallback()), (Method::Ldlt, None));
    }
}

/// An eigenvalue of exactly minus the tolerance counts as 0, as do the eigenvalues of the zero matrix: A⁺
/// stays symmetric and positive semidefinite.
#[test]
fn eigenvalues_at_the_tolerance_count_as_zero() {
    let a = small(&[&[1.0, 0.0], &[0.0, -0.25]]);
    for (tolerance, rank, kind) in
        [(0.25, 1, PreconditionerKind::Symmetric), (0.125, 2, PreconditionerKind::Linear)]
    {
        let inverse = Dense { tolerance, ..Dense::default() }.invert(&a).unwrap();
        assert_eq!((inverse.rank(), Preconditioner::<Vec<f64>>::kind(&inverse)), (rank, kind));
    }
    let zero = Bsr::<f64>::zeros(a.pattern().clone(), (1, 1)).unwrap();
    let inverse = Dense::default().invert(&zero).unwrap();
    assert_eq!(
        (inverse.rank(), Preconditioner::<Vec<f64>>::kind(&inverse)),
        (0, PreconditionerKind::Symmetric)
    );
}
