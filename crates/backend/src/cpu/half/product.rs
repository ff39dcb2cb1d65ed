//! Products with A from half of it, for one chunk.
//!
//! SAFETY, of all unsafe code here: as in `kernel.rs`.

use coarsen_core::Real;
use coarsen_core::parallel::Shared;
use coarsen_core::simd::{Kernel, Pack, Set};

use super::couplings::{Outer, give, less, put};
use super::kernel::AHEAD;
use super::layout::Chunk;
use super::matrix::HalfMatrix;

/// The product y = A x, or b − A x, for one chunk.
pub(super) struct Product<'a, V, S> {
    pub(super) of: &'a HalfMatrix<V, S>,
    pub(super) chunk: &'a Chunk,
    pub(super) b: Option<&'a [V]>,
    pub(super) x: &'a [V],
    pub(super) y: Shared<'a, V>,
}

impl<V: Real, S: Real> Kernel<V> for Product<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match self.of.block {
            2 => self.rows::<I, I::Four, 2>(set),
            3 => self.rows::<I, I::Four, 3>(set),
            _ => self.rows::<I, I::Eight, 6>(set),
        }
    }
}

impl<V: Real, S: Real> Product<'_, V, S> {
    #[inline(always)]
    fn rows<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (half, x, y) = (self.of, self.x.as_ptr(), self.y.get());
        // Without b a row computes −A x; signs are changed before it is written and given to other rows.
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of `kernel.rs`; x is not written.
            unsafe {
                let mut s = self.b.map_or([V::zero(); B], |b| half.block_of::<B>(b, i));
                let mut all = 0..0;
                if outer.is(half, i) {
                    all = outer.all(half);
                    less::<V, S, I, P, B, false>(set, half.across(), all.clone(), AHEAD, x, &mut s);
                    outer.at += 1;
                }
                let inner = half.inner(i);
                less::<V, S, I, P, B, true>(set, half.within(), inner.clone(), AHEAD, x, &mut s);
                let mut xi = half.block_of::<B>(self.x, i);
                half.less_diagonal::<I, B>(set, i, &xi, &mut s);
                if self.b.is_none() {
                    for k in 0..B {
                        (s[k], xi[k]) = (-s[k], -xi[k]);
                    }
                }
                put::<V, B>(y, i, &s);
                give::<V, S, I, P, B>(set, half.within(), inner, &xi, y);
                half.give_outer::<I, P, B>(set, all, &xi, y);
            }
        }
    }
}
