//! The solvers of a step, by name.
//!
//! All start from Δv = 0 and stop in the characteristic norm of Wang et al. 2020 (HOT), §5.2:
//!
//! > ‖ĝ‖ ≤ ε √n,    ĝ_i = g_i / (24 Δx² ξ_i Δt)    (9)

use std::sync::Arc;

use clap::ValueEnum;
use coarsen::follow::{Follower, Placed, following};
use coarsen::multigrid::{Kernel, NodeEmbedding, Nodes};
use coarsen::optimize::{DescentOutcome, Direction, Forcing, Norm};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::SystemAt;
use examples_common::Failure;
use examples_common::solver::{Clock, Recipe, Solver as Known, choose, timed};

use crate::energy::Increment;
use crate::options::Method;

/// The number of pairs of L-BFGS: Wang et al. 2020 (HOT), §7.1.
const WINDOW: usize = 8;

/// The solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Solver {
    /// L-BFGS, one cycle of node embedding as H₀, built once in a step (Algorithm 3).
    Hot,
    /// The same with the quadratic kernel (§7.5).
    HotQuadratic,
    /// Projected Newton, CG with the inverses of the diagonal blocks (Algorithm 1).
    PnPcg,
    /// Projected Newton, CG with symmetric Gauss-Seidel (Table 3).
    PnSgsPcg,
    /// Projected Newton, CG with node embedding, rebuilt in each iteration (§5).
    PnMgpcg,
    /// L-BFGS, CG on the system itself as H₀, as on the coarsest level of node embedding (§7.1).
    LbfgsH,
    /// Projected Newton, CG with smoothed aggregation.
    NewtonSa,
    /// Projected Newton, CG with multilevel additive Schwarz.
    NewtonMas,
    /// L-BFGS, one cycle of smoothed aggregation as H₀.
    LbfgsSa,
    /// L-BFGS, multilevel additive Schwarz as H₀.
    LbfgsMas,
    /// The preconditioner with the least work on the first system, in L-BFGS if it is a hierarchy or a factor.
    Auto,
}

/// A preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inverse {
    /// One that all examples have.
    Known(Known),
    /// Node embedding with this number of levels.
    Embedding(usize, Kernel),
}

/// The parts of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// L-BFGS and not Newton's method.
    quasi: bool,
    inverse: Inverse,
}

/// The number of levels of node embedding: Wang et al. 2020 (HOT), §7.1.
const LEVELS: usize = 3;

/// How a solve ended.
#[derive(Clone, Debug)]
pub struct Solved {
    /// Δv of the free nodes.
    pub z: Vec<f64>,
    /// The outcome of the descent.
    pub outcome: DescentOutcome,
    /// Iterations of the descent, and of its linear solves.
    pub iterations: [usize; 2],
    /// The number of times that the preconditioner was built or updated.
    pub rebuilds: usize,
    /// The number of its applications.
    pub cycles: usize,
    /// ‖ĝ‖ / √n at the end.
    pub norm: f64,
}

impl Solver {
    /// Its parts; `Auto` looks at the system of a step.
    ///
    /// # Errors
    /// Those of the choice.
    pub fn parts(self, f: &mut Increment<'_>) -> Result<Parts, Failure> {
        let newton = |inverse| Parts { quasi: false, inverse };
        let lbfgs = |inverse| Parts { quasi: true, inverse };
        Ok(match self {
            Self::Hot => lbfgs(Inverse::Embedding(LEVELS, Kernel::Linear)),
            Self::HotQuadratic => lbfgs(Inverse::Embedding(LEVELS, Kernel::Quadratic)),
            Self::PnPcg => newton(Inverse::Known(Known::BlockJacobi)),
            Self::PnSgsPcg => newton(Inverse::Known(Known::Gs)),
            Self::PnMgpcg => newton(Inverse::Embedding(LEVELS, Kernel::Linear)),
            Self::LbfgsH => lbfgs(Inverse::Embedding(1, Kernel::Linear)),
            Self::NewtonSa => newton(Inverse::Known(Known::Sa)),
            Self::NewtonMas => newton(Inverse::Known(Known::Mas)),
            Self::LbfgsSa => lbfgs(Inverse::Known(Known::Sa)),
            Self::LbfgsMas => lbfgs(Inverse::Known(Known::Mas)),
            Self::Auto => {
                let known = choose(f.system_at(&vec![0.0; f.size()])?.system())?;
                let strong = matches!(known, Known::Sa | Known::Direct | Known::Skinning);
                Parts { quasi: strong, inverse: Inverse::Known(known) }
            }
        })
    }
}

