//! The solver for the steps of a scene: preconditioner, Newton's method, line search and norm.

use std::sync::Arc;

use coarsen::elastic::ImplicitEuler;
use coarsen::follow::{Follower, NewtonAt};
use coarsen::optimize::{Forcing, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::SystemAt;
use coarsen::{Identity, Waits};
use examples_common::Failure;
use examples_common::solver::{Clock, Solver, choose};

use crate::options::{Method, Obstacles};
use crate::state::State;
use crate::supported::Supported;
use crate::world::{GRAVITY, World};

use super::Stepper;

/// The relative tolerance of the linear solves. Forcing terms that begin with 1/2 save inner iterations, but take
/// a third more iterations of Newton's method.
const INNER: f64 = 0.1;

/// How often the descent of a step may begin again.
const MORE: usize = 10;

impl<B: Place<Real = f64> + Waits> Stepper<B> {
    /// Creates the solver for the steps after `state`.
    ///
    /// # Errors
    /// Errors of potentials, of preconditioners and of the place.
    pub(crate) fn new(world: World, state: &State, method: &Method, on: &B) -> Result<Self, Failure> {
        let World { mut fixed, mut forces } = world;
        let pace = method.pace();
        fixed.move_to(&mut forces, pace.time(state.begun, state.frame))?;
        let mut f = ImplicitEuler::new(forces, &fixed.masses, method.dt)?;
        let solver = match method.solver {
            Solver::Auto => choose(f.system_at(&state.x)?.system())?,
            given => given,
        };
        let clock = Clock::default();
        let rest: Arc<[[f64; 3]]> = fixed.nodes.gather(&fixed.positions).as_chunks().0.into();
        let constrained = method.obstacles == Obstacles::Constraints;
        let inverse = match constrained {
            false => {
                Follower::build(&mut f, &state.x, solver.recipe(&method.levels, rest.clone(), on, &clock))?
            }
            true => Follower::constant(Box::new(Identity)),
        };

        let weight: Vec<f64> = fixed.masses.iter().flat_map(|m| GRAVITY.map(|g| m * g)).collect();
        let weights = node_weights(&f.characteristic(), 3)?;
        let mut norm = Norm::weighted(weights.clone())?;
        let tolerance = method.tolerance * norm.of(&weight);
        let stop = Stop { max_iterations: method.iterations, ..Stop::absolute(tolerance) };
        let mut descent = Descent::new(MoreThuente::default(), stop);
        (descent.norm, descent.refresh) = (norm, Refresh::AtStart);
        let (relative, check_every) = if method.fixed { (0.0, method.inner) } else { (INNER, 1) };
        let inner = Stop { max_iterations: method.inner, check_every, ..Stop::relative(relative) };
        let newton = Newton::with(Cg::new(inner), Forcing::AsGiven);
        let rule = NewtonAt::new(newton, inverse, on, state.x.len())?;
        // A fixed number of iterations is spent on the positive definite Hessian, and not to find negative curvature.
        let rule = if method.fixed { rule } else { rule.projecting_on_demand() };
        let supported = if constrained {
            let recipe = solver.recipe(&method.levels, rest, &Cpu::new(), &clock);
            let accuracy = (Norm::weighted(weights)?, tolerance);
            Some(Supported::new(&mut f, &state.x, recipe, accuracy, [method.iterations, method.inner])?)
        } else {
            None
        };
        // A fixed number of iterations is the same in each step.
        let more = if method.fixed { 0 } else { MORE };
        clock.take(); // the setup here does not count for a step
        Ok(Self { on: on.clone(), f, rule, descent, more, clock, pace, fixed, supported })
    }
}
