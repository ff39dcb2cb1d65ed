//! Restarted generalised minimal residuals, right-preconditioned, optionally flexible.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v_j | `basis` | orthonormal basis of the Krylov space of A M⁻¹ |
//! | z_j | `directions` | M⁻¹ v_j: for all j if flexible, otherwise only for the last j |
//! | w | `w` | A z_j, orthogonalised in place: it becomes v_{j+1} |
//! | h_ij | `problem.work` | column j of the Hessenberg matrix |
//! | β, y | | first entry of the right-hand side; the minimiser |
//! | | `unit` | 1, or a power of two near ‖A‖ (see `scaling`); w, h_ij and y are those of A / unit |
//!
//! Step numbers at line ends follow Saad 2003, Algorithm 9.5, and Algorithm 9.6 if flexible. *Deviation*:
//! Gram–Schmidt is classical, so that all h_ij of a column need one reduction. It is repeated after
//! cancellation.

use std::ops::ControlFlow::{Break, Continue};

use coarsen_core::{
    Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Scalar, Stop,
    Vector, vectors_like,
};
use num_traits::{one, zero};

use crate::Krylov;
use crate::convergence_test::round_off;
use crate::krylov::solve_and_new;
use crate::scaling;
use crate::solve::{Solve, Workspace, check};

/// Gram–Schmidt is repeated if less than this fraction of w remains: 1/√2 (Reichel & Gragg 1990).
const KEPT: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// GMRES(m) for general A, preconditioned from the right.
///
/// Minimises ‖b − A x‖₂ over x₀ + the Krylov space of dimension m, then restarts from the recomputed
/// residual. Classical Gram–Schmidt, repeated after cancellation, keeps the basis orthogonal to round-off.
/// Givens rotations solve the least-squares problem. Since M is applied from the right, the minimised norm is
/// the norm of the stopping rule. *Use* for unsymmetric systems; with `flexible` also for preconditioners
/// that vary. For symmetric systems use [`Cg`](crate::Cg) or [`Minres`](crate::Minres), which need a fixed
/// number of vectors. *Outcome* if a cycle does not reduce the residual, the solve ends as
/// [`Stagnated`](Outcome::Stagnated). If the Krylov space is exhausted without a solution, it ends as
/// [`Breakdown`](Outcome::Breakdown). *Cost* per iteration j of a cycle: 1 application of A, 1 of M, 2 passes
/// over j vectors and 3 reductions (4 passes and 5 reductions if Gram–Schmidt is repeated); m + 5 vectors, 2
/// m + 4 if flexible. Monitors receive no x. *Reference* Saad & Schultz 1986; Saad 2003, §9.3.2 and §9.4.1,
/// Algorithms 9.5 and 9.6; Giraud, Langou & Rozložník 2005, Comput. Math. Appl. 50 (classical Gram–Schmidt
/// twice).
///
/// ```
/// use coarsen_krylov::{Gmres, Identity, Stop, from_fn};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![x[1], -x[0]]);
/// let (b, mut x) = (vec![1.0, 3.0], vec![0.0; 2]);
/// let mut method = Gmres::new(Stop::relative(1e-10));
/// method.restart = 50;
/// method.solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] + 3.0).abs() < 1e-9 && (x[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct Gmres<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    /// m, the number of iterations per cycle, at least 1; 30 by default.
    pub restart: usize,
    /// Whether M may change between applications. All M⁻¹ v_j are then stored.
    pub flexible: bool,
    workspace: Workspace<V, 1>,
    basis: Vec<V>,
    directions: Vec<V>,
    problem: LeastSquares,
    sums: Vec<V::Scalar>,
}

solve_and_new!(Gmres {
    restart: 30,
    flexible: false,
    basis: Vec::new(),
    directions: Vec::new(),
    problem: LeastSquares::default(),
    sums: Vec::new()
});

