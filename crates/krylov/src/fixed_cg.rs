//! Conjugate gradients with a fixed number of iterations.

use coarsen_core::{
    Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Report, Scalar, Stop, Vector,
};
use num_traits::{Float, zero};

use crate::Krylov;
use crate::convergence_test::round_off;
use crate::krylov::solve_and_new;
use crate::solve::{Workspace, check};

/// [`Cg`](crate::Cg) with [`Stop::max_iterations`] iterations, and nothing that the host waits for.
///
/// The iterates are those of `Cg` for a positive definite A. There is no convergence check: x may contain NaN, the residuals of the
/// report are NaN, and its outcome is always [`IterationLimit`](Outcome::IterationLimit). At a direction without positive curvature x
/// stays as it is for all iterations that are left. Monitors are not called. b is not scaled, so its square must neither overflow nor
/// underflow. *Use* for the linear systems of Newton's method with projected Hessians on a device: the descent refuses a direction
/// that is not finite or does not descend. *Not* for Hessians that may be indefinite, and not where the solution itself is
/// wanted. *Cost* as `Cg`, without synchronisation. *Reference* Wu, Wang & Wang 2022,
/// "A GPU-Based Multilevel Additive Schwarz Preconditioner for Cloth and Deformable Body Simulation", ACM TOG 41(4), §4.3.
///
/// ```
/// use coarsen_krylov::{FixedCg, Identity, Outcome, Stop, from_fn};
/// let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]));
/// let (b, mut x) = (vec![1.0, 2.0, 3.0], vec![0.0; 3]);
/// let stop = Stop { max_iterations: 3, ..Stop::default() };
/// let report = FixedCg::new(stop).solve(&a, &mut Identity, &b, &mut x)?.usable()?;
/// assert_eq!((report.iterations, report.outcome), (3, Outcome::IterationLimit));
/// assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12)); // three distinct eigenvalues
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FixedCg<V: Vector = Vec<f64>> {
    /// The stopping rule, of which only the limit on iterations counts.
    pub stop: Stop<V::Real>,
    workspace: Workspace<V, 4>,
}

solve_and_new!(FixedCg {});

impl<V: Vector> Krylov<V> for FixedCg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        _: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("FixedCg", PreconditionerKind::Symmetric, &self.stop, a, m, b, x)?;
        let unit = b.scalar(round_off());
        let [r, z, p, q] = self.workspace.like(b)?;
        a.residual(b, x, r);
        let mut rho = m.apply_dot(r, z);
        p.copy(z);
        for left in (0..self.stop.max_iterations).rev() {
            let curvature = a.apply_dot(p, q);
            let bound = curvature.round_off(&unit);
            V::cg_update(x, r, &rho.value.over(&curvature.value, &bound), p, q);
            if left == 0 {
                break;
            }
            let next = m.apply_dot(r, z);
            let beta = next.value.over(&rho.value, &rho.round_off(&unit));
            p.axpby(&curvature.value.over(&curvature.value, &bound), z, &beta); // as Cg, after a step of 0
            rho = next;
        }
        let (unknown, tolerance) = (V::Real::nan(), zero());
        Ok(Report {
            outcome: Outcome::IterationLimit,
            iterations: self.stop.max_iterations,
            initial_residual: unknown,
            true_residual: unknown,
            tolerance,
            condition: None,
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }
}
