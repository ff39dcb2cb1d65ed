//! The curvature of an objective.

use coarsen_core::{LinearOperator, Objective, Preconditioner, Vector};

use crate::DescentError;

/// An objective with a Hessian, or a positive definite stand-in for it (a projected Hessian, Gauss-Newton), and a
/// preconditioner of it.
pub trait Linearize<V: Vector>: Objective<V> {
    /// The Hessian at x, and the preconditioner as it was last refreshed.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] when the Hessian cannot be had.
    fn linearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError>;

    /// The same, the preconditioner rebuilt from this Hessian; [`linearize`](Self::linearize) where it is a constant one.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] when it cannot be built; the old one is then still in use.
    fn relinearize(
        &mut self,
        x: &V,
    ) -> Result<(&dyn LinearOperator<V>, &mut dyn Preconditioner<V>), DescentError> {
        self.linearize(x)
    }

    /// Whether [`relinearize`](Self::relinearize) at x would change the preconditioner: not a constant one, nor one that is new and was built there. Asked
    /// again at the same x, because that did not help, a preconditioner that can follow says true.
    ///
    /// # Errors
    /// [`DescentError::Core`] where x cannot be looked at.
    fn renews(&mut self, x: &V) -> Result<bool, DescentError> {
        let _ = x;
        Ok(true)
    }

    /// Makes the Hessians from now on positive definite stand-ins, or the true ones again; false where there is no choice.
    ///
    /// Newton's method asks for the true one first, and for the stand-in where that shows negative curvature, and whenever the
    /// preconditioner is rebuilt.
    fn project(&mut self, stand_in: bool) -> bool {
        let _ = stand_in;
        false
    }
}

/// An objective, a place for its Hessian and a preconditioner, joined by two closures.
///
/// `assemble(f, x, a)` writes the Hessian of f at x into a; `update(a, x, m)` takes a, which is that at x, into m.
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
    /// f.
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
    /// Joins the parts; `hessian` and `inverse` may hold anything that fits until the first refresh.
    pub fn new<V: Vector>(objective: F, hessian: A, inverse: M, assemble: Assemble, update: Update) -> Self
    where
        Assemble: FnMut(&mut F, &V, &mut A) -> Result<(), DescentError>,
        Update: FnMut(&A, &V, &mut M) -> Result<(), DescentError>,
    {
        Self { objective, hessian, inverse, assemble, update, renews: true, project: None }
    }

    /// Leaves the preconditioner as it is: `update` is not called, and refreshes count as none.
    pub fn with_constant_inverse(self) -> Self {
        Self { renews: false, ..self }
    }

    /// With a choice of Hessians: `project(f, true)` makes what `assemble` writes positive definite, `project(f, false)` true.
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
