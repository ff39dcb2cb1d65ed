//! Small dense matrices, stored by rows, as reference implementations.

use coarsen_sparse::Bsr;

/// A square matrix.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    pub(crate) n: usize,
    pub(crate) v: Vec<f64>,
}

impl Dense {
    pub(crate) fn new(n: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Self { n, v: (0..n * n).map(|e| f(e / n, e % n)).collect() }
    }

    pub(crate) fn of(a: &Bsr<f64>) -> Self {
        Self::new(a.shape().0, |i, j| a.get(i, j))
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.v[i * self.n + j]
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        Self::new(self.n, |i, j| (0..self.n).map(|k| self.at(i, k) * other.at(k, j)).sum())
    }

    /// A⁻¹ b by Gaussian elimination with pivoting.
    pub(crate) fn solve(mut self, b: &[f64]) -> Vec<f64> {
        let (n, mut x) = (self.n, b.to_vec());
        for p in 0..n {
            let pivot =
                (p..n).fold(p, |best, i| if self.at(i, p).abs() > self.at(best, p).abs() { i } else { best });
            (0..n).for_each(|j| self.v.swap(p * n + j, pivot * n + j));
            x.swap(p, pivot);
            for i in p + 1..n {
                let f = self.at(i, p) / self.at(p, p);
                (p..n).for_each(|j| self.v[i * n + j] -= f * self.v[p * n + j]);
                x[i] -= f * x[p];
            }
        }
        for i in (0..n).rev() {
            x[i] = (x[i] - (i + 1..n).map(|j| self.at(i, j) * x[j]).sum::<f64>()) / self.at(i, i);
        }
        x
    }

    /// The smallest and largest eigenvalue of a symmetric matrix, by Jacobi rotations.
    pub(crate) fn ends(mut self) -> (f64, f64) {
        let n = self.n;
        for _ in 0..30 {
            for p in 0..n {
                for q in p + 1..n {
                    let (apq, d) = (self.at(p, q), self.at(q, q) - self.at(p, p));
                    if apq.abs() < 1e-300 {
                        continue;
                    }
                    let theta = d / (2.0 * apq);
                    let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
                    let c = 1.0 / t.hypot(1.0);
                    let s = t * c;
                    for k in 0..n {
                        let (a, b) = (self.at(k, p), self.at(k, q));
                        (self.v[k * n + p], self.v[k * n + q]) = (c * a - s * b, s * a + c * b);
                    }
                    for k in 0..n {
                        let (a, b) = (self.at(p, k), self.at(q, k));
                        (self.v[p * n + k], self.v[q * n + k]) = (c * a - s * b, s * a + c * b);
                    }
                }
            }
        }
        let diagonal = (0..n).map(|i| self.at(i, i));
        (diagonal.clone().fold(f64::INFINITY, f64::min), diagonal.fold(f64::NEG_INFINITY, f64::max))
    }
}

/// Orthonormalises vectors, given as the rows of a list, and leaves out dependent vectors.
pub(crate) fn orthonormal(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut done: Vec<Vec<f64>> = Vec::new();
    for row in rows {
        let mut v = row.clone();
        let before = dot(&v, &v).sqrt();
        for _ in 0..2 {
            for q in &done {
                let share = dot(&v, q);
                v.iter_mut().zip(q).for_each(|(v, q)| *v -= share * q);
            }
        }
        let length = dot(&v, &v).sqrt();
        if length > 1e-9 * before {
            v.iter_mut().for_each(|v| *v /= length);
            done.push(v);
        }
    }
    done
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
