//! One row of C = A B: a list of dense products, each added to its target.

use coarsen_core::Real;

use crate::Bsr;

/// The kernel for blocks of r x m and m x c: `kernel(left, right, i, targets of row i, values of row i of C)`.
#[allow(clippy::type_complexity)] // the signature says it all, and a name for it would be read no less often
pub(super) fn kernel<T: Real>(sizes: (usize, usize, usize)) -> fn(&Bsr<T>, &Bsr<T>, usize, &[u32], &mut [T]) {
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

/// Row i of C with block sizes known to the compiler.
fn row<T: Real, const R: usize, const M: usize, const C: usize>(
    left: &Bsr<T>,
    right: &Bsr<T>,
    i: usize,
    targets: &[u32],
    row: &mut [T],
) {
    row.fill(T::zero());
    let mut targets = targets.iter();
    for (k, a) in left.row(i) {
        let a = &a[..R * M];
        for ((_, b), &target) in right.row(k).zip(&mut targets) {
            let (b, c) = (&b[..M * C], &mut row[target as usize * R * C..][..R * C]);
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

/// The same for any block sizes.
fn row_any<T: Real>(left: &Bsr<T>, right: &Bsr<T>, i: usize, targets: &[u32], row: &mut [T]) {
    let ((r, m), n) = (left.block(), right.block().1);
    row.fill(T::zero());
    let mut targets = targets.iter();
    for (k, a) in left.row(i) {
        for ((_, b), &target) in right.row(k).zip(&mut targets) {
            let c = &mut row[target as usize * r * n..][..r * n];
            for (y, c) in c.chunks_exact_mut(n).enumerate() {
                for (x, b) in b.chunks_exact(n).enumerate() {
                    let a = a[y * m + x];
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}
