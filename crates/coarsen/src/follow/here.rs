//! A body, a preconditioner of its Hessian, and vectors of the host.

use coarsen_core::{Identity, LinearOperator, Objective, Preconditioner};
use coarsen_elastic::{Curvature, ImplicitEuler, Potential};
use coarsen_optimize::{DescentError, Linearize};

use super::{Follower, HasBody};

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
        self.inverse.update(hessian, x)?;
        Ok((hessian, &mut self.inverse))
    }

    fn renews(&mut self, x: &Vec<f64>) -> Result<bool, DescentError> {
        Ok(self.inverse.is_due(x))
    }

    fn project(&mut self, stand_in: bool) -> bool {
        if self.on_demand {
            self.body.curvature = if stand_in { Curvature::Projected } else { Curvature::Exact };
        }
        self.on_demand
    }
}

impl<P: Potential> HasBody<Vec<f64>> for Elastic<P> {
    type Potential = P;

    fn body_at<'a>(
        &'a mut self,
        x: &'a Vec<f64>,
    ) -> Result<(&'a mut ImplicitEuler<P>, &'a [f64]), DescentError> {
        Ok((&mut self.body, x))
    }
}
