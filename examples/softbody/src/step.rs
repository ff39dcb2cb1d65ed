//! A time step: Xian, Tong & Liu 2019, Alg. 4.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² g    (2)
//!
//! The descent starts from x = x_n + h v_n, and afterwards v_{n+1} = (x_{n+1} − x_n) / h. Barriers bound this start
//! and every step after it ([`ContactStepper`]): the start is as far along h v_n as they allow, or x_n where they
//! bound this displacement and f is lower at x_n. So no iterate has an intersection, whether the descent converges or not. The paper adds the
//! gravity g as a linear energy, which is equivalent. Contacts are detected at every x at which f is
//! evaluated, more often than in line 4, so that a line search compares values of the same function. Numbers
//! at the ends of lines are the line numbers of Alg. 4.
//!
//! Newton's method uses the exact Hessian, with that of contact, and the projected one only where the exact one is
//! indefinite: under large strains the projected one is several times too stiff along the motion in which a contact turns
//! or a body buckles, and the method then goes the same fraction of the rest in each step. The line search may lengthen
//! steps, which are too short near a saddle of f.
//!
//! With `--solver mas` on a device the steps of some scenes are computed there (`device_step.rs`).
//!
//! Pins that move from a to a + Δa do the work ½ (F_n + F_{n+1}) · Δa, where F are the forces of their springs.
//! The energy E(x, a) of a spring is quadratic in a. So the work is the mean of its changes at x_n and at x_{n+1}.
//! Where pins begin or end, it is the change of E at x_n.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use coarsen::ContactStepper;
use coarsen::descent::{BackendNewton, CachedPreconditioner, refreshed};
use coarsen::elastic::{Attachments, ImplicitEuler, Potential};
use coarsen::optimize::{AcceleratedGradient, Beta, Direction, Forcing, NonlinearCg};
use coarsen::prelude::*;
use coarsen::schwarz::SchwarzBackend;
use examples_run::Failure;
use examples_run::frames::Failed;
use examples_run::solver::{Build, Clock, choose, copied};

#[cfg(feature = "opencl")]
use crate::device_step::Device;
use crate::options::{Integrator, Method};
use crate::part::{Depths, Forces, Inside};
use crate::projective::Projective;
use crate::rows::{Row, Seconds};
use crate::scene::World;
use crate::state::State;
use crate::timed_attachments::{TimedAttachment, set_pins};

/// The objective of a step.
pub(crate) type Step = ImplicitEuler<Forces>;

/// The directions of its descent.
type Rule = Box<dyn Direction<Vec<f64>, Step>>;

/// The number of pairs of L-BFGS: Wang et al. 2020 (HOT), §7.1.
const WINDOW: usize = 8;

/// The spectral radius ρ that accelerated gradient descent assumes with a preconditioner.
const RADIUS: f64 = 0.9;

/// The relative accuracy of the linear solves of Newton's method.
pub(crate) const NEWTON: f64 = 0.1;

/// The relative accuracy of the global step of Projective Dynamics.
const GLOBAL: f64 = 0.1;

/// A scene and the solver for its steps.
pub(crate) struct Stepper {
    steps: ContactStepper<Forces, Rule>,
    #[cfg(feature = "opencl")]
    device: Option<Device>,
    inside: Option<Inside>,
    attachments: Vec<TimedAttachment>,
    /// Set when pins are added or removed.
    stale: Rc<Cell<bool>>,
    clock: Clock,
    /// The seconds of the build of the solver, until a frame counts them.
    built: f64,
    masses: Vec<f64>,
    gravity: [f64; 3],
}

impl Stepper {
    /// Creates the solver for the steps after `state`; linear systems are solved on the backend. Nothing of an earlier solver is
    /// used, so that a run continued from a checkpoint computes the same bits.
    pub(crate) fn new<B: SchwarzBackend<Real = f64>>(
        world: World,
        state: &State,
        method: &Method,
        backend: &B,
    ) -> Result<Self, Failure> {
        let World { positions, masses, timed_attachments: attachments, forces, inside, gravity, .. } = world;
        let (clock, stale) = (Clock::default(), Rc::new(Cell::new(true)));
        let mut f = ImplicitEuler::new(forces, &masses, method.dt)?;
        let mut anchors = state.anchors.clone(); // those of the next frame, which `step` finds again
        let pins = pins(&mut f.potential);
        set_pins(&attachments, state.frame + 1, method.dt, &state.x, &mut anchors, pins)?;

        let start = Instant::now();
        #[cfg(feature = "opencl")]
        let device = Device::of(backend, &mut f, &attachments, &masses, state, method)?;
        let solver = choose(method.solver, &mut f, &state.x)?;
        let choice = start.elapsed();
        let build = solver.builder(&method.levels, Arc::from(positions), backend, &clock);
        let rule = rule(&mut f, method, build, stale.clone(), &state.x, backend)?;
        let mut steps = ContactStepper::new(f, &masses, method.tolerance, rule, |forces| {
            forces.parts_mut().iter_mut().find_map(|part| part.surface())
        })?;
        steps.descent.stop.max_iterations = method.iterations;
        match method.integrator {
            Integrator::Newton => (),
            Integrator::Ncg => steps.descent.search = Box::new(MoreThuente::tight()),
            _ => steps.descent.search = Box::new(Backtracking::default()),
        }
        steps.descent.refresh = match method.integrator {
            Integrator::Newton if method.refresh > 0 => Refresh::Every(method.refresh),
            Integrator::Pd => Refresh::Never,
            _ => Refresh::AtStart,
        };
        let built = (choice + clock.take()).as_secs_f64();
        Ok(Self {
            #[cfg(feature = "opencl")]
            device,
            steps,
            inside,
            attachments,
            stale,
            clock,
            built,
            masses,
            gravity,
        })
    }

