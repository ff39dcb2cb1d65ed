//! A frame: time steps of implicit Euler.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² g    (1)
//!
//! by Newton's method, from x_n + h v_n or as far on this way as contact allows, or from x_n where f is lower
//! there. Cloth buckles: near a saddle of f, directions are too short, so the line search may lengthen them. Newton
//! uses the exact Hessian, and where that is indefinite, or with `--fixed`, the projected one. The first iteration is
//! the linearised step of Baraff & Witkin 1998. Then v_{n+1} = (x_{n+1} − x_n) / h. Contact of triangles bounds every
//! step of the descent, so that no pair of triangles crosses in any iterate, whether the descent converges or not.
//! Solids do not bound steps: they are quadratic penalties, which nodes enter by a depth in proportion to the force.
//! Energies are computed on the host, and linear systems are solved at the place.

use std::sync::Arc;
use std::time::Instant;

use coarsen::elastic::{ImplicitEuler, Potential};
use coarsen::follow::{Follower, NewtonAt};
use coarsen::optimize::{DescentOutcome, Forcing, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::{OwnedSystem, SystemAt};
use coarsen::{Identity, Waits};
use coarsen_contact::{ContactError, Pair};
use examples_common::Failure;
use examples_common::solver::{Clock, Solver, choose};

use crate::options::{Method, Obstacles};
use crate::pace::Pace;
use crate::rows::Row;
use crate::state::State;
use crate::supported::{Solved, Supported};
use crate::world::{Fixed, Forces, GRAVITY, World};

/// A step that leads to NaN.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame}, step {step}: no finite energy ({advice}); take a smaller --dt")]
pub(crate) struct NotFinite {
    frame: usize,
    step: usize,
    advice: &'static str,
}

/// A step that is not possible: the forces press a pair together that is at its smallest distance.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: {pair} block every step; the last frame on disk is good: take a smaller --dt or a \
     larger --thickness"
)]
pub(crate) struct Blocked {
    frame: usize,
    step: usize,
    pair: Pair,
}

/// A step at which contacts cannot be detected.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}, step {step}: contact cannot be resolved: {source}; the last frame on disk is good: take a smaller \
     --dt"
)]
pub(crate) struct Undetected {
    pub(crate) frame: usize,
    pub(crate) step: usize,
    source: ContactError,
}

/// A step is blocked if it does not converge and contact leaves less than this share of the last direction.
const BLOCKED: f64 = 1e-6;

/// The relative tolerance of the linear solves. Forcing terms that begin with 1/2 save inner iterations, but take
/// a third more iterations of Newton's method.
const INNER: f64 = 0.1;

