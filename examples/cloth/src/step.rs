//! A frame: time steps of implicit Euler.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² g    (1)
//!
//! by Newton's method ([`ContactStepper`]), from x_n + h v_n or as far along h v_n as contact allows, or from x_n where
//! contact bounds this displacement and f is lower at x_n. Cloth buckles: near a saddle of f, directions are too short, so the line search may lengthen them. Newton
//! uses the exact Hessian, and where that is indefinite, or with `--fixed`, the projected one. The first iteration is
//! the linearised step of Baraff & Witkin 1998. Then v_{n+1} = (x_{n+1} − x_n) / h. Contact of triangles bounds every
//! step of the descent, so that no pair of triangles crosses in any iterate, whether the descent converges or not.
//! If a pair of triangles bounds the last step of a descent to less than half of its direction, the descent begins again,
//! up to ten times, since the pair bounds all of the cloth.
//! Solids bound steps too, by barriers of vertices and edges; those that move take with them what they would meet.
//! Energies are computed on the host, and linear systems are solved on the backend; some scenes are computed on a device
//! altogether (`device_step.rs`).

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Instant;

use coarsen::descent::{BackendNewton, CachedPreconditioner};
use coarsen::elastic::{ImplicitEuler, Potential};
use coarsen::optimize::Forcing;
use coarsen::prelude::*;
use coarsen::schwarz::SchwarzBackend;
use coarsen::sparse::{OwnedSystem, SystemAt};
use coarsen::{ConstrainedDescent, ContactStepper, Identity, StepFault};
use examples_run::Failure;
#[cfg(feature = "opencl")]
use examples_run::device_step::DeviceSteps;
use examples_run::frames::Failed;
use examples_run::solver::{Clock, choose};

#[cfg(feature = "opencl")]
use crate::device_step;
use crate::options::{Method, Obstacles, Pace};
use crate::solids::Crushed;
use crate::state::{Row, State};
use crate::world::{Fixed, Forces, GRAVITY, World};

/// The relative tolerance of the linear solves. Forcing terms that begin with 1/2 save inner iterations, but take
/// a third more iterations of Newton's method.
const INNER: f64 = 0.1;

/// How often the descent of a step may begin again.
const MORE: usize = 10;

/// A scene and the solver for its steps.
pub(crate) struct Stepper<B: SchwarzBackend<Real = f64>> {
    backend: B,
    steps: ContactStepper<Forces, BackendNewton<B, Cg<B::Vector>>>,
    clock: Clock,
    pace: Pace,
    pub(crate) fixed: Fixed,
    /// Obstacles as constraints.
    pub(crate) supported: Option<ConstrainedDescent>,
    #[cfg(feature = "opencl")]
    device: Option<DeviceSteps>,
}

/// When the linear solve of a direction ends.
pub(crate) fn inner(method: &Method) -> Stop<f64> {
    let (relative, check_every) = if method.fixed { (0.0, method.inner) } else { (INNER, 1) };
    Stop { max_iterations: method.inner, check_every, ..Stop::relative(relative) }
}

impl<B: SchwarzBackend<Real = f64>> Stepper<B> {
    /// Creates the solver for the steps after `state`.
    pub(crate) fn new(world: World, state: &State, method: &Method, backend: &B) -> Result<Self, Failure> {
        let World { mut fixed, mut forces } = world;
        let pace = method.pace();
        fixed.move_to(&mut forces, pace.time(state.begun, state.frame))?;
        let mut f = ImplicitEuler::new(forces, &fixed.masses, method.dt)?;
        #[cfg(feature = "opencl")]
        let device = device_step::device(backend, &mut f, &fixed, state, method)?;
        #[cfg(not(feature = "opencl"))]
        let device = None::<()>;
        let solver = choose(method.solver, &mut f, &state.x)?;
        let clock = Clock::default();
        let rest: Arc<[[f64; 3]]> = fixed.nodes.gather(&fixed.positions).as_chunks().0.into();
        let constrained = method.obstacles == Obstacles::Constraints;
        let inverse = if constrained || device.is_some() {
            CachedPreconditioner::constant(Box::new(Identity))
        } else {
            let mut build = solver.builder(&method.levels, rest.clone(), backend, &clock);
            CachedPreconditioner::build(&mut f, &state.x, move |system| Ok(build(system)?))?
        };

        let newton = Newton::with(Cg::new(inner(method)), Forcing::AsGiven);
        let newton = BackendNewton::new(newton, inverse, backend, state.x.len())?;
        // A fixed number of iterations is spent on the positive definite Hessian, and not to find negative curvature.
        let newton = if method.fixed { newton } else { newton.projecting_on_demand() };
        let mut steps = ContactStepper::new(f, &fixed.masses, method.tolerance, newton, |forces| {
            Some(&mut forces.first.second)
        })?;
        steps.descent.stop.max_iterations = method.iterations;
        // A fixed number of iterations is the same in each step.
        steps.restarts = if method.fixed { 0 } else { MORE };
        let supported = if constrained {
            let build = solver.builder(&method.levels, rest, &Cpu::new(), &clock);
            Some(ConstrainedDescent::new(&mut steps, &state.x, fixed.thickness, build, method.inner)?)
        } else {
            None
        };
        clock.take(); // the setup here does not count for a step
        Ok(Self {
            #[cfg(feature = "opencl")]
            device,
            backend: backend.clone(),
            steps,
            clock,
            pace,
            fixed,
            supported,
        })
    }

