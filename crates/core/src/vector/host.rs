//! `Vec<f32>` and `Vec<f64>` as vectors: scalars are plain numbers, and sums run along the fixed tree of
//! [`parallel`].
//!
//! A leaf sums with 16 accumulators, enough for AVX-512 and for the latency of an addition. Accumulators are
//! in `f64` for both types, so that reductions in `f32` do not lose digits for long vectors.

use std::ops::Range;

use crate::parallel::{self, LEAF, each, tree};
use crate::simd::{self, Kernel, Set};
use crate::{Dot, Error, Real, Vector};

/// The number of independent partial sums of a leaf.
const LANES: usize = 16;

/// N sums over a leaf; `term` computes the N summands of index i from `(x[i], y[i])`.
struct Leaf<'a, T, F> {
    x: &'a [T],
    y: &'a [T],
    term: F,
}

impl<T: Real, F: Fn(f64, f64) -> [f64; N], const N: usize> Kernel<T> for Leaf<'_, T, F> {
    type Output = [f64; N];

    #[inline(always)]
    fn run<I: Set<T>>(self, _: I) -> [f64; N] {
        let mut sums = [[0.0; LANES]; N];
        let (xs, ys) = (self.x.chunks_exact(LANES), self.y.chunks_exact(LANES));
        let tail = xs.remainder().iter().zip(ys.remainder()).enumerate();
        for (x, y) in xs.zip(ys) {
            for lane in 0..LANES {
                let t = (self.term)(x[lane].wide(), y[lane].wide());
                for k in 0..N {
                    sums[k][lane] += t[k];
                }
            }
        }
        for (lane, (x, y)) in tail {
            let t = (self.term)(x.wide(), y.wide());
            for k in 0..N {
                sums[k][lane] += t[k];
            }
        }
        sums.map(|lanes| lanes.iter().sum())
    }
}

/// Σ xᵢyᵢ and Σ |xᵢyᵢ| of one leaf, for operators that compute these sums together with their product.
///
/// *Panics* if the lengths differ.
///
/// ```
/// assert_eq!(coarsen_core::products(&[1.0, 2.0], &[3.0, -1.0]), [1.0, 5.0]);
/// ```
#[inline(always)]
pub fn products<T: Real>(x: &[T], y: &[T]) -> [f64; 2] {
    assert_eq!(x.len(), y.len(), "products: lengths differ");
    simd::run(Leaf { x, y, term: |a: f64, b: f64| [a * b, (a * b).abs()] })
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
    fn run<I: Set<T>>(self, set: I) -> [f64; 1] {
        let Self { x, r, p, q, a } = self;
        for k in 0..r.len().min(q.len()) {
            r[k] -= a * q[k];
        }
        for k in 0..x.len().min(p.len()) {
            x[k] += a * p[k];
        }
        // This pass reads r from the first-level cache.
        Leaf { x: r, y: r, term: |a: f64, b: f64| [a * b] }.run(set)
    }
}

/// The four recurrences of [`Vector::recur`] on a leaf.
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

/// The inner products of x with each vector of `with`, leaf by leaf.
fn dots<T: Real, const N: usize>(x: &[T], with: [&[T]; N]) -> [f64; N] {
    let product = |a: f64, b: f64| [a * b];
    let body = |r: Range<usize>| {
        with.map(|y| simd::run(Leaf { x: &x[r.clone()], y: &y[r.clone()], term: product })[0])
    };
    tree(0..x.len(), LEAF, parallel::worth(x.len()), &body, &add)
}

impl<T: Real> Vector for Vec<T> {
    type Real = T;
    type Scalar = T;

    fn size(&self) -> usize {
        self.len()
    }

    fn local_size(&self) -> usize {
        self.len()
    }

    fn like(&self) -> Result<Self, Error> {
        Ok(vec![T::zero(); self.len()])
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.len() == other.len()
    }

    fn scalar(&self, v: T) -> T {
        v
    }

    fn fill(&mut self, v: T) {
        let parallel = parallel::worth(self.len());
        each(&mut self[..], LEAF, parallel, &|x: &mut [T]| x.fill(v));
    }

    fn first_not_finite(&self) -> Option<usize> {
        self.iter().position(|x| !x.is_finite())
    }

    fn copy(&mut self, x: &Self) {
        assert_eq!(self.len(), x.len(), "copy: lengths differ");
        let parallel = parallel::worth(x.len());
        each((&mut self[..], &x[..]), LEAF, parallel, &|(y, x): (&mut [T], &[T])| y.copy_from_slice(x));
    }

