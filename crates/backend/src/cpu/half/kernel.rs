//! The rows of a chunk: what each pass reads and writes.
//!
//! SAFETY, of all unsafe code here: a chunk writes rows of its own alone; it reads its own rows, and rows of other sets that nobody writes meanwhile, since chunks
//! of one set are not coupled ([`RowSets::chunked`](crate::RowSets::chunked)). Columns are those of the pattern, which is square, and vectors have a block for each; values
//! have b² numbers a column ([`Layout::fill`](super::Layout)). Inner columns rise and lie in the chunk below their row.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::Shared;
use coarsen_core::simd::{Kernel, Pack, Set, prefetch};

use super::{Chunk, HalfSweeps};

/// Block sizes with a kernel. Single entries take more instructions so than memory would take time: whole rows are faster.
pub(super) const BLOCKS: [usize; 3] = [2, 3, 6];

/// How far ahead of its use the matrix is asked for, in bytes.
const AHEAD: isize = 2048;

/// What is done with the rows of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// x = (D/ω + L)⁻¹ b from x = 0.
    Alone,
    /// The same, and r without what later sets give.
    Start,
    /// r less what later sets give.
    Later,
    /// r = b − Lᵀ x inside the chunk.
    Upper,
    /// A forward sweep after `Upper`.
    Forward,
    /// A backward sweep; r is room.
    Backward,
}

/// One pass over one chunk.
pub(super) struct Task<'a, V, S> {
    pub(super) of: &'a HalfSweeps<V, S>,
    pub(super) chunk: &'a Chunk,
    pub(super) pass: Pass,
    pub(super) omega: V,
    pub(super) b: &'a [V],
    pub(super) x: Shared<'a, V>,
    pub(super) r: Shared<'a, V>,
}

impl<V: Real, S: Real> Kernel<V> for Task<'_, V, S> {
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

impl<V: Real, S: Real> Task<'_, V, S> {
    #[inline(always)]
    fn rows<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        match self.pass {
            Pass::Alone | Pass::Start => self.start::<I, P, B>(set),
            Pass::Later => self.later::<I, B>(set),
            Pass::Upper => self.upper::<I, P, B>(set),
            Pass::Forward => self.forward::<I, P, B>(set),
            Pass::Backward => self.backward::<I, P, B>(set),
        }
    }

    #[inline(always)]
    fn start<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = half.block_of::<B>(self.b, i);
                if outer.is(half, i) {
                    let (from, later) = (outer.from(half), half.layout.later[outer.at] as usize);
                    half.less_outer::<I, B>(set, from..later, x, &mut s);
                    outer.at += 1;
                }
                let inner = half.inner(i);
                half.less_inner::<I, P, B>(set, inner.clone(), AHEAD, x, &mut s);
                let mut scaled = s;
                for v in &mut scaled {
                    *v *= self.omega;
                }
                half.solve::<I, P, B>(set, i, &scaled).store_first::<B>(x.add(i * B));
                if self.pass == Pass::Alone {
                    continue;
                }
                half.less_diagonal::<I, B>(set, i, &get::<V, B>(x, i), &mut s);
                put::<V, B>(r, i, &s);
                half.give::<I, P, B>(set, inner, &get::<V, B>(x, i), r);
            }
        }
    }

    #[inline(always)]
    fn later<I: Set<V>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        for at in self.chunk.outer.clone() {
            let i = half.layout.outer_rows[at] as usize;
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = get::<V, B>(r, i);
                let later = half.layout.later[at] as usize..half.layout.outer[at + 1] as usize;
                half.less_outer::<I, B>(set, later, x, &mut s);
                put::<V, B>(r, i, &s);
            }
        }
    }

    #[inline(always)]
    fn upper<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                put::<V, B>(r, i, &half.block_of::<B>(self.b, i));
                half.give::<I, P, B>(set, half.inner(i), &get::<V, B>(x, i), r);
            }
        }
    }

    #[inline(always)]
    fn forward<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (half, x, r) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file.
            unsafe {
                let mut s = get::<V, B>(r, i);
                if outer.is(half, i) {
                    half.less_outer::<I, B>(set, outer.all(half), x, &mut s);
                    outer.at += 1;
                }
                half.less_inner::<I, P, B>(set, half.inner(i), AHEAD, x, &mut s);
                self.relax::<I, P, B>(set, i, &s, x);
            }
        }
    }

    #[inline(always)]
    fn backward<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I) {
        let (half, x, t) = (self.of, self.x.get(), self.r.get());
        let mut outer = Outer { at: self.chunk.outer.end };
        let mut begun = self.chunk.rows.end; // rows of t from here on hold b less what is given
        for k in 0..self.chunk.rows.len() {
            // Not an iterator: its closure would be compiled apart, without the instructions of the set.
            let i = self.chunk.rows.end - 1 - k;
            // SAFETY: see the top of this file.
            unsafe {
                let inner = half.inner(i);
                let lowest = half.layout.inner_columns[inner.clone()].first().map_or(i, |&j| j as usize);
                while begun > lowest {
                    begun -= 1;
                    let b = self.b[begun * B..(begun + 1) * B].as_ptr();
                    P::load_first::<V, B>(set, b).store_first::<B>(t.add(begun * B));
                }
                let mut s = get::<V, B>(t, i);
                if outer.at > self.chunk.outer.start && (Outer { at: outer.at - 1 }).is(half, i) {
                    outer.at -= 1;
                    half.less_outer::<I, B>(set, outer.all(half), x, &mut s);
                }
                half.less_inner::<I, P, B>(set, inner.clone(), -AHEAD, x, &mut s);
                self.relax::<I, P, B>(set, i, &s, x);
                half.give::<I, P, B>(set, inner, &get::<V, B>(x, i), t);
            }
        }
    }

    /// x_i ← x_i + ω D⁻¹ (s − D x_i), s being b less all couplings of row i: what D⁻¹ loses by being rounded is not taken for a solution.
    #[inline(always)]
    unsafe fn relax<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        i: usize,
        s: &[V; B],
        x: *mut V,
    ) {
        let mut s = *s;
        // SAFETY: see the top of this file.
        unsafe {
            self.of.less_diagonal::<I, B>(set, i, &get::<V, B>(x, i), &mut s);
            let x = x.add(i * B);
            let step = self.of.solve::<I, P, B>(set, i, &s);
            step.mul_add(P::splat(set, self.omega), P::load_first::<V, B>(set, x)).store_first::<B>(x);
        }
    }
}

