//! An objective of the host under vectors of any place.
//!
//! Energies, slopes and Hessians are computed on the host. What a descent does with them (directions, steps, inner products, products with
//! the Hessian, the preconditioner) happens where the backend says: an evaluation moves the points there and back, an assembly the values of the Hessian.

use std::sync::Arc;

use coarsen_backend::{Backend, Matrix};
use coarsen_core::{LinearOperator, Objective, Preconditioner, Vector};
use coarsen_optimize::{DescentError, Linearize};
use coarsen_sparse::{Pattern, SystemAt};

use super::{Follower, Follows};

/// An objective with its Hessian and a preconditioner of it, for descents whose vectors live at a place.
///
/// [`Hosted`](super::Hosted) takes the same steps with `Vec<f64>`, without a copy. A place that fails makes the points NaN, which ends the descent; reading x
/// afterwards says why.
/// *Cost* an evaluation moves 3 numbers a node each way, a Hessian its values, a refresh the points once more; buffers of 6 numbers a node and a second copy of the matrix.
///
/// ```
/// use coarsen::follow::{Follower, Placed, following};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let on = AnyBackend::auto()?;
/// let Scene { mut body, start } = Scene::bar_twist(3)?;
/// let place = on.clone();
/// let m = Follower::build(&mut body, &start, move |system| Ok(Box::new(BlockJacobi::default().build_from(system, &place)?)))?;
/// let mut f = Placed::new(body, &start, Follower::constant(Box::new(Identity)), &on)?;
/// let mut x = on.vector(&start)?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.minimize(&mut f, &mut following(Lbfgs::new(8, m)), &mut x, &mut ())?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Placed<F, B: Backend> {
    /// The objective.
    pub objective: F,
    on: B,
    inverse: Follower<B::Vector>,
    hessian: B::Matrix,
    pattern: Arc<Pattern>,
    points: Vec<f64>,
    numbers: Vec<f64>,
    on_demand: bool,
}

impl<F: Objective<Vec<f64>> + SystemAt, B: Backend<Real = f64>> Placed<F, B> {
    /// An objective whose Hessian is always the one that it says, the preconditioner that Newton's method is to use, and the place.
    ///
    /// # Errors
    /// [`DescentError`]: [`Error::Memory`](coarsen_core::Error::Memory) and other failures of the place, and those of the system.
    pub fn new(
        mut objective: F,
        x: &[f64],
        inverse: Follower<B::Vector>,
        on: &B,
    ) -> Result<Self, DescentError> {
        let whole = objective.system_at(x).map_err(DescentError::linearize)?.system();
        let whole = whole.whole().map_err(DescentError::linearize)?;
        let (hessian, pattern) = (on.matrix(&whole)?, whole.pattern().clone());
        drop(whole);
        let (points, numbers) = (x.to_vec(), vec![0.0; x.len()]);
        Ok(Self { objective, on: on.clone(), inverse, hessian, pattern, points, numbers, on_demand: false })
    }

    /// The exact Hessian is tried first, the projected one where that is indefinite: Longva et al. 2023.
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }

    /// The Hessian at x, here and there; `renew` takes it into the preconditioner.
    fn assemble(&mut self, x: &B::Vector, renew: bool) -> Result<(), DescentError> {
        self.look(x);
        let system = self.objective.system_at(&self.points).map_err(DescentError::linearize)?.system();
        if renew {
            self.inverse.update(system)?;
        }
        let whole = system.whole().map_err(DescentError::linearize)?;
        if Arc::ptr_eq(&self.pattern, whole.pattern()) || self.pattern == *whole.pattern() {
            return self.hessian.set_values(&whole).map_err(DescentError::linearize);
        }
        self.hessian = self.on.matrix(&whole)?;
        self.pattern = whole.pattern().clone();
        Ok(())
    }
}

impl<F, B: Backend<Real = f64>> Placed<F, B> {
    /// x, on the host; NaN where the place fails.
    fn look(&mut self, x: &B::Vector) {
        if self.on.read(x, &mut self.points).is_err() {
            self.points.fill(f64::NAN);
        }
    }
}

impl<F: Objective<Vec<f64>>, B: Backend<Real = f64>> Objective<B::Vector> for Placed<F, B> {
    fn value(&mut self, x: &B::Vector) -> f64 {
        self.look(x);
        self.objective.value(&self.points)
    }

    fn round_off(&self, value: f64) -> f64 {
        self.objective.round_off(value)
    }

    fn gradient(&mut self, x: &B::Vector, g: &mut B::Vector) {
        self.look(x);
        self.objective.gradient(&self.points, &mut self.numbers);
        if self.on.write(&self.numbers, g).is_err() {
            g.fill(f64::NAN); // which ends the descent, where the gradient before would not
        }
    }

    fn max_step(&mut self, x: &B::Vector, d: &B::Vector) -> f64 {
        self.look(x);
        match self.on.read(d, &mut self.numbers) {
            Ok(()) => self.objective.max_step(&self.points, &self.numbers),
            Err(_) => f64::NAN,
        }
    }
}

impl<F: Objective<Vec<f64>> + SystemAt, B: Backend<Real = f64>> Linearize<B::Vector> for Placed<F, B> {
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
        self.on_demand && self.objective.project(stand_in)
    }
}

impl<F: SystemAt, B: Backend<Real = f64>> Follows<B::Vector> for Placed<F, B> {
    type Host = F;

    fn host_at<'a>(&'a mut self, x: &'a B::Vector) -> Result<(&'a mut F, &'a [f64]), DescentError> {
        self.on.read(x, &mut self.points)?;
        Ok((&mut self.objective, &self.points))
    }
}
