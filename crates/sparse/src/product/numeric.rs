//! One row of C = A B or C = Aᵀ B: a list of dense products, each added to its target.

use coarsen_core::Real;

use crate::{Bsr, Pattern, TransposePlan};

/// The left factor: a matrix, or the transpose of one read through its plan.
pub(crate) struct Operand<'a, T> {
    pattern: &'a Pattern,
    matrix: &'a Bsr<T>,
    source: Option<&'a [usize]>,
}

impl<'a, T: Real> Operand<'a, T> {
    /// A itself.
    pub(crate) fn plain(a: &'a Bsr<T>) -> Self {
        Self { pattern: a.pattern(), matrix: a, source: None }
    }

    /// Aᵀ, without a copy of its values.
    pub(crate) fn transposed(a: &'a Bsr<T>, plan: &'a TransposePlan) -> Self {
        Self { pattern: plan.pattern(), matrix: a, source: Some(plan.source()) }
    }

    pub(super) fn is_transposed(&self) -> bool {
        self.source.is_some()
    }

    /// Rows and columns of a block, as a factor.
    pub(super) fn block(&self) -> (usize, usize) {
        let (r, c) = self.matrix.block();
        if self.is_transposed() { (c, r) } else { (r, c) }
    }

    /// The block columns of row i and the values as they are stored.
    #[inline(always)]
    fn row(&self, i: usize) -> impl Iterator<Item = (usize, &[T])> {
        let value = |k: usize| self.matrix.value(self.source.map_or(k, |source| source[k]));
        self.pattern.range(i).map(move |k| (self.pattern.indices()[k] as usize, value(k)))
    }
}

/// The kernel for blocks of r x m and m x c: `kernel(left, right, i, targets of row i, values of row i of C)`.
#[allow(clippy::type_complexity)] // the signature says it all, and a name for it would be read no less often
pub(super) fn kernel<T: Real>(
    sizes: (usize, usize, usize),
    transposed: bool,
) -> fn(&Operand<'_, T>, &Bsr<T>, usize, &[u32], &mut [T]) {
    match (sizes, transposed) {
        ((1, 1, 1), _) => row::<T, 1, 1, 1, false>,
        ((3, 3, 3), false) => row::<T, 3, 3, 3, false>, // A P between levels of point blocks
        ((3, 3, 3), true) => row::<T, 3, 3, 3, true>,
        ((3, 3, 6), false) => row::<T, 3, 3, 6, false>, // A P, displacements to rigid-body modes
        ((6, 3, 6), true) => row::<T, 6, 3, 6, true>,   // Pᵀ (A P) there
        ((6, 3, 3), false) => row::<T, 6, 3, 3, false>, // restriction times matrix
        ((3, 6, 6), false) => row::<T, 3, 6, 6, false>, // prolongation times coarse matrix
        ((6, 6, 6), false) => row::<T, 6, 6, 6, false>, // rigid-body modes on all coarser levels
        ((6, 6, 6), true) => row::<T, 6, 6, 6, true>,
        _ => row_any,
    }
}

/// Row i of C with block sizes known to the compiler; TRANSPOSED: blocks of the left factor are stored as M x R.
fn row<T: Real, const R: usize, const M: usize, const C: usize, const TRANSPOSED: bool>(
    left: &Operand<'_, T>,
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
                    let a = if TRANSPOSED { a[x * R + y] } else { a[y * M + x] };
                    c.iter_mut().zip(&b[x * C..(x + 1) * C]).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}

/// The same for any block sizes.
fn row_any<T: Real>(left: &Operand<'_, T>, right: &Bsr<T>, i: usize, targets: &[u32], row: &mut [T]) {
    let ((r, m), n) = (left.block(), right.block().1);
    row.fill(T::zero());
    let mut targets = targets.iter();
    for (k, a) in left.row(i) {
        for ((_, b), &target) in right.row(k).zip(&mut targets) {
            let c = &mut row[target as usize * r * n..][..r * n];
            for (y, c) in c.chunks_exact_mut(n).enumerate() {
                for (x, b) in b.chunks_exact(n).enumerate() {
                    let a = if left.is_transposed() { a[x * r + y] } else { a[y * m + x] };
                    c.iter_mut().zip(b).for_each(|(c, &b)| *c += a * b);
                }
            }
        }
    }
}
