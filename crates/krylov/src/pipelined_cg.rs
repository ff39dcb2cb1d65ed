//! Conjugate gradients whose reduction runs beside the preconditioner and the product.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r | `r` | residual b − A x |
//! | u | `u` | preconditioned residual M⁻¹ r |
//! | w | `w` | A u |
//! | m, n | `v`, `n` | M⁻¹ w and A m, computed while the inner products are summed |
//! | p | `p` | search direction |
//! | s | `s` | A p, computed by a recurrence, as are the next two |
//! | q | `q` | M⁻¹ s |
//! | z | `z` | A q |
//! | γ = (r, u) | `rho` | |
//! | δ = (w, u) | `delta` | |
//! | δ − β γ / α | `curvature` | (A p, p); with α of the previous step, β γ / α = β² (A p, p) of that step |
//! | α, β | `alpha`, `beta` | step length; coefficient of the old direction |
//!
//! Numbers at line ends follow Ghysels & Vanroose 2014, Algorithm 4.

use coarsen_core::{
    Dot, Error, LinearOperator, Monitor, Preconditioner, PreconditionerKind, Real, Report, Scalar, Stop,
    Vector,
};
use num_traits::{one, zero};

use crate::Krylov;
use crate::convergence_test::{read, round_off};
use crate::krylov::solve_and_new;
use crate::solve::{Solve, Workspace, check};

/// The iterations between two times at which the products are computed without recurrences.
const REFRESH: usize = 50;

/// Preconditioned conjugate gradients with one reduction per iteration, whose result is needed only after the
/// next application of M and of A; for symmetric positive definite A and M.
///
/// The iterates equal the iterates of [`Cg`](crate::Cg) up to round-off. The sums begin before M and A are
/// applied and are read after that. If vectors return sums that are still under way, the latency of the
/// reduction is hidden; over MPI, messages of a sum move only between the chunks of a product. In exchange A u, M⁻¹ A p and A M⁻¹ A p follow from recurrences, whose round-off grows
/// faster than that of [`SingleReductionCg`](crate::SingleReductionCg). So they are computed anew from time to time,
/// see [`refresh_every`](Self::refresh_every), and restarts from the recomputed residual give about the same
/// attainable accuracy as `Cg`. Ill-conditioned systems still take more iterations than with `Cg`. Without a
/// preconditioner, A A r must neither overflow nor underflow.
/// *Use* on many machines, if a reduction takes about as long as the rest of an iteration; the gain is simulated. On two
/// ranks over a link of 1 Gbit/s it is between `Cg` and `SingleReductionCg`. Elsewhere the
/// additional passes cost more than the reduction, and `Cg` or `SingleReductionCg` is faster.
/// *Outcome* as for [`Cg`](crate::Cg); if the curvature is only round-off, x does not change. *Cost* per
/// iteration: 1 application of A, 1 of M, 25 passes over vectors in addition to A and M ([`Cg`](crate::Cg):
/// 11), 1 reduction; one synchronisation per convergence check; 10 vectors. Every 50 iterations 4 more of A and 3 of M. At the end
/// there are two more applications of M and of A than in `Cg`.
/// *Reference* Ghysels & Vanroose 2014, "Hiding global synchronization latency in the preconditioned conjugate
/// gradient algorithm", Parallel Comput. 40, Algorithm 4.
///
/// ```
/// use coarsen_krylov::{Identity, PipelinedCg, Stop, from_fn};
/// let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]));
/// let (b, mut x) = (vec![1.0, 2.0, 3.0], vec![0.0; 3]);
/// let report = PipelinedCg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert_eq!(report.iterations, 3); // three distinct eigenvalues
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct PipelinedCg<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    /// After how many iterations u, w, s, q and z are computed from r and p instead of by recurrences; 50 unless
    /// set. Recurrences of recurrences lose digits, so that the search directions are less and less conjugate.
    /// `usize::MAX` for never.
    ///
    /// *Cost* 4 applications of A and 3 of M each time.
    pub refresh_every: usize,
    workspace: Workspace<V, 8>,
}

