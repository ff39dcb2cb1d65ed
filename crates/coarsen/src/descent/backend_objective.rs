//! An objective on the host, with vectors on any backend.
//!
//! Energies, gradients and Hessians are computed on the host. Directions, steps, inner products, products
//! with the Hessian and the preconditioner run on the backend. An evaluation copies the points to the host and
//! the gradient to the backend. An assembly copies the values of the Hessian to the backend.

use std::sync::Arc;

use coarsen_backend::{Backend, Matrix, Merged};
use coarsen_core::{Dot, Identity, Objective, Vector};
use coarsen_optimize::{DescentError, Direction, Linear, Linearize, Refreshed};
use coarsen_sparse::{Pattern, System, SystemAt};

use super::CachedPreconditioner;

/// An objective, its Hessian and a preconditioner of the Hessian, for descents with vectors on a backend.
///
/// [`HostObjective`](super::HostObjective) takes the same steps with `Vec<f64>`, without a copy. If the backend fails, the
/// points become NaN, which ends the descent. Reading x afterwards returns the error. *Cost*: an evaluation
/// copies 3 numbers per node in each direction, a Hessian copies its values, and a refresh copies the points
/// once more. *Memory*: buffers of 6 numbers per node, and a second copy of the matrix.
///
/// ```
/// use coarsen::descent::{BackendObjective, CachedPreconditioner};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let backend = AnyBackend::auto()?;
/// let Scene { mut body, start, .. } = Scene::bar_twist(3)?;
/// let shared = backend.clone();
/// let m = CachedPreconditioner::build(&mut body, &start, move |system| Ok(Box::new(BlockJacobi::default().build_from(system, &shared)?)))?;
/// let mut f = BackendObjective::new(body, &start, CachedPreconditioner::constant(Box::new(Identity)), &backend);
/// let mut x = backend.vector(&start)?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// let mut lbfgs = BackendObjective::<_, AnyBackend>::refreshed(Lbfgs::new(8, m), |lbfgs| &mut lbfgs.initial);
/// descent.minimize(&mut f, &mut lbfgs, &mut x)?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BackendObjective<F, B: Backend> {
    /// The objective.
    pub objective: F,
    backend: B,
    inverse: CachedPreconditioner<B::Vector>,
    hessian: There<B>,
    /// x and a gradient or a direction, on the host.
    points: Vec<f64>,
    numbers: Vec<f64>,
    on_demand: bool,
}

impl<F: Objective<Vec<f64>> + SystemAt, B: Backend<Real = f64>> BackendObjective<F, B> {
    /// Returns an objective that always uses its default Hessian. x gives the number of unknowns, `inverse` is the
    /// preconditioner for Newton's method. The Hessian is copied to the backend when the method asks for it.
    pub fn new(objective: F, x: &[f64], inverse: CachedPreconditioner<B::Vector>, backend: &B) -> Self {
        let (hessian, points, numbers) = (There::default(), x.to_vec(), vec![0.0; x.len()]);
        Self { objective, backend: backend.clone(), inverse, hessian, points, numbers, on_demand: false }
    }

    /// Returns an objective without a preconditioner, for methods that own one; x as in [`new`](Self::new).
    pub fn bare(objective: F, x: &[f64], backend: &B) -> Self {
        Self::new(objective, x, CachedPreconditioner::constant(Box::new(Identity)), backend)
    }

    pub(super) fn into_inverse(self) -> CachedPreconditioner<B::Vector> {
        self.inverse
    }

    /// The preconditioner, which tells how its setups went.
    pub fn inverse(&self) -> &CachedPreconditioner<B::Vector> {
        &self.inverse
    }

    /// Uses the exact Hessian first, and the projected Hessian if the exact Hessian is indefinite (Longva et
    /// al. 2023).
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }

    /// [`refreshed`](super::refreshed) for vectors of the backend.
    pub fn refreshed<D: Direction<B::Vector, Self>>(
        direction: D,
        inverse: fn(&mut D) -> &mut CachedPreconditioner<B::Vector>,
    ) -> impl Direction<B::Vector, Self> {
        Refreshed::new(direction, move |f: &mut Self, x: &B::Vector, d: &mut D| f.refresh(x, inverse(d)))
    }

    /// Updates the preconditioner of a direction to the system at x and returns whether it changed.
    pub(super) fn refresh(
        &mut self,
        x: &B::Vector,
        m: &mut CachedPreconditioner<B::Vector>,
    ) -> Result<bool, DescentError> {
        self.backend.read(x, &mut self.points)?;
        m.refresh(&mut self.objective, &self.points)
    }

    /// Computes the Hessian at x and copies it to the backend. With `renew`, also updates the preconditioner.
    fn assemble(&mut self, x: &B::Vector, renew: bool) -> Result<Linear<'_, B::Vector>, DescentError> {
        self.read_point(x);
        let system = self.objective.system_at(&self.points).map_err(DescentError::linearize)?.system();
        if renew {
            self.inverse.update(system)?;
        }
        Ok((self.hessian.write(system, &self.backend)?, &mut self.inverse))
    }
}

