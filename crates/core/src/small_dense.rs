//! Small dense matrices on the host, stored by rows.
//!
//! *Reference* Golub and Van Loan 2013, "Matrix Computations", section 8.5 (Jacobi rotations); Higham 2002,
//! "Accuracy and Stability of Numerical Algorithms", section 10.3 (Cholesky with complete pivoting).

use crate::Real;

/// The largest number of sweeps over all pairs. Convergence is quadratic, and three to ten sweeps are usual.
const SWEEPS: usize = 30;

/// A = Q Λ Qᵀ of a symmetric k x k matrix by cyclic Jacobi rotations: the diagonal of `a` becomes Λ, the columns of `q`
/// become the eigenvectors.
///
/// Rotations end when each entry is round-off beside the two diagonal entries of its row and column, so that the small
/// eigenvalues of a graded positive definite matrix are accurate too. An infinite diagonal entry stays, with its unit
/// vector, if the rest of its row is 0. *Use* for up to about a dozen rows. *Panics* unless `a` and `q` have k² numbers.
///
/// ```
/// let (mut a, mut q) = ([2.0, 1.0, 1.0, 2.0], [0.0; 4]);
/// coarsen_core::small_dense::diagonalise(&mut a, &mut q, 2);
/// assert!((a[0] - 1.0).abs() < 1e-15 && (a[3] - 3.0).abs() < 1e-15);
/// assert!((q[0] + q[2]).abs() < 1e-15); // (1, −1) belongs to 1
/// ```
pub fn diagonalise(a: &mut [f64], q: &mut [f64], k: usize) {
    assert!(a.len() == k * k && q.len() == k * k, "diagonalise: matrices of another size");
    q.fill(0.0);
    q.iter_mut().step_by(k + 1).for_each(|d| *d = 1.0);
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for (p, r) in (0..k).flat_map(|p| (p + 1..k).map(move |r| (p, r))) {
            let (off, [first, second]) = (a[p * k + r], [p, r].map(|i| a[i * k + i]));
            if off == 0.0 || off.abs() <= f64::EPSILON * (first.abs().sqrt() * second.abs().sqrt()) {
                continue;
            }
            rotated = true;
            let tau = (second - first) / (2.0 * off);
            let t = tau.signum() / (tau.abs() + tau.hypot(1.0));
            let cos = 1.0 / t.hypot(1.0);
            let sin = t * cos;
            let rotate = |m: &mut [f64], x: usize, y: usize| {
                (m[x], m[y]) = (cos * m[x] - sin * m[y], sin * m[x] + cos * m[y]);
            };
            (0..k).for_each(|i| rotate(a, i * k + p, i * k + r));
            (0..k).for_each(|i| rotate(a, p * k + i, r * k + i));
            (0..k).for_each(|i| rotate(q, i * k + p, i * k + r));
            // Round-off would differ in the two triangles, and sweeps would not end where eigenvalues are 0.
            (a[p * k + r], a[r * k + p]) = (0.0, 0.0);
        }
        if !rotated {
            break;
        }
    }
}

/// The factor R of PᵀGP = RᵀR for a symmetric matrix G, up to its numerical rank, and the order P of its columns.
///
/// ```
/// use coarsen_core::small_dense::Cholesky;
/// let factor = Cholesky::pivoted(&[2.0, 1.0, 1.0, 2.0], 2, 1e-12);
/// let mut y = [4.0, 5.0];
/// factor.solve(&mut y);
/// assert!(factor.rank == 2 && (y[0] - 1.0).abs() < 1e-15 && (y[1] - 2.0).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cholesky {
    /// The column of G that is the pivot of each step, then the other columns.
    pub order: Vec<usize>,
    /// The number of pivots above the bound.
    pub rank: usize,
    /// The smallest accepted pivot as a fraction of its scale.
    pub least: f64,
    /// Whether a pivot was below −bound, so that G is not positive semidefinite.
    pub negative: bool,
    /// The rows of R, with columns in the order of G.
    r: Vec<f64>,
    /// What the pivots leave of G.
    rest: Vec<f64>,
}

