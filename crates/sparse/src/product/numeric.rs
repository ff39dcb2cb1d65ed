//! One row of C = A B: dense products, each added to the block of C in its column.

use coarsen_core::Real;

use super::sums::RowSums;
use crate::Bsr;

/// `kernel(left, right, i, sum)` adds row i of A B to the last row of `sum`, which must have enough reserved memory.
type Kernel<T> = fn(&Bsr<T>, &Bsr<T>, usize, &mut RowSums<T>);

/// The kernel for blocks of r x m and m x c.
pub(super) fn kernel<T: Real>(sizes: (usize, usize, usize)) -> Kernel<T> {
    match sizes {
        (1, 1, 1) => row::<T, 1, 1, 1>,
        (3, 3, 3) => row::<T, 3, 3, 3>, // A P between levels of point blocks
        (3, 3, 6) => row::<T, 3, 3, 6>, // A P, displacements to rigid-body modes
        (6, 3, 3) => row::<T, 6, 3, 3>, // restriction times matrix
        (3, 6, 6) => row::<T, 3, 6, 6>, // prolongation times coarse matrix
        (6, 6, 6) => row::<T, 6, 6, 6>, // rigid-body modes on all coarser levels
        _ => row::<T, 0, 0, 0>,
    }
}

/// Adds row i of C for blocks of R x M and M x C; zeros stand for any sizes.
fn row<T: Real, const R: usize, const M: usize, const C: usize>(
    left: &Bsr<T>,
    right: &Bsr<T>,
    i: usize,
    sum: &mut RowSums<T>,
) {
    let (r, m, n) = if R == 0 { (left.block().0, left.block().1, right.block().1) } else { (R, M, C) };
    for (k, a) in left.row(i) {
        let a = &a[..r * m];
        for (j, b) in right.row(k) {
            let (b, c) = (&b[..m * n], &mut sum.block(j as u32, r * n)[..r * n]);
            for (a, c) in a.chunks_exact(m).zip(c.chunks_exact_mut(n)) {
                for (&a, b) in a.iter().zip(b.chunks_exact(n)) {
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}
