//! Conjugate gradients with one reduction per iteration.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r | `r` | residual b − A x |
//! | u | `u` | preconditioned residual M⁻¹ r |
//! | w | `w` | A u |
//! | p | `p` | search direction |
//! | s | `s` | A p, computed by a recurrence |
//! | γ = (r, u) | `rho` | |
//! | δ = (w, u) | `delta` | |
//! | κ = (A p, p) | `curvature` | δ − β² κ, where κ on the right is that of the previous step |
//! | α, β | `alpha`, `beta` | step length; coefficient of the old direction |
//!
//! Letters at line ends follow Chronopoulos & Gear 1989, Algorithm 2.2, with a preconditioner.

use coarsen_core::{
    Dot, Error, LinearOperator, Monitor, Preconditioner, PreconditionerKind, Report, Scalar, Stop, Vector,
};
use num_traits::{one, zero};

use crate::Krylov;
use crate::convergence_test::{read, round_off};
use crate::krylov::solve_and_new;
use crate::solve::{Solve, Workspace, check};

/// Preconditioned conjugate gradients with one reduction per iteration, for symmetric positive definite A and
/// M.
///
/// The iterates equal the iterates of [`Cg`](crate::Cg) up to round-off. Since directions are conjugate, (A
/// p, p) follows from (A u, u) by a recurrence. The inner products (r, u), (A u, u) and (r, r) then need only
/// one reduction. Round-off in the recurrence loses some of the last digits. In practice, restarts from the
/// recomputed residual give about the same attainable accuracy as `Cg`. *Use* if a reduction costs much more
/// than a pass over a vector: on several machines or on a device. On one machine with shared memory
/// [`Cg`](crate::Cg) is as fast or faster. *Outcome* as for [`Cg`](crate::Cg); if the curvature is only
/// round-off, x does not change. *Cost* per iteration: 1 application of A, 1 of M, 13 passes over vectors in
/// addition to A and M ([`Cg`](crate::Cg): 11), 1 reduction; one synchronisation per convergence check; 6 vectors. At the
/// end there is one more application of M and of A than in `Cg`.
/// *Reference* Chronopoulos & Gear 1989, "s-step iterative methods for symmetric linear systems", J. Comput.
/// Appl. Math. 25, §2.
///
/// ```
/// use coarsen_krylov::{Identity, SingleReductionCg, Stop, from_fn};
/// let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]));
/// let (b, mut x) = (vec![1.0, 2.0, 3.0], vec![0.0; 3]);
/// let report = SingleReductionCg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert_eq!(report.iterations, 3); // three distinct eigenvalues
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct SingleReductionCg<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    workspace: Workspace<V, 4>,
}

solve_and_new!(SingleReductionCg {});

impl<V: Vector> Krylov<V> for SingleReductionCg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("SingleReductionCg", PreconditionerKind::Symmetric, &self.stop, a, m, b, x)?;
        let [unit, unity, none] = [round_off(), one(), zero()].map(|v| b.scalar(v));

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: false };
        solve.run(&mut self.workspace, x, |[u, w, p, s], _, x, r, test| {
            m.apply(r, u); // u
            a.apply(u, w); // w
            let [mut rho, mut curvature] = V::dot_magnitudes([(r, u), (w, u)]); // γ, δ
            let (mut alive, mut beta) = (unity.clone(), none.clone());
            loop {
                let bound = curvature.round_off(&unit);
                let alpha = rho.value.over(&curvature.value, &bound); // α
                V::pipelined_update(x, r, [p, s], [u, w], [&alive, &beta, &alpha]); // p, s, x, r
                m.apply(r, u); // u
                a.apply(u, w); // w
                let [next, delta, rr] = V::dot_magnitudes([(r, u), (w, u), (r, r)]); // γ, δ

                if test.step() {
                    let (rr, positive) = read::<V>(&rr.value, [&rho, &curvature]);
                    test.check_positive(rr, positive, x, None)?;
                }

                beta = next.value.over(&rho.value, &rho.round_off(&unit)); // β
                // Deviation: after a step with α = 0, β = 1, and `alive` = 0 keeps p, s and κ. The next
                // convergence check detects the curvature that caused α = 0.
                alive = curvature.value.over(&curvature.value, &bound); // 1 or 0
                let frozen = unity.clone() + -alive.clone();
                let lost = alive.clone() * beta.clone() * beta.clone() * curvature.value.clone();
                curvature = Dot {
                    value: alive.clone() * delta.value + frozen.clone() * curvature.value + -lost.clone(), // κ = δ − β² κ
                    magnitude: alive.clone() * delta.magnitude + frozen * curvature.magnitude + lost,
                };
                rho = next;
            }
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }
}
