//! Time steps on an OpenCL device ([`DeviceSteps`]); the host reads the frame. The device has no contact of bodies. So where a scene
//! has it, the host tests each step: if bodies are within the reach of contact at its start or its end, or contact bounds the
//! displacement, the host computes this step. Friction acts on what touches at the start. So the energies of this contact and its
//! friction in all other steps are 0.
//!
//! The host has its own solver for these steps, which is set up in any case: setup and device memory are doubled.

use std::any::Any;

use coarsen::StepFault;
use coarsen::contact::ContactError;
use coarsen::elastic::{Attachments, BodyError, ElementKernel, Potential};
use coarsen::optimize::{DescentError, DescentOutcome, DescentReport};
use coarsen::prelude::*;
use examples_run::Failure;
use examples_run::device_step::{DeviceMethod, DeviceSteps, device_of};
use examples_run::solver::Solver;

use crate::options::{Integrator, Method};
use crate::part::{Depths, Forces, Part};
use crate::state::State;
use crate::step::{NEWTON, Step};
use crate::timed_attachments::TimedAttachment;

/// The scene and its solver in device memory.
pub(crate) struct Device {
    steps: DeviceSteps,
    /// The pins of the last step, and the number of this energy.
    pins: ElementKernel,
    last: usize,
}

impl Device {
    /// Uploads the energies of a scene whose next step begins at a state; `None` if the host computes its steps.
    pub(crate) fn of(
        backend: &dyn Any,
        f: &mut Step,
        attachments: &[TimedAttachment],
        masses: &[f64],
        state: &State,
        method: &Method,
    ) -> Result<Option<Self>, Failure> {
        let energies = || energies(&mut f.potential, attachments, method);
        let Some((backend, (mut kernels, pins))) = device_of(backend, energies) else { return Ok(None) };
        let last = kernels.len();
        kernels.push(pins.clone());
        let refresh = if method.refresh > 0 { Refresh::Every(method.refresh) } else { Refresh::AtStart };
        let inner = Stop { max_iterations: method.inner, ..Stop::relative(NEWTON) };
        let method =
            DeviceMethod { levels: &method.levels, inner, fixed: false, refresh, projects_on_demand: true };
        let steps = DeviceSteps::new(backend, &kernels, None, f, masses, &state.x, method)?;
        Ok(Some(Self { steps, pins, last }))
    }

    /// Computes the positions after the next step, until the gradient is as small as `stop` says; `None` if something is in contact before or after, or if
    /// the result is not finite. The host then computes the step.
    pub(crate) fn step(
        &mut self,
        forces: &mut Forces,
        state: &State,
        (gravity, h): ([f64; 3], f64),
        stop: Stop<f64>,
    ) -> Result<Option<(Vec<f64>, DescentReport<f64>)>, StepFault> {
        let Self { steps, pins, last } = self;
        let forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        let bound = contact_bound(forces, &state.x, &forward);
        // Nothing touches after a step of the device.
        if bound.is_nan() || !steps.has(state.frame) && !is_clear(forces, &state.x)? {
            return Ok(None);
        }
        steps.start(state.frame, &state.x, &state.v)?;
        let now = all_pins(crate::step::pins(forces), pins.elements.clone());
        let now = now.map_err(DescentError::linearize)?;
        if now != *pins {
            steps.write(*last, &now)?;
            *pins = now;
        }
        let report = steps.step(gravity, bound, stop)?;
        let mut x = vec![0.0; state.x.len()];
        steps.positions(&mut x)?;
        let moved: Vec<f64> = x.iter().zip(&state.x).map(|(next, x)| next - x).collect();
        let is_step = report.outcome != DescentOutcome::NotFinite
            && moved.iter().all(|d| d.is_finite())
            && contact_bound(forces, &state.x, &moved) >= 1.0
            && is_clear(forces, &x)?;
        if is_step {
            steps.end(Some(state.frame + 1));
        }
        Ok(is_step.then_some((x, report)))
    }
}

/// The energies of the bodies of a scene for a device, and its pins; or the reason why the host computes its steps.
pub(crate) fn energies(
    forces: &mut Forces,
    attachments: &[TimedAttachment],
    method: &Method,
) -> Result<(Vec<ElementKernel>, ElementKernel), String> {
    if method.solver != Solver::Mas || method.integrator != Integrator::Newton {
        return Err("a device has only Newton's method with --solver mas".to_owned());
    }
    let mut nodes: Vec<u32> = attachments.iter().flat_map(|attachment| &attachment.nodes).copied().collect();
    nodes.sort_unstable();
    nodes.dedup();
    let pins = all_pins(crate::step::pins(forces), nodes).map_err(|error| error.to_string())?;
    let is_body = |part: &mut Box<dyn Part>| !part.is_body_contact() && part.pins().is_none();
    let parts = forces.parts_mut().iter_mut().filter_map(|part| is_body(part).then(|| part.kernels()));
    let kernels = parts.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?.concat();
    Ok((kernels, pins))
}

/// The pins of a frame as pins of all `nodes` that are ever attached, with a stiffness of 0 where they are free: so the elements
/// of a device do not change.
fn all_pins(now: &Attachments, nodes: Vec<u32>) -> Result<ElementKernel, BodyError> {
    let pins = now.kernels()?.remove(0); // attachments have one kernel
    let mut pinned = pins.elements.iter().zip(pins.data.as_chunks::<4>().0).peekable();
    let numbers = |node| pinned.next_if(|(pinned, _)| *pinned == node).map_or([0.0; 4], |(_, own)| *own);
    let data = nodes.iter().flat_map(numbers).collect();
    debug_assert!(pinned.next().is_none(), "a pin of a node that no attachment has");
    Ok(ElementKernel { data, elements: nodes, ..pins })
}

/// Whether no bodies are in contact at x; not so if it is not known.
fn is_clear(forces: &mut Forces, x: &[f64]) -> Result<bool, ContactError> {
    let mut depths = Depths::default();
    body_contacts(forces).try_for_each(|part| part.add_depths(x, &mut depths))?;
    Ok(depths.contacts == 0 && !depths.bodies.is_some_and(f64::is_nan))
}

/// Contact that the device does not have.
fn body_contacts(forces: &mut Forces) -> impl Iterator<Item = &mut Box<dyn Part>> {
    forces.parts_mut().iter_mut().filter(|part| part.is_body_contact())
}

/// The largest part of a displacement for which contact is known to be free of collisions.
fn contact_bound(forces: &mut Forces, x: &[f64], d: &[f64]) -> f64 {
    let bounds = body_contacts(forces).map(|part| part.max_step(x, d));
    bounds.fold(f64::INFINITY, |least, bound| if bound <= least || bound.is_nan() { bound } else { least })
}