impl Inverse {
    /// The function that builds the preconditioner of the systems of a step.
    fn recipe<B: Place<Real = f64>>(self, f: &Increment<'_>, clock: &Clock, on: &B) -> Recipe<B::Vector> {
        match self {
            Self::Known(known) => known.recipe(&[], Arc::from([]), on, clock),
            Self::Embedding(levels, kernel) => {
                let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
                let restraints = f.restraints().into();
                let coarsening = NodeEmbedding { kernel, restraints, ..NodeEmbedding::new(nodes) };
                let recipe = Multigrid { levels, ..Multigrid::node_embedding_of(coarsening) };
                let on = on.clone();
                timed(clock, move |system| Ok(Box::new(recipe.build_from(system, &on)?)))
            }
        }
    }
}

impl Parts {
    /// Minimises the objective of a step from Δv = 0.
    ///
    /// # Errors
    /// Those of preconditioners and of the place.
    pub fn solve<B: Place<Real = f64>>(
        self,
        mut f: Increment<'_>,
        method: &Method,
        clock: &Clock,
        on: &B,
    ) -> Result<(Solved, f64), Failure> {
        let mut z = vec![0.0; f.size()];
        if z.is_empty() {
            let (outcome, iterations) = (DescentOutcome::Stopped, [0; 2]);
            let work = f.work(&z);
            return Ok((Solved { z, outcome, iterations, rebuilds: 0, cycles: 0, norm: 0.0 }, work));
        }
        let (weights, most) = f.weights()?;
        let stop = Stop { max_iterations: method.iterations, ..Stop::absolute(method.tolerance) };
        let mut descent = Descent::new(Backtracking::default(), stop);
        descent.norm = Norm::weighted(on.vector(&weights)?)?;
        let recipe = self.inverse.recipe(&f, clock, on);
        let inverse = Follower::build(&mut f, &z, recipe)?;
        let mut x = on.vector(&z)?;
        let (report, mut f) = if self.quasi {
            descent.refresh = Refresh::AtStart;
            let mut f = Placed::new(f, &z, Follower::constant(Box::new(Identity)), on)?;
            let mut rule = following(Lbfgs::new(WINDOW, inverse));
            (descent.minimize(&mut f, &mut rule, &mut x, &mut ())?, f.objective)
        } else {
            // τ is the tolerance of the stiffest material in the Euclidean norm (§5.3).
            let floor = method.tolerance * (z.len() as f64 / 3.0).sqrt() * most;
            descent.refresh = Refresh::Every(1);
            let inner = Stop { max_iterations: method.inner, ..Stop::relative(0.5) };
            let mut f = Placed::new(f, &z, inverse, on)?;
            let forcing = Forcing::Preconditioned { floor };
            // A cycle with an inner solve is no linear operator, which plain CG needs.
            let mut rule: Box<dyn Direction<B::Vector, _>> = match self.inverse {
                Inverse::Embedding(..) => Box::new(Newton::with(FlexibleCg::new(inner), forcing)),
                Inverse::Known(_) => Box::new(Newton::with(Cg::new(inner), forcing)),
            };
            (descent.minimize(&mut f, &mut *rule, &mut x, &mut ())?, f.objective)
        };
        on.read(&x, &mut z)?;
        let work = f.work(&z);
        let (outer, inner) = (report.iterations, report.inner);
        let solved = Solved {
            z,
            outcome: report.outcome,
            iterations: [outer, inner],
            rebuilds: report.refreshes + 1,
            cycles: if self.quasi { outer } else { inner + outer },
            norm: report.gradient,
        };
        Ok((solved, work))
    }
}
