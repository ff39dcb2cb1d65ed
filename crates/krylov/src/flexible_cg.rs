//! Flexible conjugate gradients.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r | `r` | residual b − A u; u in the paper is x here |
//! | w | `z` | preconditioned residual; the preconditioner may change |
//! | d | `p` | search direction |
//! | A d | `q` | |
//! | (w, r) | `rho` | |
//! | (d, A d) | `curvature` | |
//!
//! Letters at line ends follow Notay 2000, Algorithm FCG(1).

use coarsen_core::{
    Class, Dot, Error, LinearOperator, Monitor, Outcome, Preconditioner, Report, Scalar, Stop, Vector,
};

use crate::Krylov;
use crate::convergence_test::ConvergenceTest;
use crate::start::{Workspace, check, round_off};

/// Conjugate gradients for symmetric positive definite A and a preconditioner that may vary.
///
/// Each direction is made conjugate to the previous direction explicitly: β = (z, A p) / (p, A p). This
/// equals the Polak–Ribière formula −(z, r − r_old) / (z_old, r_old), but needs no copy of the old residual.
/// With a fixed M the method equals [`Cg`](crate::Cg) up to round-off. *Use* if the preconditioner is a
/// K-cycle, an inner iteration or a single-precision cycle. For a fixed M, [`Cg`](crate::Cg) saves a
/// reduction and estimates the condition number. *Cost* per iteration: 1 application of A, 1 of M, 4
/// reductions, 3 axpby; one wait per convergence test; 5 vectors.
/// *Reference* Notay 2000, "Flexible conjugate gradients", FCG(1).
///
/// ```
/// use coarsen_core::{Identity, from_fn};
/// use coarsen_krylov::{FlexibleCg, Krylov};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![4.0 * x[0] + x[1], x[0] + 3.0 * x[1]]);
/// let (b, mut x) = (vec![5.0, 4.0], vec![0.0; 2]);
/// FlexibleCg::default().solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-8 && (x[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub struct FlexibleCg<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    /// The tolerance for √(rᵀM⁻¹r) relative to its first value, as in [`Cg`](crate::Cg).
    pub in_preconditioner: Option<V::Real>,
    workspace: Workspace<V, 5>,
}

impl<V: Vector> FlexibleCg<V> {
    /// The method with a stopping rule; vectors are allocated at the first solve.
    pub fn new(stop: Stop<V::Real>) -> Self {
        Self { stop, in_preconditioner: None, workspace: Workspace::new() }
    }
}

impl<V: Vector> Default for FlexibleCg<V> {
    fn default() -> Self {
        Self::new(Stop::default())
    }
}

impl<V: Vector> Krylov<V> for FlexibleCg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut dyn Monitor<V>,
    ) -> Result<Report<V::Real>, Error> {
        check("FlexibleCg", Class::Variable, &self.stop, a, m, b, x)?;
        let ([r, z, p, q, safe], spare) = self.workspace.with_spare(b)?;
        let mut test = ConvergenceTest::new(self.stop, a, b, safe, spare, monitor);
        test.also_in_preconditioner(self.in_preconditioner)?;
        let (unit, one) = (b.scalar(round_off()), b.scalar(num_traits::one()));

        while test.goes_on(x, r)? {
            let mut rho = m.apply_dot(r, z); // w = B(r)
            if test.settles(&rho.value) {
                continue;
            }
            p.copy(z);
            loop {
                let curvature = a.apply_dot(p, q);
                let floor = curvature.floor(&unit);
                let alpha = rho.value.over(&curvature.value, &floor);
                let rr = V::advance(x, r, &alpha, p, q); // u, r

                if test.step() {
                    let Dot { value, magnitude } = &curvature;
                    let [rr, rz, rz_size, pq, pq_size] =
                        V::wait_for([&rr, &rho.value, &rho.magnitude, value, magnitude]);
                    let positive = [
                        (Outcome::IndefinitePreconditioner, Dot { value: rz, magnitude: rz_size }),
                        (Outcome::IndefiniteOperator, Dot { value: pq, magnitude: pq_size }),
                    ];
                    if test.look(rr, &positive, Some(x)).is_break() {
                        break;
                    }
                }

                rho = m.apply_dot(r, z); // w = B(r)
                if test.settles(&rho.value) {
                    break;
                }
                let beta = z.dot(q).over(&curvature.value, &floor); // (w, A d) / (d, A d)
                // Deviation: after a step with α = 0, `alive` and β are 0 and p is kept, so that the next
                // convergence test detects the curvature that caused α = 0.
                let alive = curvature.value.over(&curvature.value, &floor); // 1 or 0
                let keep = one.clone() + -alive.clone() + -beta;
                p.axpby(&alive, z, &keep); // d = w − β d
            }
        }
        test.report(x, None)
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }

    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        self.in_preconditioner = tolerance;
        true
    }
}
