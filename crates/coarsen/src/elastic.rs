//! Soft bodies under any driver: a preconditioner that follows the Hessian.
//!
//! | type | what |
//! |---|---|
//! | [`Follower`] | a preconditioner of the Hessian of a body |
//! | [`Elastic`] | a body and a follower, for Newton's method |
//! | [`following`] | a direction around a follower, for the other methods |

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Class, Dot, Identity, LinearOperator, Objective, Preconditioner};
use coarsen_optimize::{DescentError, Direction, Linearize, Preconditioned, Refreshed};
use coarsen_problems::{Curvature, ImplicitEuler, Potential};
use coarsen_sparse::{Bsr, System};

/// What is built from a Hessian.
pub type Built = Box<dyn Prepared<Vec<f64>, f64>>;

/// A preconditioner of the Hessian of a body, which takes the Hessian at another x on demand.
///
/// ```
/// use coarsen::elastic::{Follower, following};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x } = Scene::bar_twist(3)?;
/// let m = Follower::build(&mut body, &x, |system| Ok(Box::new(BlockJacobi::default().build_from(system, &Cpu::new())?)))?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.refresh = Refresh::Every(8);
/// let mut lbfgs = following(Lbfgs::new(8, m));
/// descent.minimize(&mut body, &mut lbfgs, &mut x, &mut ())?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Follower {
    inverse: Built,
    /// The x it was built at, until it is asked to follow.
    built_at: Option<Vec<f64>>,
    constant: bool,
}

impl Follower {
    /// Builds from the Hessian of `body` at x; `recipe` is handed the matrix with the points of the free nodes, from which builders
    /// derive rigid motions.
    ///
    /// # Errors
    /// Those of the recipe.
    pub fn build<P: Potential>(
        body: &mut ImplicitEuler<P>,
        x: &[f64],
        recipe: impl FnOnce(System<'_, f64>) -> Result<Built, SetupError>,
    ) -> Result<Self, SetupError> {
        let inverse = recipe(system(body.hessian(x), x))?;
        Ok(Self { inverse, built_at: Some(x.to_vec()), constant: false })
    }

    /// A preconditioner that stays as it is.
    pub fn constant(inverse: Built) -> Self {
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
        let due = !(self.constant || self.is_new_at(x));
        if due {
            self.update(body.hessian(x), x)?;
        }
        Ok(due)
    }

    /// Whether it was built at this x and never asked to follow; asked once.
    fn is_new_at(&mut self, x: &[f64]) -> bool {
        self.built_at.take().is_some_and(|at| at == x)
    }

    fn update(&mut self, hessian: &Bsr<f64>, x: &[f64]) -> Result<(), DescentError> {
        self.inverse.update_from(system(hessian, x)).map_err(DescentError::linearize)?;
        Ok(())
    }
}

/// A Hessian with the points of x.
fn system<'a>(hessian: &'a Bsr<f64>, x: &'a [f64]) -> System<'a, f64> {
    System { positions: Some(x.as_chunks().0), ..hessian.into() }
}

impl Preconditioner<Vec<f64>> for Follower {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.inverse.apply(r, z);
    }
    fn apply_dot(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) -> Dot<f64> {
        self.inverse.apply_dot(r, z)
    }
    fn class(&self) -> Class {
        Preconditioner::<Vec<f64>>::class(&self.inverse)
    }
    fn size(&self) -> Option<usize> {
        Preconditioner::<Vec<f64>>::size(&self.inverse)
    }
}

/// A body with its Hessian, which it keeps, and a preconditioner of it: what Newton's method asks for.
///
/// *Cost* of a Hessian: that of the body; nothing is copied.
pub struct Elastic<P> {
    /// The body.
    pub body: ImplicitEuler<P>,
    inverse: Follower,
    on_demand: bool,
}

impl<P: Potential> Elastic<P> {
    /// A body whose Hessian is always the one that [`ImplicitEuler::curvature`] says.
    pub fn new(body: ImplicitEuler<P>, inverse: Follower) -> Self {
        Self { body, inverse, on_demand: false }
    }

    /// A body without a preconditioner, for methods that have their own.
    pub fn bare(body: ImplicitEuler<P>) -> Self {
        Self::new(body, Follower::constant(Box::new(Identity)))
    }

    /// The exact Hessian is tried first, the projected one where that is indefinite: Longva et al. 2023.
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }
}

impl<P: Potential> Objective<Vec<f64>> for Elastic<P> {
    fn value(&mut self, x: &Vec<f64>) -> f64 {
        self.body.value(x)
    }
    fn round_off(&self, value: f64) -> f64 {
        self.body.round_off(value)
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        self.body.gradient(x, g);
    }
    fn max_step(&mut self, x: &Vec<f64>, d: &Vec<f64>) -> f64 {
        self.body.max_step(x, d)
    }
}

impl<P: Potential> Linearize<Vec<f64>> for Elastic<P> {
    fn linearize(
        &mut self,
        x: &Vec<f64>,
    ) -> Result<(&dyn LinearOperator<Vec<f64>>, &mut dyn Preconditioner<Vec<f64>>), DescentError> {
        Ok((self.body.hessian(x), &mut self.inverse))
    }

    fn relinearize(
        &mut self,
        x: &Vec<f64>,
    ) -> Result<(&dyn LinearOperator<Vec<f64>>, &mut dyn Preconditioner<Vec<f64>>), DescentError> {
        let hessian = self.body.hessian(x);
        if !(self.inverse.constant || self.inverse.is_new_at(x)) {
            self.inverse.update(hessian, x)?;
        }
        Ok((hessian, &mut self.inverse))
    }

    fn renews(&self) -> bool {
        !self.inverse.constant
    }

    fn project(&mut self, stand_in: bool) -> bool {
        if self.on_demand {
            self.body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
        }
        self.on_demand
    }
}

/// What has a body whose Hessian a preconditioner can follow.
pub trait HasBody {
    /// Its energy.
    type Potential: Potential;

    /// The body.
    fn body_mut(&mut self) -> &mut ImplicitEuler<Self::Potential>;
}

impl<P: Potential> HasBody for ImplicitEuler<P> {
    type Potential = P;

    fn body_mut(&mut self) -> &mut Self {
        self
    }
}

impl<P: Potential> HasBody for Elastic<P> {
    type Potential = P;

    fn body_mut(&mut self) -> &mut ImplicitEuler<P> {
        &mut self.body
    }
}

/// A direction whose preconditioner follows the body that is minimised, when [`Descent::refresh`](coarsen_optimize::Descent::refresh)
/// says so.
pub fn following<F, D>(direction: D) -> impl Direction<Vec<f64>, F>
where
    F: Objective<Vec<f64>> + HasBody,
    D: Direction<Vec<f64>, F> + Preconditioned<Vec<f64>, Inverse = Follower>,
{
    Refreshed::new(direction, |f: &mut F, x: &Vec<f64>, m: &mut Follower| m.follow(f.body_mut(), x))
}
