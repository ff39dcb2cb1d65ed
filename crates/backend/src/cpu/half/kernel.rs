//! Passes over the rows of a chunk.
//!
//! SAFETY, of all unsafe code here: a chunk reads and writes its own rows, and it reads rows of other sets.
//! Those are not written at the same time, because chunks of one set are not coupled
//! ([`RowSets::chunked`](crate::RowSets::chunked)). If outer couplings are stored once, a chunk of the second
//! set also writes the rows of r in the first set that are coupled to it. No other chunk of its set reads or
//! writes them ([`Layout::once`](super::layout::Layout)). Columns are columns of the pattern, which is square.
//! A vector has a block for each column of the pattern, or eight if it interleaves eight columns. Values have b²
//! numbers per column of the pattern ([`Layout::fill`](super::layout::Layout)). The inner columns of a row increase,
//! lie in its chunk and are smaller than the row.

use coarsen_core::Real;
use coarsen_core::parallel::Shared;
use coarsen_core::simd::{Kernel, Set};

use super::columns::{Columns, Eight, One};
use super::couplings::Outer;
use super::layout::Chunk;
use super::matrix::HalfMatrix;

/// The block sizes with a kernel. For 1x1 blocks sweeps over whole rows are faster: half storage costs more
/// time for instructions than it saves in memory traffic.
pub(super) const BLOCKS: [usize; 3] = [2, 3, 6];

/// The prefetch distance of matrix values, in bytes.
pub(super) const AHEAD: isize = 2048;

/// The operation on the rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// x = (D/ω + L)⁻¹ b from x = 0.
    Alone,
    /// As `Alone`, and computes r without the couplings to later sets, unless they are stored once.
    Start,
    /// Subtracts the couplings to later sets from r.
    Later,
    /// r = b − Lᵀ x over the couplings that are stored once.
    Upper,
    /// A forward sweep after `Upper`.
    Forward,
    /// A backward sweep; r is workspace, and equals b if outer couplings are stored once.
    Backward,
}

/// One pass over one chunk.
pub(super) struct Task<'a, V, S> {
    pub(super) of: &'a HalfMatrix<V, S>,
    pub(super) chunk: &'a Chunk,
    pub(super) pass: Pass,
    /// 1, or 8 if the vectors interleave columns.
    pub(super) columns: usize,
    pub(super) omega: V,
    pub(super) b: &'a [V],
    pub(super) x: Shared<'a, V>,
    pub(super) r: Shared<'a, V>,
}

impl<V: Real, S: Real> Kernel<V> for Task<'_, V, S> {
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

impl<V: Real, S: Real> Task<'_, V, S> {
    #[inline(always)]
    fn rows<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        match self.pass {
            Pass::Alone | Pass::Start => self.start::<I, C, B>(set),
            Pass::Later => self.later::<I, C, B>(set),
            Pass::Upper => self.upper::<I, C, B>(set),
            Pass::Forward => self.forward::<I, C, B>(set),
            Pass::Backward => self.backward::<I, C, B>(set),
        }
    }

    #[inline(always)]
    fn start<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = C::get(set, self.b.as_ptr(), i);
                let mut earlier = 0..0;
                if outer.is(half, i) {
                    earlier = outer.from(half)..half.layout.later[outer.at] as usize;
                    C::less::<S, false>(set, half.across(), earlier.clone(), AHEAD, x, &mut s);
                    outer.at += 1;
                }
                let inner = half.inner(i);
                C::less::<S, true>(set, half.within(), inner.clone(), AHEAD, x, &mut s);
                let scaled = C::times(set, self.omega, &s);
                C::solve(set, half.inverse::<B>(i), &scaled, x, i);
                if self.pass == Pass::Alone {
                    continue;
                }
                C::less_diagonal(set, half.diagonal::<B>(i), &C::get(set, x, i), &mut s);
                C::put(r, i, &s);
                C::give(set, half.within(), inner, &C::get(set, x, i), r);
                half.give_outer::<I, C, B>(set, earlier, &C::get(set, x, i), r);
            }
        }
    }

    #[inline(always)]
    fn later<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        for at in self.chunk.outer.clone() {
            let i = half.layout.outer_rows[at] as usize;
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = C::get(set, r, i);
                let later = half.layout.later[at] as usize..half.layout.outer[at + 1] as usize;
                C::less::<S, false>(set, half.across(), later, AHEAD, x, &mut s);
                C::put(r, i, &s);
            }
        }
    }

    #[inline(always)]
    fn upper<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                C::put(r, i, &C::get(set, self.b.as_ptr(), i));
                C::give(set, half.within(), half.inner(i), &C::get(set, x, i), r);
                if outer.is(half, i) {
                    half.give_outer::<I, C, B>(set, outer.all(half), &C::get(set, x, i), r);
                    outer.at += 1;
                }
            }
        }
    }

    #[inline(always)]
    fn forward<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = C::get(set, r, i);
                if outer.is(half, i) {
                    C::less::<S, false>(set, half.across(), outer.all(half), AHEAD, x, &mut s);
                    outer.at += 1;
                }
                C::less::<S, true>(set, half.within(), half.inner(i), AHEAD, x, &mut s);
                self.relax::<I, C, B>(set, i, &s, x);
            }
        }
    }

    #[inline(always)]
    fn backward<I: Set<V>, C: Columns<V, I, B>, const B: usize>(&self, set: I) {
        let (half, x, t) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.end };
        // t is initialised from this row on.
        let mut begun = if half.layout.once { self.chunk.rows.start } else { self.chunk.rows.end };
        for k in 0..self.chunk.rows.len() {
            // Not an iterator: its closure would be compiled as a separate function, without the instructions
            // of the set.
            let i = self.chunk.rows.end - 1 - k;
            // SAFETY: see the top of this file.
            unsafe {
                let inner = half.inner(i);
                let lowest = half.layout.inner_columns[inner.clone()].first().map_or(i, |&j| j as usize);
                while begun > lowest {
                    begun -= 1;
                    C::put(t, begun, &C::get(set, self.b.as_ptr(), begun));
                }
                let (mut s, mut all) = (C::get(set, t, i), 0..0);
                if outer.at > self.chunk.outer.start && (Outer { at: outer.at - 1 }).is(half, i) {
                    outer.at -= 1;
                    all = outer.all(half);
                    C::less::<S, false>(set, half.across(), all.clone(), -AHEAD, x, &mut s);
                }
                C::less::<S, true>(set, half.within(), inner.clone(), -AHEAD, x, &mut s);
                self.relax::<I, C, B>(set, i, &s, x);
                C::give(set, half.within(), inner, &C::get(set, x, i), t);
                half.give_outer::<I, C, B>(set, all, &C::get(set, x, i), t);
            }
        }
    }

    /// Computes x_i ← x_i + ω D⁻¹ (s − D x_i), where s is b minus all other couplings of row i. In this form
    /// the rounding of D⁻¹ does not change the fixed point.
    #[inline(always)]
    unsafe fn relax<I: Set<V>, C: Columns<V, I, B>, const B: usize>(
        &self,
        set: I,
        i: usize,
        s: &C::Block,
        x: *mut V,
    ) {
        let mut s = *s;
        // SAFETY: see the top of this file.
        unsafe {
            C::less_diagonal(set, self.of.diagonal::<B>(i), &C::get(set, x, i), &mut s);
            C::add_solve(set, self.of.inverse::<B>(i), &s, self.omega, x, i);
        }
    }
}