/// A matrix on a backend and its pattern; `None` until it is needed, and after an error.
pub(super) struct There<B: Backend> {
    written: Option<(B::Matrix, Arc<Pattern>)>,
    merged: Merged,
}

impl<B: Backend> Default for There<B> {
    fn default() -> Self {
        Self { written: None, merged: Merged::default() }
    }
}

impl<B: Backend<Real = f64>> There<B> {
    /// Copies the matrix of a system, with its contact: the values alone if the pattern is the same.
    pub(super) fn write(&mut self, system: System<'_, f64>, backend: &B) -> Result<&B::Matrix, DescentError> {
        let before = self.written.take();
        let known = before.as_ref().map_or(system.matrix.pattern(), |(_, pattern)| pattern).clone();
        let whole = self.merged.whole(&system, &known).map_err(DescentError::linearize)?;
        let written = match before.filter(|(_, known)| Pattern::same(known, whole.pattern())) {
            Some((mut matrix, pattern)) => {
                matrix.set_values(whole).map_err(DescentError::linearize)?;
                (matrix, pattern)
            }
            None => (backend.matrix(whole)?, whole.pattern().clone()),
        };
        Ok(&self.written.insert(written).0)
    }
}

impl<F, B: Backend<Real = f64>> BackendObjective<F, B> {
    /// Copies x to the host; the copy is NaN if the backend fails.
    fn read_point(&mut self, x: &B::Vector) {
        if self.backend.read(x, &mut self.points).is_err() {
            self.points.fill(f64::NAN);
        }
    }
}

impl<F: Objective<Vec<f64>>, B: Backend<Real = f64>> Objective<B::Vector> for BackendObjective<F, B> {
    fn value(&mut self, x: &B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        self.read_point(x);
        let Dot { value, magnitude } = self.objective.value(&self.points);
        Dot { value: x.scalar(value), magnitude: x.scalar(magnitude) }
    }

    fn gradient(&mut self, x: &B::Vector, g: &mut B::Vector) {
        self.read_point(x);
        self.objective.gradient(&self.points, &mut self.numbers);
        if self.backend.write(&self.numbers, g).is_err() {
            g.fill(f64::NAN); // NaN ends the descent; an old gradient would not
        }
    }

    fn max_step(&mut self, x: &B::Vector, d: &B::Vector) -> <B::Vector as Vector>::Scalar {
        self.read_point(x);
        let read = self.backend.read(d, &mut self.numbers);
        x.scalar(match read {
            Ok(()) if self.numbers.first_not_finite().is_none() => {
                self.objective.max_step(&self.points, &self.numbers)
            }
            _ => f64::NAN,
        })
    }
}

impl<F: Objective<Vec<f64>> + SystemAt, B: Backend<Real = f64>> Linearize<B::Vector>
    for BackendObjective<F, B>
{
    fn linearize(&mut self, x: &B::Vector) -> Result<Linear<'_, B::Vector>, DescentError> {
        self.assemble(x, false)
    }

    fn relinearize(&mut self, x: &B::Vector) -> Result<Linear<'_, B::Vector>, DescentError> {
        self.assemble(x, true)
    }

    fn renews(&mut self, x: &B::Vector) -> Result<bool, DescentError> {
        self.backend.read(x, &mut self.points)?;
        Ok(self.inverse.is_due(&self.points))
    }

    fn project(&mut self, stand_in: bool) -> bool {
        self.on_demand && self.objective.project(stand_in)
    }
}

#[cfg(test)]
mod tests {
    use coarsen_backend::Cpu;
    use coarsen_core::LinearOperator;
    use coarsen_sparse::{Bsr, assembly};

    use super::*;

    /// After values that the backend cannot store, matrices of other patterns are what they are.
    #[test]
    fn a_failed_write_leaves_no_pattern() {
        let with = |v: f64, far: bool| -> Bsr<f64> {
            let mut places = vec![(0, 0), (1, 1)];
            let mut values = vec![v, v];
            if far {
                places.insert(1, (0, 1));
                values.insert(1, 1.0);
            }
            assembly::from_blocks((2, 2), (1, 1), &places, &values).unwrap()
        };
        let (backend, mut there) = (Cpu::mixed(), There::default());
        let mut product = |a: &Bsr<f64>| {
            let mut y = vec![0.0; 2];
            there.write(System::from(a), &backend).map(|a| a.apply(&vec![1.0; 2], &mut y)).map(|()| y)
        };
        assert_eq!(product(&with(2.0, false)).unwrap(), [2.0, 2.0]);
        assert!(product(&with(1e300, false)).is_err());
        assert_eq!(product(&with(3.0, true)).unwrap(), [4.0, 3.0]);
        assert_eq!(product(&with(5.0, false)).unwrap(), [5.0, 5.0]);
    }
}
