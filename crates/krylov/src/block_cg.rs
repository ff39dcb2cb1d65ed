//! Conjugate gradients for several right-hand sides at once.
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

use std::ops::ControlFlow;

use coarsen_core::small_dense::Cholesky;
use coarsen_core::{
    Error, LinearOperator, Outcome, Preconditioner, PreconditionerKind, Real, Report, Scalar, Stop, Vector,
    vectors_like,
};
use num_traits::{Float, zero};

use crate::convergence_test::round_off;
use crate::scaling::{self, Size, check_finite};
use crate::solve::check;

/// A column of W − A S ξ is dropped if its part independent of the other columns is at most 1e-6 of its
/// length. The constant is the square of 1e-6. The next recomputed residual includes the resulting error.
const DEPENDENT: f64 = 1e-12;

/// Below this fraction, the orthogonality error of W after one Cholesky QR exceeds 1e-12, so a second
/// Cholesky QR follows (Yamamoto et al. 2015, CholeskyQR2).
const ONCE: f64 = 1e-4;

/// Preconditioned conjugate gradients for A X = B with k right-hand sides and symmetric positive definite A
/// and M.
///
/// Each x minimises ‖x − A⁻¹b‖_A over the sum of the Krylov spaces of all columns. The dimension of this
/// space is k times the dimension for one column. So the k − 1 smallest eigenvalues of M⁻¹A no longer limit
/// convergence (O'Leary 1980, Theorem 5). Residuals are stored as an orthonormal basis times a small matrix,
/// so that linearly dependent columns are harmless. After every run of the recurrence all residuals are
/// recomputed. Columns above the tolerance then continue without the converged columns. *Use* for a few
/// right-hand sides (2 to about 20) of the same matrix that are known at the same time. For a sequence of
/// right-hand sides use [`Cg`](crate::Cg) with the previous x as guess. *Not* for right-hand sides whose
/// squares overflow or underflow: [`Error::Range`]. *Outcome* one [`Report`] per column; it counts the
/// iterations of the block until the column converged. *Cost* per iteration: k applications of A and of M,
/// about 7 k² passes over vectors, 2 k reductions (3 k at a convergence check), two synchronisations; 5 k vectors. A few
/// k x k matrices are allocated. The method pays off if k products at once cost less than k separate
/// products, or if the saved iterations cost more than the passes.
/// *Reference* O'Leary 1980, Linear Algebra Appl. 29; Dubrulle 2001, "Retooling the method of block conjugate
/// gradients", ETNA 12, Algorithm BCGrQ.
///
/// ```
/// use coarsen_krylov::{BlockCg, Identity, Stop, from_fn};
/// let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]));
/// let b = [vec![1.0, 2.0, 3.0], vec![1.0, 0.0, 0.0], vec![2.0, 2.0, 3.0]]; // b₃ = b₁ + b₂
/// let mut x = [vec![0.0; 3], vec![0.0; 3], vec![0.0; 3]];
/// for report in BlockCg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b, &mut x)? {
///     report.converged()?;
/// }
/// assert!((x[2][0] - 2.0).abs() < 1e-9);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct BlockCg<V: Vector = Vec<f64>> {
    /// The stopping rule, applied to each column.
    pub stop: Stop<V::Real>,
    w: Vec<V>,
    z: Vec<V>,
    s: Vec<V>,
    q: Vec<V>,
    /// The iterates of smallest residual, returned after a breakdown.
    safe: Vec<V>,
    sums: Vec<V::Scalar>,
}

/// The state of a column.
#[derive(Clone, Copy)]
struct Column {
    /// ‖b‖, or 1 if b = 0.
    scale: f64,
    threshold: f64,
    initial: f64,
    /// ‖b − A x‖ at the last recomputation.
    truth: f64,
    /// ‖r‖ in the recurrence.
    seen: f64,
    /// ‖r‖ of the iterate in `safe`.
    saved: f64,
    iterations: usize,
    outcome: Option<Outcome>,
}

/// A function called at every convergence test with ‖r‖ / ‖b‖ of each column; `Break` ends the solve.
type Observe<'a> = dyn FnMut(&[f64]) -> ControlFlow<()> + 'a;

