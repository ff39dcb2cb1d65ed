//! Objectives with a Hessian.

use coarsen_core::{Dot, LinearOperator, Objective, Preconditioner, Vector};

use crate::DescentError;

/// A Hessian, and the preconditioner of it.
pub type Linear<'a, V> = (&'a dyn LinearOperator<V>, &'a mut dyn Preconditioner<V>);

/// An objective with its Hessian, or a positive definite approximation (a projected Hessian, Gauss-Newton),
/// and a preconditioner of this matrix.
pub trait Linearize<V: Vector>: Objective<V> {
    /// Computes the Hessian at x. Returns it with the preconditioner of the last refresh.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] if the Hessian cannot be computed.
    fn linearize(&mut self, x: &V) -> Result<Linear<'_, V>, DescentError>;

    /// As [`linearize`](Self::linearize), but rebuilds the preconditioner from this Hessian unless it is
    /// constant.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] if the preconditioner cannot be built. The old preconditioner is then
    /// still in use.
    fn relinearize(&mut self, x: &V) -> Result<Linear<'_, V>, DescentError> {
        self.linearize(x)
    }

    /// Whether [`relinearize`](Self::relinearize) at x would change the preconditioner: false if it is
    /// constant or was just built at x. A second call at the same x returns true if the preconditioner can be
    /// rebuilt, because the first rebuild did not help.
    ///
    /// # Errors
    /// [`DescentError::Core`] if x cannot be read.
    fn renews(&mut self, x: &V) -> Result<bool, DescentError> {
        let _ = x;
        Ok(true)
    }

    /// Selects positive definite approximations (`true`) or exact Hessians (`false`) for later calls; returns
    /// false if the objective has only one kind.
    ///
    /// Newton's method first uses the exact Hessian. It uses the approximation after negative curvature and
    /// to rebuild the preconditioner.
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
/// use coarsen_core::{Dot, Identity, LinearOperator, Objective, Stop};
/// use coarsen_optimize::{Backtracking, Descent, Linearized, Newton};
/// struct Quartic; // x⁴ / 4 + x² / 2
/// impl Objective<Vec<f64>> for Quartic {
///     fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
///         (x[0].powi(4) / 4.0 + x[0] * x[0] / 2.0).into()
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
/// Descent::new(Backtracking::default(), Stop::absolute(1e-12)).minimize(&mut f, &mut Newton::exact(), &mut x)?.converged()?;
/// assert!(x[0].abs() < 1e-12);
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Linearized<F, A, M, Assemble, Update> {
    /// The objective f.
    pub objective: F,
    /// The last assembled Hessian.
    pub hessian: A,
    /// The last built preconditioner.
    pub inverse: M,
    assemble: Assemble,
    update: Update,
    renews: bool,
    project: Option<fn(&mut F, bool)>,
}

impl<F, A, M, Assemble, Update> Linearized<F, A, M, Assemble, Update> {
    /// Combines the parts. Until the first refresh, `hessian` and `inverse` may have any values of the right
    /// size.
    pub fn new<V: Vector>(objective: F, hessian: A, inverse: M, assemble: Assemble, update: Update) -> Self
    where
        Assemble: FnMut(&mut F, &V, &mut A) -> Result<(), DescentError>,
        Update: FnMut(&A, &V, &mut M) -> Result<(), DescentError>,
    {
        Self { objective, hessian, inverse, assemble, update, renews: true, project: None }
    }

    /// Makes the preconditioner constant: `update` is not called, and refreshes are not counted.
    pub fn with_constant_inverse(self) -> Self {
        Self { renews: false, ..self }
    }

    /// Provides two kinds of Hessian: after `project(f, true)` `assemble` writes a positive definite
    /// approximation, after `project(f, false)` the exact Hessian.
    pub fn projecting(self, project: fn(&mut F, bool)) -> Self {
        Self { project: Some(project), ..self }
    }
}

impl<V, F, A, M, Assemble, Update> Objective<V> for Linearized<F, A, M, Assemble, Update>
where
    V: Vector,
    F: Objective<V>,
{
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        self.objective.value(x)
    }
    fn gradient(&mut self, x: &V, g: &mut V) {
        self.objective.gradient(x, g);
    }
    fn max_step(&mut self, x: &V, d: &V) -> V::Scalar {
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
    fn linearize(&mut self, x: &V) -> Result<Linear<'_, V>, DescentError> {
        (self.assemble)(&mut self.objective, x, &mut self.hessian)?;
        Ok((&self.hessian, &mut self.inverse))
    }

    fn relinearize(&mut self, x: &V) -> Result<Linear<'_, V>, DescentError> {
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