    /// Computes the next frame.
    ///
    /// # Errors
    /// An error if the new positions are not finite, if contacts cannot be detected, or if the backend fails. The state
    /// is then that before the step.
    pub(crate) fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        let Self { steps, attachments, .. } = self;
        let (start, h, frame) = (Instant::now(), steps.f.step(), state.frame + 1);
        let pins = pins(&mut steps.f.potential);
        let mut anchors = state.anchors.clone();
        let changed = set_pins(attachments, frame, h, &state.x, &mut anchors, pins)?; // 1
        if changed {
            self.stale.set(true);
        }
        let moved = pins.energy(&state.x).value - state.pinned; // of the pins, at the old x
        let failed = |fault| Failed { frame, step: frame, fault };
        let (mut x, mut v) = (state.x.clone(), state.v.clone());
        steps.f.potential.parts_mut().iter_mut().for_each(|part| part.grip(&x));
        #[cfg(feature = "opencl")]
        let on_device = match &mut self.device {
            Some(device) => device.step(&mut steps.f.potential, state, (self.gravity, h), steps.descent.stop),
            None => Ok(None),
        };
        #[cfg(not(feature = "opencl"))]
        let on_device = Ok(None::<(Vec<f64>, _)>);
        let report = match on_device.map_err(failed)? {
            Some((next, report)) => {
                v.iter_mut().zip(&next).zip(&x).for_each(|((v, next), x)| *v = (next - x) / h);
                x = next;
                report
            }
            None => steps.step(&mut x, &mut v, self.gravity).map_err(failed)?, // 2 to 17
        };
        let seconds = start.elapsed().as_secs_f64();
        let touching = Depths::of(&mut steps.f.potential, self.inside.as_mut(), &x);
        let touching = touching.map_err(|fault| failed(fault.into()))?;
        (state.x, state.v, state.frame) = (x, v, frame);
        let setup = self.clock.take().as_secs_f64();
        let solve = (seconds - setup).max(0.0);
        let setup = setup + std::mem::take(&mut self.built);

        let forces = &mut steps.f.potential;
        let pins = self::pins(forces);
        let pinned = pins.energy(&state.x).value;
        state.work += if changed {
            moved
        } else {
            set_pins(attachments, frame - 1, h, &state.x, &mut anchors, pins)?;
            let before = pins.energy(&state.x).value;
            set_pins(attachments, frame, h, &state.x, &mut anchors, pins)?;
            0.5 * (moved + pinned - before)
        };
        (state.pinned, state.anchors) = (pinned, anchors);
        Ok(Row {
            outer: report.iterations,
            inner: report.inner,
            seconds: Seconds { setup, solve },
            outcome: report.outcome.name().to_owned(),
            ..state.row(touching, forces, &self.masses, self.gravity, h)
        })
    }
}

/// Returns the part with the pins.
pub(crate) fn pins(forces: &mut Forces) -> &mut Attachments {
    let pins = forces.parts_mut().iter_mut().find_map(|part| part.pins());
    pins.expect("every scene has a list of pins")
}

/// Creates the descent direction, with the preconditioner that it needs on the backend.
fn rule<B: SchwarzBackend<Real = f64>>(
    f: &mut Step,
    method: &Method,
    mut build: Build<B::Vector>,
    stale: Rc<Cell<bool>>,
    x: &[f64],
    backend: &B,
) -> Result<Rule, Failure> {
    let inner = |relative| Stop { max_iterations: method.inner, ..Stop::relative(relative) };
    Ok(match method.integrator {
        Integrator::Pd => Box::new(Projective::new(backend, f, x, build, inner(GLOBAL), stale)?),
        Integrator::Newton => {
            let inverse = CachedPreconditioner::build(f, x, move |system| Ok(build(system)?))?;
            let newton = Newton::with(Cg::new(inner(NEWTON)), Forcing::AsGiven);
            Box::new(BackendNewton::new(newton, inverse, backend, x.len())?.projecting_on_demand())
        }
        other => {
            let mut build = copied(build, backend);
            let inverse = CachedPreconditioner::build(f, x, move |system| Ok(build(system)?))?;
            match other {
                Integrator::Lbfgs => Box::new(refreshed(Lbfgs::new(WINDOW, inverse), |d| &mut d.initial)),
                Integrator::Ncg => {
                    Box::new(refreshed(NonlinearCg::new(Beta::DaiKou, inverse), NonlinearCg::inverse_mut))
                }
                _ => Box::new(refreshed(AcceleratedGradient::new(RADIUS, inverse), |d| &mut d.inverse)),
            }
        }
    })
}
