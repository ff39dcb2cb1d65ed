//! Newton's method on the host whose linear systems are solved on a backend.

use coarsen_backend::Backend;
use coarsen_core::{Dot, Objective, Vector};
use coarsen_krylov::Krylov;
use coarsen_optimize::{DescentError, Direction, Linear, Linearize, Newton, Proposal};
use coarsen_sparse::SystemAt;

use super::CachedPreconditioner;
use super::backend_objective::There;

/// Newton's method for vectors on the host, with linear systems solved on a backend.
///
/// A direction copies the values of the Hessian and the gradient to the backend, and the direction back. These copies
/// are three synchronisations on a device; the preconditioner and the inner solve have their own synchronisations in addition. Everything
/// else, such as a line search, runs on the host without synchronisation. *Use* on devices, if energies are computed on the
/// host. *Not* if they are computed on the backend: there [`BackendObjective`](super::BackendObjective) keeps all vectors. *Cost* on the CPU
/// two copies of a vector for each direction, and a second copy of the matrix.
///
/// ```
/// use coarsen::descent::{CachedPreconditioner, BackendNewton};
/// use coarsen::prelude::*;
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x, .. } = Scene::bar_twist(3)?;
/// let backend = AnyBackend::auto()?;
/// let shared = backend.clone();
/// let m = CachedPreconditioner::build(&mut body, &x, move |system| Ok(Box::new(BlockJacobi::default().build_from(system, &shared)?)))?;
/// let mut newton = BackendNewton::new(Newton::inexact(), m, &backend, x.len())?;
/// let mut descent = Descent::new(Backtracking::default(), Stop::relative(1e-6));
/// descent.minimize(&mut body, &mut newton, &mut x)?.converged()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct BackendNewton<B: Backend, K> {
    /// The method on the backend.
    pub newton: Newton<B::Vector, K>,
    backend: B,
    inverse: CachedPreconditioner<B::Vector>,
    hessian: There<B>,
    on_demand: bool,
    /// The gradient and the direction on the backend.
    g: B::Vector,
    d: B::Vector,
}

impl<B: Backend<Real = f64>, K: Krylov<B::Vector>> BackendNewton<B, K> {
    /// Returns the method for `size` unknowns, with a preconditioner on the backend.
    ///
    /// # Errors
    /// The errors of vectors on the backend.
    pub fn new(
        newton: Newton<B::Vector, K>,
        inverse: CachedPreconditioner<B::Vector>,
        backend: &B,
        size: usize,
    ) -> Result<Self, DescentError> {
        let zeros = vec![0.0; size];
        let (g, d) = (backend.vector(&zeros)?, backend.vector(&zeros)?);
        Ok(Self {
            newton,
            backend: backend.clone(),
            inverse,
            hessian: There::default(),
            on_demand: false,
            g,
            d,
        })
    }

    /// Uses the exact Hessian first, and the projected Hessian if the exact Hessian is indefinite (Longva et
    /// al. 2023).
    pub fn projecting_on_demand(self) -> Self {
        Self { on_demand: true, ..self }
    }

    /// The preconditioner, which tells how its setups went.
    pub fn inverse(&self) -> &CachedPreconditioner<B::Vector> {
        &self.inverse
    }
}

/// An objective at known points, with its Hessian on a backend.
struct At<'a, F, B: Backend> {
    f: &'a mut F,
    x: &'a [f64],
    backend: &'a B,
    inverse: &'a mut CachedPreconditioner<B::Vector>,
    hessian: &'a mut There<B>,
    on_demand: bool,
}

impl<F: SystemAt, B: Backend<Real = f64>> At<'_, F, B> {
    fn assemble(&mut self, renew: bool) -> Result<Linear<'_, B::Vector>, DescentError> {
        let system = self.f.system_at(self.x).map_err(DescentError::linearize)?.system();
        if renew {
            self.inverse.update(system)?;
        }
        Ok((self.hessian.write(system, self.backend)?, &mut *self.inverse))
    }
}

/// Newton's method asks for values and gradients of no point.
impl<F: Objective<Vec<f64>>, B: Backend<Real = f64>> Objective<B::Vector> for At<'_, F, B> {
    fn value(&mut self, x: &B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        Dot { value: x.scalar(f64::NAN), magnitude: x.scalar(f64::NAN) }
    }

    fn gradient(&mut self, _: &B::Vector, g: &mut B::Vector) {
        g.fill(f64::NAN);
    }
}

impl<F: Objective<Vec<f64>> + SystemAt, B: Backend<Real = f64>> Linearize<B::Vector> for At<'_, F, B> {
    fn linearize(&mut self, _: &B::Vector) -> Result<Linear<'_, B::Vector>, DescentError> {
        self.assemble(false)
    }

    fn relinearize(&mut self, _: &B::Vector) -> Result<Linear<'_, B::Vector>, DescentError> {
        self.assemble(true)
    }

    fn renews(&mut self, _: &B::Vector) -> Result<bool, DescentError> {
        Ok(self.inverse.is_due(self.x))
    }

    fn project(&mut self, stand_in: bool) -> bool {
        self.on_demand && self.f.project(stand_in)
    }
}

impl<F, B, K> Direction<Vec<f64>, F> for BackendNewton<B, K>
where
    F: Objective<Vec<f64>> + SystemAt,
    B: Backend<Real = f64>,
    K: Krylov<B::Vector>,
{
    fn propose(
        &mut self,
        f: &mut F,
        x: &Vec<f64>,
        g: &Vec<f64>,
        d: &mut Vec<f64>,
    ) -> Result<Proposal<f64>, DescentError> {
        self.backend.write(g, &mut self.g)?;
        let Self { newton, backend, inverse, hessian, on_demand, g, d: there } = self;
        let mut at = At { f, x, backend, inverse, hessian, on_demand: *on_demand };
        let proposal = newton.propose(&mut at, g, g, there)?;
        backend.read(there, d)?;
        Ok(proposal)
    }

    fn prepare(&mut self, _: &Vec<f64>) -> Result<(), DescentError> {
        Direction::<_, At<'_, F, B>>::prepare(&mut self.newton, &self.g)
    }

    /// Newton's method reads neither s nor y, so that no vector is copied: any vector of the backend stands for them.
    fn learn(&mut self, _: &Vec<f64>, _: &Vec<f64>, _: f64) {
        Direction::<_, At<'_, F, B>>::learn_from_other(&mut self.newton, &self.g, &self.g);
    }

    /// As [`learn`](Direction::learn).
    fn learn_from_other(&mut self, _: &Vec<f64>, _: &Vec<f64>) {
        Direction::<_, At<'_, F, B>>::learn_from_other(&mut self.newton, &self.g, &self.g);
    }

    fn forget(&mut self) {
        self.newton.forget();
    }

    fn inner_iterations(&self) -> usize {
        Direction::<_, At<'_, F, B>>::inner_iterations(&self.newton)
    }

    fn fall_back(&mut self) -> bool {
        Direction::<_, At<'_, F, B>>::fall_back(&mut self.newton)
    }

    fn refresh(&mut self, f: &mut F, x: &Vec<f64>) -> Result<bool, DescentError> {
        let Self { newton, backend, inverse, hessian, on_demand, g, .. } = self;
        let mut at = At { f, x, backend, inverse, hessian, on_demand: *on_demand };
        newton.refresh(&mut at, g)
    }
}
