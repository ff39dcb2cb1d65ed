//! Stabilised biconjugate gradients.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r, s | `r` | residual; called s in the second half of a step |
//! | r̂₀ | `shadow` | fixed shadow residual |
//! | p | `p` | search direction |
//! | p̂, ŝ | `y` | M⁻¹ p, then M⁻¹ s |
//! | v, t | `v`, `t` | A p̂, A ŝ |
//! | ρ, α, β, ω | `rho`, `alpha`, `beta`, `omega` | |
//! | | `unit` | 1, or a power of two near ‖A‖ (see `scaling`); v, t, α and ω are those of A / unit |
//!
//! Names follow van der Vorst 1992. (s, t) and similar pairs are inner products.

use std::ops::ControlFlow::Break;

use coarsen_core::{
    Dot, Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Scalar,
    Stop, Vector,
};
use num_traits::{one, zero};

use crate::Krylov;
use crate::convergence_test::round_off;
use crate::krylov::solve_and_new;
use crate::scaling;
use crate::solve::{Solve, Workspace, check};

/// BiCGStab for general A, preconditioned from the right.
///
/// The residual polynomial is the product of the biconjugate-gradient polynomial and a polynomial whose
/// factors minimise the residual of each step. Recurrences are short even for unsymmetric systems, but the
/// residual norm is not monotone. Without convergence the method returns the iterate of smallest residual
/// (within a factor 2).
/// *Use* for unsymmetric systems if the vectors of [`Gmres`](crate::Gmres) do not fit in memory. For
/// symmetric systems use [`Cg`](crate::Cg) or [`Minres`](crate::Minres), which are optimal with short
/// recurrences.
/// *Outcome* if an inner product vanishes within round-off, the method restarts from the recomputed residual.
/// If the previous run made no progress, the solve ends as [`Breakdown`](Outcome::Breakdown).
/// *Cost* per iteration: 2 applications of A, 2 of M, 5 reductions, 6 axpby, 3 synchronisations; 7 vectors.
/// *Reference* van der Vorst 1992; Saad 2003, §7.4.2, Algorithm 7.7.
///
/// ```
/// use coarsen_krylov::{BiCgStab, Identity, from_fn};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![2.0 * x[0] - x[1], x[0] + 2.0 * x[1]]);
/// let (b, mut x) = (vec![1.0, 3.0], vec![0.0; 2]);
/// BiCgStab::default().solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-7 && (x[1] - 1.0).abs() < 1e-7);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct BiCgStab<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    workspace: Workspace<V, 5>,
}

solve_and_new!(BiCgStab {});

impl<V: Vector> Krylov<V> for BiCgStab<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("BiCgStab", PreconditionerKind::Linear, &self.stop, a, m, b, x)?;
        let number = |value| b.scalar(value);
        let mut unit = None; // set by the first product

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: true };
        solve.run(&mut self.workspace, x, |[shadow, p, y, v, t], _, x, r, test| {
            shadow.copy(r);
            p.copy(r);
            let mut rho = r.dot(r).read();
            loop {
                m.apply(p, y); // p̂ = M⁻¹ p
                a.apply(y, v); // v = A p̂
                scaling::shrink(v, unit.unwrap_or(1.0), y);
                let [mut sigma, mut size] = read::<V>(&shadow.dot_magnitude(v));
                if unit.is_none() {
                    let ratio = size / rho;
                    unit = Some(scaling::unit_of(v, [size, ratio * ratio], t));
                    if unit != Some(1.0) {
                        [sigma, size] = read::<V>(&shadow.dot_magnitude(v));
                    }
                }
                let unit = unit.unwrap_or(1.0);
                let step = |length| number(scaling::unscaled(length, unit.recip()));
                if vanishes(sigma, size) {
                    return Break(Outcome::Breakdown);
                }
                let alpha = rho / sigma;
                x.axpy(&step(alpha), y);
                r.axpy(&number(-alpha), v); // s = r − α v

                m.apply(r, y); // ŝ = M⁻¹ s
                a.apply(y, t); // t = A ŝ
                scaling::shrink(t, unit, y);
                let [ts, tt] = V::dot_magnitudes([(t, r), (t, t)]);
                let [ts, size, tt] = V::wait_for([&ts.value, &ts.magnitude, &tt.value]);
                let halfway = vanishes(ts, size); // s cannot be reduced further: keep it
                let omega = if halfway { zero() } else { ts / tt };
                x.axpy(&step(omega), y);
                r.axpy(&number(-omega), t); // r = s − ω t

                let [next, rr] = V::dot_magnitudes([(shadow, r), (r, r)]);
                let [next, size, rr] = V::wait_for([&next.value, &next.magnitude, &rr.value]);
                if test.step() {
                    test.check(rr, Some(x))?;
                }
                if halfway || vanishes(next, size) {
                    return Break(Outcome::Breakdown);
                }
                let beta = next / rho * (alpha / omega);
                p.axpy(&number(-omega), v);
                p.axpby(&number(one()), r, &number(beta)); // p = r + β (p − ω v)
                rho = next;
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

/// Whether an inner product is round-off. `size` is the sum of the absolute values of its terms.
fn vanishes<T: Real>(value: T, size: T) -> bool {
    value.abs() <= round_off::<T>() * size
}
