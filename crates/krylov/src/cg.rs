//! Preconditioned conjugate gradients.
//!
//! | symbol | here | |
//! |---|---|---|
//! | r | `r` | residual b − A x |
//! | z | `z` | preconditioned residual M⁻¹ r |
//! | p | `p` | search direction |
//! | A p | `q` | |
//! | (r, z) | `rho` | |
//! | (A p, p) | `curvature` | |
//! | α, β | `alpha`, `beta` | step length; coefficient of the old direction |
//!
//! Step numbers at line ends follow Saad 2003, Algorithm 9.1.

use coarsen_core::{
    Error, LinearOperator, Monitor, Preconditioner, PreconditionerKind, Real, Report, Scalar, Stop, Vector,
};
use num_traits::{Float, One, Zero};

use crate::Krylov;
use crate::convergence_test::{PreconditionerTest, read, round_off};
use crate::krylov::solve_and_new;
use crate::solve::{Solve, Workspace, check};
use crate::spectrum::{MONITORED, Tridiagonal, WIDTH};

/// If the recomputed residual exceeds the residual of the recurrence by this factor, it is no longer
/// conjugate to the direction, and the direction is dropped.
const ASTRAY: f64 = 1.5;

/// How much the norms may differ if the coefficients of both residuals are taken as those of one Lanczos process. The residuals then
/// differ by about a hundredth, which is enough for an estimate.
const NEAR: f64 = 1e-4;

/// Preconditioned conjugate gradients for symmetric positive definite A and M.
///
/// Minimises ‖x − A⁻¹b‖_A over x₀ + the Krylov space of M⁻¹A. After k iterations this error is at most 2 ((√κ
/// − 1) / (√κ + 1))ᵏ times its initial value, where κ is the condition number of M⁻¹A.
/// *Use* with a fixed symmetric preconditioner. If it varies, use [`FlexibleCg`](crate::FlexibleCg). For
/// indefinite A use [`Minres`](crate::Minres), for unsymmetric A [`Gmres`](crate::Gmres).
/// *Outcome* if the curvature pᵀAp is only round-off, x does not change. Negative curvature ends as
/// [`IndefiniteOperator`](coarsen_core::Outcome::IndefiniteOperator), vanishing curvature as
/// [`Breakdown`](coarsen_core::Outcome::Breakdown).
/// *Cost* per iteration: 1 application of A, 1 of M, 3 reductions; one synchronisation per convergence check; 5 vectors.
/// In addition to A and M, 11 passes over vectors: 6 for x and r with (r, r), 3 for p, 2 for (r, z) unless M
/// computes it. (A p, p) is computed together with A p. Delaying the update of x until the next p would save
/// a pass, but monitors and restarts would then receive an old x.
/// *Reference* Saad 2003, §9.2, Algorithm 9.1.
///
/// ```
/// use coarsen_krylov::{Cg, Identity, Stop, from_fn};
/// let a = from_fn(3, |x: &Vec<f64>, y: &mut Vec<f64>| (0..3).for_each(|i| y[i] = (i + 1) as f64 * x[i]));
/// let (b, mut x) = (vec![1.0, 2.0, 3.0], vec![0.0; 3]);
/// let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut Identity, &b, &mut x)?.converged()?;
/// assert_eq!(report.iterations, 3); // three distinct eigenvalues
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct Cg<V: Vector = Vec<f64>> {
    /// The stopping rule. If `check_every` is above 1, there is no condition estimate.
    pub stop: Stop<V::Real>,
    /// If ‖r‖ at a convergence test is at most this fraction of the last recomputed residual, r is replaced
    /// by b − A x. The direction is kept unless the two residuals differ too much. *Use* with
    /// [`MixedPrecision`](coarsen_core::MixedPrecision), since products with the rounded A make r differ more
    /// and more from b − A x. 1e-2 suits f32. With `None`, the default, r is never replaced.
    /// *Cost* one residual, one pass over r and x, and one synchronisation per replacement. The condition estimate is one of
    /// the rounded A, from the iterations before the first replacement that changes ‖r‖ by more than 1e-4 of it.
    /// *Reference* van der Vorst & Ye 2000, SIAM J. Sci. Comput. 22.
    pub replace_residual: Option<V::Real>,
    in_preconditioner: Option<V::Real>,
    workspace: Workspace<V, 3>,
    lanczos: Tridiagonal,
}

