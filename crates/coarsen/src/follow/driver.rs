//! The drivers of a time step on a grid, by name: quasi-Newton and Newton methods around node embedding and
//! the methods it is compared with.
//!
//! *Reference* Wang et al. 2020, "Hierarchical Optimization Time Integration for CFL-rate MPM Stepping" (HOT),
//! ACM TOG 39(3):21, Algorithms 1 and 3, §7.1.

use std::fmt;
use std::str::FromStr;

use coarsen_backend::{Cpu, Setup, SetupError};
use coarsen_core::{Identity, Objective, Stop};
use coarsen_krylov::{Cg, FlexibleCg, Krylov};
use coarsen_multigrid::{Kernel, Multigrid, NodeEmbedding, Smoothing};
use coarsen_optimize::{
    Backtracking, Descent, DescentError, DescentMonitor, DescentReport, Forcing, Lbfgs, Newton, Norm,
    Preconditioned, Refresh, Refreshed,
};
use coarsen_relax::{BlockJacobi, GaussSeidel};
use coarsen_schwarz::Schwarz;
use coarsen_sparse::{OwnedSystem, SparseError, System, SystemAt};

use super::{Built, Follower, Hosted};

/// A driver of a time step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Driver {
    /// L-BFGS with one V-cycle of node embedding as its initial inverse Hessian, built once per time step
    /// (Algorithm 3).
    Hot,
    /// `Hot` with the quadratic kernel (§7.5).
    HotQuadratic,
    /// L-BFGS with block-Jacobi CG to half of √(gᵀD⁻¹g) as its initial inverse Hessian: `Hot` with one level.
    LbfgsH,
    /// Projected Newton with CG and 3 x 3 block Jacobi (Algorithm 1).
    PnPcg,
    /// Projected Newton with CG and symmetric Gauss-Seidel (Table 3).
    PnSgsPcg,
    /// Projected Newton with flexible CG and one V-cycle of node embedding, built in every iteration (§5).
    PnMgpcg,
    /// L-BFGS with one V-cycle of smoothed aggregation.
    LbfgsSa,
    /// L-BFGS with multilevel additive Schwarz.
    LbfgsMas,
    /// Projected Newton with flexible CG and smoothed aggregation.
    NewtonSa,
    /// Projected Newton with flexible CG and multilevel additive Schwarz.
    NewtonMas,
}

use Driver::{Hot, HotQuadratic, LbfgsH, LbfgsMas, LbfgsSa, NewtonMas, NewtonSa, PnMgpcg, PnPcg, PnSgsPcg};

impl Driver {
    /// All drivers.
    pub const ALL: [Self; 10] =
        [Hot, HotQuadratic, LbfgsH, PnPcg, PnSgsPcg, PnMgpcg, LbfgsSa, LbfgsMas, NewtonSa, NewtonMas];

    /// Returns the name, such as `pn-mgpcg`.
    pub fn name(self) -> &'static str {
        match self {
            Hot => "hot",
            HotQuadratic => "hot-quadratic",
            LbfgsH => "lbfgs-h",
            PnPcg => "pn-pcg",
            PnSgsPcg => "pn-sgs-pcg",
            PnMgpcg => "pn-mgpcg",
            LbfgsSa => "lbfgs-sa",
            LbfgsMas => "lbfgs-mas",
            NewtonSa => "newton-sa",
            NewtonMas => "newton-mas",
        }
    }

    /// Whether the driver is Newton's method; otherwise it is L-BFGS.
    pub fn is_newton(self) -> bool {
        matches!(self, PnPcg | PnSgsPcg | PnMgpcg | NewtonSa | NewtonMas)
    }

    /// Builds the preconditioner of a system on the host. `method` describes the grid.
    ///
    /// # Errors
    /// The errors of the setup.
    pub fn precondition(self, method: &NodeEmbedding, system: System<'_, f64>) -> Result<Built, SetupError> {
        let (on, method) = (Cpu::new(), method.clone());
        Ok(match self {
            Hot | PnMgpcg => Box::new(cycle(method).build_from(system, &on)?),
            HotQuadratic => {
                let method = NodeEmbedding { kernel: Kernel::Quadratic, ..method };
                Box::new(cycle(method).build_from(system, &on)?)
            }
            LbfgsH => {
                let one = Multigrid { levels: 1, ..Multigrid::node_embedding_of(method) };
                Box::new(one.build_from(system, &on)?)
            }
            PnPcg => Box::new(BlockJacobi::default().build_from(system, &on)?),
            PnSgsPcg => Box::new(GaussSeidel::default().build_from(system, &on)?),
            LbfgsSa | NewtonSa => Box::new(Multigrid::smoothed_aggregation().build_from(system, &on)?),
            LbfgsMas | NewtonMas => Box::new(Schwarz::multilevel().build_from(system, &on)?),
        })
    }
}

