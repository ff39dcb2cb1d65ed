//! The couplings and the diagonal of one row.
//!
//! SAFETY, of all unsafe code here: as in `kernel.rs`.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::Set;

use super::columns::Columns;
use super::matrix::HalfMatrix;

/// A position in the list of outer rows.
pub(super) struct Outer {
    pub(super) at: usize,
}

impl Outer {
    /// Whether row i is the next outer row.
    #[inline(always)]
    pub(super) fn is<V, S>(&self, half: &HalfMatrix<V, S>, i: usize) -> bool {
        half.layout.outer_rows.get(self.at).is_some_and(|&row| row as usize == i)
    }

    #[inline(always)]
    pub(super) fn from<V, S>(&self, half: &HalfMatrix<V, S>) -> usize {
        half.layout.outer[self.at] as usize
    }

    #[inline(always)]
    pub(super) fn all<V, S>(&self, half: &HalfMatrix<V, S>) -> Range<usize> {
        self.from(half)..half.layout.outer[self.at + 1] as usize
    }
}

impl<V: Real, S: Real> HalfMatrix<V, S> {
    /// Returns the positions of the inner couplings of row i.
    #[inline(always)]
    pub(super) fn inner(&self, i: usize) -> Range<usize> {
        self.layout.inner[i] as usize..self.layout.inner[i + 1] as usize
    }

    /// Returns D_i.
    #[inline(always)]
    pub(super) fn diagonal<const B: usize>(&self, i: usize) -> &[S] {
        &self.diagonal[i * B * B..(i + 1) * B * B]
    }

    /// Returns D_i⁻¹.
    #[inline(always)]
    pub(super) fn inverse<const B: usize>(&self, i: usize) -> &[S] {
        &self.inverses[i * B * B..(i + 1) * B * B]
    }

    /// Returns the blocks and columns of the inner couplings.
    #[inline(always)]
    pub(super) fn within(&self) -> (&[S], &[u32]) {
        (&self.inner, &self.layout.inner_columns)
    }

    /// Returns the blocks and columns of the outer couplings.
    #[inline(always)]
    pub(super) fn across(&self) -> (&[S], &[u32]) {
        (&self.outer, &self.layout.outer_columns)
    }

    /// Computes t_j −= A_ijᵀ x_i over outer couplings, if they are stored once.
    #[inline(always)]
    pub(super) unsafe fn give_outer<I: Set<V>, C: Columns<V, I, B>, const B: usize>(
        &self,
        set: I,
        places: Range<usize>,
        xi: &C::Block,
        t: *mut V,
    ) {
        if self.layout.once {
            // SAFETY: see the top of `kernel.rs`.
            unsafe { C::give(set, self.across(), places, xi, t) };
        }
    }
}
