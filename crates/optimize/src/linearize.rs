//! Objectives with a Hessian.

use coarsen_core::{LinearOperator, Objective, Preconditioner, Vector};

use crate::DescentError;

/// An objective with a Hessian, or a positive definite approximation of it (a projected Hessian,
/// Gauss-Newton), and a preconditioner of this matrix.
pub trait Linearize<V: Vector>: Objective<V> {
    /// The Hessian at x, and the preconditioner as of the last refresh.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] when the Hessian cannot be computed.
    fn linearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError>;

    /// [`linearize`](Self::linearize), with the preconditioner rebuilt from this Hessian; no difference for a
    /// constant preconditioner.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] if the preconditioner cannot be built; the old preconditioner is then
    /// still in use.
    fn relinearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError> {
        self.linearize(x)
    }

    /// Whether [`relinearize`](Self::relinearize) at x would change the preconditioner: false for a constant
    /// preconditioner and if it was just built at x. A second call at the same x returns true for a
    /// preconditioner that can be rebuilt, since the first rebuild did not help.
    ///
    /// # Errors
    /// [`DescentError::Core`] if x cannot be read.
    fn renews(&mut self, x: &V) -> Result<bool, DescentError> {
        let _ = x;
        Ok(true)
    }

    /// Makes later Hessians positive definite approximations (`true`) or exact (`false`); returns false if
    /// the objective has only one Hessian.
    ///
    /// Newton's method first uses the exact Hessian. It uses the approximation after negative curvature, and
    /// whenever the preconditioner is rebuilt.
    fn project(&mut self, stand_in: bool) -> bool {
        let _ = stand_in;
        false
    }
}

/// An objective, storage for its Hessian, and a preconditioner, connected by two closures.
///
/// `assemble(f, x, a)` writes the Hessian of f at x into a; `update(a, x, m)` rebuilds m from a, the Hessian
/// at x.
///
/// ```
/// use coarsen_core::{Identity, LinearOperator, Objective, Stop};
/// use coarsen_optimize::{Backtracking, Descent, Linearized, Newton};
/// struct Quartic; // x⁴ / 4 + x² / 2
/// impl Objective<Vec<f64>> for Quartic {
///     fn value(&mut self, x: &Vec<f64>) -> f64 {
///         x[0].powi(4) / 4.0 + x[0] * x[0] / 2.0
///     }
///     fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
///         g[0] = x[0].powi(3) + x[0];
///     }
/// }
/// struct Diagonal(f64);
/// impl LinearOperator<Vec<f64>> for Diagonal {
///     fn shape(&self) -> (usize, usize) {
///         (1, 1)
///     }
///     fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
///         y[0] = self.0 * x[0];
///     }
/// }
/// let assemble = |_: &mut Quartic, x: &Vec<f64>, a: &mut Diagonal| {
///     a.0 = 3.0 * x[0] * x[0] + 1.0;
///     Ok(())
/// };
/// let mut f = Linearized::new(Quartic, Diagonal(0.0), Identity, assemble, |_, _, _| Ok(()));
/// let mut x = vec![3.0];
/// Descent::new(Backtracking::default(), Stop::absolute(1e-12)).minimize(&mut f, &mut Newton::exact(), &mut x, &mut ())?.converged()?;
/// assert!(x[0].abs() < 1e-12);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Linearized<F, A, M, Assemble, Update> {
    /// The objective f.
    pub objective: F,
    /// The Hessian as last assembled.
    pub hessian: A,
    /// The preconditioner as last updated.
    pub inverse: M,
    assemble: Assemble,
    update: Update,
    renews: bool,
    project: Option<fn(&mut F, bool)>,
}

impl<F, A, M, Assemble, Update> Linearized<F, A, M, Assemble, Update> {
    /// Combines the parts; `hessian` and `inverse` may hold any values of the right size until the first
    /// refresh.
    pub fn new<V: Vector>(objective: F, hessian: A, inverse: M, assemble: Assemble, update: Update) -> Self
    where
        Assemble: FnMut(&mut F, &V, &mut A) -> Result<(), DescentError>,
        Update: FnMut(&A, &V, &mut M) -> Result<(), DescentError>,
    {
        Self { objective, hessian, inverse, assemble, update, renews: true, project: None }
    }

    /// Keeps the preconditioner constant: `update` is not called, and refreshes are not counted.
    pub fn with_constant_inverse(self) -> Self {
        Self { renews: false, ..self }
    }

    /// Offers two Hessians: after `project(f, true)`, `assemble` writes a positive definite approximation;
    /// after `project(f, false)`, the exact Hessian.
    pub fn projecting(self, project: fn(&mut F, bool)) -> Self {
        Self { project: Some(project), ..self }
    }
}

impl<V, F, A, M, Assemble, Update> Objective<V> for Linearized<F, A, M, Assemble, Update>
where
    V: Vector,
    F: Objective<V>,
{
    fn value(&mut self, x: &V) -> V::Real {
        self.objective.value(x)
    }
    fn round_off(&self, value: V::Real) -> V::Real {
        self.objective.round_off(value)
    }
    fn gradient(&mut self, x: &V, g: &mut V) {
        self.objective.gradient(x, g);
    }
    fn max_step(&mut self, x: &V, d: &V) -> V::Real {
        self.objective.max_step(x, d)
    }
}

impl<V, F, A, M, Assemble, Update> Linearize<V> for Linearized<F, A, M, Assemble, Update>
where
    V: Vector,
    F: Objective<V>,
    A: LinearOperator<V>,
    M: Preconditioner<V>,
    Assemble: FnMut(&mut F, &V, &mut A) -> Result<(), DescentError>,
    Update: FnMut(&A, &V, &mut M) -> Result<(), DescentError>,
{
    fn linearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError> {
        (self.assemble)(&mut self.objective, x, &mut self.hessian)?;
        Ok((&self.hessian, &mut self.inverse))
    }

    fn relinearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError> {
        (self.assemble)(&mut self.objective, x, &mut self.hessian)?;
        if self.renews {
            (self.update)(&self.hessian, x, &mut self.inverse)?;
        }
        Ok((&self.hessian, &mut self.inverse))
    }

    fn renews(&mut self, _: &V) -> Result<bool, DescentError> {
        Ok(self.renews)
    }

    fn project(&mut self, stand_in: bool) -> bool {
        if let Some(project) = self.project {
            project(&mut self.objective, stand_in);
        }
        self.project.is_some()
    }
}
