//! Tests on a backend that divides small systems into chunks and changes matrices itself: sweeps and factors in
//! the order of the chunks, and spectral radii.

use coarsen_backend::{Matrix, Reference, ReferenceMatrix, Reused, RowSets, SetupError, Smoother};
use coarsen_relax::{Chebyshev, GaussSeidel, Ic0, Ilu0, Scaling};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{applied, near, right_hand_side};

/// The reference backend with chunks of a number of rows.
pub(crate) fn chunked(rows: usize) -> Reference {
    Reference { chunk: Some(rows), ..Reference::default() }
}

/// Returns a diagonally dominant matrix on a grid of `m` x `m` nodes with the 5-point pattern and blocks of
/// `b`; `skew` makes it unsymmetric.
fn grid(m: u32, b: u32, skew: f64) -> Bsr<f64> {
    let mut entries = Vec::new();
    for (i, j) in (0..m * m).flat_map(|i| (0..m * m).map(move |j| (i, j))) {
        let (across, down) = ((i % m).abs_diff(j % m), (i / m).abs_diff(j / m));
        if across + down > 1 {
            continue;
        }
        for (p, q) in (0..b).flat_map(|p| (0..b).map(move |q| (p, q))) {
            let (low, high) = ((i * b + p).min(j * b + q), (i * b + p).max(j * b + q));
            let some = f64::from((low * 5 + high * 3) % 7) / 10.0;
            let v = match (i == j, p == q) {
                (true, true) => 5.0 * f64::from(b) + some,
                (true, false) => some,
                _ => -(some + 0.1) * if i < j { 1.0 + skew } else { 1.0 },
            };
            entries.push((i * b + p, j * b + q, v));
        }
    }
    let size = (m * m * b) as usize;
    assembly::from_triplets_blocked(size, size, (b as usize, b as usize), &entries).unwrap()
}

/// Returns z = U⁻¹ L⁻¹ r by scalar elimination in the order of the chunks, dropping fill outside the blocks
/// of A.
fn incomplete(a: &Bsr<f64>, rows: usize, r: &[f64]) -> Vec<f64> {
    let (n, b) = (a.shape().0, a.block().0);
    let order: Vec<usize> = RowSets::chunked(a.pattern(), rows).order().collect();
    let old = |k: usize| order[k / b] * b + k % b;
    let kept = |i: usize, j: usize| a.pattern().find(old(i) / b, old(j) / b).is_some();
    let mut w: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| a.get(old(i), old(j))).collect()).collect();
    for i in 0..n {
        for k in (0..i).filter(|&k| kept(i, k)) {
            w[i][k] /= w[k][k];
            for j in (k + 1..n).filter(|&j| kept(i, j)) {
                w[i][j] -= w[i][k] * if kept(k, j) { w[k][j] } else { 0.0 };
            }
        }
    }
    let mut y: Vec<f64> = (0..n).map(|i| r[old(i)]).collect();
    (0..n).for_each(|i| (0..i).for_each(|k| y[i] -= w[i][k] * y[k]));
    for i in (0..n).rev() {
        (i + 1..n).for_each(|k| y[i] -= w[i][k] * y[k]);
        y[i] /= w[i][i];
    }
    let mut z = vec![0.0; n];
    (0..n).for_each(|i| z[old(i)] = y[i]);
    z
}

/// Factors and solutions equal plain elimination in several orders: one chunk, two consecutive chunks, and
/// chunks not in natural order.
#[test]
fn incomplete_factors_are_exact_in_any_order() {
    for b in [1, 2, 3, 4, 6] {
        for rows in [16, 10, 5, 4, 1] {
            let backend = chunked(rows);
            let r = right_hand_side(16 * b as usize);
            let a = grid(4, b, 0.0);
            let mut ic = Ic0::default().build(&a, &backend).unwrap();
            assert_eq!(ic.shift(), 0.0);
            assert!(
                near(&applied(&mut ic, &r), &incomplete(&a, rows, &r)),
                "ic0, blocks of {b}, {rows} rows"
            );
            let skew = grid(4, b, 0.25);
            let mut ilu = Ilu0.build(&skew, &backend).unwrap();
            let expected = incomplete(&skew, rows, &r);
            assert!(near(&applied(&mut ilu, &r), &expected), "ilu0, blocks of {b}, {rows} rows");
            let other = grid(4, b, 0.5);
            assert_eq!(ilu.update(&other).unwrap(), Reused::Structure);
            let expected = incomplete(&other, rows, &r);
            assert!(near(&applied(&mut ilu, &r), &expected), "updated ilu0, blocks of {b}, {rows} rows");
        }
    }
}

/// A smoother updated on its backend equals the smoother built for the new matrix.
#[test]
fn update_from_a_backend_matrix_equals_rebuild() {
    for b in [1, 2] {
        let (old, mut new) = (grid(4, b, 0.0), grid(4, b, 0.0));
        // Weaker couplings: another radius, and other sweeps.
        let area = (b * b) as usize;
        for i in 0..16 {
            for k in new.pattern().range(i).filter(|&k| old.pattern().indices()[k] as usize != i) {
                new.values_mut()[k * area..(k + 1) * area].iter_mut().for_each(|v| *v *= 0.5);
            }
        }
        let (backend, r) = (chunked(5), right_hand_side(16 * b as usize));
        let mut fill = |a: &mut ReferenceMatrix| a.set_values(&new);
        let mut m = Chebyshev::default().build(&old, &backend).unwrap();
        let mut rebuilt = Chebyshev::default().build(&new, &backend).unwrap();
        assert!((m.radius() - rebuilt.radius()).abs() > 0.01, "{} and {}", m.radius(), rebuilt.radius());
        for _ in 0..2 {
            m.update_on_device(&mut fill).unwrap();
            assert!((m.radius() - rebuilt.radius()).abs() < 1e-9, "{} for {}", m.radius(), rebuilt.radius());
            let (mut x, mut y) = (vec![0.0; r.len()], vec![0.0; r.len()]);
            m.pre_smooth(&old, &r, &mut x);
            rebuilt.pre_smooth(&new, &r, &mut y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-8), "chebyshev, blocks of {b}");
        }
        let mut m = GaussSeidel::default().build(&old, &backend).unwrap();
        m.update_on_device(&mut fill).unwrap();
        let mut rebuilt = GaussSeidel::default().build(&new, &backend).unwrap();
        assert_eq!(applied(&mut m, &r), applied(&mut rebuilt, &r), "gauss-seidel, blocks of {b}");
        let spai0 = Chebyshev { scaling: Scaling::Spai0, ..Chebyshev::default() };
        let refused = spai0.build(&old, &backend).unwrap().update_on_device(&mut fill);
        assert_eq!(refused, Err(SetupError::HostOnly { method: "spai0" }));
    }
}