impl Cholesky {
    /// Factors G of n rows, with its diagonal as the scales of [`factor`](Self::factor).
    pub fn pivoted(g: &[f64], n: usize, bound: f64) -> Self {
        let scales: Vec<f64> = (0..n).map(|i| g[i * n + i].abs()).collect();
        let mut factor = Self::default();
        factor.factor(g, &scales, bound);
        factor
    }

    /// Factors G with complete pivoting: the next pivot is the largest as a fraction of its scale. The factorisation ends
    /// at the first pivot that is at most `bound` of its scale; a column with the scale 0 has no pivot.
    ///
    /// Allocates only if no matrix of this size was factored before. *Panics* unless G has n² numbers for n scales.
    pub fn factor(&mut self, g: &[f64], scales: &[f64], bound: f64) {
        let (n, Self { order, rank, least, negative, r, rest: a }) = (scales.len(), self);
        assert_eq!(g.len(), n * n, "Cholesky: a matrix of another size");
        a.clear();
        a.extend_from_slice(g);
        r.clear();
        r.resize(n * n, 0.0);
        order.clear();
        order.extend(0..n);
        (*rank, *least, *negative) = (0, 1.0, false);
        let share = |a: &[f64], i: usize| if scales[i] > 0.0 { a[i * n + i] / scales[i] } else { 0.0 };
        for k in 0..n {
            let best = (k..n).max_by(|&i, &j| share(a, order[i]).total_cmp(&share(a, order[j])));
            order.swap(k, best.unwrap_or(k));
            let p = order[k];
            if share(a, p) <= bound {
                *negative = order[k..].iter().any(|&i| share(a, i) < -bound);
                break;
            }
            *least = share(a, p).min(*least);
            let pivot = a[p * n + p].sqrt();
            order[k..].iter().for_each(|&j| r[k * n + j] = a[p * n + j] / pivot);
            for &i in &order[k + 1..] {
                for &j in &order[k + 1..] {
                    a[i * n + j] -= r[k * n + i] * r[k * n + j];
                }
            }
            *rank = k + 1;
        }
    }

    /// Row i of R, with columns in the order of G.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        let n = self.order.len();
        &self.r[i * n..(i + 1) * n]
    }

    /// Replaces y by G⁻¹ y. G must have full rank.
    pub fn solve(&self, y: &mut [f64]) {
        let (n, order) = (self.order.len(), &self.order);
        let mut t = vec![0.0; n];
        for i in 0..n {
            let sum: f64 = (0..i).map(|k| self.row(k)[order[i]] * t[k]).sum();
            t[i] = (y[order[i]] - sum) / self.row(i)[order[i]];
        }
        for i in (0..n).rev() {
            let sum: f64 = order[i + 1..].iter().map(|&k| self.row(i)[k] * y[k]).sum();
            y[order[i]] = (t[i] - sum) / self.row(i)[order[i]];
        }
    }

    /// Writes to `v` the solution of G v = 0 that is 1 at `column`, which must not be a pivot, and 0 at the other columns
    /// that are not pivots.
    pub fn null_vector(&self, column: usize, v: &mut [f64]) {
        v.fill(0.0);
        v[column] = 1.0;
        for i in (0..self.rank).rev() {
            let (row, pivot) = (self.row(i), self.order[i]);
            v[pivot] = -row.iter().zip(&*v).map(|(r, v)| r * v).sum::<f64>() / row[pivot];
        }
    }
}

/// Memory for n numbers, first 0: on the stack up to N numbers, on the heap for more.
pub struct Scratch<T, const N: usize> {
    n: usize,
    stack: [T; N],
    heap: Vec<T>,
}

impl<T: Real, const N: usize> Scratch<T, N> {
    /// Memory for n numbers.
    #[inline(always)]
    pub fn new(n: usize) -> Self {
        let heap = if n > N { vec![T::zero(); n] } else { Vec::new() };
        Self { n, stack: [T::zero(); N], heap }
    }

    /// The numbers.
    #[inline(always)]
    pub fn values(&mut self) -> &mut [T] {
        if self.n > N { &mut self.heap[..] } else { &mut self.stack[..self.n] }
    }

