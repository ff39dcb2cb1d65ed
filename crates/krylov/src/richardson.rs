//! The stationary iteration x ← x + ω M⁻¹ (b − A x).

use std::ops::ControlFlow::Break;

use coarsen_core::{
    Error, LinearOperator, Monitor, Outcome, Preconditioner, PreconditionerKind, Real, Report, Stop, Vector,
};
use num_traits::Float;

use crate::Krylov;
use crate::krylov::solve_and_new;
use crate::solve::{Solve, Workspace, check};

/// Richardson iteration, which runs a multigrid cycle or a smoother as a solver.
///
/// Each iteration multiplies the error by I − ω M⁻¹A. It converges if all eigenvalues of this matrix lie
/// inside the unit circle. The residual is computed from x in every iteration. *Use* to measure the
/// convergence factor of a cycle. On symmetric positive definite systems, [`Cg`](crate::Cg) with the same M
/// never needs more iterations. A diverging run returns the iterate of smallest residual (within a factor 2).
/// *Outcome* [`Stagnated`](Outcome::Stagnated) if a correction is below the round-off of x. *Cost* per
/// iteration: 1 residual, 1 application of M, 1 axpby; 3 reductions and one synchronisation per convergence check; 3
/// vectors.
/// *Reference* Saad 2003, §4.2.1.
///
/// ```
/// use coarsen_krylov::{Identity, Richardson, Stop, from_fn};
/// let half = from_fn(1, |x: &Vec<f64>, y: &mut Vec<f64>| y[0] = 0.5 * x[0]);
/// let mut x = vec![0.0];
/// let mut method = Richardson::new(Stop::default());
/// method.omega = 2.0;
/// let report = method.solve(&half, &mut Identity, &vec![3.0], &mut x)?.converged()?;
/// assert_eq!((x[0], report.iterations), (6.0, 1));
/// # Ok::<(), coarsen_krylov::Error>(())
/// ```
pub struct Richardson<V: Vector = Vec<f64>> {
    /// The stopping rule.
    pub stop: Stop<V::Real>,
    /// ω, the relaxation factor, above 0; 1 by default.
    pub omega: V::Real,
    workspace: Workspace<V, 1>,
}

solve_and_new!(Richardson { omega: num_traits::one() });

impl<V: Vector> Krylov<V> for Richardson<V> {
    fn solve_with(
        &mut self,
        a: &dyn LinearOperator<V>,
        m: &mut dyn Preconditioner<V>,
        b: &V,
        x: &mut V,
        monitor: &mut Monitor<'_, V>,
    ) -> Result<Report<V::Real>, Error> {
        check("Richardson", PreconditionerKind::Variable, &self.stop, a, m, b, x)?;
        if !(self.omega > V::Real::from_f64(0.0) && self.omega.is_finite()) {
            let value = self.omega.as_f64();
            return Err(Error::Parameter { name: "Richardson::omega", value, range: "above 0 and finite" });
        }
        let omega = b.scalar(self.omega);

        let solve = Solve { a, b, stop: self.stop, monitor, smallest_residual: true };
        solve.run(&mut self.workspace, x, |[z], b, x, r, test| {
            loop {
                m.apply(r, z);
                x.axpy(&omega, z);
                a.residual(b, x, r);
                if test.step() {
                    let (rr, zz, xx) = (r.dot(r), z.dot(z), x.dot(x));
                    let [rr, zz, xx] = V::wait_for([&rr, &zz, &xx]);
                    test.check(rr, Some(x))?;
                    let known = xx.is_normal(); // the square of a tiny or huge x is 0 or infinite
                    if known && self.omega * zz.sqrt() <= V::Real::EPSILON * xx.sqrt() {
                        return Break(Outcome::Stagnated);
                    }
                }
            }
        })
    }

    fn stop_mut(&mut self) -> &mut Stop<V::Real> {
        &mut self.stop
    }
}
