//! A driver with its vectors, kept between the time steps.
//!
//! *Reference* Wang et al. 2020, "Hierarchical Optimization Time Integration for CFL-rate MPM Stepping" (HOT),
//! ACM TOG 39(3):21, Algorithms 1 and 3, §5 and §7.1.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use coarsen_backend::{Cpu, Reused, Setup, SetupError, Update};
use coarsen_core::{Dot, Identity, Iteration, Objective, Preconditioner, PreconditionerKind, Stop, Vector};
use coarsen_krylov::{Cg, FlexibleCg, Krylov};
use coarsen_multigrid::Hierarchy;
use coarsen_node_embedding::NodeEmbedding;
use coarsen_optimize::{
    Backtracking, Descent, DescentError, DescentMonitor, DescentReport, Forcing, Iterate, Lbfgs, Linearize,
    Newton, Norm, Refresh, Refreshed,
};
use coarsen_schwarz::SchwarzBackend;
use coarsen_sparse::{System, SystemAt};

use super::{BackendObjective, Built, CachedPreconditioner, Driver, Needs};

/// A driver with its vectors, kept between the time steps.
///
/// A step minimises the incremental potential over velocity increments from any x; the paper starts from 0 (eq. 1). L-BFGS uses the
/// last 8 pairs of the step, an unscaled initial inverse Hessian, and 1 as the first trial of its line search.
/// Newton's method ends an inner solve by Algorithm 1 in the norm of the preconditioner, and after 10,000
/// iterations. Both use the positive definite Hessian and stop at `tolerance` in the norm of `weights`, which
/// also decides stagnation. *Deviation*: a step takes at least one iteration unless the gradient is zero. The weight
/// of a stiff body is below the tolerance; without this step the body would never move. *Cost* of a step: one Hessian and one preconditioner for L-BFGS, one of each per
/// iteration for Newton's method. The number of nodes may change from step to step. The pairs, the inner
/// method and the vectors of the descent keep their memory; preconditioners are allocated in each step. Energies and
/// Hessians are computed on the host, and everything else on the backend ([`BackendObjective`]).
///
/// ```
/// use coarsen::descent::{Driver, TimeStepper};
/// use coarsen::node_embedding::{NodeEmbedding, Nodes};
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x, .. } = Scene::bar_twist(4)?;
/// let grid = NodeEmbedding::new(Nodes::Given(vec![[0; 3]; x.len() / 3].into())); // not used by pn-pcg
/// let mut driver = TimeStepper::new("pn-pcg".parse()?);
/// driver.tolerance = 1e-4;
/// let report = driver.minimize(&mut body, &grid, &mut x, None, None)?.converged()?;
/// println!("{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TimeStepper<B: SchwarzBackend<Real = f64> = Cpu> {
    /// ε of ‖W ∇f‖ ≤ ε, where W are the weights of the step: 1e-7 by default (§7.1).
    pub tolerance: f64,
    /// The maximal number of iterations of a step; 5000 by default.
    pub max_iterations: usize,
    /// The maximal number of iterations of an inner solve of Newton's method: 10,000 by default (§7.3).
    pub inner_iterations: usize,
    /// τ of Algorithm 1, in the unit of √(gᵀM⁻¹g); 0 for no lower bound.
    pub min_norm: f64,
    driver: Driver,
    backend: B,
    descent: Descent<B::Vector, Backtracking<f64>>,
    method: Method<B>,
    /// The iterations of the coarsest solves in the last step since the last build of the hierarchy.
    coarsest: usize,
    setup: Duration,
}

/// The method of a driver.
enum Method<B: SchwarzBackend<Real = f64>> {
    /// `None` during a step.
    QuasiNewton(Option<Lbfgs<B::Vector, CachedPreconditioner<B::Vector>>>),
    Newton(Newton<B::Vector, Box<dyn Krylov<B::Vector>>>),
}

/// The number of pairs of L-BFGS (§5.1).
const WINDOW: usize = 8;

/// The limit of inner iterations (§7.3).
const INNER: usize = 10_000;

fn nothing<B: SchwarzBackend<Real = f64>>() -> CachedPreconditioner<B::Vector> {
    CachedPreconditioner::constant(Box::new(Identity))
}

impl TimeStepper {
    /// Returns a driver with the settings of the paper, on the CPU in f64.
    pub fn new(driver: Driver) -> Self {
        Self::at(driver, Cpu::new())
    }
}