    /// The numbers, which become those of `from`, a slice of the same length.
    #[inline(always)]
    pub fn copy(&mut self, from: &[T]) -> &mut [T] {
        let values = self.values();
        values.copy_from_slice(from);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_solves_and_finds_the_rank() {
        let g = [4.0, 2.0, 2.0, 2.0, 5.0, 1.0, 2.0, 1.0, 6.0];
        let factor = Cholesky::pivoted(&g, 3, 1e-12);
        assert!(factor.rank == 3 && !factor.negative);
        let mut y = [6.0, -5.0, 18.0]; // G x
        factor.solve(&mut y);
        assert!(y.iter().zip([1.0, -2.0, 3.0]).all(|(y, x)| (y - x).abs() < 1e-14));
        // The third column is the sum of the first two; each column has a different unit.
        let (b, unit) = ([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]], [1.0, 1e-9, 1e6]);
        let g: Vec<f64> = (0..9)
            .map(|k| unit[k / 3] * unit[k % 3] * (b[k / 3][0] * b[k % 3][0] + b[k / 3][1] * b[k % 3][1]))
            .collect();
        let factor = Cholesky::pivoted(&g, 3, 1e-12);
        assert!(factor.rank == 2 && !factor.negative);
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let found: f64 = (0..2).map(|k| factor.row(k)[i] * factor.row(k)[j]).sum();
            assert!((found - g[3 * i + j]).abs() < 1e-12 * unit[i] * unit[j] * 10.0);
        }
        let mut v = [0.0; 3];
        factor.null_vector(factor.order[2], &mut v);
        for (i, row) in g.chunks_exact(3).enumerate() {
            let terms = || row.iter().zip(v).map(|(g, v)| g * v);
            assert!(terms().sum::<f64>().abs() < 1e-12 * terms().map(f64::abs).sum::<f64>(), "row {i}");
        }
        assert!(Cholesky::pivoted(&[1.0, 2.0, 2.0, 1.0], 2, 1e-12).negative);
    }

    /// Q Λ Qᵀ = A, also where eigenvalues are far apart; a row without couplings and an infinite diagonal keep theirs.
    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        let scale = [1.0, 1e-8, 1e4, 1.0];
        let mut a: Vec<f64> =
            (0..16).map(|e| scale[e / 4] * scale[e % 4] * if e / 4 == e % 4 { 2.0 } else { 0.5 }).collect();
        (0..4).for_each(|c| (a[12 + c], a[4 * c + 3]) = (0.0, 0.0));
        a[15] = f64::INFINITY;
        let (full, mut q) = (a.clone(), vec![0.0; 16]);
        diagonalise(&mut a, &mut q, 4);
        assert!(a[15] == f64::INFINITY && q[12..] == [0.0, 0.0, 0.0, 1.0]);
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let found: f64 = (0..3).map(|k| q[4 * i + k] * a[5 * k] * q[4 * j + k]).sum();
            assert!((found - full[4 * i + j]).abs() < 1e-14 * 2e8, "{i} {j}: {found}");
        }
        let determinant = a[0] * a[5] * a[10];
        assert!((determinant / 6.75e-8 - 1.0).abs() < 1e-12, "{a:?}"); // small eigenvalues are accurate too
        // Of a matrix of rank 1, five eigenvalues are 0.
        let of = |i: usize| (i as f64 + 1.0).sqrt() * [1.0, -0.3][i % 2];
        let mut a: Vec<f64> = (0..36).map(|e| of(e / 6) * of(e % 6)).collect();
        let trace: f64 = (0..6).map(|i| a[7 * i]).sum();
        diagonalise(&mut a, &mut [0.0; 36], 6);
        let mut found: Vec<f64> = (0..6).map(|i| a[7 * i]).collect();
        found.sort_by(f64::total_cmp);
        assert!((found[5] / trace - 1.0).abs() < 1e-14 && found[..5].iter().all(|v| v.abs() < 1e-14 * trace));
        assert!((0..36).all(|e| e % 7 == 0 || a[e].abs() < 1e-14 * trace), "{a:?}");
    }
}
