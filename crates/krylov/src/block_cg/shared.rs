//! Columns that share their search directions: the recurrence.
//!
//! | symbol | here | |
//! |---|---|---|
//! | X, B | `x`, `b` | solutions and right-hand sides, one vector per column |
//! | R = W σ | | residuals B − A X |
//! | W | `w` | a basis of the residuals, orthonormal in M⁻¹: Wᵀ M⁻¹ W = I |
//! | Z | `z` | M⁻¹ W |
//! | S | `s` | search directions |
//! | A S | `q` | |
//! | ξ | `curvature` | (Sᵀ A S)⁻¹, as a factorisation |
//! | ζ | `zeta` | the triangular factor of the QR of W − A S ξ |
//! | σ | `sigma` | coefficients of the residuals in the basis W |
//!
//! Numbers at line ends follow Dubrulle 2001, Algorithm BCGrQ, with a preconditioner. *Deviation*: dependent
//! columns of W − A S ξ are dropped, so S may lose columns.

use coarsen_core::small_dense::Cholesky;
use coarsen_core::{LinearOperator, Outcome, Preconditioner, Real, Scalar, Vector};

use super::{BlockCg, Column, Observe};
use crate::convergence_test::round_off;

/// A column of W − A S ξ is dropped if its part independent of the other columns is at most 1e-6 of its
/// length. The constant is the square of 1e-6. The next recomputed residual includes the resulting error.
const DEPENDENT: f64 = 1e-12;

/// Below this fraction, the orthogonality error of W after one Cholesky QR exceeds 1e-12, so a second
/// Cholesky QR follows (Yamamoto et al. 2015, CholeskyQR2).
const ONCE: f64 = 1e-4;

impl<V: Vector> BlockCg<V> {
    /// Runs the recurrence from the residuals in W until all active columns are below the tolerance. Returns
    /// why it ended.
    pub(super) fn run_shared(
        &mut self,
        (a, m): (&dyn LinearOperator<V>, &mut dyn Preconditioner<V>),
        x: &mut [V],
        active: &[usize],
        columns: &mut [Column],
        observe: &mut Observe<'_>,
    ) -> Outcome {
        let k = active.len();
        let mut sigma = match self.orthonormalise(m, k) {
            Ok(zeta) => zeta, // 1
            Err(end) => return end,
        };
        let mut rank = sigma.len() / k;
        if rank == 0 {
            return Outcome::Breakdown; // Wᵀ M⁻¹ W has a zero diagonal, so no direction is left
        }
        std::mem::swap(&mut self.s, &mut self.z); // 1: S = M⁻¹ W
        loop {
            a.apply_many(&self.s[..rank], &mut self.q[..rank]);
            let gram = gram(&self.s[..rank], &self.q[..rank], &mut self.sums);
            if gram.iter().any(|v| !v.is_finite()) {
                return Outcome::NotFinite;
            }
            let curvature = Cholesky::pivoted(&gram, rank, round_off::<V::Real>().as_f64()); // 2
            if curvature.rank < rank {
                let negative = curvature.negative || (0..rank).any(|i| gram[i * rank + i] < 0.0);
                return if negative { Outcome::IndefiniteOperator } else { Outcome::Breakdown };
            }
            for (column, &j) in active.iter().enumerate() {
                let mut step: Vec<f64> = (0..rank).map(|i| sigma[i * k + column]).collect();
                curvature.solve(&mut step);
                add(&mut x[j], &step, &self.s[..rank], &mut self.sums); // 3: X + S ξ σ
            }
            for j in 0..rank {
                let mut step = vec![0.0; rank];
                step[j] = -1.0;
                curvature.solve(&mut step);
                add(&mut self.w[j], &step, &self.q[..rank], &mut self.sums); // 4: W − A S ξ
            }
            active.iter().for_each(|&j| columns[j].iterations += 1);
            let zeta = match self.orthonormalise(m, rank) {
                Ok(zeta) => zeta, // 4
                Err(end) => return end,
            };
            let kept = zeta.len() / rank;
            sigma = product(&zeta, &sigma, [kept, rank, k]); // 6
            let iterations = columns[active[0]].iterations; // those of all active columns
            let last = iterations >= self.stop.max_iterations;
            if last || kept == 0 || iterations.is_multiple_of(self.stop.check_every) {
                let squares = gram_of_residuals(&self.w[..kept], &sigma, k, &mut self.sums);
                for (square, &j) in squares.iter().zip(active) {
                    let seen = square.max(0.0).sqrt(); // NaN ends the run, and the residual is recomputed
                    columns[j].seen = seen;
                    columns[j].keep(&x[j], &mut self.safe[j], seen);
                }
                let stopped = self.observed(columns, observe);
                let mut open = active.iter().map(|&j| &columns[j]);
                let done = |c: &Column| c.seen <= c.threshold.max(V::Real::EPSILON.as_f64() * c.truth);
                if open.clone().all(done) || kept == 0 {
                    return Outcome::Converged;
                }
                if open.any(|c| c.seen > c.initial / V::Real::EPSILON.as_f64()) {
                    return Outcome::Diverged;
                }
                if stopped || last {
                    return if stopped { Outcome::Stopped } else { Outcome::IterationLimit };
                }
            }
            for i in 0..kept {
                let row = &zeta[i * rank..(i + 1) * rank];
                add(&mut self.z[i], row, &self.s[..rank], &mut self.sums); // 5: S = M⁻¹ W + S ζᵀ
            }
            std::mem::swap(&mut self.s, &mut self.z);
            rank = kept;
        }
    }