impl<B: SchwarzBackend<Real = f64>> TimeStepper<B> {
    /// Returns a driver with the settings of the paper on a backend.
    pub fn at(driver: Driver, backend: B) -> Self {
        let inner = Stop { max_iterations: INNER, ..Stop::relative(0.0) };
        let forcing = Forcing::Preconditioned { min_norm: 0.0 };
        let method = if !driver.is_newton() {
            Method::QuasiNewton(Some(Lbfgs::new(WINDOW, nothing::<B>())))
        } else if driver.is_fixed() {
            Method::Newton(Newton::with(Box::new(Cg::new(inner)), forcing))
        } else {
            Method::Newton(Newton::with(Box::new(FlexibleCg::new(inner)), forcing))
        };
        let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-7));
        descent.least_iterations = 1;
        descent.refresh = if driver.is_newton() { Refresh::Every(1) } else { Refresh::AtStart };
        let (max_iterations, inner_iterations, setup) = (5000, INNER, Duration::ZERO);
        Self {
            tolerance: 1e-7,
            max_iterations,
            inner_iterations,
            min_norm: 0.0,
            driver,
            backend,
            descent,
            method,
            coarsest: 0,
            setup,
        }
    }

    /// The driver.
    pub fn driver(&self) -> Driver {
        self.driver
    }

    /// Sets the monitor of the inner solves of Newton's method ([`Newton::monitor`]); L-BFGS has no inner solves.
    pub fn watch(
        &mut self,
        monitor: Option<Box<dyn FnMut(&Iteration<'_, B::Vector>) -> ControlFlow<()> + Send>>,
    ) {
        if let Method::Newton(newton) = &mut self.method {
            newton.monitor = monitor;
        }
    }

    /// The iterations of the coarsest solves of node embedding since the last build of the hierarchy, which is the last step,
    /// unless the pattern changes in it: with one level (`lbfgs-h`) its linear iterations. 0 for other preconditioners.
    pub fn coarsest_iterations(&self) -> usize {
        self.coarsest
    }

    /// The time of the setups and updates of the preconditioner in the last step, without assembly.
    pub fn setup(&self) -> Duration {
        self.setup
    }

    /// Minimises f from x with the [preconditioner of the driver](Driver::precondition). `method` describes the
    /// nodes of this step and their constraints. `weights`, one for each number of x, are those of
    /// [`grid_weights`](coarsen_optimize::grid_weights); `None` for the Euclidean norm.
    ///
    /// # Errors
    /// [`DescentError::Linearize`] with [`Unfit`] for a driver that does not [need](Driver::needs) the system alone;
    /// as [`Descent::minimize`], and the errors of the setup of the preconditioner.
    pub fn minimize<F: Objective<Vec<f64>> + SystemAt>(
        &mut self,
        f: &mut F,
        method: &NodeEmbedding,
        x: &mut [f64],
        weights: Option<&[f64]>,
        monitor: Option<&mut DescentMonitor<'_, B::Vector>>,
    ) -> Result<DescentReport<f64>, DescentError> {
        self.check(&[Needs::System])?;
        let (driver, method, backend) = (self.driver, method.clone(), self.backend.clone());
        let coarsest = Rc::new(Cell::new(0));
        let count = coarsest.clone();
        let build = move |system: System<'_, f64>| match driver.hierarchy(&method) {
            Some(multigrid) => {
                let hierarchy = multigrid.build_from(system, &backend)?;
                Ok(Box::new(Counted { hierarchy, coarsest: count.clone() }) as _)
            }
            None => driver.precondition(&method, system, &backend),
        };
        let report = self.minimize_with(f, build, x, weights, monitor);
        self.coarsest = coarsest.get();
        report
    }

    /// As [`minimize`](Self::minimize), with the preconditioner that `build` builds. *Use* for hierarchies that
    /// need more than the system, such as coarse matrices from particles.
    ///
    /// # Errors
    /// As [`minimize`](Self::minimize), but [`Unfit`] only for a driver that needs [products](Needs::Products).
    pub fn minimize_with<F: Objective<Vec<f64>> + SystemAt>(
        &mut self,
        f: &mut F,
        build: impl FnMut(System<'_, f64>) -> Result<Built<B::Vector>, SetupError> + 'static,
        x: &mut [f64],
        weights: Option<&[f64]>,
        monitor: Option<&mut DescentMonitor<'_, B::Vector>>,
    ) -> Result<DescentReport<f64>, DescentError> {
        self.check(&[Needs::System, Needs::Quadrature])?;
        self.begin(weights)?;
        f.project(true);
        let Self { backend, descent, method, setup, .. } = self;
        let built = CachedPreconditioner::build(f, x, build).map_err(DescentError::linearize)?;
        let mut point = backend.vector(x)?;
        let mut none = |_: &Iterate<'_, B::Vector>| ControlFlow::Continue(());
        let monitor = monitor.unwrap_or(&mut none);
        let (report, inverse) = match method {
            Method::Newton(newton) => {
                let mut f = BackendObjective::new(f, x, built, backend);
                let report = descent.minimize_with(&mut f, newton, &mut point, monitor);
                (report, f.into_inverse())
            }
            Method::QuasiNewton(lbfgs) => {
                let mut own = lbfgs.take().unwrap_or_else(|| Lbfgs::new(WINDOW, nothing::<B>()));
                own.initial = built;
                own.forget(); // pairs of the last step
                let mut f = BackendObjective::bare(f, x, backend);
                let mut direction =
                    Refreshed::new::<B::Vector, BackendObjective<&mut F, B>>(own, |f, x, own| {
                        f.refresh(x, &mut own.initial)
                    });
                let report = descent.minimize_with(&mut f, &mut direction, &mut point, monitor);
                let mut own = direction.direction;
                let inverse = std::mem::replace(&mut own.initial, nothing::<B>());
                *lbfgs = Some(own);
                (report, inverse)
            }
        };
        *setup = inverse.setup();
        let report = report?;
        backend.read(&point, x)?;
        Ok(report)
    }

    /// Minimises an objective that multiplies by its Hessian and has its own preconditioner, with Newton's
    /// method and CG: `pn-mf` and `gast`.
    ///
    /// `gast` stops at `tolerance` in the Euclidean norm, whatever the weights: 1e-3 in the paper (§7.1).
    ///
    /// # Errors
    /// [`DescentError::Linearize`] with [`Unfit`] for the other drivers, and as [`Descent::minimize`].
    pub fn minimize_free<F: Linearize<B::Vector>>(
        &mut self,
        f: &mut F,
        x: &mut [f64],
        weights: Option<&[f64]>,
        monitor: Option<&mut DescentMonitor<'_, B::Vector>>,
    ) -> Result<DescentReport<f64>, DescentError> {
        self.check(&[Needs::Products])?;
        self.begin(weights)?;
        let Method::Newton(newton) = &mut self.method else {
            return Err(DescentError::linearize(Unfit { driver: self.driver }));
        };
        f.project(true);
        let mut point = self.backend.vector(x)?;
        let mut none = |_: &Iterate<'_, B::Vector>| ControlFlow::Continue(());
        let report = self.descent.minimize_with(f, newton, &mut point, monitor.unwrap_or(&mut none))?;
        self.backend.read(&point, x)?;
        Ok(report)
    }

    /// Refuses a driver with other needs.
    fn check(&self, met: &[Needs]) -> Result<(), DescentError> {
        let driver = self.driver;
        if met.contains(&driver.needs()) { Ok(()) } else { Err(DescentError::linearize(Unfit { driver })) }
    }

    /// Sets the criteria of a step.
    fn begin(&mut self, weights: Option<&[f64]>) -> Result<(), DescentError> {
        let gast = self.driver == Driver::Gast;
        self.descent.norm = match weights.filter(|_| !gast) {
            Some(weights) => Norm::weighted(self.backend.vector(weights)?)?,
            None => Norm::default(),
        };
        self.descent.stop = Stop { max_iterations: self.max_iterations, ..Stop::absolute(self.tolerance) };
        self.setup = Duration::ZERO;
        self.coarsest = 0;
        if let Method::Newton(newton) = &mut self.method {
            newton.inner.stop_mut().max_iterations = self.inner_iterations;
            newton.forcing = match gast {
                true => Forcing::Gradient { min_norm: self.tolerance },
                false => Forcing::Preconditioned { min_norm: self.min_norm },
            };
            newton.forget();
        }
        Ok(())
    }
}