/// A scene and the solver for its steps.
pub(crate) struct Stepper<B: Place<Real = f64>> {
    on: B,
    f: ImplicitEuler<Forces>,
    rule: NewtonAt<B, Cg<B::Vector>>,
    descent: Descent<Vec<f64>, MoreThuente<f64>>,
    clock: Clock,
    pace: Pace,
    pub(crate) fixed: Fixed,
    /// Obstacles as constraints.
    pub(crate) supported: Option<Supported>,
}

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
        let (relative, look_every) = if method.fixed { (0.0, method.inner) } else { (INNER, 1) };
        let inner = Stop { max_iterations: method.inner, look_every, ..Stop::relative(relative) };
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
        clock.take(); // the setup here does not count for a step
        Ok(Self { on: on.clone(), f, rule, descent, clock, pace, fixed, supported })
    }

    /// Computes the next frame.
    ///
    /// # Errors
    /// An error if new positions are not finite, if contacts cannot be detected, or if the place fails. The state,
    /// held vertices, solids and what obstacles hold are then those before the frame.
    pub(crate) fn frame(&mut self, state: &mut State) -> Result<Row, Failure> {
        let (start, frame, pace) = (Instant::now(), state.frame + 1, self.pace);
        let waits = self.on.waits();
        let (mut next, mut row) = (State { frame, ..state.clone() }, Row::default());
        let states = self.supported.as_ref().map(|supported| supported.states.clone());
        for step in pace.last(state.frame) + 1..=pace.last(frame) {
            if let Err(failure) = self.step(&mut next, step, &mut row) {
                self.supported
                    .iter_mut()
                    .zip(states)
                    .for_each(|(supported, states)| supported.states = states);
                self.fixed.move_to(&mut self.f.potential, pace.time(state.begun, state.frame))?;
                return Err(failure);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let setup = self.clock.take().as_secs_f64();
        next.time = pace.time(next.begun, frame);
        let now = self.fixed.row(&mut self.f.potential, &next)?;
        *state = next;
        let Row { steps, converged, outer, inner, .. } = row;
        let waits = self.on.waits() - waits;
        Ok(Row { steps, converged, outer, inner, waits, setup, solve: (seconds - setup).max(0.0), ..now })
    }

    /// The linearised step after a state, as Baraff & Witkin 1998: the positive definite Hessian of (1) at x_n, and
    /// −∇f(x_n), with the air and with the friction of this step, before held vertices move.
    ///
    /// # Errors
    /// Errors of the potentials and of the assembly.
    pub(crate) fn system(&mut self, state: &State) -> Result<(&OwnedSystem<f64>, Vec<f64>), Failure> {
        let step = self.pace.last(state.frame) + 1;
        self.begin(&mut State { frame: state.frame + 1, ..state.clone() }, step)?;
        let f = &mut self.f;
        let mut rhs = vec![0.0; state.x.len()];
        f.gradient(&state.x, &mut rhs);
        rhs.iter_mut().for_each(|g| *g = -*g);
        f.project(true);
        Ok((f.system_at(&state.x)?, rhs))
    }

    /// Sets up (1) for a step: the air changes v, and friction takes the pairs and the moving solids at its start.
    fn begin(&mut self, state: &mut State, step: usize) -> Result<(), Failure> {
        let Self { f, fixed, .. } = self;
        let h = f.step();
        state.work += fixed.air.push(&fixed.nodes, &fixed.masses, &state.x, h, 0, &mut state.v);
        if fixed.motion.moves() {
            let before = state.begun + (step - 1) as f64 * h;
            let frictions = f.potential.second.second.first.parts_mut();
            let now = fixed.shapes(before, true)?.into_iter().zip(fixed.spins(before));
            frictions.iter_mut().zip(now).for_each(|(part, (shape, spin))| part.set_motion(shape, spin));
        }
        let (forces, frame) = (&mut f.potential, state.frame);
        let undetected = |source| Undetected { frame, step, source };
        forces.second.second.second.grip(&mut forces.first.second, &state.x).map_err(undetected)?;
        f.begin(&state.x, &state.v, GRAVITY)?;
        Ok(())
    }

    /// Computes one time step.
    fn step(&mut self, state: &mut State, step: usize, row: &mut Row) -> Result<(), Failure> {
        self.begin(state, step)?;
        let Self { f, rule, descent, fixed, .. } = self;
        let h = f.step();
        let (frame, moves) = (state.frame, fixed.motion.moves());
        let undetected = |source| Undetected { frame, step, source };
        let mut forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        if moves {
            // Free nodes go along, or stay if that leaves no way.
            let end = state.begun + ((step - 1) as f64 * h + h);
            let held = fixed.motion.held(&fixed.positions, end);
            let forces = &mut f.potential;
            if forces.first.second.carry(&state.x, &forward, &held).is_err() {
                forward.fill(0.0);
                forces.first.second.carry(&state.x, &forward, &held).map_err(undetected)?;
            }
            fixed.follow(forces, &held, end)?;
        }
        let bound = if moves { 1.0 } else { f.potential.max_step(&state.x, &forward) };
        // Only a fault during this step counts.
        let fault = f.potential.first.second.take_fault();
        if bound.is_nan() {
            let advice = DescentOutcome::NotFinite.advice();
            return Err(
                fault.map_or_else(|| NotFinite { frame, step, advice }.into(), |e| undetected(e).into())
            );
        }
        let share = bound.min(1.0);
        let mut next: Vec<f64> = state.x.iter().zip(&forward).map(|(x, d)| x + share * d).collect();
        if !moves && f.value(&next) > f.value(&state.x) {
            next.copy_from_slice(&state.x);
        }
        let solved = match &mut self.supported {
            Some(supported) => {
                let obstacles = fixed.obstructions(state.begun + ((step - 1) as f64 * h + h), h)?;
                supported.minimize(f, &obstacles, &state.x, &mut next)?
            }
            None => {
                rule.newton.forget();
                let report = descent.minimize(f, rule, &mut next, &mut ())?;
                Solved::from(&report)
            }
        };
        if !solved.finite || next.iter().any(|x| !x.is_finite()) {
            let advice = DescentOutcome::NotFinite.advice();
            let fault = f.potential.first.second.take_fault();
            return Err(
                fault.map_or_else(|| NotFinite { frame, step, advice }.into(), |e| undetected(e).into())
            );
        }
        if let Some((share, pair)) = f.potential.first.second.blocking().filter(|_| !solved.converged)
            && share < BLOCKED
        {
            return Err(Blocked { frame, step, pair }.into());
        }
        if let Some(source) = f.potential.first.second.take_fault().filter(|_| solved.stuck) {
            return Err(undetected(source).into());
        }
        if let Some(supported) = &self.supported {
            state.work += supported.work(f, &state.x, &next);
        }
        let mut friction = vec![0.0; next.len()];
        f.potential.second.second.add_gradient(&next, &mut friction);
        let work = |((f, x), next): ((&f64, &f64), &f64)| f * (x - next);
        state.work += friction.iter().zip(&state.x).zip(&next).map(work).sum::<f64>();
        for ((v, x), next) in state.v.iter_mut().zip(&state.x).zip(&next) {
            *v = (next - x) / h;
        }
        state.x = next;
        row.steps += 1;
        row.converged += usize::from(solved.converged);
        row.outer += solved.outer;
        row.inner += solved.inner;
        Ok(())
    }
}