/// Node embedding of a Hessian, which needs no test of symmetry.
fn cycle(method: NodeEmbedding) -> Multigrid<NodeEmbedding> {
    let known = GaussSeidel { symmetric: true, ..GaussSeidel::default() };
    let smoothing = Smoothing::SymmetricGaussSeidel(known);
    Multigrid { smoothing, ..Multigrid::node_embedding_of(method) }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no driver has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no driver is called `{name}`; take one of hot, hot-quadratic, lbfgs-h, pn-pcg, pn-sgs-pcg, pn-mgpcg, lbfgs-sa, lbfgs-mas, newton-sa, newton-mas"
)]
pub struct UnknownDriver {
    /// The name.
    pub name: String,
}

impl FromStr for Driver {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        let found = Self::ALL.into_iter().find(|driver| driver.name() == name);
        found.ok_or_else(|| UnknownDriver { name: name.to_owned() })
    }
}

/// A driver with its vectors, kept between the time steps.
///
/// A step minimises the incremental potential over velocity increments from x = 0 (eq. 1). L-BFGS uses the
/// last 8 pairs of the step, an unscaled initial inverse Hessian, and 1 as the first trial of its line search.
/// Newton's method ends an inner solve by Algorithm 1 in the norm of the preconditioner, and after 10,000
/// iterations. Both use the positive definite Hessian and stop at `tolerance` in the norm of `weights`, which
/// also decides stagnation. *Cost* of a step: one Hessian and one preconditioner for L-BFGS, one of each per
/// iteration for Newton's method. The preconditioner is built anew in each step, so the number of nodes may
/// change from step to step.
///
/// ```
/// use coarsen::follow::{Driver, TimeStepper};
/// use coarsen::multigrid::{NodeEmbedding, Nodes};
/// use coarsen::problems::Scene;
/// let Scene { mut body, start: mut x, .. } = Scene::bar_twist(4)?;
/// let grid = NodeEmbedding::new(Nodes::Given(vec![[0; 3]; x.len() / 3].into())); // not used by pn-pcg
/// let mut driver = TimeStepper::new("pn-pcg".parse()?);
/// driver.tolerance = 1e-4;
/// let report = driver.minimize(&mut body, &grid, &mut x, None, &mut ())?.converged()?;
/// println!("{report}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TimeStepper {
    /// ε of ‖W ∇f‖ ≤ ε, where W are the weights of the step: 1e-7 by default (§7.1).
    pub tolerance: f64,
    /// The maximal number of iterations of a step.
    pub max_iterations: usize,
    /// τ of Algorithm 1, in the unit of √(gᵀM⁻¹g); 0 for no floor.
    pub floor: f64,
    driver: Driver,
    descent: Descent<Vec<f64>, Backtracking<f64>>,
    method: Method,
}

/// The method of a driver.
enum Method {
    /// `None` during a step.
    QuasiNewton(Option<Lbfgs<Vec<f64>, Follower>>),
    Newton(Newton<Vec<f64>, Box<dyn Krylov<Vec<f64>>>>),
}

/// The number of pairs of L-BFGS (§5.1).
const WINDOW: usize = 8;

