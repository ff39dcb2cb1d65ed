//! Contributions of the couplings of one row to its own sum and to other rows.
//!
//! SAFETY, of all unsafe code here: as in `kernel.rs`.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set, prefetch};

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

    #[inline(always)]
    pub(super) fn block_of<const B: usize>(&self, v: &[V], i: usize) -> [V; B] {
        let mut block = [V::zero(); B];
        block.copy_from_slice(&v[i * B..(i + 1) * B]);
        block
    }

    /// Computes s −= D_i x_i.
    #[inline(always)]
    pub(super) fn less_diagonal<I: Set<V>, const B: usize>(
        &self,
        set: I,
        i: usize,
        xi: &[V; B],
        s: &mut [V; B],
    ) {
        let dx = multiply::<V, S, I, B>(set, &self.diagonal[i * B * B..(i + 1) * B * B], xi);
        for k in 0..B {
            s[k] -= dx[k];
        }
    }

    /// Returns D_i⁻¹ s. D_i⁻¹ is symmetric, so its rows are added up as columns.
    #[inline(always)]
    pub(super) fn solve<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        i: usize,
        s: &[V; B],
    ) -> P {
        let d = &self.inverses[i * B * B..(i + 1) * B * B];
        let mut product = P::zero(set);
        for k in 0..B {
            // SAFETY: row k has B values.
            let row = unsafe { P::load_first::<S, B>(set, d[k * B..].as_ptr()) };
            product = row.mul_add(P::splat(set, s[k]), product);
        }
        product
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
    pub(super) unsafe fn give_outer<I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
        &self,
        set: I,
        places: Range<usize>,
        xi: &[V; B],
        t: *mut V,
    ) {
        if self.layout.once {
            // SAFETY: see the top of `kernel.rs`.
            unsafe { give::<V, S, I, P, B>(set, self.across(), places, xi, t) };
        }
    }
}

/// Computes s −= Σ A_ij x_j over the couplings at `places` of the blocks and columns; `ahead` is the prefetch distance in
/// bytes, negative in a backward sweep. Works like [`coarsen_sparse::row_product`], which prefetches only forward.
///
/// `BEYOND` allows reading past a block of x but the last one: for inner couplings, where another block of the chunk
/// follows. Past a block of an outer coupling another thread may write.
#[inline(always)]
pub(super) unsafe fn less<
    V: Real,
    S: Real,
    I: Set<V>,
    P: Pack<V, Set = I>,
    const B: usize,
    const BEYOND: bool,
>(
    set: I,
    (values, columns): (&[S], &[u32]),
    places: Range<usize>,
    ahead: isize,
    x: *const V,
    s: &mut [V; B],
) {
    let columns = &columns[places.clone()];
    let Some((&last, others)) = columns.split_last() else { return };
    let mut sums = [P::zero(set); B];
    // SAFETY: see the top of `kernel.rs`. Every block of A except the last is followed by another block.
    unsafe {
        let values = values.as_ptr().add(places.start * B * B);
        prefetch(columns.as_ptr().wrapping_byte_offset(ahead));
        for (k, &j) in others.iter().enumerate() {
            let x = x.add(j as usize * B);
            let x = if BEYOND { P::load(set, x) } else { P::load_first::<V, B>(set, x) };
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

/// Computes t_j −= A_ijᵀ x_i over the couplings at `places` of the blocks and columns.
#[inline(always)]
pub(super) unsafe fn give<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
    set: I,
    (values, columns): (&[S], &[u32]),
    places: Range<usize>,
    xi: &[V; B],
    t: *mut V,
) {
    let columns = &columns[places.clone()];
    let Some((&last, others)) = columns.split_last() else { return };
    // SAFETY: see the top of `kernel.rs`. A pack of A reads beyond its block into the next block, which exists
    // for every block except the last.
    unsafe {
        let values = values.as_ptr().add(places.start * B * B);
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

/// Returns M v.
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

/// Returns block i of a vector.
///
/// # Safety
/// The block must exist, and no other thread may write it.
#[inline(always)]
pub(super) unsafe fn get<V: Real, const B: usize>(v: *mut V, i: usize) -> [V; B] {
    let mut block = [V::zero(); B];
    for k in 0..B {
        // SAFETY: by the contract of this function.
        block[k] = unsafe { *v.add(i * B + k) };
    }
    block
}

/// Writes block i of a vector.
///
/// # Safety
/// The block must exist, and no other thread may read or write it.
#[inline(always)]
pub(super) unsafe fn put<V: Real, const B: usize>(v: *mut V, i: usize, block: &[V; B]) {
    for k in 0..B {
        // SAFETY: by the contract of this function.
        unsafe { *v.add(i * B + k) = block[k] };
    }
}
