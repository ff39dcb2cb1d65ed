//! An objective and a preconditioner of its Hessian, for vectors on the host.

use coarsen_core::{Dot, Identity, Objective};
use coarsen_optimize::{DescentError, Linear, Linearize};
use coarsen_sparse::{OwnedSystem, SparseError, SystemAt};

use super::CachedPreconditioner;

/// An objective that owns its Hessian, together with a preconditioner of the Hessian, for Newton's method.
///
/// *Cost* of a Hessian: as in the objective, without a copy.
pub struct HostObjective<F> {
    /// The objective.
    pub objective: F,
    inverse: CachedPreconditioner,
    on_demand: bool,
}

impl<F: Objective<Vec<f64>> + SystemAt> HostObjective<F> {
    /// Returns an objective that always uses its default Hessian.
    pub fn new(objective: F, inverse: CachedPreconditioner) -> Self {
        Self { objective, inverse, on_demand: false }
    }

    /// Returns an objective without a preconditioner, for methods that own a preconditioner.
    pub fn bare(objective: F) -> Self {
        Self::new(objective, CachedPreconditioner::constant(Box::new(Identity)))
    }

    /// Uses the exact Hessian first, and the projected Hessian if the exact Hessian is indefinite (Longva et
    /// al. 2023).
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }
}

impl<F: SystemAt> SystemAt for HostObjective<F> {
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        self.objective.system_at(x)
    }
    fn project(&mut self, stand_in: bool) -> bool {
        self.objective.project(stand_in)
    }
}

impl<F: Objective<Vec<f64>>> Objective<Vec<f64>> for HostObjective<F> {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        self.objective.value(x)
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        self.objective.gradient(x, g);
    }
    fn max_step(&mut self, x: &Vec<f64>, d: &Vec<f64>) -> f64 {
        self.objective.max_step(x, d)
    }
}

impl<F: Objective<Vec<f64>> + SystemAt> Linearize<Vec<f64>> for HostObjective<F> {
    fn linearize(&mut self, x: &Vec<f64>) -> Result<Linear<'_, Vec<f64>>, DescentError> {
        let system = self.objective.system_at(x).map_err(DescentError::linearize)?;
        Ok((system, &mut self.inverse))
    }

    fn relinearize(&mut self, x: &Vec<f64>) -> Result<Linear<'_, Vec<f64>>, DescentError> {
        let system = self.objective.system_at(x).map_err(DescentError::linearize)?;
        self.inverse.update(system.system())?;
        Ok((system, &mut self.inverse))
    }

    fn renews(&mut self, x: &Vec<f64>) -> Result<bool, DescentError> {
        Ok(self.inverse.is_due(x))
    }

    fn project(&mut self, stand_in: bool) -> bool {
        self.on_demand && self.objective.project(stand_in)
    }
}
