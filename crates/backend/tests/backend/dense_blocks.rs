//! Inverses of diagonal blocks, and the blocks that have none.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_sparse::{Bsr, SparseError};

fn matrix(blocks: &[[f64; 4]]) -> Bsr<f64> {
    let places: Vec<(u32, u32)> = (0..blocks.len() as u32).map(|i| (i, i)).collect();
    coarsen_sparse::assembly::from_blocks(
        2 * blocks.len(),
        2 * blocks.len(),
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
