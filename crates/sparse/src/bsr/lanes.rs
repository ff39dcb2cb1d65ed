//! A X for eight interleaved columns: entry i of column c is number 8 i + c of one vector. Each number of A is
//! loaded once and multiplies a pack of eight.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{Kernel, Pack, Set, prefetch};
use coarsen_core::small_dense::Scratch;

use super::Bsr;
use super::multiply::Then;

/// The number of columns that one vector interleaves: the lanes of a pack.
///
/// [`Bsr::row_products`] accepts vectors of 8 n numbers beside vectors of n: eight columns, of which entry i of
/// column c is number 8 i + c. It reads the rows once. The results equal those of separate products to round-off.
/// Backends build products with interleaved columns on it; all other products of a [`Bsr`] have one column per vector.
pub const COLUMNS: usize = 8;

/// The number of scalar rows whose products are buffered.
const BATCH: usize = 24;

/// How far ahead the matrix is prefetched, in bytes: one page, as in `row.rs`.
const AHEAD: usize = 4096;

/// Multiplies some block rows with eight columns; see [`Bsr::row_products`].
pub(super) struct LaneProducts<'a, T, V> {
    pub(super) a: &'a Bsr<T>,
    pub(super) rows: Range<usize>,
    pub(super) x: &'a [V],
    pub(super) then: Then<'a, V>,
}

impl<T: Real, V: Real> LaneProducts<'_, T, V> {
    /// The kernel for blocks of R x C, with R and C known at compile time.
    #[inline(always)]
    fn fixed<I: Set<V>, const R: usize, const C: usize>(self, set: I) {
        let pattern = self.a.pattern();
        assert!(self.a.block == (R, C) && self.x.len() == pattern.columns() * C * COLUMNS);
        const { assert!(BATCH.is_multiple_of(R) && <I::Eight as Pack<V>>::LANES == COLUMNS) };
        let offsets = &pattern.offsets()[self.rows.start..=self.rows.end];
        let mut ax = [V::zero(); BATCH * COLUMNS];
        let (rows, mut first, all) = (offsets.len() - 1, 0, self.a.values.as_ptr());
        while first < rows {
            let batch = (rows - first).min(BATCH / R);
            for k in 0..batch {
                let mut sums = [I::Eight::zero(set); R];
                // SAFETY: offsets rise up to indices.len(), values.len() = indices.len() · R · C (Bsr::new), and
                // every column is below pattern.columns() (Pattern::new), so 8 (C j + C) ≤ x.len(), asserted above.
                // `ax` has 8 BATCH numbers, and k R + R ≤ BATCH.
                unsafe {
                    for at in *offsets.get_unchecked(first + k)..*offsets.get_unchecked(first + k + 1) {
                        let j = *pattern.indices().get_unchecked(at) as usize;
                        let a = all.add(at * R * C);
                        let x = self.x.as_ptr().add(j * C * COLUMNS);
                        prefetch(a.wrapping_byte_add(AHEAD));
                        for c in 0..C {
                            let x = I::Eight::load(set, x.add(c * COLUMNS));
                            for r in 0..R {
                                let a = I::Eight::splat(set, (*a.add(r * C + c)).to());
                                sums[r] = a.mul_add(x, sums[r]);
                            }
                        }
                    }
                    for r in 0..R {
                        sums[r].store(ax.as_mut_ptr().add((k * R + r) * COLUMNS));
                    }
                }
            }
            (self.then)(first * R * COLUMNS, &ax[..batch * R * COLUMNS]);
            first += batch;
        }
    }

    /// The kernel for any block size. The sums of a row are on the stack for blocks of up to 12 rows.
    #[inline(always)]
    fn any<I: Set<V>>(self, set: I) {
        let (height, width) = self.a.block;
        let mut memory = Scratch::<V, { 12 * COLUMNS }>::new(height * COLUMNS);
        let ax = memory.values();
        for (k, i) in self.rows.enumerate() {
            ax.fill(V::zero());
            for (j, block) in self.a.row(i) {
                let x = &self.x[j * width * COLUMNS..(j + 1) * width * COLUMNS];
                for (ax, row) in ax.chunks_exact_mut(COLUMNS).zip(block.chunks_exact(width)) {
                    // SAFETY: `ax` has eight numbers.
                    let mut sum = unsafe { I::Eight::load(set, ax.as_ptr()) };
                    for (a, x) in row.iter().zip(x.chunks_exact(COLUMNS)) {
                        // SAFETY: x has eight numbers.
                        let x = unsafe { I::Eight::load(set, x.as_ptr()) };
                        sum = I::Eight::splat(set, a.to()).mul_add(x, sum);
                    }
                    // SAFETY: `ax` has eight numbers.
                    unsafe { sum.store(ax.as_mut_ptr()) };
                }
            }
            (self.then)(k * height * COLUMNS, ax);
        }
    }
}

impl<T: Real, V: Real> Kernel<V> for LaneProducts<'_, T, V> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.a.block {
            (1, 1) => self.fixed::<I, 1, 1>(set),
            (2, 2) => self.fixed::<I, 2, 2>(set),
            (3, 3) => self.fixed::<I, 3, 3>(set),
            (3, 6) => self.fixed::<I, 3, 6>(set),
            (6, 3) => self.fixed::<I, 6, 3>(set),
            (6, 6) => self.fixed::<I, 6, 6>(set),
            _ => self.any(set),
        }
    }
}
