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
    Error, LinearOperator, Monitor, Preconditioner, PreconditionerKind, Report, Scalar, Stop, Vector,
};

use crate::Krylov;
use crate::convergence_test::{PreconditionerTest, read, round_off};
use crate::krylov::solve_and_new;
use crate::solve::{Solve, Workspace, check};

/// Conjugate gradients for symmetric positive definite A and a preconditioner that may vary.
///
/// Each direction is made conjugate to the previous direction explicitly: β = (z, A p) / (p, A p). This
/// equals the Polak–Ribière formula −(z, r − r_old) / (z_old, r_old), but needs no copy of the old residual.
/// With a fixed M the method equals [`Cg`](crate::Cg) up to round-off. *Use* if the preconditioner is a
/// K-cycle, an inner iteration or a single-precision cycle. For a fixed M, [`Cg`](crate::Cg) saves a
/// reduction and estimates the condition number. *Cost* per iteration: 1 application of A, 1 of M, 4
/// reductions, 3 axpby; one synchronisation per convergence check; 5 vectors.
/// *Reference* Notay 2000, "Flexible conjugate gradients", FCG(1).
///
/// ```
/// use coarsen_krylov::{FlexibleCg, Identity, from_fn};
/// let a = from_fn(2, |x: &Vec<f64>, y: &mut Vec<f64>| *y = vec![4.0 * x[0] + x[1], x[0] + 3.0 * x[1]]);
/// let (b, mut x) = (vec![5.0, 4.0], vec![0.0; 2]);
/// FlexibleCg::default().solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert!((x[0] - 1.0).abs() < 1e-8 && (x[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct FlexibleCg<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    in_preconditioner: Option<V::Real>,
    workspace: Workspace<V, 3>,
}

solve_and_new!(FlexibleCg { in_preconditioner: None });

impl<V: Vector> Krylov<V> for FlexibleCg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("FlexibleCg", PreconditionerKind::Variable, &self.stop, a, m, b, x)?;
        let mut in_preconditioner = PreconditionerTest::new(self.in_preconditioner)?;
        let (unit, one) = (b.scalar(round_off()), b.scalar(num_traits::one()));

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: false };
        solve.run(&mut self.workspace, x, |[z, p, q], _, x, r, test| {
            let mut rho = m.apply_dot(r, z); // w = B(r)
            in_preconditioner.check(&rho.value, test)?;
            p.copy(z);
            loop {
                let curvature = a.apply_dot(p, q);
                let bound = curvature.round_off(&unit);
                let alpha = rho.value.over(&curvature.value, &bound);
                let rr = V::cg_update(x, r, &alpha, p, q); // u, r

                if test.step() {
                    let (rr, positive) = read::<V>(&rr, [&rho, &curvature]);
                    test.check_positive(rr, positive, x, None)?;
                }

                rho = m.apply_dot(r, z); // w = B(r)
                in_preconditioner.check(&rho.value, test)?;
                let beta = z.dot(q).over(&curvature.value, &bound); // (w, A d) / (d, A d)
                // Deviation: after a step with α = 0, `alive` and β are 0 and p is kept, so that the next
                // convergence check detects the curvature that caused α = 0.
                let alive = curvature.value.over(&curvature.value, &bound); // 1 or 0
                let keep = one.clone() + -alive.clone() + -beta;
                p.axpby(&alive, z, &keep); // d = w − β d
            }
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }

    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        self.in_preconditioner = tolerance;
        true
    }
}
