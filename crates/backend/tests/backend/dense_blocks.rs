//! Inverses of diagonal blocks, and the blocks that have none.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::parallel::threads;
use coarsen_core::{Real, SplitMix64};
use coarsen_sparse::{Bsr, SparseError};

fn matrix(blocks: &[[f64; 4]]) -> Bsr<f64> {
    let places: Vec<(u32, u32)> = (0..blocks.len() as u32).map(|i| (i, i)).collect();
    coarsen_sparse::assembly::from_blocks(
        (blocks.len(), blocks.len()),
        (2, 2),
        &places,
        blocks.as_flattened(),
    )
    .unwrap()
}

#[test]
fn inverse_times_block_is_identity() {
    let a = matrix(&[[0.0, 2.0, 4.0, 1.0], [3.0, 1.0, 1.0, 2.0]]);
    let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    for k in 0..2 {
        let (a, d) = (a.value(k), d.block(k));
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let v = a[2 * i] * d[j] + a[2 * i + 1] * d[2 + j];
            assert!((v - f64::from(u8::from(i == j))).abs() < 1e-15);
        }
    }
}

#[test]
fn a_soft_unknown_beside_stiff_ones_is_not_singular() {
    let d = DenseBlocks::inverse_diagonal(&matrix(&[[1e20, 0.5, 0.5, 1.0]]), "test").unwrap();
    assert!((d.block(0)[0] * 1e20 - 1.0).abs() < 1e-15 && (d.block(0)[3] - 1.0).abs() < 1e-15);
    let a = matrix(&[[1e20, 0.0, 0.0, 0.0]]);
    let fault = DenseBlocks::inverse_diagonal(&a, "test").unwrap_err();
    assert_eq!(fault, SetupError::SingularBlock { node: 0, first_row: 0 });
}

#[test]
fn singular_blocks_are_named() {
    let a = matrix(&[[1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 2.0, 4.0]]);
    let fault = DenseBlocks::inverse_diagonal(&a, "test").unwrap_err();
    assert_eq!(fault, SetupError::SingularBlock { node: 1, first_row: 2 });
    let a = matrix(&[[1.0, 0.0, f64::NAN, 1.0]]);
    let fault = DenseBlocks::inverse_diagonal(&a, "test").unwrap_err();
    assert_eq!(fault, SparseError::NotFinite { row: 1, column: 0 }.into());
}

/// A step of relaxation of some blocks equals the product with them and a sum, and has the same bits on several threads.
fn relaxes<T: Real>(size: usize, tolerance: f64) {
    let mut random = SplitMix64::new(size as u64);
    let mut numbers = |n: usize| -> Vec<T> { (0..n).map(|_| T::from_f64(random.number())).collect() };
    let count = 10_000_usize.div_ceil(size); // several tasks
    let d = DenseBlocks::new(size, numbers(count * size * size)).unwrap();
    let (rows, n) = (3..count - 2, (count - 5) * size);
    let (x, r) = (numbers(n), numbers(n));
    let inner = DenseBlocks::new(size, d.values()[3 * size * size..][..n * size].to_vec()).unwrap();
    let mut product = vec![T::zero(); n];
    inner.multiply(&r, &mut product);
    let mut old = vec![T::nan(); n]; // not read at first
    for [omega, beta] in [[0.7, 0.0], [0.3, -0.2]].map(|factors| factors.map(T::from_f64)) {
        let found = [false, true].map(|parallel| {
            let (mut s, mut y) = (old.clone(), r.clone());
            threads(3, || d.relax(rows.clone(), [omega, beta], (&x, &mut s, &mut y), parallel)).unwrap();
            (s, y)
        });
        assert!(found[0] == found[1], "blocks of {size}");
        let [(s, y), _] = found;
        for i in 0..n {
            let kept = if beta == T::zero() { T::zero() } else { beta * old[i] };
            let expected = omega * product[i] + kept;
            assert!((s[i] - expected).as_f64().abs() < tolerance, "blocks of {size}, s at {i}");
            assert!((y[i] - x[i] - expected).as_f64().abs() < tolerance, "blocks of {size}, y at {i}");
        }
        old = s;
    }
}

#[test]
fn steps_of_relaxation_of_some_blocks() {
    for size in [1, 2, 3, 4, 6, 7] {
        relaxes::<f64>(size, 1e-13);
        relaxes::<f32>(size, 1e-5);
    }
}
