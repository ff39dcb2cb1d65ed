//! The loops over slices of numbers, compiled once for `f32` and once for `f64`.
//!
//! A leaf sums with 16 accumulators, enough for AVX-512 and for the latency of an addition. Accumulators are
//! in `f64` for both types, so that reductions in `f32` do not lose digits for long vectors.

use std::ops::Range;

use crate::Real;
use crate::parallel::{self, LEAF, each, tree};
use crate::simd::{self, Kernel, Pack, Set};
use crate::vector_loops::Loops;

impl<T: Real> Loops<T> {
    /// The loops of type T. Only statics of this crate may use them.
    pub(crate) const ALL: Self = Self {
        fill,
        copy,
        axpby,
        hadamard,
        axpys,
        dots,
        products,
        dot_magnitudes,
        cg_update,
        pipelined_update,
    };
}

/// The number of independent partial sums of a leaf.
const LANES: usize = 16;

/// Σ xᵢyᵢ over a leaf, and for N = 2 also Σ |xᵢyᵢ|.
///
/// Products and sums are rounded separately, so that every instruction set gives the same bits. In packs, because the
/// compiler does not vectorise two sums.
struct Leaf<'a, T, const N: usize> {
    x: &'a [T],
    y: &'a [T],
}

impl<T: Real, const N: usize> Kernel<f64> for Leaf<'_, T, N> {
    type Output = [f64; N];

    #[inline(always)]
    fn run<I: Set<f64>>(self, set: I) -> [f64; N] {
        const { assert!(N == 1 || N == 2) };
        let (zero, one) = (I::Eight::zero(set), I::Eight::splat(set, 1.0));
        let mut sums = [[zero; LANES / 8]; N];
        let (xs, ys) = (self.x.chunks_exact(LANES), self.y.chunks_exact(LANES));
        let tail = xs.remainder().iter().zip(ys.remainder()).enumerate();
        for (x, y) in xs.zip(ys) {
            for half in 0..LANES / 8 {
                // SAFETY: each chunk has LANES numbers.
                let x = unsafe { I::Eight::load::<T>(set, x.as_ptr().add(8 * half)) };
                // SAFETY: as above.
                let y = unsafe { I::Eight::load::<T>(set, y.as_ptr().add(8 * half)) };
                let product = x.mul_add(y, zero);
                sums[0][half] = product.mul_add(one, sums[0][half]);
                if N == 2 {
                    sums[1][half] = product.abs().mul_add(one, sums[1][half]);
                }
            }
        }
        let mut lanes = [[0.0; LANES]; N];
        for (lanes, sums) in lanes.iter_mut().zip(sums) {
            for (lanes, sum) in lanes.as_chunks_mut::<8>().0.iter_mut().zip(sums) {
                // SAFETY: eight numbers are writable.
                unsafe { sum.store(lanes.as_mut_ptr()) };
            }
        }
        for (lane, (x, y)) in tail {
            let product = x.as_f64() * y.as_f64();
            let terms = [product, product.abs()];
            lanes.iter_mut().zip(terms).for_each(|(lanes, term)| lanes[lane] += term);
        }
        lanes.map(|lanes| lanes.iter().sum())
    }
}

/// x += a p and r −= a q on one leaf; returns Σ r².
struct Advance<'a, T> {
    x: &'a mut [T],
    r: &'a mut [T],
    p: &'a [T],
    q: &'a [T],
    a: T,
}

impl<T: Real> Kernel<T> for Advance<'_, T> {
    type Output = [f64; 1];

    #[inline(always)]
    fn run<I: Set<T>>(self, _: I) -> [f64; 1] {
        let Self { x, r, p, q, a } = self;
        for k in 0..r.len().min(q.len()) {
            r[k] -= a * q[k];
        }
        for k in 0..x.len().min(p.len()) {
            x[k] += a * p[k];
        }
        // This pass reads r from the first-level cache.
        simd::run(Leaf { x: r, y: r })
    }
}

/// The four recurrences of [`Vector::pipelined_update`](crate::Vector::pipelined_update) on a leaf.
struct Recur<'a, T> {
    x: &'a mut [T],
    r: &'a mut [T],
    p: &'a mut [T],
    s: &'a mut [T],
    u: &'a [T],
    w: &'a [T],
    factors: [T; 3],
}

impl<T: Real> Kernel<T> for Recur<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<T>>(self, _: I) {
        let [a, b, c] = self.factors;
        turn(self.x, self.p, self.u, [a, b, c]);
        turn(self.r, self.s, self.w, [a, b, -c]);
    }
}

/// p = a u + b p, then x += c p.
#[inline(always)]
fn turn<T: Real>(x: &mut [T], p: &mut [T], u: &[T], [a, b, c]: [T; 3]) {
    let n = x.len().min(p.len()).min(u.len());
    let (x, p, u) = (&mut x[..n], &mut p[..n], &u[..n]);
    if b.is_zero() {
        for k in 0..n {
            p[k] = a * u[k];
            x[k] += c * p[k];
        }
    } else {
        for k in 0..n {
            p[k] = a * u[k] + b * p[k];
            x[k] += c * p[k];
        }
    }
}

#[inline(always)]
fn add<const N: usize>(a: [f64; N], b: [f64; N]) -> [f64; N] {
    std::array::from_fn(|k| a[k] + b[k])
}

fn fill<T: Real>(x: &mut [T], v: T) {
    let parallel = parallel::worth(x.len());
    each(x, LEAF, parallel, &|x: &mut [T]| x.fill(v));
}

