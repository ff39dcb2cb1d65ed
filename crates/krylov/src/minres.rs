//! Minimal residuals for symmetric, possibly indefinite systems.
//!
//! | symbol | here | |
//! |---|---|---|
//! | v | `v`, `v0` | Lanczos vectors, not normalised: the current and the previous one |
//! | z | `z` | M⁻¹ v, normalised so that (z, M z) = 1 |
//! | γ | `gamma` | length of v in the norm of M⁻¹: off-diagonal of the Lanczos matrix |
//! | δ | `delta` | (A z, z): diagonal of the Lanczos matrix |
//! | c, s | `c`, `s` | cosines and sines of the Givens rotations of the current and the previous step |
//! | w | `w`, `w0` | search directions |
//! | η | `eta` | last entry of the rotated right-hand side of the least-squares problem |
//! | | `unit` | 1, or a power of two near ‖A‖ (see `scaling`); v, γ, δ and α are those of A / unit |
//!
//! Letters and the order of steps follow Elman, Silvester & Wathen 2014, Algorithm 4.1, which is Paige &
//! Saunders 1975 with a preconditioner.

use std::mem;
use std::ops::ControlFlow::{self, Break, Continue};

use coarsen_core::{
    Dot, Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Scalar,
    Stop, Vector,
};
use num_traits::{Float, zero};

use crate::Krylov;
use crate::convergence_test::round_off;
use crate::krylov::solve_and_new;
use crate::scaling;
use crate::solve::{Solve, Workspace, check};

/// MINRES for symmetric A, which may be indefinite or singular, with symmetric positive definite M.
///
/// Minimises ‖b − A x‖ in the norm of M⁻¹ over x₀ + the Krylov space of M⁻¹A, by the Lanczos process and
/// Givens rotations. The stopping rule needs the 2-norm of the residual. The residual therefore has its own
/// recurrence: r ← s² r + (c η / γ) v. *Use* for symmetric indefinite systems (saddle points, shifted
/// operators). For positive definite systems [`Cg`](crate::Cg) is cheaper and as fast. Without convergence
/// the method returns the iterate of smallest residual (within a factor 2). *Outcome* a negative (v, M⁻¹ v)
/// ends as [`IndefinitePreconditioner`](Outcome::IndefinitePreconditioner). If A is singular and b is not in
/// its range, the solve ends as [`Inconsistent`](Outcome::Inconsistent), and x is the least-squares solution.
/// The sign of this is a residual r ≠ 0 with A r nearly zero: further steps do not reduce it, and x grows.
/// *Cost* per iteration: 1 application of A, 1 of M, 3 reductions, 7 axpby, 2 synchronisations and one per convergence
/// test; 8 vectors. *Reference* Paige & Saunders 1975, §5; Choi, Paige & Saunders 2011, SIAM J. Sci. Comput.
/// 33, §3 (‖A r‖ by the recurrence); Elman, Silvester & Wathen 2014, §4.1, Algorithm 4.1.
///
/// ```
/// use coarsen_krylov::{Identity, Minres, from_fn};
/// let swap = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![x[1], x[0]]);
/// let (b, mut x) = (vec![1.0, 3.0], vec![0.0; 2]);
/// Minres::default().solve(&swap, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] - 3.0).abs() < 1e-7 && (x[1] - 1.0).abs() < 1e-7);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct Minres<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    workspace: Workspace<V, 6>,
}

solve_and_new!(Minres {});

