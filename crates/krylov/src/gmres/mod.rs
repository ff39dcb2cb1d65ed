//! Restarted generalised minimal residuals, right-preconditioned, optionally flexible.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v_j | `basis` | orthonormal basis of the Krylov space of A M⁻¹ |
//! | z_j | `directions` | M⁻¹ v_j: for all j if flexible, otherwise only for the last j |
//! | w | `w` | A z_j, orthogonalised in place: it becomes v_{j+1} |
//! | h_ij | `problem.work` | column j of the Hessenberg matrix |
//! | β, y | | first entry of the right-hand side; the minimiser |
//! | | `unit` | 1, or a power of two near ‖A‖ (see `scale`); w, h_ij and y are those of A / unit |
//!
//! Step numbers at line ends follow Saad 2003, Algorithm 9.5, and Algorithm 9.6 if flexible. *Deviation*:
//! Gram–Schmidt is classical, so that all h_ij of a column need one reduction. It is repeated after
//! cancellation.

mod least_squares;

use coarsen_core::{
    Class, Error, LinearOperator, Monitor, Outcome, Preconditioner, Real, Report, Scalar, Stop, Vector,
    vectors_like,
};
use num_traits::{one, zero};

use crate::Krylov;
use crate::convergence_test::ConvergenceTest;
use crate::scale;
use crate::start::{Workspace, check, round_off};
use least_squares::LeastSquares;

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
/// use coarsen_core::{Identity, Stop, from_fn};
/// use coarsen_krylov::{Gmres, Krylov};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![x[1], -x[0]]);
/// let (b, mut x) = (vec![1.0, 3.0], vec![0.0; 2]);
/// let mut method = Gmres::new(Stop::relative(1e-10));
/// method.restart = 50;
/// method.solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] + 3.0).abs() < 1e-9 && (x[1] - 1.0).abs() < 1e-9);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub struct Gmres<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    /// m, the number of iterations per cycle, at least 1; 30 by default.
    pub restart: usize,
    /// Whether M may change between applications. All M⁻¹ v_j are then stored.
    pub flexible: bool,
    workspace: Workspace<V, 3>,
    basis: Vec<V>,
    directions: Vec<V>,
    problem: LeastSquares,
    promised: Vec<V::Scalar>,
}

impl<V: Vector> Gmres<V> {
    /// GMRES(30) with a stopping rule; vectors are allocated at the first solve.
    pub fn new(stop: Stop<V::Real>) -> Self {
        Self {
            stop,
            restart: 30,
            flexible: false,
            workspace: Workspace::new(),
            basis: Vec::new(),
            directions: Vec::new(),
            problem: LeastSquares::default(),
            promised: Vec::new(),
        }
    }
}

impl<V: Vector> Default for Gmres<V> {
    fn default() -> Self {
        Self::new(Stop::default())
    }
}

impl<V: Vector> Krylov<V> for Gmres<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut dyn Monitor<V>,
    ) -> Result<Report<V::Real>, Error> {
        let needed = if self.flexible { Class::Variable } else { Class::Linear };
        check("Gmres", needed, &self.stop, a, m, b, x)?;
        if self.restart == 0 {
            return Err(Error::Parameter { name: "Gmres::restart", value: 0.0, range: "1 or more" });
        }
        // The Krylov space has at most the dimension of the system.
        let cycle = self.restart.min(b.size()).max(1);
        let Self { basis, directions, problem, promised, .. } = self;
        let ([r, w, safe], spare) = self.workspace.with_spare(b)?;
        vectors_like(basis, cycle + 1, b)?;
        vectors_like(directions, if self.flexible { cycle } else { 1 }, b)?;
        promised.clear();
        promised.reserve(cycle);
        let mut test = ConvergenceTest::new(self.stop, a, b, safe, spare, monitor);
        let number = |value: f64| b.scalar(V::Real::of(value));
        let (round_off, mut unit) = (round_off::<V::Real>().wide(), None);

        while test.goes_on(x, r)? {
            let beta = test.residual().wide();
            basis[0].scaled(&number(1.0 / beta), r); // 1
            problem.start(beta, cycle);
            for j in 0..cycle {
                let z = &mut directions[if self.flexible { j } else { 0 }];
                m.apply(&basis[j], z); // 3
                a.apply(z, w); // 4
                let due = test.step();
                scale::shrink(w, unit.unwrap_or(1.0), z);
                let mut norm = w.norm();
                if unit.is_none() {
                    unit = Some(scale::unit_of(w, [norm * norm; 2], r));
                    norm = if unit == Some(1.0) { norm } else { w.norm() };
                }
                let length = orthogonalise(&basis[..=j], w, norm.wide(), promised, &mut problem.work); // 5 to 9
                if !length.is_finite() {
                    test.end(Outcome::NotFinite);
                    break;
                }
                let residual = V::Real::of(problem.push(length, round_off)); // 11
                if due && test.look(residual * residual, &[], None).is_break() {
                    break;
                }
                if length == 0.0 {
                    test.end(Outcome::Breakdown); // unless the space contains the solution
                    break;
                }
                basis[j + 1].scaled(&number(1.0 / length), w); // 9
            }
            let y = problem.solve(round_off); // 12
            let number = |value: f64| number(value / unit.unwrap_or(1.0));
            if self.flexible {
                y.iter().zip(&*directions).for_each(|(&y, z)| x.axpy(&number(y), z)); // 12: x + Z y
            } else {
                w.fill(zero());
                y.iter().zip(&*basis).for_each(|(&y, v)| w.axpy(&number(y), v));
                m.apply(w, r);
                x.axpy(&b.scalar(one()), r); // 12: x + M⁻¹ V y
            }
        }
        test.report(x, None)
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
    promised: &mut Vec<V::Scalar>,
    h: &mut Vec<f64>,
) -> f64 {
    h.clear();
    h.resize(v.len(), 0.0);
    let least = round_off::<V::Real>().wide() * before;
    loop {
        promised.clear();
        w.dots_with(v, promised); // 6
        promised.iter_mut().for_each(|share| *share = -share.clone());
        w.axpys(promised, v); // 7
        let length = w.norm().wide(); // one wait for all sums
        h.iter_mut().zip(&*promised).for_each(|(h, share)| *h -= share.read().wide());
        if length <= least {
            return 0.0;
        }
        if length > KEPT * before || !length.is_finite() {
            return length;
        }
        before = length;
    }
}