    /// The times at the start and at the end of a step, s.
    fn times(&self, state: &State, step: usize) -> [f64; 2] {
        let h = self.steps.f.step();
        let before = (step - 1) as f64 * h;
        [state.begun + before, state.begun + (before + h)]
    }

    /// Sets up (1) for a step: the air changes v, and friction takes the pairs and the moving solids at its start.
    fn begin(&mut self, state: &mut State, step: usize) -> Result<(), Failure> {
        let [start, _] = self.times(state, step);
        let Self { steps, fixed, .. } = self;
        let h = steps.f.step();
        state.work += fixed.air.push(&fixed.nodes, &fixed.masses, &state.x, h, 0, &mut state.v);
        let forces = &mut steps.f.potential;
        fixed.turn(forces.second.second.first.parts_mut(), start)?;
        let friction = &mut forces.second.second.second;
        friction.grip(&mut forces.first.second, &state.x).map_err(|fault| failed(state, step, fault))?;
        Ok(steps.f.begin(&state.x, &state.v, GRAVITY)?)
    }

    /// Moves held vertices and solids to the end of a step, and returns where the descent of (1) begins. Where something moves,
    /// free vertices go along with h v_n, or stay if contact allows none of it; vertices that solids would meet go with them.
    ///
    /// # Errors
    /// [`Failed`] if contact cannot be detected and for positions that are not finite, [`Crushed`] for a vertex that solids meet
    /// wherever it goes.
    fn predict(&mut self, state: &State, step: usize) -> Result<Vec<f64>, Failure> {
        let [start, end] = self.times(state, step);
        let Self { steps, fixed, .. } = self;
        let h = steps.f.step();
        if !fixed.motion.moves() {
            return Ok(steps.predict(&state.x, &state.v).map_err(|fault| failed(state, step, fault))?);
        }
        let mut forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        let forces = &mut steps.f.potential;
        let held = fixed.motion.held(&fixed.positions, end);
        let move_with_solids = |forces: &Forces, forward: &mut [f64]| {
            let solids = forces.second.first.parts();
            let met = fixed.move_with_solids(solids, &state.x, forward, &held, [start, end]);
            met.map_err(|met| Crushed { frame: state.frame, step, met })
        };
        let free = move_with_solids(forces, &mut forward).is_ok();
        if !free || forces.first.second.carry(&state.x, &forward, &held).is_err() {
            forward.fill(0.0);
            move_with_solids(forces, &mut forward)?;
            let carried = forces.first.second.carry(&state.x, &forward, &held);
            carried.map_err(|fault| failed(state, step, fault))?;
        }
        fixed.move_held_and_solids(forces, &held, end)?;
        steps.take_fault(); // only a fault during the descent counts after this
        Ok(state.x.iter().zip(&forward).map(|(x, d)| x + d).collect())
    }