solve_and_new!(PipelinedCg { refresh_every: REFRESH });

impl<V: Vector> Krylov<V> for PipelinedCg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("PipelinedCg", PreconditionerKind::Symmetric, &self.stop, a, m, b, x)?;
        if self.refresh_every == 0 {
            let (name, range) = ("PipelinedCg::refresh_every", "at least 1");
            return Err(Error::Parameter { name, value: 0.0, range });
        }
        let [unit, unity, none] = [round_off(), one(), zero()].map(|v| b.scalar(v));

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: false };
        solve.run(&mut self.workspace, x, |[u, w, v, n, p, s, q, z], _, x, r, test| {
            m.apply(r, u); // 1
            a.apply(u, w); // 1
            let [mut rho, mut curvature] = V::dot_magnitudes([(r, u), (w, u)]); // 3, 4
            m.apply(w, v); // 5
            a.apply(v, n); // 6
            let (mut alive, mut beta) = (unity.clone(), none.clone()); // 10
            let mut since = 0;
            loop {
                let bound = curvature.round_off(&unit);
                let alpha = rho.value.over(&curvature.value, &bound); // 8, 10
                let back = -alpha.clone();
                z.axpby(&alive, n, &beta); // 12
                q.axpby(&alive, v, &beta); // 13
                V::pipelined_update(x, r, [p, s], [u, w], [&alive, &beta, &alpha]); // 14, 15, 16, 17
                u.axpy(&back, q); // 18
                w.axpy(&back, z); // 19
                let [mut next, mut delta, rr] = V::dot_magnitudes([(r, u), (w, u), (r, r)]); // 3, 4
                m.apply(w, v); // 5
                a.apply(v, n); // 6

                if test.step() {
                    let (rr, mut positive) = read::<V>(&rr.value, [&rho, &curvature]);
                    if positive.iter().any(|dot| dot.value < zero()) {
                        // Deviation: recurrences may lose a sign. A negative one ends the run, so u and s
                        // are free for the products themselves.
                        m.apply(r, u);
                        a.apply(p, s);
                        let [ru, ps] = V::dot_magnitudes([(r, u), (p, s)]);
                        let exact = V::wait_for([&ru.value, &ps.value]);
                        positive.iter_mut().zip(exact).for_each(|(dot, exact)| confirm(dot, exact));
                    }
                    test.check_positive(rr, positive, x, None)?;
                }
                since += 1;
                if since == self.refresh_every {
                    // Deviation: Algorithm 4 has the recurrences only.
                    since = 0;
                    m.apply(r, u);
                    a.apply(u, w);
                    a.apply(p, s);
                    m.apply(s, q);
                    a.apply(q, z);
                    [next, delta] = V::dot_magnitudes([(r, u), (w, u)]); // 3, 4
                    m.apply(w, v); // 5
                    a.apply(v, n); // 6
                }

                beta = next.value.over(&rho.value, &rho.round_off(&unit)); // 8
                // Deviation: after a step with α = 0, β = 1, and `alive` = 0 keeps p, s, q, z and the
                // curvature. The next convergence check detects the curvature that caused α = 0.
                alive = curvature.value.over(&curvature.value, &bound); // 1 or 0
                let frozen = unity.clone() + -alive.clone();
                let lost = alive.clone() * beta.clone() * beta.clone() * curvature.value.clone();
                curvature = Dot {
                    value: alive.clone() * delta.value + frozen.clone() * curvature.value + -lost.clone(), // 8
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

/// Sets a negative inner product to zero, so that it counts as lost, unless the product itself is negative too.
fn confirm<R: Real>(dot: &mut Dot<R>, exact: R) {
    if dot.value < zero() && exact > zero() {
        dot.value = zero();
    }
}
