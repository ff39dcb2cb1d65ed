//! A block row of a vector that has one column, or eight interleaved columns, and what a row of A does with it.
//!
//! One column has a pack of lanes along the unknowns of a node; eight columns have a pack for each unknown.
//!
//! SAFETY, of all unsafe code here: as in `kernel.rs`.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::simd::{Pack, Set, prefetch};
use coarsen_sparse::COLUMNS;

/// The couplings of rows: blocks and their columns.
pub(super) type Couplings<'a, S> = (&'a [S], &'a [u32]);

/// The columns of a vector with blocks of B unknowns.
///
/// # Safety
/// For every unsafe function: the blocks must exist, and no other thread may write those that are read, nor read those
/// that are written. Blocks and columns are as at the top of `kernel.rs`.
pub(super) trait Columns<V: Real, I: Set<V>, const B: usize> {
    /// The entries of a node.
    type Block: Copy;

    /// Returns a block of zeros.
    fn zero(set: I) -> Self::Block;

    /// Returns block i of a vector.
    unsafe fn get(set: I, v: *const V, i: usize) -> Self::Block;

    /// Writes block i of a vector.
    unsafe fn put(v: *mut V, i: usize, block: &Self::Block);

    /// Returns a times a block.
    fn times(set: I, a: V, block: &Self::Block) -> Self::Block;

    /// Computes s −= D x.
    fn less_diagonal<S: Real>(set: I, d: &[S], x: &Self::Block, s: &mut Self::Block);

    /// Writes D⁻¹ s to block i of x. D⁻¹ is symmetric.
    unsafe fn solve<S: Real>(set: I, d: &[S], s: &Self::Block, x: *mut V, i: usize);

    /// Adds ω D⁻¹ s to block i of x.
    unsafe fn add_solve<S: Real>(set: I, d: &[S], s: &Self::Block, omega: V, x: *mut V, i: usize);

    /// Computes s −= Σ A_ij x_j over the couplings at `places`; `ahead` is the prefetch distance in bytes, negative in
    /// a backward sweep. Works like [`coarsen_sparse::row_product`], which prefetches only forward.
    ///
    /// `BEYOND` allows reading past a block of x but the last one: for inner couplings, where another block of the chunk
    /// follows. Past a block of an outer coupling another thread may write.
    unsafe fn less<S: Real, const BEYOND: bool>(
        set: I,
        couplings: Couplings<'_, S>,
        places: Range<usize>,
        ahead: isize,
        x: *const V,
        s: &mut Self::Block,
    );

    /// Computes t_j −= A_ijᵀ x_i over the couplings at `places`.
    unsafe fn give<S: Real>(
        set: I,
        couplings: Couplings<'_, S>,
        places: Range<usize>,
        xi: &Self::Block,
        t: *mut V,
    );
}

/// One column, with packs P.
pub(super) struct One<P>(PhantomData<P>);

/// Returns D⁻¹ s. D⁻¹ is symmetric, so its rows are added up as columns.
#[inline(always)]
fn solved<V: Real, S: Real, I: Set<V>, P: Pack<V, Set = I>, const B: usize>(
    set: I,
    d: &[S],
    s: &[V; B],
) -> P {
    let mut product = P::zero(set);
    for k in 0..B {
        // SAFETY: row k has B values.
        let row = unsafe { P::load_first::<S, B>(set, d[k * B..].as_ptr()) };
        product = row.mul_add(P::splat(set, s[k]), product);
    }
    product
}

impl<V: Real, I: Set<V>, P: Pack<V, Set = I>, const B: usize> Columns<V, I, B> for One<P> {
    type Block = [V; B];

    #[inline(always)]
    fn zero(_: I) -> [V; B] {
        [V::zero(); B]
    }

    #[inline(always)]
    unsafe fn get(_: I, v: *const V, i: usize) -> [V; B] {
        let mut block = [V::zero(); B];
        for k in 0..B {
            // SAFETY: by the contract of the trait.
            block[k] = unsafe { *v.add(i * B + k) };
        }
        block
    }

    #[inline(always)]
    unsafe fn put(v: *mut V, i: usize, block: &[V; B]) {
        for k in 0..B {
            // SAFETY: by the contract of the trait.
            unsafe { *v.add(i * B + k) = block[k] };
        }
    }

    #[inline(always)]
    fn times(_: I, a: V, block: &[V; B]) -> [V; B] {
        let mut scaled = *block;
        for v in &mut scaled {
            *v *= a;
        }
        scaled
    }

    #[inline(always)]
    fn less_diagonal<S: Real>(set: I, d: &[S], x: &[V; B], s: &mut [V; B]) {
        for k in 0..B {
            let mut product = V::zero();
            for c in 0..B {
                product = set.mul_add(d[k * B + c].to(), x[c], product);
            }
            s[k] -= product;
        }
    }

    #[inline(always)]
    unsafe fn solve<S: Real>(set: I, d: &[S], s: &[V; B], x: *mut V, i: usize) {
        // SAFETY: by the contract of the trait.
        unsafe { solved::<V, S, I, P, B>(set, d, s).store_first::<B>(x.add(i * B)) };
    }