    fn axpby(&mut self, a: &T, x: &Self, b: &T) {
        assert_eq!(self.len(), x.len(), "axpby: lengths differ");
        let (a, b, parallel) = (*a, *b, parallel::worth(x.len()));
        each((&mut self[..], &x[..]), LEAF, parallel, &|(y, x): (&mut [T], &[T])| {
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

    fn hadamard(&mut self, a: &T, d: &Self, x: &Self, b: &T) {
        assert!(self.len() == x.len() && d.len() == x.len(), "hadamard: lengths differ");
        let (a, b, parallel) = (*a, *b, parallel::worth(x.len()));
        each((&mut self[..], &d[..], &x[..]), LEAF, parallel, &|(y, d, x): (&mut [T], &[T], &[T])| {
            let terms = y.iter_mut().zip(d.iter().zip(x));
            if b.is_zero() {
                terms.for_each(|(y, (&d, &x))| *y = a * d * x);
            } else {
                terms.for_each(|(y, (&d, &x))| *y = a * d * x + b * *y);
            }
        });
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [T; N] {
        assert!(with.iter().all(|y| y.len() == self.len()), "dots: lengths differ");
        dots(self, with.map(|y| &y[..])).map(T::of)
    }

    fn axpys(&mut self, a: &[T], x: &[Self]) {
        assert_eq!(a.len(), x.len(), "axpys: factors and vectors");
        assert!(x.iter().all(|x| x.len() == self.len()), "axpys: lengths differ");
        let parallel = parallel::worth(a.len() * self.len());
        each((0..self.len(), &mut self[..]), LEAF, parallel, &|(at, y): (Range<usize>, &mut [T])| {
            for (&a, x) in a.iter().zip(x) {
                y.iter_mut().zip(&x[at.clone()]).for_each(|(y, &x)| *y += a * x);
            }
        });
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<T> {
        assert_eq!(self.len(), y.len(), "dot_magnitude: lengths differ");
        let body = |(x, y): (&[T], &[T])| products(x, y);
        let [value, magnitude] = tree((&self[..], &y[..]), LEAF, parallel::worth(y.len()), &body, &add);
        Dot { value: T::of(value), magnitude: T::of(magnitude) }
    }

    fn wait_for<const N: usize>(s: [&T; N]) -> [T; N] {
        s.map(|v| *v)
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn advance(x: &mut Self, r: &mut Self, a: &T, p: &Self, q: &Self) -> T {
        let n = x.len();
        assert!(r.len() == n && p.len() == n && q.len() == n, "advance: lengths differ");
        let a = *a;
        let body = |(x, r, p, q)| simd::run(Advance { x, r, p, q, a });
        let pieces = (&mut x[..], &mut r[..], &p[..], &q[..]);
        let [rr] = tree(pieces, LEAF, parallel::worth(n), &body, &add);
        T::of(rr)
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<T>; N] {
        let n = pairs.first().map_or(0, |(x, _)| x.len());
        assert!(pairs.iter().all(|(x, y)| x.len() == n && y.len() == n), "dot_magnitudes: lengths differ");
        let body = |r: Range<usize>| pairs.map(|(x, y)| products(&x[r.clone()], &y[r.clone()]));
        let sums = tree(0..n, LEAF, parallel::worth(n), &body, &|a: [[f64; 2]; N], b| {
            std::array::from_fn(|k| add(a[k], b[k]))
        });
        sums.map(|[value, magnitude]| Dot { value: T::of(value), magnitude: T::of(magnitude) })
    }

    fn recur(x: &mut Self, r: &mut Self, [p, s]: [&mut Self; 2], [u, w]: [&Self; 2], [a, b, c]: [&T; 3]) {
        let n = x.len();
        assert!([&*r, p, s, u, w].iter().all(|v| v.len() == n), "recur: lengths differ");
        let factors = [*a, *b, *c];
        let body = |((x, r), (p, s), (u, w))| simd::run(Recur { x, r, p, s, u, w, factors });
        let pieces = ((&mut x[..], &mut r[..]), (&mut p[..], &mut s[..]), (&u[..], &w[..]));
        each(pieces, LEAF, parallel::worth(n), &body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fused_forms_equal_plain_ones() {
        let n = 10_007;
        let [p, q, x0, r0]: [Vec<f64>; 4] =
            std::array::from_fn(|k| (0..n).map(|i| ((i * (k + 3)) as f64).sin()).collect());
        let (mut x, mut r) = (x0.clone(), r0.clone());
        let rr = Vector::advance(&mut x, &mut r, &0.3, &p, &q);
        for i in 0..n {
            assert_eq!(x[i], x0[i] + 0.3 * p[i]);
            assert_eq!(r[i], r0[i] - 0.3 * q[i]);
        }
        assert_eq!(rr, r.dot(&r));
        let (mut x, mut r, mut old_p, mut s) = (x0.clone(), r0.clone(), vec![f64::NAN; n], vec![f64::NAN; n]);
        Vector::recur(&mut x, &mut r, [&mut old_p, &mut s], [&p, &q], [&1.0, &0.0, &0.3]);
        Vector::recur(&mut x, &mut r, [&mut old_p, &mut s], [&q, &p], [&1.0, &0.5, &0.2]);
        for i in 0..n {
            let (p1, s1) = (q[i] + 0.5 * p[i], p[i] + 0.5 * q[i]);
            assert_eq!((old_p[i], s[i]), (p1, s1));
            assert_eq!(x[i], x0[i] + 0.3 * p[i] + 0.2 * p1);
            assert_eq!(r[i], r0[i] - 0.3 * q[i] - 0.2 * s1);
        }
        assert_eq!(Vec::dot_magnitudes([(&p, &q), (&q, &q)]), [p.dot_magnitude(&q), q.dot_magnitude(&q)]);
        let d = p.dot_magnitude(&q);
        assert_eq!(d.value, p.dot(&q));
        assert!(d.magnitude >= d.value.abs());
    }

    #[test]
    fn zero_factor_ignores_old_entries() {
        let mut y = vec![f64::NAN; 3];
        y.axpby(&2.0, &vec![1.0; 3], &0.0);
        assert_eq!(y, [2.0; 3]);
        y.fill(f64::NAN);
        y.hadamard(&1.0, &vec![3.0; 3], &vec![2.0; 3], &0.0);
        assert_eq!(y, [6.0; 3]);
    }

    #[test]
    fn single_precision_sums_in_double() {
        let x = vec![0.1_f32; 1 << 20];
        let exact = f64::from(0.1_f32).powi(2) * f64::from(1 << 20);
        assert!((f64::from(x.dot(&x)) - exact).abs() < 1e-6 * exact);
    }
}