/// A driver that the called function cannot run, because it [needs](Driver::needs) something else of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{driver} needs {}", match driver.needs() {
    Needs::System => "the system at x alone: call `minimize`",
    Needs::Quadrature => "coarse matrices from particles: call `minimize_with` with a function that builds them",
    Needs::Products => "products with the Hessian: call `minimize_free`",
})]
pub struct Unfit {
    /// The driver.
    pub driver: Driver,
}

/// A hierarchy that tells the iterations of its coarsest solves after each cycle.
struct Counted<B: SchwarzBackend<Real = f64>> {
    hierarchy: Hierarchy<f64, B>,
    coarsest: Rc<Cell<usize>>,
}

impl<B: SchwarzBackend<Real = f64>> Preconditioner<B::Vector> for Counted<B> {
    fn apply(&mut self, r: &B::Vector, z: &mut B::Vector) {
        self.hierarchy.apply(r, z);
        self.coarsest.set(self.hierarchy.coarsest_iterations());
    }

    fn apply_dot(&mut self, r: &B::Vector, z: &mut B::Vector) -> Dot<<B::Vector as Vector>::Scalar> {
        let dot = self.hierarchy.apply_dot(r, z);
        self.coarsest.set(self.hierarchy.coarsest_iterations());
        dot
    }

    fn kind(&self) -> PreconditionerKind {
        self.hierarchy.kind()
    }

    fn size(&self) -> Option<usize> {
        self.hierarchy.size()
    }
}

impl<B: SchwarzBackend<Real = f64>> Update<f64> for Counted<B> {
    fn update_from(&mut self, system: System<'_, f64>) -> Result<Reused, SetupError> {
        self.hierarchy.update_from(system)
    }

    fn patch_from(&mut self, system: System<'_, f64>, touched: &[u32]) -> Result<Reused, SetupError> {
        self.hierarchy.patch_from(system, touched)
    }
}
