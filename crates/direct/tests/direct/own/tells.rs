//! The reports of factors by `Engine::Own`: statistics, pivots and errors.

use coarsen_core::{LinearOperator, Preconditioner};
use coarsen_direct::{DirectError, Inertia, Method};
use coarsen_sparse::{Bsr, assembly};

use super::common::{build, direct, grid, small, unconstrained};

#[test]
fn stats_count_the_entries_of_the_factor() {
    let mut path = unconstrained(100);
    path.values_mut()[0] += 1.0;
    let stats = build(Method::Cholesky, &path).unwrap().stats();
    assert_eq!((stats.nnz, stats.flops, stats.products), (199, 4.0 * 99.0 + 1.0, 0));
    let full: Vec<_> =
        (0..60_u32).flat_map(|i| (0..60_u32).map(move |j| (i, j, if i == j { 60.0 } else { 0.5 }))).collect();
    let full = assembly::from_triplets(60, 60, &full).unwrap();
    for method in [Method::Cholesky, Method::Ldlt] {
        assert_eq!(direct(method).estimate(&full).unwrap().1.nnz, 1830, "{method:?}");
    }
}

/// The factor of a grid ordered by minimum degree has less than half of 31 n² log₂ n / 4 entries, the bound
/// of nested dissection; a bandwidth ordering gives n³.
#[test]
fn fill_of_grids_grows_slowly() {
    for n in [20, 40, 80] {
        let entries = direct(Method::Cholesky).estimate(&grid(n, 0.0)).unwrap().1.nnz as f64;
        let bound = 7.75 * f64::from(n * n) * f64::from(n).log2();
        assert!(entries < 0.5 * bound, "{n}: {entries} of {bound}");
    }
}

/// A star has no fill, since its centre is eliminated last.
#[test]
fn dense_rows_come_last() {
    let n = 3000_u32;
    let star: Vec<_> =
        (1..n).flat_map(|i| [(i, i, 2.0), (0, i, 0.01), (i, 0, 0.01)]).chain([(0, 0, 2.0)]).collect();
    let star = assembly::from_triplets(n as usize, n as usize, &star).unwrap();
    let mut factor = build(Method::Cholesky, &star).unwrap();
    assert_eq!(factor.stats().nnz, 2 * n as usize - 1);
    let (b, mut x) = (vec![1.0; n as usize], vec![0.0; n as usize]);
    assert!(factor.solve(&b, &mut x).unwrap().relative_residual < 1e-14);
    let mut factor = build(Method::Lu, &star).unwrap();
    assert!(factor.solve(&b, &mut x).unwrap().relative_residual < 1e-14);
}

/// Pairs of unknowns with zero diagonals. A small matrix is factored as a full matrix with row exchanges. A
/// large matrix gives an error, and `Auto` then uses LU.
#[test]
fn a_small_pivot_is_told() {
    let saddle = |pairs: u32| {
        let entries: Vec<_> =
            (0..pairs).flat_map(|i| [(2 * i, 2 * i + 1, 1.0), (2 * i + 1, 2 * i, 1.0)]).collect();
        assembly::from_triplets(2 * pairs as usize, 2 * pairs as usize, &entries).unwrap()
    };
    let few = build(Method::Ldlt, &saddle(50)).unwrap();
    assert_eq!(few.inertia(), Some(Inertia { positive: 50, negative: 50 }));
    let many = saddle(600);
    let error = build(Method::Ldlt, &many).err();
    assert!(matches!(error, Some(DirectError::SmallPivot { ratio: 0.0, .. })), "{error:?}");
    let mut factor = build(Method::Auto, &many).unwrap();
    assert_eq!(factor.method(), Method::Lu);
    assert!(matches!(factor.fallback(), Some(DirectError::SmallPivot { .. })));
    let (b, mut x, mut product) = (vec![1.0; 1200], vec![0.0; 1200], vec![0.0; 1200]);
    factor.solve(&b, &mut x).unwrap();
    many.apply(&x, &mut product);
    assert_eq!(product, b);
}

/// The pivots of blocks of order 2 are the eigenvalues of [p q; q s].
#[test]
fn pivots_of_two_are_eigenvalues() {
    for (p, q, s) in [(0.0, 1.0, 0.0), (1.0, 4.0, 2.0), (-1.0, 5.0, 0.5), (0.25, -3.0, -1.0)] {
        let factor = build(Method::Ldlt, &small(&[&[p, q], &[q, s]])).unwrap();
        assert_eq!(factor.inertia(), Some(Inertia { positive: 1, negative: 1 }));
        let (middle, radius) = (0.5 * (p + s), f64::hypot(0.5 * (p - s), q));
        let least = f64::min((middle + radius).abs(), (middle - radius).abs());
        let (_, ratio) = factor.weakest_pivot().unwrap();
        assert!((ratio - least / q.abs()).abs() < 1e-14, "{p} {q} {s}: {ratio}");
    }
}

/// The error names a row of the linear combination that vanishes, the same row as with the other engine.
#[test]
fn the_dependent_row_is_found() {
    let rows: [&[f64]; 4] =
        [&[10.0, 20.0, 0.0, 0.0], &[0.0, 3.0, 1.0, 0.0], &[4.0, 0.0, 5.0, 2.0], &[1.0, 2.0, 0.0, 0.0]];
    let error = build(Method::Lu, &small(&rows)).err();
    assert!(matches!(error, Some(DirectError::Singular { row: 3, .. })), "{error:?}");
}

/// yᵀ A⁻¹ x = xᵀ A⁻ᵀ y with the factors of A and of Aᵀ.
#[test]
fn a_factor_of_the_transpose_is_the_adjoint() {
    let rows: [&[f64]; 4] =
        [&[0.0, 2.0, 0.0, 1.0], &[3.0, 0.0, 0.5, 0.0], &[0.0, 1.0, 4.0, 0.0], &[1.0, 0.0, 0.0, -2.0]];
    let columns: Vec<Vec<f64>> = (0..4).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
    let columns: Vec<&[f64]> = columns.iter().map(|c| &c[..]).collect();
    let solve = |a: &Bsr<f64>, r: &Vec<f64>| {
        let mut z = vec![0.0; 4];
        build(Method::Lu, a).unwrap().apply(r, &mut z);
        z
    };
    let (x, y) = (vec![1.0, -2.0, 0.5, 3.0], vec![0.25, 1.0, -1.0, 2.0]);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    let (one, other) = (dot(&y, &solve(&small(&rows), &x)), dot(&x, &solve(&small(&columns), &y)));
    assert!((one - other).abs() < 1e-13, "{one} {other}");
}