fn copy<T: Real>(y: &mut [T], x: &[T]) {
    let parallel = parallel::worth(x.len());
    each((y, x), LEAF, parallel, &|(y, x): (&mut [T], &[T])| y.copy_from_slice(x));
}

/// y = a x + b y, where b = 0 ignores the old y.
fn axpby<T: Real>(y: &mut [T], a: T, x: &[T], b: T) {
    let parallel = parallel::worth(x.len());
    each((y, x), LEAF, parallel, &|(y, x): (&mut [T], &[T])| {
        let pairs = y.iter_mut().zip(x);
        if b.is_zero() {
            pairs.for_each(|(y, &x)| *y = a * x);
        } else if b == T::one() {
            pairs.for_each(|(y, &x)| *y += a * x);
        } else {
            pairs.for_each(|(y, &x)| *y = a * x + b * *y);
        }
    });
}

/// y = a d ∘ x + b y, where b = 0 ignores the old y.
fn hadamard<T: Real>(y: &mut [T], a: T, [d, x]: [&[T]; 2], b: T) {
    let parallel = parallel::worth(x.len());
    each((y, d, x), LEAF, parallel, &|(y, d, x): (&mut [T], &[T], &[T])| {
        let terms = y.iter_mut().zip(d.iter().zip(x));
        if b.is_zero() {
            terms.for_each(|(y, (&d, &x))| *y = a * d * x);
        } else {
            terms.for_each(|(y, (&d, &x))| *y = a * d * x + b * *y);
        }
    });
}

/// y += Σₖ a[k] x[k].
fn axpys<T: Real>(y: &mut [T], a: &[T], x: &[Vec<T>]) {
    let parallel = parallel::worth(a.len() * y.len());
    each((0..y.len(), y), LEAF, parallel, &|(at, y): (Range<usize>, &mut [T])| {
        for (&a, x) in a.iter().zip(x) {
            y.iter_mut().zip(&x[at.clone()]).for_each(|(y, &x)| *y += a * x);
        }
    });
}

/// The inner products of x with each vector of `with`, in passes over one to four or eight of these vectors.
fn dots<T: Real>(x: &[T], with: &[&[T]], sums: &mut [f64]) {
    let mut group = sums;
    let mut rest = with;
    while let Some((with, others)) = rest.split_first_chunk::<8>() {
        let (these, those) = group.split_at_mut(8);
        these.copy_from_slice(&dots_of(x, *with));
        (group, rest) = (those, others);
    }
    if let Some((with, others)) = rest.split_first_chunk::<4>() {
        let (these, those) = group.split_at_mut(4);
        these.copy_from_slice(&dots_of(x, *with));
        (group, rest) = (those, others);
    }
    match *rest {
        [a, b, c] => group.copy_from_slice(&dots_of(x, [a, b, c])),
        [a, b] => group.copy_from_slice(&dots_of(x, [a, b])),
        [a] => group.copy_from_slice(&dots_of(x, [a])),
        _ => {}
    }
}

/// [`dots`] of N vectors in one pass, leaf by leaf.
fn dots_of<T: Real, const N: usize>(x: &[T], with: [&[T]; N]) -> [f64; N] {
    let body =
        |r: Range<usize>| with.map(|y| simd::run(Leaf::<T, 1> { x: &x[r.clone()], y: &y[r.clone()] })[0]);
    tree(0..x.len(), LEAF, parallel::worth(x.len()), &body, &add)
}

/// Σ xᵢyᵢ and Σ |xᵢyᵢ| of one leaf.
fn products<T: Real>(x: &[T], y: &[T]) -> [f64; 2] {
    simd::run(Leaf { x, y })
}

/// Σ xᵢyᵢ and Σ |xᵢyᵢ| of pairs of vectors of the same length, in passes over up to three pairs.
fn dot_magnitudes<T: Real>(pairs: &[[&[T]; 2]], sums: &mut [[f64; 2]]) {
    match *pairs {
        [] => {}
        [p] => sums.copy_from_slice(&pairs_of([p])),
        [p, q] => sums.copy_from_slice(&pairs_of([p, q])),
        [p, q, r, ref others @ ..] => {
            let (first, rest) = sums.split_at_mut(3);
            first.copy_from_slice(&pairs_of([p, q, r]));
            dot_magnitudes(others, rest);
        }
    }
}

/// [`dot_magnitudes`] of N pairs in one pass, leaf by leaf.
fn pairs_of<T: Real, const N: usize>(pairs: [[&[T]; 2]; N]) -> [[f64; 2]; N] {
    let n = pairs[0][0].len();
    let body = |r: Range<usize>| pairs.map(|[x, y]| products(&x[r.clone()], &y[r.clone()]));
    let both = |a: [[f64; 2]; N], b: [[f64; 2]; N]| std::array::from_fn(|k| add(a[k], b[k]));
    tree(0..n, LEAF, parallel::worth(n), &body, &both)
}

/// x += a p and r −= a q; returns Σ r².
fn cg_update<T: Real>([x, r]: [&mut [T]; 2], a: T, [p, q]: [&[T]; 2]) -> f64 {
    let parallel = parallel::worth(x.len());
    let body = |(x, r, p, q)| simd::run(Advance { x, r, p, q, a });
    let [rr] = tree((x, r, p, q), LEAF, parallel, &body, &add);
    rr
}

fn pipelined_update<T: Real>([x, r, p, s]: [&mut [T]; 4], [u, w]: [&[T]; 2], factors: [T; 3]) {
    let parallel = parallel::worth(x.len());
    let body = |((x, r), (p, s), (u, w))| simd::run(Recur { x, r, p, s, u, w, factors });
    each(((x, r), (p, s), (u, w)), LEAF, parallel, &body);
}