    /// Computes one time step.
    fn step(&mut self, state: &mut State, step: usize, row: &mut Row) -> Result<(), Failure> {
        self.begin(state, step)?; // y, the air and friction of (1)
        let mut next = self.predict(state, step)?; // x_n + h v_n, as far as contact allows
        let [_, end] = self.times(state, step);
        let Self { steps, fixed, supported, .. } = self;
        let h = steps.f.step();
        let (outcome, counts) = match supported {
            Some(supported) => {
                let obstacles = fixed.obstructions(end, h)?;
                let (outcome, counts) = supported.minimize(&mut steps.f, &obstacles, &state.x, &mut next)?;
                steps.check(outcome, &next).map_err(|fault| failed(state, step, fault))?;
                (outcome, counts)
            }
            None => {
                let report = steps.minimize(&mut next).map_err(|fault| failed(state, step, fault))?; // (1)
                (report.outcome, [report.iterations, report.inner])
            }
        };
        state.work += self.work(state, &next);
        for ((v, x), next) in state.v.iter_mut().zip(&state.x).zip(&next) {
            *v = (next - x) / h; // v_{n+1}
        }
        state.x = next;
        row.add(outcome, counts);
        Ok(())
    }

    /// The work on the cloth from x_n to `next`, J: that of friction, and that of obstacles that are constraints.
    fn work(&mut self, state: &State, next: &Vec<f64>) -> f64 {
        let Self { steps, supported, .. } = self;
        let obstacles =
            supported.as_ref().map_or(0.0, |supported| supported.work(&mut steps.f, &state.x, next));
        let mut friction = vec![0.0; next.len()];
        steps.f.potential.second.second.add_gradient(next, &mut friction);
        let work = |((f, x), next): ((&f64, &f64), &f64)| f * (x - next);
        obstacles + friction.iter().zip(&state.x).zip(next).map(work).sum::<f64>()
    }

    /// Computes the steps with these numbers, on a device if it has the scene.
    fn steps_of(
        &mut self,
        state: &mut State,
        steps: RangeInclusive<usize>,
        row: &mut Row,
    ) -> Result<(), Failure> {
        #[cfg(feature = "opencl")]
        if let Some(device) = &mut self.device {
            return device_step::frame(device, state, steps, self.steps.descent.stop, row);
        }
        steps.into_iter().try_for_each(|step| self.step(state, step, row))
    }

    /// Computes the next frame.
    ///
    /// # Errors
    /// An error if new positions are not finite, if contacts cannot be detected, or if the backend fails. The state,
    /// held vertices, solids and what obstacles hold are then those before the frame.
    pub(crate) fn frame(&mut self, state: &mut State) -> Result<Row, Failure> {
        let (start, frame, pace) = (Instant::now(), state.frame + 1, self.pace);
        let synchronisations = self.backend.transfers().synchronisations;
        let (mut next, mut row) = (State { frame, ..state.clone() }, Row::default());
        let states = self.supported.as_ref().map(|supported| supported.states.clone());
        let begun = state.begun;
        if let Err(failure) =
            self.steps_of(&mut next, pace.last(state.frame) + 1..=pace.last(frame), &mut row)
        {
            if let Some((supported, states)) = self.supported.as_mut().zip(states) {
                supported.states = states;
            }
            self.fixed.move_to(&mut self.steps.f.potential, pace.time(begun, state.frame))?;
            return Err(failure);
        }
        row.setup = self.clock.take().as_secs_f64();
        row.solve = (start.elapsed().as_secs_f64() - row.setup).max(0.0);
        row.synchronisations = self.backend.transfers().synchronisations - synchronisations;
        next.time = pace.time(begun, frame);
        let row = self.fixed.row(&mut self.steps.f.potential, &next, row)?;
        *state = next;
        Ok(row)
    }

    /// The linearised step after a state, as Baraff & Witkin 1998: the positive definite Hessian of (1) at x_n, and
    /// −∇f(x_n), with the air and with the friction of this step, before held vertices move.
    pub(crate) fn system(&mut self, state: &State) -> Result<(&OwnedSystem<f64>, Vec<f64>), Failure> {
        let step = self.pace.last(state.frame) + 1;
        self.begin(&mut State { frame: state.frame + 1, ..state.clone() }, step)?;
        let f = &mut self.steps.f;
        let mut rhs = vec![0.0; state.x.len()];
        f.gradient(&state.x, &mut rhs);
        rhs.iter_mut().for_each(|g| *g = -*g);
        f.project(true);
        Ok((f.system_at(&state.x)?, rhs))
    }
}

/// The fault of a step of the frame of `state`.
pub(crate) fn failed(state: &State, step: usize, fault: impl Into<StepFault>) -> Failed {
    Failed { frame: state.frame, step, fault: fault.into() }
}