/// y = A x, or b − A x, for one chunk.
pub(super) struct Product<'a, V, S> {
    pub(super) of: &'a HalfSweeps<V, S>,
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
        // Rows give −A x, which is turned where there is no b.
        let mut outer = Outer { at: self.chunk.outer.start };
        for i in self.chunk.rows.clone() {
            // SAFETY: see the top of this file; nobody writes x.
            unsafe {
                let mut s = self.b.map_or([V::zero(); B], |b| half.block_of::<B>(b, i));
                if outer.is(half, i) {
                    half.less_outer::<I, B>(set, outer.all(half), x, &mut s);
                    outer.at += 1;
                }
                let inner = half.inner(i);
                half.less_inner::<I, P, B>(set, inner.clone(), AHEAD, x, &mut s);
                let xi = half.block_of::<B>(self.x, i);
                half.less_diagonal::<I, B>(set, i, &xi, &mut s);
                put::<V, B>(y, i, &s);
                half.give::<I, P, B>(set, inner, &xi, y);
            }
        }
        if self.b.is_none() {
            for i in self.chunk.rows.start * B..self.chunk.rows.end * B {
                // SAFETY: see the top of this file.
                unsafe { *y.add(i) = -*y.add(i) };
            }
        }
    }
}

/// Which of the outer rows comes next.
struct Outer {
    at: usize,
}

impl Outer {
    /// Whether row i is it.
    #[inline(always)]
    fn is<V, S>(&self, half: &HalfSweeps<V, S>, i: usize) -> bool {
        half.layout.outer_rows.get(self.at).is_some_and(|&row| row as usize == i)
    }

    #[inline(always)]
    fn from<V, S>(&self, half: &HalfSweeps<V, S>) -> usize {
        half.layout.outer[self.at] as usize
    }

    #[inline(always)]
    fn all<V, S>(&self, half: &HalfSweeps<V, S>) -> Range<usize> {
        self.from(half)..half.layout.outer[self.at + 1] as usize
    }
}

impl<V: Real, S: Real> HalfSweeps<V, S> {
    /// Places of the inner couplings of row i.
    #[inline(always)]
    fn inner(&self, i: usize) -> Range<usize> {
        self.layout.inner[i] as usize..self.layout.inner[i + 1] as usize
    }

    #[inline(always)]
    fn block_of<const B: usize>(&self, v: &[V], i: usize) -> [V; B] {
        let mut block = [V::zero(); B];
        block.copy_from_slice(&v[i * B..(i + 1) * B]);
        block
    }

    /// s −= D_i x_i.
    #[inline(always)]
    fn less_diagonal<I: Set<V>, const B: usize>(&self, set: I, i: usize, xi: &[V; B], s: &mut [V; B]) {
        let dx = multiply::<V, S, I, B>(set, &self.diagonal[i * B * B..(i + 1) * B * B], xi);
        for k in 0..B {
            s[k] -= dx[k];
        }
    }

    /// D_i⁻¹ s; the inverse of a symmetric block is so too, and its rows are added up as columns.
    #[inline(always)]
    fn solve<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(&self, set: I, i: usize, s: &[V; B]) -> P {
        let d = &self.inverses[i * B * B..(i + 1) * B * B];
        let mut product = P::zero(set);
        for k in 0..B {
            // SAFETY: row k has B values.
            let row = unsafe { P::load_first::<S, B>(set, d[k * B..].as_ptr()) };
            product = row.mul_add(P::splat(set, s[k]), product);
        }
        product
    }

