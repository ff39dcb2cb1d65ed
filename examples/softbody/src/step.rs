//! A time step: Xian, Tong & Liu 2019, Alg. 4.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² g    (2)
//!
//! The descent starts from x = x_n + h v_n, and afterwards v_{n+1} = (x_{n+1} − x_n) / h. Barriers bound this start
//! and every step after it: the start is as far on the way from x_n as they allow, or x_n where f is lower there. So no
//! iterate has an intersection, whether the descent converges or not. The paper adds the
//! gravity g as a linear energy, which is equivalent. Contacts are detected at every x at which f is
//! evaluated, more often than in line 4, so that a line search compares values of the same function. Numbers
//! at the ends of lines are the line numbers of Alg. 4.
//!
//! Newton's method uses the exact Hessian, with that of contact, and the projected one only where the exact one is
//! indefinite: under large strains the projected one is several times too stiff along the way in which a contact turns
//! or a body buckles, and the method then goes the same fraction of the rest in each step. The line search may lengthen
//! steps, which are too short near a saddle of f.
//!
//! Pins that move from a to a + Δa do the work ½ (F_n + F_{n+1}) · Δa, where F are the forces of their springs.
//! The energy E(x, a) of a spring is quadratic in a. So the work is the mean of its changes at x_n and at x_{n+1}.
//! Where pins begin or end, it is the change of E at x_n.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use coarsen::elastic::{Attachments, ImplicitEuler, Potential, Total};
use coarsen::follow::{Follower, Placed, following};
use coarsen::optimize::DescentOutcome::{LineSearchFailed, NoDirection};
use coarsen::optimize::{
    AcceleratedGradient, Beta, DescentOutcome, Direction, Forcing, LineSearch, NonlinearCg, Norm,
    node_weights,
};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::SystemAt;
use coarsen_contact::ContactError;
use examples_common::Failure;
use examples_common::solver::{Clock, Recipe, Solver, choose};

use crate::holds::Holds;
use crate::options::{Integrator, Method};
use crate::part::Part;
use crate::projective::Projective;
use crate::rows::Row;
use crate::scene::World;
use crate::state::State;

/// The objective of a step, with its vectors at a place.
type Step<B> = Placed<ImplicitEuler<Total<Part>>, B>;

/// The number of pairs of L-BFGS: Wang et al. 2020 (HOT), §7.1.
const WINDOW: usize = 8;

/// Standard gravity in m/s², by which the tolerance is scaled, also in scenes without gravity.
pub(crate) const GRAVITY: f64 = 9.81;

/// The spectral radius ρ that accelerated gradient descent assumes with a preconditioner.
const RADIUS: f64 = 0.9;

/// The relative accuracy of the linear solves of Newton's method.
const NEWTON: f64 = 0.1;

/// The relative accuracy of the global step of Projective Dynamics.
const GLOBAL: f64 = 0.1;

/// A step that leads to NaN.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame} has no finite energy: {advice}; take a smaller --dt")]
struct NotFinite {
    frame: usize,
    advice: &'static str,
}

/// A step at which contacts cannot be detected.
#[derive(Debug, thiserror::Error)]
#[error(
    "frame {frame}: contact cannot be resolved: {source}; the last frame on disk is good: take a smaller --dt"
)]
pub(crate) struct Undetected {
    pub(crate) frame: usize,
    pub(crate) source: ContactError,
}

/// The error of a step that leads to NaN, because of `fault` if there is one.
fn not_finite(frame: usize, fault: Option<ContactError>) -> Failure {
    let advice = DescentOutcome::NotFinite.advice();
    fault.map_or_else(|| NotFinite { frame, advice }.into(), |source| Undetected { frame, source }.into())
}

/// A scene and the solver for its steps.
pub(crate) struct Stepper<B: Place<Real = f64>> {
    on: B,
    f: Step<B>,
    rule: Box<dyn Direction<B::Vector, Step<B>>>,
    descent: Descent<B::Vector, Box<dyn LineSearch<f64>>>,
    holds: Holds,
    /// Set when pins are added or removed.
    stale: Rc<Cell<bool>>,
    clock: Clock,
    /// The seconds of the build of the solver, until a frame counts them.
    built: f64,
    masses: Vec<f64>,
    gravity: [f64; 3],
    /// x at the place, and the next x on the host.
    x: B::Vector,
    next: Vec<f64>,
}

