//! Conjugate gradients for several right-hand sides at once.
//!
//! | file | |
//! |---|---|
//! | `mod` | checks, residuals recomputed between runs of a recurrence, and the outcome of each column |
//! | `shared` | the recurrence of columns that share their search directions |
//! | `separate` | the recurrence of columns that do not |

mod separate;
mod shared;

use std::ops::ControlFlow;

use coarsen_core::{
    Error, LinearOperator, Outcome, Preconditioner, PreconditionerKind, Real, Report, Stop, Vector,
    vectors_like,
};
use num_traits::{Float, zero};

use self::separate::Scalars;
use crate::scaling::{self, Size, check_finite};
use crate::solve::check;

/// Preconditioned conjugate gradients for A X = B with k right-hand sides and symmetric positive definite A
/// and M.
///
/// With [`shared`](Self::shared), each x minimises ‖x − A⁻¹b‖_A over the sum of the Krylov spaces of all columns. The
/// dimension of this space is k times the dimension for one column. So the k − 1 smallest eigenvalues of M⁻¹A no longer limit
/// convergence (O'Leary 1980, Theorem 5). Residuals are stored as an orthonormal basis times a small matrix,
/// so that linearly dependent columns are harmless. After every run of the recurrence all residuals are
/// recomputed. Columns above the tolerance then continue without the converged columns. *Use* for a few
/// right-hand sides (2 to about 20) of the same matrix that are known at the same time. For a sequence of
/// right-hand sides use [`Cg`](crate::Cg) with the previous x as guess. *Not* for right-hand sides whose
/// squares overflow or underflow: [`Error::Range`]. *Outcome* one [`Report`] per column; it counts the
/// iterations of the block until the column converged. *Cost* per iteration: k applications of A and of M at once,
/// about 7 k² passes over vectors, 2 k reductions (3 k at a convergence check), two synchronisations; 5 k vectors. A few
/// k x k matrices are allocated. The shared space pays off if the iterations that it saves cost more than these passes:
/// with few columns, a costly A or M, or a few small eigenvalues that M leaves. Otherwise let the columns be
/// [separate](Self::shared).
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
    /// Whether columns share their search directions; true by default.
    ///
    /// If false, each column has the iterates of [`Cg`](crate::Cg), except for round-off, and a column that has converged
    /// leaves the block (pseudo-block CG of Trilinos). *Use* with a strong preconditioner such as multigrid, which leaves
    /// few iterations to save. *Cost* per iteration and column: 13 passes over vectors, 3 reductions; each convergence
    /// check synchronises once for up to eight columns.
    /// *Reference* Bavier, Hoemmen, Rajamanickam, Thornquist 2012, Sci. Program. 20 (Belos).
    pub shared: bool,
    w: Vec<V>,
    z: Vec<V>,
    s: Vec<V>,
    q: Vec<V>,
    /// The iterates of smallest residual, returned after a breakdown.
    safe: Vec<V>,
    sums: Vec<V::Scalar>,
    scalars: Vec<Scalars<V::Scalar>>,
    /// ‖r‖ / ‖b‖ of each column, for `observe`.
    relative: Vec<f64>,
    /// Whether `observe` has ended the solve.
    stopped: bool,
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
    /// Why the last run of the recurrence ended for this column; `None` before and during a run.
    end: Option<Outcome>,
    outcome: Option<Outcome>,
}

/// A function called at every convergence test with ‖r‖ / ‖b‖ of each column; `Break` ends the solve.
type Observe<'a> = dyn FnMut(&[f64]) -> ControlFlow<()> + 'a;

impl<V: Vector> BlockCg<V> {
    /// The method with a stopping rule; vectors are allocated at the first solve.
    pub fn new(stop: Stop<V::Real>) -> Self {
        let [w, z, s, q, safe] = [const { Vec::new() }; 5];
        let (sums, scalars, relative) = (Vec::new(), Vec::new(), Vec::new());
        Self { stop, shared: true, w, z, s, q, safe, sums, scalars, relative, stopped: false }
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
        self.stopped = false;
        let mut runs = 0;
        loop {
            let active = self.judge(a, b, x, &mut columns, runs);
            if active.is_empty() {
                break;
            }
            if self.shared {
                let end = self.run_shared((a, m), x, &active, &mut columns, observe);
                active.iter().for_each(|&j| columns[j].end = Some(end));
            } else {
                self.run_separate((a, m), x, active, &mut columns, observe);
            }
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
            let (initial, seen, saved, iterations) = (truth, truth, f64::INFINITY, 0);
            let (end, outcome) = (None, None);
            columns.push(Column { scale, threshold, initial, truth, seen, saved, iterations, end, outcome });
        }
        for (x, column) in x.iter_mut().zip(&mut columns).filter(|(_, column)| column.scale == 0.0) {
            x.fill(zero());
            (column.scale, column.initial, column.truth) = (1.0, 0.0, 0.0);
        }
        Ok(columns)
    }

    /// Calls `observe`; returns whether it ends the solve.
    fn observed(&mut self, columns: &[Column], observe: &mut Observe<'_>) -> bool {
        self.relative.clear();
        self.relative.extend(columns.iter().map(|column| column.seen / column.scale));
        self.stopped = observe(&self.relative).is_break();
        self.stopped
    }

    /// Recomputes the residuals and decides which columns are finished and with which outcome. Stores the
    /// residuals of the other columns in W and returns the indices of these columns.
    fn judge(
        &mut self,
        a: &dyn LinearOperator<V>,
        b: &[V],
        x: &mut [V],
        columns: &mut [Column],
        runs: usize,
    ) -> Vec<usize> {
        let mut active = Vec::new();
        for (j, column) in columns.iter_mut().enumerate().filter(|(_, column)| column.outcome.is_none()) {
            let r = &mut self.w[active.len()];
            a.residual(&b[j], &x[j], r);
            let norm = r.norm().as_f64();
            let progress = norm <= 0.5 * column.truth;
            column.outcome = match column.end.take().unwrap_or(Outcome::Converged) {
                _ if !norm.is_finite() => Some(Outcome::NotFinite),
                _ if norm <= column.threshold => Some(Outcome::Converged),
                _ if runs == 0 && self.stop.max_iterations == 0 => Some(Outcome::IterationLimit),
                _ if runs == 0 => None,
                Outcome::Breakdown if !progress && runs == 1 => Some(Outcome::Breakdown),
                Outcome::Converged | Outcome::Breakdown if !progress => Some(Outcome::Stagnated),
                Outcome::Converged | Outcome::Breakdown if self.stopped => Some(Outcome::Stopped),
                Outcome::Converged | Outcome::Breakdown if column.iterations < self.stop.max_iterations => {
                    None
                }
                Outcome::Converged | Outcome::Breakdown => Some(Outcome::IterationLimit),
                other => Some(other),
            };
            (column.truth, column.seen) = (norm, norm);
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