/// The limit of inner iterations (§7.3).
const INNER: usize = 10_000;

impl TimeStepper {
    /// Returns a driver with the settings of the paper.
    pub fn new(driver: Driver) -> Self {
        let inner = Stop { max_iterations: INNER, ..Stop::relative(0.0) };
        let forcing = Forcing::Preconditioned { floor: 0.0 };
        let none = || Follower::constant(Box::new(Identity));
        let method = match driver {
            PnPcg | PnSgsPcg => Method::Newton(Newton::with(Box::new(Cg::new(inner)), forcing)),
            _ if driver.is_newton() => {
                Method::Newton(Newton::with(Box::new(FlexibleCg::new(inner)), forcing))
            }
            _ => Method::QuasiNewton(Some(Lbfgs::new(WINDOW, none()))),
        };
        let mut descent = Descent::new(Backtracking::default(), Stop::absolute(1e-7));
        descent.refresh = if driver.is_newton() { Refresh::Every(1) } else { Refresh::AtStart };
        Self { tolerance: 1e-7, max_iterations: 5000, floor: 0.0, driver, descent, method }
    }

    /// The driver.
    pub fn driver(&self) -> Driver {
        self.driver
    }

    /// Minimises f from x. `method` describes the nodes of this step and their restraints. `weights` are those
    /// of [`grid_weights`](coarsen_optimize::grid_weights); `None` for the Euclidean norm.
    ///
    /// # Errors
    /// As [`Descent::minimize`], and the errors of the setup of the preconditioner.
    pub fn minimize<F: Objective<Vec<f64>> + SystemAt>(
        &mut self,
        f: &mut F,
        method: &NodeEmbedding,
        x: &mut Vec<f64>,
        weights: Option<Vec<f64>>,
        monitor: &mut dyn DescentMonitor<Vec<f64>>,
    ) -> Result<DescentReport<f64>, DescentError> {
        self.descent.norm = weights.map(Norm::weighted).transpose()?.unwrap_or_default();
        self.descent.stop = Stop { max_iterations: self.max_iterations, ..Stop::absolute(self.tolerance) };
        f.project(true);
        let (driver, method) = (self.driver, method.clone());
        let recipe = move |system: System<'_, f64>| driver.precondition(&method, system);
        let built = Follower::build(f, x, recipe).map_err(DescentError::linearize)?;
        match &mut self.method {
            Method::Newton(newton) => {
                newton.forcing = Forcing::Preconditioned { floor: self.floor };
                newton.forget();
                let mut here = Hosted::new(Lent(f), built);
                self.descent.minimize(&mut here, newton, x, monitor)
            }
            Method::QuasiNewton(lbfgs) => {
                let mut own = lbfgs
                    .take()
                    .unwrap_or_else(|| Lbfgs::new(WINDOW, Follower::constant(Box::new(Identity))));
                *own.inverse_mut() = built;
                own.forget(); // pairs of the last step
                let mut direction =
                    Refreshed::new(own, |f: &mut F, x: &Vec<f64>, m: &mut Follower| m.follow(f, x));
                let report = self.descent.minimize(f, &mut direction, x, monitor);
                *lbfgs = Some(direction.direction);
                report
            }
        }
    }
}

/// A borrowed objective.
struct Lent<'a, F>(&'a mut F);

impl<F: Objective<Vec<f64>>> Objective<Vec<f64>> for Lent<'_, F> {
    fn value(&mut self, x: &Vec<f64>) -> f64 {
        self.0.value(x)
    }
    fn round_off(&self, value: f64) -> f64 {
        self.0.round_off(value)
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        self.0.gradient(x, g);
    }
    fn max_step(&mut self, x: &Vec<f64>, d: &Vec<f64>) -> f64 {
        self.0.max_step(x, d)
    }
}

impl<F: SystemAt> SystemAt for Lent<'_, F> {
    fn system_at(&mut self, x: &[f64]) -> Result<&OwnedSystem<f64>, SparseError> {
        self.0.system_at(x)
    }
}
