//! Products with A from half of it, for one chunk.
//!
//! SAFETY, of all unsafe code here: as in `kernel.rs`.

use coarsen_core::Real;
use coarsen_core::parallel::Shared;
use coarsen_core::simd::{Kernel, Set};

use super::columns::{Columns, Eight, One};
use super::couplings::Outer;
use super::kernel::AHEAD;
use super::layout::Chunk;
use super::matrix::HalfMatrix;

/// The product y = A x, or b − A x, for one chunk.
pub(super) struct Product<'a, V, S> {
    pub(super) of: &'a HalfMatrix<V, S>,
    pub(super) chunk: &'a Chunk,
    /// 1, or 8 if the vectors interleave columns.
    pub(super) columns: usize,
    pub(super) b: Option<&'a [V]>,
    pub(super) x: &'a [V],
    pub(super) y: Shared<'a, V>,
}

impl<V: Real, S: Real> Kernel<V> for Product<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match (self.columns, self.of.block) {
            (1, 2) => self.rows::<I, One<I::Four>, 2>(set),
            (1, 3) => self.rows::<I, One<I::Four>, 3>(set),
            (1, _) => self.rows::<I, One<I::Eight>, 6>(set),
            (_, 2) => self.rows::<I, Eight, 2>(set),
            (_, 3) => self.rows::<I, Eight, 3>(set),
            _ => self.rows::<I, Eight, 6>(set),
        }
    }
}

impl<V: Real, S: Real> Product<'_, V, S> {
    #[inline(always)]
    fn rows<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, y) = (self.of, self.x.as_ptr(), self.y.get());
        // Without b a row computes −A x; signs are changed before it is written and given to other rows.
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of `kernel.rs`; x is not written.
            unsafe {
                let mut s = match self.b {
                    Some(b) => C::get(set, b.as_ptr(), i),
                    None => C::zero(set),
                };
                let mut all = 0..0;
                if outer.is(half, i) {
                    all = outer.all(half);
                    C::less::<S, false>(set, half.across(), all.clone(), AHEAD, x, &mut s);
                    outer.at += 1;
                }
                let inner = half.inner(i);
                C::less::<S, true>(set, half.within(), inner.clone(), AHEAD, x, &mut s);
                let mut xi = C::get(set, x, i);
                C::less_diagonal(set, half.diagonal::<B>(i), &xi, &mut s);
                if self.b.is_none() {
                    (s, xi) = (C::times(set, -V::one(), &s), C::times(set, -V::one(), &xi));
                }
                C::put(y, i, &s);
                C::give(set, half.within(), inner, &xi, y);
                half.give_outer::<I, C, B>(set, all, &xi, y);
            }
        }
    }
}