impl<V: Vector> Krylov<V> for Gmres<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        let needed = if self.flexible { PreconditionerKind::Variable } else { PreconditionerKind::Linear };
        check("Gmres", needed, &self.stop, a, m, b, x)?;
        if self.restart == 0 {
            return Err(Error::Parameter { name: "Gmres::restart", value: 0.0, range: "1 or more" });
        }
        // The Krylov space has at most the dimension of the system.
        let cycle = self.restart.min(b.size()).max(1);
        let Self { basis, directions, problem, sums, flexible, .. } = self;
        vectors_like(basis, cycle + 1, b)?;
        vectors_like(directions, if *flexible { cycle } else { 1 }, b)?;
        sums.clear();
        sums.reserve(cycle);
        let number = |value: f64| b.scalar(V::Real::from_f64(value));
        let (round_off, mut unit) = (round_off::<V::Real>().as_f64(), None);

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: false };
        solve.run(&mut self.workspace, x, |[w], _, x, r, test| {
            let mut end = Continue(());
            let beta = test.recomputed.as_f64();
            basis[0].scaled(&number(1.0 / beta), r); // 1
            problem.start(beta, cycle);
            for j in 0..cycle {
                let z = &mut directions[if *flexible { j } else { 0 }];
                m.apply(&basis[j], z); // 3
                a.apply(z, w); // 4
                let due = test.step();
                scaling::shrink(w, unit.unwrap_or(1.0), z);
                let mut norm = w.norm();
                if unit.is_none() {
                    unit = Some(scaling::unit_of(w, [norm * norm; 2], r));
                    norm = if unit == Some(1.0) { norm } else { w.norm() };
                }
                let length = orthogonalise(&basis[..=j], w, norm.as_f64(), sums, &mut problem.work); // 5 to 9
                if !length.is_finite() {
                    end = Break(Outcome::NotFinite);
                    break;
                }
                let residual = V::Real::from_f64(problem.push(length, round_off)); // 11
                if due {
                    end = test.check(residual * residual, None);
                }
                if end.is_continue() && length == 0.0 {
                    end = Break(Outcome::Breakdown); // unless the space contains the solution
                }
                if end.is_break() {
                    break;
                }
                basis[j + 1].scaled(&number(1.0 / length), w); // 9
            }
            let y = problem.solve(round_off); // 12
            let number = |value: f64| number(value / unit.unwrap_or(1.0));
            if *flexible {
                y.iter().zip(&*directions).for_each(|(&y, z)| x.axpy(&number(y), z)); // 12: x + Z y
            } else {
                w.fill(zero());
                y.iter().zip(&*basis).for_each(|(&y, v)| w.axpy(&number(y), v));
                m.apply(w, r);
                x.axpy(&b.scalar(one()), r); // 12: x + M⁻¹ V y
            }
            end
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }
}

/// Orthogonalises w against `v` and writes the coefficients to `h`. `before` is the norm of w. Returns the
/// norm of the remainder, 0 if it is only round-off.
fn orthogonalise<V: Vector>(
    v: &[V],
    w: &mut V,
    mut before: f64,
    sums: &mut Vec<V::Scalar>,
    h: &mut Vec<f64>,
) -> f64 {
    h.clear();
    h.resize(v.len(), 0.0);
    let least = round_off::<V::Real>().as_f64() * before;
    loop {
        sums.clear();
        w.dots_with(v, sums); // 6
        sums.iter_mut().for_each(|share| *share = -share.clone());
        w.axpys(sums, v); // 7
        let length = w.norm().as_f64(); // one synchronisation for all sums
        h.iter_mut().zip(&*sums).for_each(|(h, share)| *h -= share.read().as_f64());
        if length <= least {
            return 0.0;
        }
        if length > KEPT * before || !length.is_finite() {
            return length;
        }
        before = length;
    }
}

/// min ‖β e₁ − H y‖ for a Hessenberg matrix H that grows column by column: the QR factors of H by Givens rotations
/// (Saad 2003, §6.5.3), in f64 for vectors of either type.
#[derive(Default)]
struct LeastSquares {
    /// The columns of R. Column j starts at j (j + 1) / 2 and has j + 1 entries.
    r: Vec<f64>,
    /// (c, s) of each rotation.
    rotations: Vec<(f64, f64)>,
    /// The rotated right-hand side, with one entry more than R has columns.
    g: Vec<f64>,
    /// The largest absolute value of the entries of R.
    largest: f64,
    /// The current column, then the solution.
    work: Vec<f64>,
}

impl LeastSquares {
    /// Resets the problem to no columns and the right-hand side β e₁. The first call allocates memory for
    /// `columns`.
    fn start(&mut self, beta: f64, columns: usize) {
        self.r.clear();
        self.rotations.clear();
        self.g.clear();
        self.work.clear();
        self.largest = 0.0;
        self.r.reserve(columns * (columns + 1) / 2);
        self.rotations.reserve(columns);
        self.g.reserve(columns + 1);
        self.work.reserve(columns + 1);
        self.g.push(beta);
    }