    /// s −= Σ A_ij x_j over outer couplings.
    #[inline(always)]
    unsafe fn less_outer<I: Set<V>, const B: usize>(
        &self,
        set: I,
        places: Range<usize>,
        x: *const V,
        s: &mut [V; B],
    ) {
        for k in places {
            let j = self.layout.outer_columns[k] as usize;
            // SAFETY: see the top of this file.
            let xj = unsafe { get::<V, B>(x.cast_mut(), j) };
            let ax = multiply::<V, S, I, B>(set, &self.outer[k * B * B..(k + 1) * B * B], &xj);
            for c in 0..B {
                s[c] -= ax[c];
            }
        }
    }

    /// s −= Σ A_ij x_j over inner couplings; `ahead` says how far, in bytes, a sweep of this direction will be soon.
    ///
    /// As [`coarsen_sparse::row_product`], but that reads forward only.
    #[inline(always)]
    unsafe fn less_inner<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        places: Range<usize>,
        ahead: isize,
        x: *const V,
        s: &mut [V; B],
    ) {
        let columns = &self.layout.inner_columns[places.clone()];
        let Some((&last, others)) = columns.split_last() else { return };
        let mut sums = [P::zero(set); B];
        // SAFETY: see the top of this file. What follows a block of x or A, but for the last, is another block of this chunk.
        unsafe {
            let values = self.inner.as_ptr().add(places.start * B * B);
            prefetch(columns.as_ptr().wrapping_byte_offset(ahead));
            for (k, &j) in others.iter().enumerate() {
                let x = P::load(set, x.add(j as usize * B));
                prefetch(values.add(k * B * B).wrapping_byte_offset(ahead));
                for r in 0..B {
                    sums[r] = P::load(set, values.add((k * B + r) * B)).mul_add(x, sums[r]);
                }
            }
            let (x, k) = (P::load_first::<V, B>(set, x.add(last as usize * B)), others.len());
            prefetch(values.add(k * B * B).wrapping_byte_offset(ahead));
            for r in 0..B {
                sums[r] = P::load_first::<S, B>(set, values.add((k * B + r) * B)).mul_add(x, sums[r]);
            }
        }
        for r in 0..B {
            s[r] -= sums[r].sum_first::<B>();
        }
    }

    /// t_j −= A_ijᵀ x_i over inner couplings.
    #[inline(always)]
    unsafe fn give<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        places: Range<usize>,
        xi: &[V; B],
        t: *mut V,
    ) {
        let columns = &self.layout.inner_columns[places.clone()];
        let Some((&last, others)) = columns.split_last() else { return };
        // SAFETY: see the top of this file. A pack reads into the block after it, which is there but for the last.
        unsafe {
            let values = self.inner.as_ptr().add(places.start * B * B);
            let mut less = [P::zero(set); B];
            for r in 0..B {
                less[r] = P::splat(set, -xi[r]);
            }
            for (k, &j) in others.iter().enumerate() {
                let t = t.add(j as usize * B);
                let mut sum = P::load_first::<V, B>(set, t);
                for r in 0..B {
                    sum = P::load(set, values.add((k * B + r) * B)).mul_add(less[r], sum);
                }
                sum.store_first::<B>(t);
            }
            let (t, k) = (t.add(last as usize * B), others.len());
            let mut sum = P::load_first::<V, B>(set, t);
            for r in 0..B {
                sum = P::load_first::<S, B>(set, values.add((k * B + r) * B)).mul_add(less[r], sum);
            }
            sum.store_first::<B>(t);
        }
    }
}

/// M v.
#[inline(always)]
fn multiply<V: Real, S: Real, I: Set<V>, const B: usize>(set: I, m: &[S], v: &[V; B]) -> [V; B] {
    let mut product = [V::zero(); B];
    for k in 0..B {
        for c in 0..B {
            product[k] = set.mul_add(m[k * B + c].to(), v[c], product[k]);
        }
    }
    product
}

/// Block i of a vector.
///
/// # Safety
/// It is there, and nobody writes it.
#[inline(always)]
unsafe fn get<V: Real, const B: usize>(v: *mut V, i: usize) -> [V; B] {
    let mut block = [V::zero(); B];
    for k in 0..B {
        // SAFETY: as the caller promises.
        block[k] = unsafe { *v.add(i * B + k) };
    }
    block
}

/// Writes block i of a vector.
///
/// # Safety
/// It is there, and nobody else reads or writes it.
#[inline(always)]
unsafe fn put<V: Real, const B: usize>(v: *mut V, i: usize, block: &[V; B]) {
    for k in 0..B {
        // SAFETY: as the caller promises.
        unsafe { *v.add(i * B + k) = block[k] };
    }
}
