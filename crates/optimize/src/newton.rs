//! Newton's method with iterative inner solves.
//!
//! | symbol | here | |
//! |---|---|---|
//! | H | `a` | Hessian, or a positive definite approximation of it |
//! | M | `m` | preconditioner of H |
//! | η | `eta` | relative tolerance of the inner solve (forcing term) |

use std::ops::ControlFlow;

use coarsen_core::{Iteration, Outcome, Real, Scalar, Stop, Vector};
use coarsen_krylov::{Cg, Krylov};
use num_traits::Float;

use crate::direction::{fits, minus, vectors};
use crate::line_search::within;
use crate::{DescentError, Direction, Linearize, Proposal, Refusal};

/// The accuracy of the inner system H p = g.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Forcing<T> {
    /// The stopping rule of the inner method: a fixed tolerance, or a fixed number of iterations.
    AsGiven,
    /// η = γ (‖g‖ / ‖g_old‖)² with γ = 0.9, at most 0.5, and at least γ η_old² if this bound is above 0.1.
    /// Newton's method then converges quadratically up to a factor, and saves inner iterations far from the
    /// solution. Eisenstat & Walker 1996, (2.6) and §2.1.
    EisenstatWalker,
    /// η = min(1/2, √max(√(gᵀM⁻¹g), τ)). The preconditioner balances stiff and soft parts, so that the large
    /// gradients of stiff parts do not determine η. The inner solve ends at √(rᵀM⁻¹r) ≤ η √(gᵀM⁻¹g), in the
    /// same norm. Wang et al. 2020 (HOT), Algorithm 1 and §5.3; M is the preconditioner, which the paper calls
    /// P there. *Deviation*: inner methods without this test (all but `Cg` and `FlexibleCg`) end at ‖r‖₂ ≤ η
    /// ‖g‖₂. *Cost*: one more application of M per inner solve, for η.
    Preconditioned {
        /// τ, in the unit of √(gᵀM⁻¹g). The paper uses the tolerance of Li et al. 2019 for ‖g‖₂, with the
        /// stiffest material.
        min_norm: T,
    },
    /// η = min(1/2, √max(‖g‖₂, τ)), with the inner stop of [`Preconditioned`](Self::Preconditioned). The units of
    /// g enter, so stiff parts determine η. Gast et al. 2015, "Optimization integrator for large time steps";
    /// Wang et al. 2020 (HOT), §5.3.
    Gradient {
        /// τ, in the unit of ‖g‖₂.
        min_norm: T,
    },
}

/// Newton's method: d = −H⁻¹ ∇f, solved by a Krylov method.
///
/// Near a minimiser with a positive definite Hessian, convergence with exact steps is quadratic. Far from a
/// minimiser an inner solve may find negative curvature, and the direction is refused ([`Refusal::Inner`]).
/// If the objective has a positive definite approximation, the direction is computed again with it
/// (projection on demand, [`Linearize::project`]). Otherwise [`OrElse`](crate::OrElse) can provide a
/// fallback. If an approximation is used in every step, convergence is linear where the exact Hessian is
/// indefinite. *Use* if Hessians are cheap compared with the solve, or if high accuracy is required. *Cost*
/// of an iteration: 1 Hessian and 1 inner solve. A refresh needs a second Hessian if the objective has two
/// kinds, since the preconditioner is built from the positive definite approximation. *Memory*: 1 vector, and
/// the vectors of the inner method. *Reference* Nocedal & Wright 2006, §7.1, Algorithm 7.1; Wang et al. 2020
/// (HOT), Algorithm 1; projection on demand: Longva, Löschner, Fernández-Fernández, Larionov, Ascher & Bender
/// 2023, "Pitfalls of projection".
///
/// See [`Linearized`](crate::Linearized) for an example.
pub struct Newton<V: Vector, K> {
    /// The inner method. A forcing term replaces its relative tolerance during a solve only.
    pub inner: K,
    /// The rule for the tolerance of the inner method.
    pub forcing: Forcing<V::Real>,
    /// Watches the inner solves; none by default. A solve that it ends gives its last iterate as the direction, as at the
    /// limit on iterations. *Use* with a monitor of the descent that then ends it too, such as a limit on time.
    pub monitor: Option<Box<dyn FnMut(&Iteration<'_, V>) -> ControlFlow<()> + Send>>,
    inner_iterations: usize,
    last: Option<Last<V::Real>>,
    /// Whether `last` belongs to this x. A second proposal at the same x keeps η.
    chosen: bool,
    renew: bool,
    hessian: Hessian,
    p: Vec<V>,
}

/// The Hessian of the next proposal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hessian {
    /// The only Hessian, or no choice was made yet.
    Given,
    /// The exact Hessian.
    Exact,
    /// The positive definite approximation, after the exact Hessian failed.
    StandIn,
}

/// η = min(1/2, √max(`size`, τ)).
fn forced<T: Real>(size: T, min_norm: T) -> T {
    size.max(min_norm).sqrt().min(T::from_f64(0.5))
}

struct Last<T> {
    norm: T,
    eta: T,
}

impl<V: Vector> Newton<V, Cg<V>> {
    /// Returns Newton's method with inner systems solved to 1e-12 in `f64` and 1e-5 in `f32`.
    pub fn exact() -> Self {
        let tolerance = V::Real::from_f64(if V::Real::EPSILON.as_f64() > 1e-10 { 1e-5 } else { 1e-12 });
        Self::with(Cg::new(Stop::relative(tolerance)), Forcing::AsGiven)
    }

    /// Returns Newton's method with inner systems solved to the accuracy that the outer iteration needs.
    pub fn inexact() -> Self {
        Self::with(Cg::default(), Forcing::EisenstatWalker)
    }

