//! The loops over the numbers of blocks of a coarse row.

use coarsen_core::Real;
use coarsen_core::simd::Set;

use crate::Bsr;
use crate::product::sums::RowSums;

/// The loops over the numbers of blocks, and the order of these numbers in Q and in sums.
pub(super) trait Loops<T: Real> {
    /// The numbers of a stored block of Q, and of a summed block of A_c.
    fn sizes<S: Set<T>>(&self) -> [usize; 2];

    /// The numbers of entry `at` of P.
    fn of_p(&self, at: usize) -> &[T];

    /// Computes row `fine` of Q = A P.
    fn row_of_q<S: Set<T>>(&self, set: S, a: &Bsr<T>, fine: usize, q: &mut RowSums<T>);

    /// (A_c)_IJ += P_iIᵀ Q_iJ.
    fn add_sum<S: Set<T>>(&self, set: S, p: &[T], q: &[T], c: &mut [T]);

    /// Brings the blocks of a finished coarse row into row-major order; `scratch` is for one block of Q.
    fn in_order(&self, sums: &mut [T], scratch: &mut Vec<T>) {
        let _ = (sums, scratch);
    }
}
