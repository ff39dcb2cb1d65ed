//! The solvers of a step, by name.
//!
//! All start from Δv = 0 and stop in the characteristic norm of Wang et al. 2020 (HOT), §5.2:
//!
//! > ‖ĝ‖ ≤ ε √n,    ĝ_i = g_i / (24 Δx² ξ_i Δt)    (9)

use std::sync::Arc;

use clap::ValueEnum;
use coarsen::follow::{Follower, Placed, following};
use coarsen::optimize::{DescentOutcome, Forcing, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::SystemAt;
use examples_common::Failure;
use examples_common::solver::{Clock, Recipe, Solver as Inverse, choose};

use crate::energy::Increment;
use crate::options::Method;

/// The number of pairs of L-BFGS: Wang et al. 2020 (HOT), §7.1.
const WINDOW: usize = 8;

/// The solvers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Solver {
    /// Projected Newton, CG with the inverses of the diagonal blocks (Algorithm 1).
    PnPcg,
    /// Projected Newton, CG with smoothed aggregation.
    NewtonSa,
    /// Projected Newton, CG with multilevel additive Schwarz.
    NewtonMas,
    /// L-BFGS, one cycle of smoothed aggregation as H₀, built once in a step (as Algorithm 3).
    LbfgsSa,
    /// L-BFGS, multilevel additive Schwarz as H₀.
    LbfgsMas,
    /// The preconditioner with the least work on the first system, in L-BFGS if it is a hierarchy or a factor.
    Auto,
}

/// The parts of a solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// L-BFGS and not Newton's method.
    quasi: bool,
    inverse: Inverse,
}

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
        Ok(match self {
            Self::PnPcg => Parts { quasi: false, inverse: Inverse::BlockJacobi },
            Self::NewtonSa => Parts { quasi: false, inverse: Inverse::Sa },
            Self::NewtonMas => Parts { quasi: false, inverse: Inverse::Mas },
            Self::LbfgsSa => Parts { quasi: true, inverse: Inverse::Sa },
            Self::LbfgsMas => Parts { quasi: true, inverse: Inverse::Mas },
            Self::Auto => {
                let inverse = choose(f.system_at(&vec![0.0; f.size()])?.system())?;
                Parts { quasi: matches!(inverse, Inverse::Sa | Inverse::Direct | Inverse::Skinning), inverse }
            }
        })
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
        let forces = f.characteristic();
        let stop = Stop { max_iterations: method.iterations, ..Stop::absolute(method.tolerance) };
        let mut descent = Descent::new(Backtracking::default(), stop);
        descent.norm = Norm::weighted(on.vector(&node_weights(&forces, 3)?)?)?;
        let recipe: Recipe<B::Vector> = self.inverse.recipe(&[], Arc::from([]), on, clock);
        let inverse = Follower::build(&mut f, &z, recipe)?;
        let mut x = on.vector(&z)?;
        let (report, mut f) = if self.quasi {
            descent.refresh = Refresh::AtStart;
            let mut f = Placed::new(f, &z, Follower::constant(Box::new(Identity)), on)?;
            let mut rule = following(Lbfgs::new(WINDOW, inverse));
            (descent.minimize(&mut f, &mut rule, &mut x, &mut ())?, f.objective)
        } else {
            // τ is the tolerance of the stiffest material in the Euclidean norm (§5.3).
            let stiffest = forces.iter().fold(0.0, |m: f64, c| m.max(*c));
            let floor = method.tolerance * (forces.len() as f64).sqrt() * stiffest;
            descent.refresh = Refresh::Every(1);
            let inner = Stop { max_iterations: method.inner, ..Stop::relative(0.5) };
            let mut f = Placed::new(f, &z, inverse, on)?;
            let mut rule = Newton::with(Cg::new(inner), Forcing::Preconditioned { floor });
            (descent.minimize(&mut f, &mut rule, &mut x, &mut ())?, f.objective)
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
