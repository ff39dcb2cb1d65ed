//! `Vec<f32>` and `Vec<f64>` as vectors: scalars are plain numbers, and sums run along the fixed tree of
//! [`parallel`](crate::parallel). The loops are in `loops`.

use crate::{Dot, Error, Real, Vector};

/// Σ xᵢyᵢ and Σ |xᵢyᵢ| of one leaf, for operators that compute these sums together with their product.
///
/// *Panics* if the lengths differ.
///
/// ```
/// assert_eq!(coarsen_core::products(&[1.0, 2.0], &[3.0, -1.0]), [1.0, 5.0]);
/// ```
pub fn products<T: Real>(x: &[T], y: &[T]) -> [f64; 2] {
    assert_eq!(x.len(), y.len(), "products: lengths differ");
    (T::loops().products)(x, y)
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

    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        self.clear();
        if self.capacity() < other.len() {
            self.reserve_exact(other.len() + other.len() / 4); // a vector that grows slowly rarely allocates
        }
        self.resize(other.len(), T::zero());
        Ok(())
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.len() == other.len()
    }

    fn scalar(&self, v: T) -> T {
        v
    }

    fn fill(&mut self, v: T) {
        (T::loops().fill)(self, v);
    }

    fn first_not_finite(&self) -> Option<usize> {
        self.iter().position(|x| !x.is_finite())
    }

    fn copy(&mut self, x: &Self) {
        assert_eq!(self.len(), x.len(), "copy: lengths differ");
        (T::loops().copy)(self, x);
    }

    fn axpby(&mut self, a: &T, x: &Self, b: &T) {
        assert_eq!(self.len(), x.len(), "axpby: lengths differ");
        (T::loops().axpby)(self, *a, x, *b);
    }

    fn hadamard(&mut self, a: &T, d: &Self, x: &Self, b: &T) {
        assert!(self.len() == x.len() && d.len() == x.len(), "hadamard: lengths differ");
        (T::loops().hadamard)(self, *a, [d, x], *b);
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [T; N] {
        assert!(with.iter().all(|y| y.len() == self.len()), "dots: lengths differ");
        let mut sums = [0.0; N];
        (T::loops().dots)(self, &with.map(|y| &y[..]), &mut sums);
        sums.map(T::from_f64)
    }

    fn axpys(&mut self, a: &[T], x: &[Self]) {
        assert_eq!(a.len(), x.len(), "axpys: factors and vectors");
        assert!(x.iter().all(|x| x.len() == self.len()), "axpys: lengths differ");
        (T::loops().axpys)(self, a, x);
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<T> {
        assert_eq!(self.len(), y.len(), "dot_magnitude: lengths differ");
        let [dot] = Self::dot_magnitudes([(self, y)]);
        dot
    }

    fn wait_for<const N: usize>(s: [&T; N]) -> [T; N] {
        s.map(|v| *v)
    }

    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }

    fn cg_update(x: &mut Self, r: &mut Self, a: &T, p: &Self, q: &Self) -> T {
        let n = x.len();
        assert!(r.len() == n && p.len() == n && q.len() == n, "cg_update: lengths differ");
        T::from_f64((T::loops().cg_update)([x, r], *a, [p, q]))
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<T>; N] {
        let n = pairs.first().map_or(0, |(x, _)| x.len());
        assert!(pairs.iter().all(|(x, y)| x.len() == n && y.len() == n), "dot_magnitudes: lengths differ");
        let mut sums = [[0.0; 2]; N];
        (T::loops().dot_magnitudes)(&pairs.map(|(x, y)| [&x[..], &y[..]]), &mut sums);
        sums.map(|[value, magnitude]| Dot { value: T::from_f64(value), magnitude: T::from_f64(magnitude) })
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        [a, b, c]: [&T; 3],
    ) {
        let n = x.len();
        assert!([&*r, p, s, u, w].iter().all(|v| v.len() == n), "pipelined_update: lengths differ");
        (T::loops().pipelined_update)([x, r, p, s], [u, w], [*a, *b, *c]);
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
        let rr = Vector::cg_update(&mut x, &mut r, &0.3, &p, &q);
        for i in 0..n {
            assert_eq!(x[i], x0[i] + 0.3 * p[i]);
            assert_eq!(r[i], r0[i] - 0.3 * q[i]);
        }
        assert_eq!(rr, r.dot(&r));
        let (mut x, mut r, mut old_p, mut s) = (x0.clone(), r0.clone(), vec![f64::NAN; n], vec![f64::NAN; n]);
        Vector::pipelined_update(&mut x, &mut r, [&mut old_p, &mut s], [&p, &q], [&1.0, &0.0, &0.3]);
        Vector::pipelined_update(&mut x, &mut r, [&mut old_p, &mut s], [&q, &p], [&1.0, &0.5, &0.2]);
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
    fn several_sums_equal_single_ones_bit_for_bit() {
        fn check<const N: usize>(x: &Vec<f64>, y: &[Vec<f64>]) {
            let with: [&Vec<f64>; N] = std::array::from_fn(|k| &y[k]);
            assert_eq!(x.dots(with), with.map(|y| x.dot(y)), "{N}");
            let pairs = with.map(|y| (y, x));
            assert_eq!(Vec::dot_magnitudes(pairs), pairs.map(|(y, x)| y.dot_magnitude(x)), "{N}");
        }
        let vector = |k: usize| (0..9001).map(|i| ((i * k + i / 7) as f64).sin()).collect::<Vec<_>>();
        let (x, y) = (vector(1), (2..15).map(vector).collect::<Vec<_>>());
        check::<0>(&x, &y);
        check::<1>(&x, &y);
        check::<2>(&x, &y);
        check::<3>(&x, &y);
        check::<4>(&x, &y);
        check::<5>(&x, &y);
        check::<7>(&x, &y);
        check::<8>(&x, &y);
        check::<13>(&x, &y);
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