impl<V: Vector> Krylov<V> for Minres<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("Minres", PreconditionerKind::Symmetric, &self.stop, a, m, b, x)?;
        let number = |value: f64| b.scalar(V::Real::from_f64(value));
        // A lower bound of ‖A‖ in the norm of M⁻¹. It is kept over all runs, since a run that starts from a
        // least-squares residual gives no bound.
        let (mut norm, mut unit) = (0.0_f64, None);

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: true };
        solve.run(&mut self.workspace, x, |[v, v0, z, q, w, w0], _, x, r, test| {
            v.copy(r);
            for u in [&mut *v0, &mut *w, &mut *w0] {
                u.fill(zero());
            }
            let mut gamma = length::<V>(&m.apply_dot(v, z))?;
            let (mut gamma0, mut eta, mut held) = (1.0, gamma, None);
            let (mut c0, mut c, mut s0, mut s) = (1.0, 1.0, 0.0, 0.0);
            loop {
                // Deviation: z is not normalised. Its factor 1/γ is part of the coefficients.
                let [mut product, size] = read::<V>(&a.apply_dot(z, q));
                let known = unit.is_some();
                let unit = *unit.get_or_insert_with(|| {
                    let ratio = V::Real::from_f64(size.as_f64() / (gamma * gamma));
                    scaling::unit_of(q, [size, ratio * ratio], w0) // w₀ is still zero and is not read
                });
                if unit != 1.0 {
                    scaling::shrink(q, if known { unit } else { 1.0 }, z);
                    [product, _] = read::<V>(&z.dot_magnitude(q));
                }
                let delta = product.as_f64() / (gamma * gamma); // δ = (A z, z)
                v0.axpby(&number(1.0 / gamma), q, &number(-gamma / gamma0));
                v0.axpy(&number(-delta / gamma), v);
                mem::swap(v, v0); // v = A z − (δ/γ) v − (γ/γ₀) v₀
                let next = match length::<V>(&m.apply_dot(v, q)) {
                    Break(Outcome::Breakdown) => 0.0, // the Krylov space is exhausted
                    length => length?,
                };

                let alpha0 = c * delta - c0 * s * gamma;
                let alpha1 = alpha0.hypot(next);
                let alpha2 = s * delta + c0 * c * gamma;
                let alpha3 = s0 * gamma;
                norm = norm.max(delta.abs() + next);
                // ‖A r‖ / ‖r‖ of the residual before this step. It is 0 at a least-squares solution and if α₁
                // = 0.
                let slope = alpha0.hypot(c * next);
                if held.is_none() && slope <= V::Real::EPSILON.sqrt().as_f64() * norm {
                    test.best.hold(x, r.norm());
                    held = Some(x.dot(x).read());
                }
                if slope <= round_off::<V::Real>().as_f64() * norm {
                    return Break(Outcome::Inconsistent);
                }
                (c0, c, s0, s) = (c, alpha0 / alpha1, s, next / alpha1);
                w0.axpby(&number(1.0 / (gamma * alpha1)), z, &number(-alpha3 / alpha1));
                w0.axpy(&number(-alpha2 / alpha1), w);
                mem::swap(w, w0); // w = (z − α₃ w₀ − α₂ w) / α₁
                x.axpy(&number(c * eta / unit), w);
                eta *= -s;
                let share = if next > 0.0 { c * eta / next } else { 0.0 };
                r.axpby(&number(share), v, &number(s * s));

                if test.step() {
                    test.check(r.dot(r).read(), Some(x))?;
                    // After a least-squares solution, x grows along the null space.
                    if let Some(xx) = held
                        && x.dot(x).read() * V::Real::EPSILON > xx
                    {
                        return Break(Outcome::Inconsistent);
                    }
                }
                if next == 0.0 {
                    return Break(Outcome::Breakdown);
                }
                mem::swap(z, q);
                (gamma0, gamma) = (gamma, next);
            }
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }
}

fn read<V: Vector>(dot: &Dot<V::Scalar>) -> [V::Real; 2] {
    V::wait_for([&dot.value, &dot.magnitude])
}

/// √(v, M⁻¹ v), or the outcome if (v, M⁻¹ v) is negative or zero.
fn length<V: Vector>(dot: &Dot<V::Scalar>) -> ControlFlow<Outcome, f64> {
    let [value, magnitude] = read::<V>(dot);
    let bound = Dot { value, magnitude }.round_off(&round_off());
    match value {
        v if !v.is_finite() => Break(Outcome::NotFinite),
        v if v > bound => Continue(v.as_f64().sqrt()),
        v if v < -bound => Break(Outcome::IndefinitePreconditioner),
        _ => Break(Outcome::Breakdown),
    }
}