impl<V: Vector> BlockCg<V> {
    /// The method with a stopping rule; vectors are allocated at the first solve.
    pub fn new(stop: Stop<V::Real>) -> Self {
        let [w, z, s, q, safe] = [const { Vec::new() }; 5];
        Self { stop, w, z, s, q, safe, sums: Vec::new() }
    }

    /// Solves A xⱼ = bⱼ for all j from the guesses xⱼ; returns one report per column.
    ///
    /// # Errors
    /// As [`Krylov::solve_with`](crate::Krylov::solve_with), and [`Error::Range`] if a right-hand side is too
    /// large or too small to be squared.
    pub fn solve(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &[V],
        x: &mut [V],
    ) -> Result<Vec<Report<V::Real>>, Error> {
        self.solve_with(a, m, b, x, &mut |_| ControlFlow::Continue(()))
    }

    /// [`solve`](Self::solve) with a function `observe` that receives ‖r‖ / ‖b‖ of each column at every
    /// convergence test and may end the solve.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &[V],
        x: &mut [V],
        observe: &mut Observe<'_>,
    ) -> Result<Vec<Report<V::Real>>, Error> {
        if b.len() != x.len() {
            let what = "the number of solutions";
            return Err(Error::Shape { what, expected: b.len(), found: x.len() });
        }
        for (b_j, x_j) in b.iter().zip(&*x) {
            check("BlockCg", PreconditionerKind::Symmetric, &self.stop, a, m, b_j, x_j)?;
            if !b_j.same_layout(&b[0]) {
                return Err(Error::Layout { what: "a right-hand side" });
            }
        }
        let Some(first) = b.first() else { return Ok(Vec::new()) };
        for kept in [&mut self.w, &mut self.z, &mut self.s, &mut self.q, &mut self.safe] {
            vectors_like(kept, b.len(), first)?;
        }
        let mut columns = self.open(a, b, x)?;
        let (mut iterations, mut end, mut runs) = (0, Outcome::Converged, 0);
        loop {
            let active = self.judge(a, b, x, &mut columns, (end, runs, iterations));
            if active.is_empty() {
                break;
            }
            end = self.run((a, m), x, &active, &mut columns, &mut iterations, observe);
            runs += 1;
        }
        x.iter().try_for_each(V::sync)?;
        Ok(columns.iter().map(Column::report).collect())
    }

    /// Checks the input before the first write and computes the norms of all right-hand sides.
    fn open(&mut self, a: &dyn LinearOperator<V>, b: &[V], x: &mut [V]) -> Result<Vec<Column>, Error> {
        let mut columns = Vec::with_capacity(b.len());
        for (b, x) in b.iter().zip(&*x) {
            let r = &mut self.w[0];
            a.residual(b, x, r);
            let [bb, rr] = V::wait_for([&b.dot(b), &r.dot(r)]);
            if !(bb.is_finite() && rr.is_finite()) {
                check_finite(&[("b", b), ("x", x)])?;
                x.sync()?; // sums are not finite if a rank is lost
            }
            if !scaling::is_ordinary(bb) && !matches!(scaling::fit(b, bb, r), Size::Zero) {
                let (what, value) = ("a right-hand side of BlockCg, squared,", bb.as_f64());
                return Err(Error::Range { what, value, storage: V::Real::NAME });
            }
            let size = bb.sqrt();
            let threshold = self.stop.threshold(size).as_f64();
            let (truth, scale) = (rr.sqrt().as_f64(), size.as_f64());
            let (initial, seen, saved, iterations, outcome) = (truth, truth, f64::INFINITY, 0, None);
            columns.push(Column { scale, threshold, initial, truth, seen, saved, iterations, outcome });
        }
        for (x, column) in x.iter_mut().zip(&mut columns).filter(|(_, column)| column.scale == 0.0) {
            x.fill(zero());
            (column.scale, column.initial, column.truth) = (1.0, 0.0, 0.0);
        }
        Ok(columns)
    }

    /// Recomputes the residuals and decides which columns are finished and with which outcome. Stores the
    /// residuals of the other columns in W and returns the indices of these columns.
    fn judge(
        &mut self,
        a: &dyn LinearOperator<V>,
        b: &[V],
        x: &mut [V],
        columns: &mut [Column],
        (end, runs, iterations): (Outcome, usize, usize),
    ) -> Vec<usize> {
        let mut active = Vec::new();
        for (j, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.outcome.is_none()) {
            let r = &mut self.w[active.len()];
            a.residual(&b[j], &x[j], r);
            let norm = r.norm().as_f64();
            let progress = norm <= 0.5 * column.truth;
            column.outcome = match end {
                _ if !norm.is_finite() => Some(Outcome::NotFinite),
                _ if norm <= column.threshold => Some(Outcome::Converged),
                _ if runs == 0 && self.stop.max_iterations == 0 => Some(Outcome::IterationLimit),
                _ if runs == 0 => None,
                Outcome::Breakdown if !progress && runs == 1 => Some(Outcome::Breakdown),
                Outcome::Converged | Outcome::Breakdown if !progress => Some(Outcome::Stagnated),
                Outcome::Converged | Outcome::Breakdown if iterations < self.stop.max_iterations => None,
                Outcome::Converged | Outcome::Breakdown => Some(Outcome::IterationLimit),
                other => Some(other),
            };
            (column.truth, column.seen, column.iterations) = (norm, norm, iterations);
            match column.outcome {
                None => column.keep(&x[j], &mut self.safe[j], norm),
                Some(Outcome::Converged | Outcome::IterationLimit | Outcome::Stopped) => (),
                Some(_) if norm <= column.saved || !column.saved.is_finite() => (),
                Some(_) => {
                    x[j].copy(&self.safe[j]);
                    a.residual(&b[j], &x[j], r);
                    column.truth = r.norm().as_f64();
                }
            }
            if column.outcome.is_none() {
                active.push(j);
            }
        }
        active
    }

    /// Runs the recurrence from the residuals in W until all active columns are below the tolerance. Returns
    /// why it ended.
    fn run(
        &mut self,
        (a, m): (&dyn LinearOperator<V>, &mut dyn Preconditioner<V>),
        x: &mut [V],
        active: &[usize],
        columns: &mut [Column],
        iterations: &mut usize,
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
            *iterations += 1;
            let zeta = match self.orthonormalise(m, rank) {
                Ok(zeta) => zeta, // 4
                Err(end) => return end,
            };
            let kept = zeta.len() / rank;
            sigma = product(&zeta, &sigma, [kept, rank, k]); // 6
            let last = *iterations >= self.stop.max_iterations;
            if last || kept == 0 || iterations.is_multiple_of(self.stop.check_every) {
                let squares = gram_of_residuals(&self.w[..kept], &sigma, k, &mut self.sums);
                for (square, &j) in squares.iter().zip(active) {
                    let seen = square.max(0.0).sqrt(); // NaN ends the run, and the residual is recomputed
                    columns[j].seen = seen;
                    columns[j].keep(&x[j], &mut self.safe[j], seen);
                }
                let relative: Vec<f64> = columns.iter().map(|c| c.seen / c.scale).collect();
                let stopped = observe(&relative).is_break();
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
        for (w, z) in self.w[..count].iter().zip(&mut self.z) {
            m.apply(w, z);
        }
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

impl Column {
    /// Copies an iterate if it is finite and its residual has halved since the last copy.
    fn keep<V: Vector>(&mut self, x: &V, safe: &mut V, residual: f64) {
        if residual <= 0.5 * self.saved {
            safe.copy(x);
            self.saved = residual;
        }
    }

    fn report<T: Real>(&self) -> Report<T> {
        let of = |norm: f64| T::from_f64(norm / self.scale);
        Report {
            outcome: self.outcome.unwrap_or(Outcome::IterationLimit),
            iterations: self.iterations,
            initial_residual: of(self.initial),
            true_residual: of(self.truth),
            tolerance: of(self.threshold),
            condition: None,
        }
    }
}

impl<V: Vector> Default for BlockCg<V> {
    fn default() -> Self {
        Self::new(Stop::default())
    }
}

/// A B, where A has m rows and B has `columns` columns.
fn product(a: &[f64], b: &[f64], [m, n, columns]: [usize; 3]) -> Vec<f64> {
    let entry = |i: usize, j: usize| (0..n).map(|k| a[i * n + k] * b[k * columns + j]).sum();
    (0..m * columns).map(|at| entry(at / columns, at % columns)).collect()
}