    #[inline(always)]
    unsafe fn add_solve<S: Real>(set: I, d: &[S], s: &[V; B], omega: V, x: *mut V, i: usize) {
        let step = solved::<V, S, I, P, B>(set, d, s);
        // SAFETY: by the contract of the trait.
        unsafe {
            let x = x.add(i * B);
            step.mul_add(P::splat(set, omega), P::load_first::<V, B>(set, x)).store_first::<B>(x);
        }
    }

    #[inline(always)]
    unsafe fn less<S: Real, const BEYOND: bool>(
        set: I,
        (values, columns): Couplings<'_, S>,
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

    #[inline(always)]
    unsafe fn give<S: Real>(
        set: I,
        (values, columns): Couplings<'_, S>,
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
}

/// Eight interleaved columns.
pub(super) struct Eight;

impl<V: Real, I: Set<V>, const B: usize> Columns<V, I, B> for Eight {
    type Block = [I::Eight; B];

    #[inline(always)]
    fn zero(set: I) -> Self::Block {
        [I::Eight::zero(set); B]
    }

    #[inline(always)]
    unsafe fn get(set: I, v: *const V, i: usize) -> Self::Block {
        let mut block = [I::Eight::zero(set); B];
        for k in 0..B {
            // SAFETY: by the contract of the trait.
            block[k] = unsafe { I::Eight::load(set, v.add((i * B + k) * COLUMNS)) };
        }
        block
    }

    #[inline(always)]
    unsafe fn put(v: *mut V, i: usize, block: &Self::Block) {
        for k in 0..B {
            // SAFETY: by the contract of the trait.
            unsafe { block[k].store(v.add((i * B + k) * COLUMNS)) };
        }
    }

    #[inline(always)]
    fn times(set: I, a: V, block: &Self::Block) -> Self::Block {
        let mut scaled = *block;
        for v in &mut scaled {
            *v = v.mul_add(I::Eight::splat(set, a), I::Eight::zero(set));
        }
        scaled
    }

    #[inline(always)]
    fn less_diagonal<S: Real>(set: I, d: &[S], x: &Self::Block, s: &mut Self::Block) {
        for k in 0..B {
            for c in 0..B {
                s[k] = I::Eight::splat(set, -d[k * B + c].to::<V>()).mul_add(x[c], s[k]);
            }
        }
    }

    #[inline(always)]
    unsafe fn solve<S: Real>(set: I, d: &[S], s: &Self::Block, x: *mut V, i: usize) {
        for k in 0..B {
            let mut product = I::Eight::zero(set);
            for c in 0..B {
                product = I::Eight::splat(set, d[k * B + c].to()).mul_add(s[c], product);
            }
            // SAFETY: by the contract of the trait.
            unsafe { product.store(x.add((i * B + k) * COLUMNS)) };
        }
    }

    #[inline(always)]
    unsafe fn add_solve<S: Real>(set: I, d: &[S], s: &Self::Block, omega: V, x: *mut V, i: usize) {
        for k in 0..B {
            // SAFETY: by the contract of the trait.
            unsafe {
                let x = x.add((i * B + k) * COLUMNS);
                let mut sum = I::Eight::load(set, x);
                for c in 0..B {
                    sum = I::Eight::splat(set, omega * d[k * B + c].to::<V>()).mul_add(s[c], sum);
                }
                sum.store(x);
            }
        }
    }

    #[inline(always)]
    unsafe fn less<S: Real, const BEYOND: bool>(
        set: I,
        (values, columns): Couplings<'_, S>,
        places: Range<usize>,
        ahead: isize,
        x: *const V,
        s: &mut Self::Block,
    ) {
        let mut sums = *s;
        for at in places {
            // SAFETY: see the top of `kernel.rs`.
            unsafe {
                let x = x.add(*columns.get_unchecked(at) as usize * B * COLUMNS);
                let a = values.as_ptr().add(at * B * B);
                prefetch(a.wrapping_byte_offset(ahead));
                for c in 0..B {
                    let x = I::Eight::load(set, x.add(c * COLUMNS));
                    for r in 0..B {
                        sums[r] = I::Eight::splat(set, -(*a.add(r * B + c)).to::<V>()).mul_add(x, sums[r]);
                    }
                }
            }
        }
        *s = sums;
    }

    #[inline(always)]
    unsafe fn give<S: Real>(
        set: I,
        (values, columns): Couplings<'_, S>,
        places: Range<usize>,
        xi: &Self::Block,
        t: *mut V,
    ) {
        for at in places {
            // SAFETY: see the top of `kernel.rs`.
            unsafe {
                let t = t.add(*columns.get_unchecked(at) as usize * B * COLUMNS);
                let a = values.as_ptr().add(at * B * B);
                for c in 0..B {
                    let mut sum = I::Eight::load(set, t.add(c * COLUMNS));
                    for r in 0..B {
                        sum = I::Eight::splat(set, -(*a.add(r * B + c)).to::<V>()).mul_add(xi[r], sum);
                    }
                    sum.store(t.add(c * COLUMNS));
                }
            }
        }
    }
}