    /// Adds the column whose upper part is in `work` and whose subdiagonal entry is `last`. Returns the norm
    /// of the residual, which a column that depends on the previous columns up to `round_off` does not
    /// reduce.
    fn push(&mut self, last: f64, round_off: f64) -> f64 {
        let j = self.rotations.len();
        self.work.push(last);
        let h = &mut self.work[..];
        for (i, &(c, s)) in self.rotations.iter().enumerate() {
            (h[i], h[i + 1]) = (c * h[i] + s * h[i + 1], c * h[i + 1] - s * h[i]);
        }
        let length = h[j].hypot(h[j + 1]);
        self.largest = h[..j].iter().fold(self.largest.max(length), |m, v| m.max(v.abs()));
        let pivot = if length > round_off * self.largest { length } else { 0.0 };
        // Without a pivot, the remaining right-hand side moves to the next row.
        let (c, s) = if pivot > 0.0 { (h[j] / pivot, h[j + 1] / pivot) } else { (0.0, 1.0) };
        h[j] = pivot;
        self.r.extend_from_slice(&h[..=j]);
        self.rotations.push((c, s));
        let g = self.g[j];
        self.g[j] = c * g;
        self.g.push(-s * g);
        (s * g).abs()
    }

    /// y by back substitution. Unknowns whose pivot is only round-off (A is singular) are 0.
    fn solve(&mut self, round_off: f64) -> &[f64] {
        let n = self.rotations.len();
        let least = round_off * self.largest;
        let at = |i: usize, j: usize| self.r[j * (j + 1) / 2 + i];
        let y = &mut self.work;
        y.clear();
        y.extend_from_slice(&self.g[..n]);
        for j in (0..n).rev() {
            y[j] = if at(j, j) > least { y[j] / at(j, j) } else { 0.0 };
            for i in 0..j {
                y[i] -= at(i, j) * y[j];
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_of_two_columns_by_hand() {
        // H = [3 1; 4 2; 0 2], right-hand side (5, 0, 0)
        let mut problem = LeastSquares::default();
        problem.start(5.0, 2);
        problem.work.push(3.0);
        assert!((problem.push(4.0, 1e-16) - 4.0).abs() < 1e-15);
        problem.work.clear();
        problem.work.extend([1.0, 2.0]);
        let residual = problem.push(2.0, 1e-16);
        let y = problem.solve(0.0).to_vec();
        let left = [5.0 - 3.0 * y[0] - y[1], -4.0 * y[0] - 2.0 * y[1], -2.0 * y[1]];
        for column in [[3.0, 4.0, 0.0], [1.0, 2.0, 2.0]] {
            assert!(column.iter().zip(left).map(|(a, b)| a * b).sum::<f64>().abs() < 1e-14);
        }
        assert!((left.iter().map(|v| v * v).sum::<f64>().sqrt() - residual).abs() < 1e-14);
    }

    #[test]
    fn a_column_of_zeros_takes_no_share() {
        let mut problem = LeastSquares::default();
        problem.start(1.0, 1);
        problem.work.push(0.0);
        assert_eq!(problem.push(0.0, 1e-16), 1.0);
        assert_eq!(problem.solve(1e-16), [0.0]);
    }

    /// H = [3 3; 4 4; 0 0]. The second column equals the first up to round-off, so it does not reduce the
    /// residual further.
    #[test]
    fn a_breakdown_reports_the_residual_that_is_left() {
        for noise in [0.0, 1e-17, -1e-17] {
            let mut problem = LeastSquares::default();
            problem.start(5.0, 2);
            problem.work.push(3.0);
            problem.push(4.0, 1e-15);
            // The column (3, 4) again. The first rotation turns it into (5, noise).
            problem.work.clear();
            problem.work.extend([3.0 - 0.8 * noise, 4.0 + 0.6 * noise]);
            assert!((problem.push(0.0, 1e-15) - 4.0).abs() < 1e-15, "{noise}");
            let y = problem.solve(1e-15).to_vec();
            let left = [5.0 - 3.0 * (y[0] + y[1]), -4.0 * (y[0] + y[1])];
            assert!((left[0].hypot(left[1]) - 4.0).abs() < 1e-14, "{y:?}");
        }
    }
}