impl<B: Place<Real = f64>> Stepper<B> {
    /// Creates the solver for the steps after `state`. Nothing of an earlier solver is used, so that a run
    /// continued from a checkpoint computes the same bits.
    ///
    /// # Errors
    /// Errors of potentials, of preconditioners and of the place.
    pub(crate) fn new(world: World, state: &State, method: &Method, on: &B) -> Result<Self, Failure> {
        let World { positions, masses, holds, forces, gravity, .. } = world;
        let (clock, stale) = (Clock::default(), Rc::new(Cell::new(true)));
        let mut f = ImplicitEuler::new(forces, &masses, method.dt)?;
        let mut holds = Holds::new(holds);
        let mut anchors = state.anchors.clone(); // those of the next frame, which `step` finds again
        holds.set(state.frame + 1, method.dt, &state.x, &mut anchors, pins(&mut f.potential))?;

        let start = Instant::now();
        let solver = match method.solver {
            Solver::Auto => choose(f.system_at(&state.x)?.system())?,
            given => given,
        };
        let choice = start.elapsed();
        let recipe = solver.recipe(&method.levels, Arc::from(positions), on, &clock);
        let search: Box<dyn LineSearch<f64>> = match method.integrator {
            Integrator::Ncg => Box::new(MoreThuente::tight()),
            Integrator::Newton => Box::new(MoreThuente::default()),
            _ => Box::new(Backtracking::default()),
        };
        let mut norm = Norm::weighted(on.vector(&node_weights(&f.characteristic(), 3)?)?)?;
        let weight: Vec<f64> = masses.iter().flat_map(|m| [0.0, GRAVITY * m, 0.0]).collect();
        let tolerance = method.tolerance * norm.of(&on.vector(&weight)?);
        let mut descent =
            Descent::new(search, Stop { max_iterations: method.iterations, ..Stop::absolute(tolerance) });
        descent.norm = norm;
        descent.refresh = match method.integrator {
            Integrator::Newton if method.refresh > 0 => Refresh::Every(method.refresh),
            Integrator::Pd => Refresh::Never,
            _ => Refresh::AtStart,
        };
        let (f, rule) = rule(f, method, recipe, stale.clone(), &state.x, on)?;
        let (x, next) = (on.vector(&state.x)?, state.x.clone());
        let built = (choice + clock.take()).as_secs_f64();
        Ok(Self { on: on.clone(), f, rule, descent, holds, stale, clock, built, masses, gravity, x, next })
    }

    /// Computes the next frame.
    ///
    /// # Errors
    /// An error if the new positions are not finite, if contacts cannot be detected, or if the place fails. The state
    /// is then that before the step.
    pub(crate) fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        let (start, h, frame) = (Instant::now(), self.f.objective.step(), state.frame + 1);
        let Self { on, f, rule, descent, holds, .. } = self;
        let pins = pins(&mut f.objective.potential);
        let mut anchors = state.anchors.clone();
        let changed = holds.set(frame, h, &state.x, &mut anchors, pins)?; // 1
        if changed {
            self.stale.set(true);
        }
        let moved = pins.energy(&state.x).value - state.pinned; // of the pins, at the old x
        f.objective.begin(&state.x, &state.v, self.gravity)?;
        let forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        let bound = f.objective.potential.max_step(&state.x, &forward);
        let fault = Part::take_fault(&mut f.objective.potential); // only one during this step counts
        if bound.is_nan() {
            return Err(not_finite(frame, fault));
        }
        let share = bound.min(1.0);
        for ((next, x), d) in self.next.iter_mut().zip(&state.x).zip(&forward) {
            *next = x + share * d; // 2
        }
        if bound.is_finite() && f.objective.value(&self.next) > f.objective.value(&state.x) {
            self.next.copy_from_slice(&state.x);
        }
        on.write(&self.next, &mut self.x)?;
        rule.forget();
        let report = descent.minimize(f, &mut **rule, &mut self.x, &mut ())?; // 3 to 15
        on.read(&self.x, &mut self.next)?;
        if report.outcome == DescentOutcome::NotFinite || self.next.iter().any(|x| !x.is_finite()) {
            return Err(not_finite(frame, Part::take_fault(&mut f.objective.potential)));
        }
        let stuck = matches!(report.outcome, LineSearchFailed(_) | NoDirection(_));
        if let Some(source) = Part::take_fault(&mut f.objective.potential).filter(|_| stuck) {
            return Err(Undetected { frame, source }.into());
        }
        let seconds = start.elapsed().as_secs_f64();
        let touching = Part::depths(&mut f.objective.potential, &self.next);
        let touching = touching.map_err(|source| Undetected { frame, source })?;
        for ((v, x), next) in state.v.iter_mut().zip(&state.x).zip(&self.next) {
            *v = (next - x) / h; // 17
        }
        state.x.copy_from_slice(&self.next); // 16
        state.frame = frame;
        let setup = self.clock.take().as_secs_f64();
        let solve = (seconds - setup).max(0.0);
        let setup = setup + std::mem::take(&mut self.built);

