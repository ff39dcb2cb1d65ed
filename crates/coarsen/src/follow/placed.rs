//! A body, whose energy is the host's, under vectors of any place.
//!
//! Energies, slopes and Hessians are sums over tetrahedra on the host. What a descent does with them (directions, steps, inner products, products with
//! the Hessian, the preconditioner) happens where the backend says: an evaluation moves the points there and back, an assembly the values of the Hessian.

use coarsen_backend::{Backend, Matrix};
use coarsen_core::{Error, LinearOperator, Objective, Preconditioner, Vector};
use coarsen_elastic::{Curvature, ImplicitEuler, Potential};
use coarsen_optimize::{DescentError, Linearize};

use super::{Follower, HasBody};

/// A body with its Hessian and a preconditioner of it, for descents whose vectors live at a place.
///
/// [`Elastic`](super::Elastic) takes the same steps with `Vec<f64>`, without a copy. A place that fails makes the points NaN, which ends the descent; reading x
/// afterwards says why.
/// *Cost* an evaluation moves 3 numbers a node each way, a Hessian its values, a refresh the points once more; buffers of 6 numbers a node and a second copy of the matrix.
///
/// ```
/// use coarsen::follow::{Follower, Placed, following};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let on = AnyBackend::auto()?;
/// let Scene { mut body, start } = Scene::bar_twist(3)?;
/// let m = Follower::build(&mut body, &start, |system| Ok(Box::new(BlockJacobi::default().build_from(system, &on)?)))?;
/// let mut f = Placed::new(body, &start, Follower::constant(Box::new(Identity)), &on)?;
/// let mut x = on.vector(&start)?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.minimize(&mut f, &mut following(Lbfgs::new(8, m)), &mut x, &mut ())?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Placed<P, B: Backend> {
    /// The body.
    pub body: ImplicitEuler<P>,
    on: B,
    inverse: Follower<B::Vector>,
    hessian: B::Matrix,
    points: Vec<f64>,
    numbers: Vec<f64>,
    on_demand: bool,
}

impl<P: Potential, B: Backend<Real = f64>> Placed<P, B> {
    /// A body whose Hessian is always the one that [`ImplicitEuler::curvature`] says, the preconditioner that Newton's method is to use, and the place.
    ///
    /// # Errors
    /// [`Error::Memory`] and other failures of the place.
    pub fn new(
        mut body: ImplicitEuler<P>,
        x: &[f64],
        inverse: Follower<B::Vector>,
        on: &B,
    ) -> Result<Self, Error> {
        let hessian = on.matrix(body.hessian(x))?;
        let (points, numbers) = (x.to_vec(), vec![0.0; x.len()]);
        Ok(Self { body, on: on.clone(), inverse, hessian, points, numbers, on_demand: false })
    }

    /// The exact Hessian is tried first, the projected one where that is indefinite: Longva et al. 2023.
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }

    fn look(&mut self, x: &B::Vector) {
        if self.on.read(x, &mut self.points).is_err() {
            self.points.fill(f64::NAN);
        }
    }

    /// The Hessian at x, here and there; `renew` takes it into the preconditioner.
    fn assemble(&mut self, x: &B::Vector, renew: bool) -> Result<(), DescentError> {
        self.look(x);
        let hessian = self.body.hessian(&self.points);
        if renew {
            self.inverse.update(hessian, &self.points)?;
        }
        self.hessian.set_values(hessian).map_err(DescentError::linearize)
    }
}

impl<P: Potential, B: Backend<Real = f64>> Objective<B::Vector> for Placed<P, B> {
    fn value(&mut self, x: &B::Vector) -> f64 {
        self.look(x);
        self.body.value(&self.points)
    }

    fn round_off(&self, value: f64) -> f64 {
        self.body.round_off(value)
    }

    fn gradient(&mut self, x: &B::Vector, g: &mut B::Vector) {
        self.look(x);
        self.body.gradient(&self.points, &mut self.numbers);
        if self.on.write(&self.numbers, g).is_err() {
            g.fill(f64::NAN); // which ends the descent, where the gradient before would not
        }
    }

    fn max_step(&mut self, x: &B::Vector, d: &B::Vector) -> f64 {
        self.look(x);
        match self.on.read(d, &mut self.numbers) {
            Ok(()) => self.body.max_step(&self.points, &self.numbers),
            Err(_) => f64::NAN,
        }
    }
}

impl<P: Potential, B: Backend<Real = f64>> Linearize<B::Vector> for Placed<P, B> {
    fn linearize(
        &mut self,
        x: &B::Vector,
    ) -> Result<(&dyn LinearOperator<B::Vector>, &mut dyn Preconditioner<B::Vector>), DescentError> {
        self.assemble(x, false)?;
        Ok((&self.hessian, &mut self.inverse))
    }

    fn relinearize(
        &mut self,
        x: &B::Vector,
    ) -> Result<(&dyn LinearOperator<B::Vector>, &mut dyn Preconditioner<B::Vector>), DescentError> {
        self.assemble(x, true)?;
        Ok((&self.hessian, &mut self.inverse))
    }

    fn renews(&mut self, x: &B::Vector) -> Result<bool, DescentError> {
        self.on.read(x, &mut self.points)?;
        Ok(self.inverse.is_due(&self.points))
    }

    fn project(&mut self, stand_in: bool) -> bool {
        if self.on_demand {
            self.body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
        }
        self.on_demand
    }
}

impl<P: Potential, B: Backend<Real = f64>> HasBody<B::Vector> for Placed<P, B> {
    type Potential = P;

    fn body_at<'a>(
        &'a mut self,
        x: &'a B::Vector,
    ) -> Result<(&'a mut ImplicitEuler<P>, &'a [f64]), DescentError> {
        self.on.read(x, &mut self.points)?;
        Ok((&mut self.body, &self.points))
    }
}
