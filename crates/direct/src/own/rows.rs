//! The scalars of a row of a block matrix.

use coarsen_sparse::Bsr;

/// The columns of the stored scalars of row i in ascending order, and the indices of their values.
pub(super) fn row(a: &Bsr<f64>, i: usize) -> impl Iterator<Item = (usize, usize)> {
    let ((r, c), pattern) = (a.block(), a.pattern());
    let blocks = pattern.offsets()[i / r]..pattern.offsets()[i / r + 1];
    blocks.flat_map(move |k| {
        let (column, at) = (pattern.indices()[k] as usize * c, k * r * c + i % r * c);
        (0..c).map(move |q| (column + q, at + q))
    })
}

/// max |aᵢⱼ| of each row.
pub(super) fn sizes(a: &Bsr<f64>, sizes: &mut [f64]) {
    for (i, size) in sizes.iter_mut().enumerate() {
        *size = row(a, i).fold(0.0, |most: f64, (_, at)| most.max(a.values()[at].abs()));
    }
}