        let forces = &mut self.f.objective.potential;
        let pins = self::pins(forces);
        let pinned = pins.energy(&state.x).value;
        state.work += if changed {
            moved
        } else {
            self.holds.set(frame - 1, h, &state.x, &mut anchors, pins)?;
            let before = pins.energy(&state.x).value;
            self.holds.set(frame, h, &state.x, &mut anchors, pins)?;
            0.5 * (moved + pinned - before)
        };
        (state.pinned, state.anchors) = (pinned, anchors);
        Ok(Row {
            outer: report.iterations,
            inner: report.inner,
            setup,
            solve,
            outcome: report.outcome.name().to_owned(),
            ..state.row(touching, forces, &self.masses, self.gravity, h)
        })
    }
}

/// Returns the part with the pins.
fn pins(forces: &mut Total<Part>) -> &mut Attachments {
    let pins = forces.parts_mut().iter_mut().find_map(Part::pins);
    pins.expect("every scene has a list of pins")
}

/// Creates the descent direction, and the objective with the preconditioner that the direction needs.
fn rule<B: Place<Real = f64>>(
    mut f: ImplicitEuler<Total<Part>>,
    method: &Method,
    recipe: Recipe<B::Vector>,
    stale: Rc<Cell<bool>>,
    x: &[f64],
    on: &B,
) -> Result<(Step<B>, Box<dyn Direction<B::Vector, Step<B>>>), Failure> {
    let inner = |relative| Stop { max_iterations: method.inner, ..Stop::relative(relative) };
    let none = || Follower::constant(Box::new(Identity));
    Ok(match method.integrator {
        Integrator::Pd => {
            let direction = Projective::new(on, &mut f, x, recipe, inner(GLOBAL), stale)?;
            (Placed::new(f, x, none(), on), Box::new(direction))
        }
        Integrator::Newton => {
            let inverse = Follower::build(&mut f, x, recipe)?;
            let direction = Newton::with(Cg::new(inner(NEWTON)), Forcing::AsGiven);
            (Placed::new(f, x, inverse, on).projecting_on_demand(), Box::new(direction))
        }
        Integrator::Lbfgs => {
            let inverse = Follower::build(&mut f, x, recipe)?;
            (Placed::new(f, x, none(), on), Box::new(following(Lbfgs::new(WINDOW, inverse))))
        }
        Integrator::Ncg => {
            let inverse = Follower::build(&mut f, x, recipe)?;
            let direction = NonlinearCg::new(Beta::DaiKou, inverse);
            (Placed::new(f, x, none(), on), Box::new(following(direction)))
        }
        Integrator::Agd => {
            let inverse = Follower::build(&mut f, x, recipe)?;
            let direction = AcceleratedGradient::new(RADIUS, inverse);
            (Placed::new(f, x, none(), on), Box::new(following(direction)))
        }
    })
}