    /// Returns Newton's method with a fixed number of inner iterations (Wu, Wang & Wang 2022, §4.3; 32 in
    /// their Table 1). On a device, `FixedCg` in [`with`](Self::with) saves the convergence checks.
    pub fn fixed(iterations: usize) -> Self {
        let stop = Stop { max_iterations: iterations, ..Stop::relative(num_traits::zero()) };
        Self::with(Cg::new(stop), Forcing::AsGiven)
    }
}

impl<V: Vector, K: Krylov<V>> Newton<V, K> {
    /// Returns Newton's method with any inner method; use `FlexibleCg` for preconditioners that vary.
    pub fn with(inner: K, forcing: Forcing<V::Real>) -> Self {
        Self {
            inner,
            forcing,
            monitor: None,
            inner_iterations: 0,
            last: None,
            chosen: false,
            renew: false,
            hessian: Hessian::Given,
            p: Vec::new(),
        }
    }

    /// Resets the forcing term to its value at a first step; call this function when the objective changes.
    pub fn forget(&mut self) {
        self.last = None;
        self.chosen = false;
        self.hessian = Hessian::Given;
    }

    /// Returns η for a gradient of norm `norm`.
    fn eisenstat_walker(&mut self, norm: V::Real) -> V::Real {
        let [gamma, threshold, most] = [0.9, 0.1, 0.5].map(V::Real::from_f64);
        let eta = match &self.last {
            None => most,
            Some(Last { eta, .. }) if self.chosen => return *eta,
            Some(Last { norm: old, eta: before }) => {
                let safeguard = gamma * *before * *before;
                let eta = gamma * (norm / *old).powi(2); // (2.6)
                if safeguard > threshold { eta.max(safeguard).min(most) } else { eta.min(most) }
            }
        };
        self.last = Some(Last { norm, eta });
        self.chosen = true;
        eta
    }

    /// Solves H p = g to the forcing term, and sets d = −p. The rule of the inner method is as before
    /// afterwards, but a forcing term removes a tolerance of its own in the norm of the preconditioner.
    fn solve<F: Linearize<V> + ?Sized>(
        &mut self,
        f: &mut F,
        x: &V,
        g: &V,
        d: &mut V,
        renew: bool,
    ) -> Result<Outcome, DescentError> {
        let (a, m) = if renew { f.relinearize(x)? } else { f.linearize(x)? };
        let forced = match self.forcing {
            Forcing::AsGiven => None,
            Forcing::EisenstatWalker => Some((self.eisenstat_walker(g.norm()), false)),
            Forcing::Preconditioned { min_norm } => {
                fits(m, x)?;
                let energy = m.apply_dot(g, d).value.read().max(V::Real::from_f64(0.0));
                Some((forced(energy.sqrt(), min_norm), true))
            }
            Forcing::Gradient { min_norm } => Some((forced(g.norm(), min_norm), true)),
        };
        let [p] = vectors(&mut self.p, x)?;
        p.fill(V::Real::from_f64(0.0));
        let own = self.inner.stop_mut().relative;
        if let Some((eta, preconditioned)) = forced {
            let tested = self.inner.stop_in_preconditioner(preconditioned.then_some(eta)) && preconditioned;
            self.inner.stop_mut().relative = if tested { V::Real::from_f64(0.0) } else { eta };
        }
        let solved = match &mut self.monitor {
            Some(monitor) => self.inner.solve_with(a, m, g, p, &mut **monitor),
            None => self.inner.solve(a, m, g, p),
        };
        if forced.is_some() {
            self.inner.stop_mut().relative = own;
            self.inner.stop_in_preconditioner(None);
        }
        let report = solved?;
        self.inner_iterations += report.iterations;
        d.scaled(&minus(g), p);
        Ok(report.outcome)
    }
}

impl<V: Vector, F: Linearize<V> + ?Sized, K: Krylov<V>> Direction<V, F> for Newton<V, K> {
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        // The last descent may have ended without a call of `learn`.
        (self.hessian, self.chosen) = (Hessian::Given, false);
        let budget = self.inner.stop_mut().max_iterations;
        within("Newton::inner, max_iterations", V::Real::from_f64(budget as f64), budget > 0, "1 or more")?;
        vectors::<V, 1>(&mut self.p, x)?;
        Ok(())
    }

    fn propose(&mut self, f: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let renew = std::mem::take(&mut self.renew);
        if renew && f.project(true) {
            f.relinearize(x)?; // its preconditioner must be definite
        }
        let choice = f.project(self.hessian == Hessian::StandIn);
        if choice && self.hessian == Hessian::Given {
            self.hessian = Hessian::Exact;
        }
        let solved = self.solve(f, x, g, d, renew && !choice);
        if choice {
            f.project(true); // for other users, such as the fallback of a chain
        }
        Ok(match solved? {
            Outcome::Converged | Outcome::IterationLimit | Outcome::Stagnated | Outcome::Stopped => {
                Proposal::Unit
            }
            outcome => Proposal::Refused(Refusal::Inner(outcome)),
        })
    }

    fn learn(&mut self, s: &V, y: &V, _: V::Real) {
        <Self as Direction<V, F>>::learn_from_other(self, s, y);
    }

    /// A step of another direction has the same effect as an own step, because it changes x.
    fn learn_from_other(&mut self, _: &V, _: &V) {
        self.hessian = Hessian::Given;
        self.chosen = false;
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn inner_iterations(&self) -> usize {
        self.inner_iterations
    }

    fn fall_back(&mut self) -> bool {
        let choice = self.hessian == Hessian::Exact;
        if choice {
            self.hessian = Hessian::StandIn;
        }
        choice
    }

    fn refresh(&mut self, f: &mut F, x: &V) -> Result<bool, DescentError> {
        self.renew = f.renews(x)?;
        Ok(self.renew)
    }
}
