//! One row of C = A B: dense products, each added to the block of C in its column.

use coarsen_core::Real;

use super::sums::RowSums;
use crate::Bsr;

/// `kernel(left, right, i, sum)` adds row i of A B to the last row of `sum`, which must have enough room.
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
        _ => row_any,
    }
}

/// Adds row i of C, with block sizes known at compile time.
fn row<T: Real, const R: usize, const M: usize, const C: usize>(
    left: &Bsr<T>,
    right: &Bsr<T>,
    i: usize,
    sum: &mut RowSums<T>,
) {
    for (k, a) in left.row(i) {
        let a = &a[..R * M];
        for (j, b) in right.row(k) {
            let (b, c) = (&b[..M * C], &mut sum.block(j as u32, R * C)[..R * C]);
            for y in 0..R {
                let c = &mut c[y * C..(y + 1) * C];
                for x in 0..M {
                    let a = a[y * M + x];
                    c.iter_mut().zip(&b[x * C..(x + 1) * C]).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}

/// Adds row i of C, for any block sizes.
fn row_any<T: Real>(left: &Bsr<T>, right: &Bsr<T>, i: usize, sum: &mut RowSums<T>) {
    let ((r, m), n) = (left.block(), right.block().1);
    for (k, a) in left.row(i) {
        for (j, b) in right.row(k) {
            for (y, c) in sum.block(j as u32, r * n).chunks_exact_mut(n).enumerate() {
                for (x, b) in b.chunks_exact(n).enumerate() {
                    let a = a[y * m + x];
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}