impl<V: Vector> Cg<V> {
    /// Estimates of the extreme eigenvalues of M⁻¹A from the last solve, both inside the spectrum. Requires
    /// `check_every` = 1.
    ///
    /// The α and β of the iteration determine a Lanczos matrix (Saad 2003, §6.7.3). Its first 1024 rows are
    /// stored.
    pub fn eigenvalues(&self) -> Option<[V::Real; 2]> {
        self.lanczos.extremes(WIDTH).map(|ends| ends.map(V::Real::from_f64))
    }
}

solve_and_new!(Cg { replace_residual: None, in_preconditioner: None, lanczos: Tridiagonal::default() });

impl<V: Vector> Krylov<V> for Cg<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("Cg", PreconditionerKind::Symmetric, &self.stop, a, m, b, x)?;
        if let Some(share) = self.replace_residual
            && !(share > V::Real::zero() && share < V::Real::one())
        {
            let (name, range) = ("Cg::replace_residual", "between 0 and 1");
            return Err(Error::Parameter { name, value: share.as_f64(), range });
        }
        let mut in_preconditioner = PreconditionerTest::new(self.in_preconditioner)?;
        let (lanczos, unit) = (&mut self.lanczos, b.scalar(round_off()));
        lanczos.clear();
        let mut first = self.stop.check_every == 1; // the Lanczos process starts from the residual of x₀

        // Each run is Algorithm 9.1 from r = b − A x. Another run begins if round-off has made r inaccurate.
        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: false };
        let report = solve.run(&mut self.workspace, x, |[z, p, q], b, x, r, test| {
            let mut rho = m.apply_dot(r, z); // 1
            in_preconditioner.check(&rho.value, test)?;
            p.copy(z); // 1
            let mut keeps_coefficients = std::mem::take(&mut first);
            loop {
                let curvature = a.apply_dot(p, q); // 3
                let bound = curvature.round_off(&unit);
                let alpha = rho.value.over(&curvature.value, &bound); // 3
                let rr = V::cg_update(x, r, &alpha, p, q); // 4, 5

                let mut drops_direction = false;
                if test.step() {
                    let (rr, positive) = read::<V>(&rr, [&rho, &curvature]);
                    if keeps_coefficients {
                        lanczos.push_step(positive[0].value.as_f64(), positive[1].value.as_f64());
                    }
                    test.check_positive(rr, positive, x, Some(&|| lanczos.extremes(MONITORED)))?;
                    if let Some(share) = self.replace_residual
                        && rr.sqrt() <= share * test.recomputed
                    {
                        let apart = test.replace(rr.sqrt(), (a, b), x, r)?;
                        drops_direction = apart > V::Real::from_f64(ASTRAY);
                        keeps_coefficients &= (apart - V::Real::one()).abs() <= V::Real::from_f64(NEAR);
                    }
                }

                let next = m.apply_dot(r, z); // 6
                in_preconditioner.check(&next.value, test)?;
                let beta = next.value.over(&rho.value, &rho.round_off(&unit)); // 7
                // Deviation: after a step with α = 0, r, z and rho are unchanged. Then β = 1, and `alive` = 0
                // keeps p. The next convergence check detects the curvature that caused α = 0.
                let alive = curvature.value.over(&curvature.value, &bound); // 1 or 0
                if drops_direction {
                    p.copy(z); // 1, from the recomputed residual
                } else {
                    p.axpby(&alive, z, &beta); // 8
                }
                rho = next;
            }
        })?;
        let positive = lanczos.extremes(WIDTH).filter(|ends| ends[0] > 0.0);
        Ok(Report { condition: positive.map(|[low, high]| V::Real::from_f64(high / low)), ..report })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }

    fn stop_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> bool {
        self.in_preconditioner = tolerance;
        true
    }
}