    /// Makes the first `count` columns of W orthonormal in M⁻¹ and sets the same columns of Z to M⁻¹ W.
    /// Returns ζ by rows, with (old W) = (new W) · ζ. ζ has one row per independent column.
    fn orthonormalise(&mut self, m: &mut dyn Preconditioner<V>, count: usize) -> Result<Vec<f64>, Outcome> {
        m.apply_many(&self.w[..count], &mut self.z[..count]);
        let (mut zeta, mut kept, mut bound) = (Vec::new(), count, DEPENDENT.max(V::Real::EPSILON.as_f64()));
        for pass in 0..2 {
            let gram = gram(&self.w[..kept], &self.z[..kept], &mut self.sums);
            if gram.iter().any(|v| !v.is_finite()) {
                return Err(Outcome::NotFinite);
            }
            let factor = Cholesky::pivoted(&gram, kept, bound);
            if factor.negative || (0..kept).any(|i| gram[i * kept + i] < 0.0) {
                return Err(Outcome::IndefinitePreconditioner);
            }
            let rows: Vec<f64> = (0..factor.rank).flat_map(|i| factor.row(i)).copied().collect();
            zeta = if pass == 0 { rows } else { product(&rows, &zeta, [factor.rank, kept, count]) };
            self.divide(&factor);
            kept = factor.rank;
            if factor.least > ONCE {
                break;
            }
            bound = 0.0;
        }
        Ok(zeta)
    }

    /// W P R⁻¹ and Z P R⁻¹, column by column.
    fn divide(&mut self, factor: &Cholesky) {
        let mut at: Vec<usize> = (0..factor.order.len()).collect(); // the position of each column
        for (j, &column) in factor.order[..factor.rank].iter().enumerate() {
            let from = at.iter().position(|&c| c == column).unwrap_or(j);
            at.swap(j, from);
            let share: Vec<f64> = (0..j).map(|i| -factor.row(i)[column]).collect();
            for vectors in [&mut self.w, &mut self.z] {
                vectors.swap(j, from);
                let (before, rest) = vectors.split_at_mut(j);
                add(&mut rest[0], &share, before, &mut self.sums);
                let length = factor.row(j)[column];
                self.q[0].copy(&rest[0]);
                rest[0].scaled(&self.q[0].scalar(V::Real::from_f64(1.0 / length)), &self.q[0]);
            }
        }
    }
}

/// The matrix of all uᵢ · vⱼ, by rows.
fn gram<V: Vector>(u: &[V], v: &[V], sums: &mut Vec<V::Scalar>) -> Vec<f64> {
    sums.clear();
    u.iter().for_each(|u| u.dots_with(v, sums));
    sums.iter().map(|sum| sum.read().as_f64()).collect()
}

/// ‖W σⱼ‖² for the k columns of σ.
fn gram_of_residuals<V: Vector>(w: &[V], sigma: &[f64], k: usize, sums: &mut Vec<V::Scalar>) -> Vec<f64> {
    let (rank, gram) = (w.len(), gram(w, w, sums));
    let image = product(&gram, sigma, [rank, rank, k]);
    (0..k).map(|j| (0..rank).map(|i| sigma[i * k + j] * image[i * k + j]).sum()).collect()
}

/// y += Σ aᵢ xᵢ.
fn add<V: Vector>(y: &mut V, a: &[f64], x: &[V], factors: &mut Vec<V::Scalar>) {
    factors.clear();
    factors.extend(a.iter().map(|&a| y.scalar(V::Real::from_f64(a))));
    y.axpys(factors, x);
}

/// A B, where A has m rows and B has `columns` columns.
fn product(a: &[f64], b: &[f64], [m, n, columns]: [usize; 3]) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * columns + j]).sum();
    (0..m * columns).map(|at| entry(at / columns, at % columns)).collect()
}
