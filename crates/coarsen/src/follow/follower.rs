//! A preconditioner that follows the Hessian of a body.

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Class, Dot, Objective, Preconditioner, Vector};
use coarsen_elastic::{ImplicitEuler, Potential};
use coarsen_optimize::{DescentError, Direction, Preconditioned, Refreshed};
use coarsen_sparse::{Bsr, System};

use super::HasBody;

/// What is built from a Hessian, for vectors of type V.
pub type Built<V = Vec<f64>> = Box<dyn Prepared<V, f64>>;

/// A preconditioner of the Hessian of a body, which takes the Hessian at another x on demand.
///
/// ```
/// use coarsen::follow::{Follower, following};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x } = Scene::bar_twist(3)?;
/// let recipe = BlockJacobi::default();
/// let m: Follower = Follower::build(&mut body, &x, |system| Ok(Box::new(recipe.build_from(system, &Cpu::new())?)))?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.refresh = Refresh::Every(8);
/// let mut lbfgs = following(Lbfgs::new(8, m));
/// descent.minimize(&mut body, &mut lbfgs, &mut x, &mut ())?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Follower<V: Vector = Vec<f64>> {
    inverse: Built<V>,
    /// The x it was built at, until it is asked to follow.
    built_at: Option<Vec<f64>>,
    constant: bool,
}

impl<V: Vector> Follower<V> {
    /// Builds from the Hessian of `body` at x; `recipe` is handed the matrix with the points of the free nodes, from which builders
    /// derive rigid motions.
    ///
    /// # Errors
    /// Those of the recipe.
    pub fn build<P: Potential>(
        body: &mut ImplicitEuler<P>,
        x: &[f64],
        recipe: impl FnOnce(System<'_, f64>) -> Result<Built<V>, SetupError>,
    ) -> Result<Self, SetupError> {
        let inverse = recipe(system(body.hessian(x), x))?;
        Ok(Self { inverse, built_at: Some(x.to_vec()), constant: false })
    }

    /// A preconditioner that stays as it is.
    pub fn constant(inverse: Built<V>) -> Self {
        Self { inverse, built_at: None, constant: true }
    }

    /// Takes the Hessian at x, unless it is constant or new there: the first time, at the x it was built at. Whether anything was done.
    ///
    /// *Cost* a Hessian and an update, which may allocate.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] with what the update found; the old preconditioner is then still in use.
    pub fn follow<P: Potential>(
        &mut self,
        body: &mut ImplicitEuler<P>,
        x: &[f64],
    ) -> Result<bool, DescentError> {
        let due = self.is_due(x);
        if due {
            self.update(body.hessian(x), x)?;
        }
        Ok(due)
    }

    /// Whether the Hessian at x is news to it; one at the x it was built at is so the second time.
    pub(super) fn is_due(&mut self, x: &[f64]) -> bool {
        !(self.constant || self.built_at.take().is_some_and(|at| at == x))
    }

    /// Takes a Hessian at x, unless it is constant.
    pub(super) fn update(&mut self, hessian: &Bsr<f64>, x: &[f64]) -> Result<(), DescentError> {
        if self.constant {
            return Ok(());
        }
        self.built_at = None;
        self.inverse.update_from(system(hessian, x)).map_err(DescentError::linearize)?;
        Ok(())
    }
}

/// A Hessian with the points of x.
fn system<'a>(hessian: &'a Bsr<f64>, x: &'a [f64]) -> System<'a, f64> {
    System { positions: Some(x.as_chunks().0), ..hessian.into() }
}

impl<V: Vector> Preconditioner<V> for Follower<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        self.inverse.apply(r, z);
    }
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        self.inverse.apply_dot(r, z)
    }
    fn class(&self) -> Class {
        Preconditioner::<V>::class(&self.inverse)
    }
    fn size(&self) -> Option<usize> {
        Preconditioner::<V>::size(&self.inverse)
    }
}

/// A direction whose preconditioner follows the body that is minimised, when [`Descent::refresh`](coarsen_optimize::Descent::refresh)
/// says so.
pub fn following<V, F, D>(direction: D) -> impl Direction<V, F>
where
    V: Vector,
    F: Objective<V> + HasBody<V>,
    D: Direction<V, F> + Preconditioned<V, Inverse = Follower<V>>,
{
    Refreshed::new(direction, |f: &mut F, x: &V, m: &mut Follower<V>| {
        let (body, x) = f.body_at(x)?;
        m.follow(body, x)
    })
}
