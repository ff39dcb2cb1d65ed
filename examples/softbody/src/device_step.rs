//! Time steps on an OpenCL device.
//!
//! Positions, energies, derivatives, the assembly, the domains of the preconditioner, conjugate gradients and Newton's method are on the
//! device; the host reads the frame. The device has neither obstacles nor contact of bodies, nor their friction. So the host tests
//! each step: if something is within the reach of a contact at its start or its end, or bounds the displacement, the host computes
//! this step. Friction acts on what touches at the start. So the energies of contact and friction of all other steps are 0.
//!
//! The host has its own solver for these steps, which is set up in any case: setup and device memory are doubled.

use std::any::Any;
use std::sync::Once;

use coarsen::StepFault;
use coarsen::contact::ContactError;
use coarsen::elastic::{Attachments, BodyError, Curvature, ElementKernel, Potential};
use coarsen::opencl::{
    DeviceImplicitEuler, DeviceMatrix, DeviceSchwarz, DeviceSubdomains, DeviceVector, OpenCl,
};
use coarsen::optimize::{
    DescentError, DescentOutcome, DescentReport, Forcing, Linearized, Norm, node_weights,
};
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use examples_run::Failure;
use examples_run::solver::Solver;

use crate::options::{Integrator, Method};
use crate::part::{Depths, Forces, Part};
use crate::state::State;
use crate::step::{NEWTON, Step};
use crate::timed_attachments::TimedAttachment;

/// The objective with its Hessian and its domains.
type System = Linearized<
    DeviceImplicitEuler<f64>,
    DeviceMatrix<f64>,
    DeviceSubdomains<f64>,
    fn(&mut DeviceImplicitEuler<f64>, &DeviceVector<f64>, &mut DeviceMatrix<f64>) -> Result<(), DescentError>,
    fn(&DeviceMatrix<f64>, &DeviceVector<f64>, &mut DeviceSubdomains<f64>) -> Result<(), DescentError>,
>;

/// The scene and its solver in device memory.
pub(crate) struct DeviceSteps {
    backend: OpenCl<f64>,
    f: System,
    newton: Newton<DeviceVector<f64>, Cg<DeviceVector<f64>>>,
    descent: Descent<DeviceVector<f64>, MoreThuente<f64>>,
    next: DeviceVector<f64>,
    /// The pins of the last step, which are the last energy.
    pins: ElementKernel,
    /// The frame whose state the device has, which is not the last one after a step of the host.
    frame: Option<usize>,
}

impl DeviceSteps {
    /// Uploads a scene whose next step begins at a state; `None` if the backend is no device in `f64`, or [`energies`] gives a
    /// reason, which is printed once. The host computes the steps of such a scene.
    pub(crate) fn of(
        backend: &dyn Any,
        f: &mut Step,
        attachments: &[TimedAttachment],
        masses: &[f64],
        state: &State,
        method: &Method,
    ) -> Result<Option<Self>, Failure> {
        let Some(AnyBackend::OpenCl(backend)) = backend.downcast_ref::<AnyBackend<f64>>() else {
            return Ok(None);
        };
        match energies(&mut f.potential, attachments, method) {
            Ok((bodies, pins)) => Self::new(backend, f, bodies, pins, masses, state, method).map(Some),
            Err(reason) => {
                static PRINTED: Once = Once::new(); // a run has a solver for each checkpoint
                PRINTED.call_once(|| eprintln!("steps on the host: {reason}"));
                Ok(None)
            }
        }
    }

    fn new(
        backend: &OpenCl<f64>,
        f: &mut Step,
        mut kernels: Vec<ElementKernel>,
        pins: ElementKernel,
        masses: &[f64],
        state: &State,
        method: &Method,
    ) -> Result<Self, Failure> {
        let weights = node_weights(&f.characteristic(), 3)?;
        kernels.push(pins.clone());
        let mut on_device = DeviceImplicitEuler::new(backend, &kernels, masses, f.step())?;
        let system = coarsen::prelude::System { contact: None, ..f.system_at(&state.x)?.system() };
        let mut a = backend.matrix(system.matrix)?;
        let schwarz = Schwarz::multilevel();
        let schwarz = Schwarz { levels: method.levels.first().copied().unwrap_or(schwarz.levels), ..schwarz };
        let m = DeviceSchwarz { schwarz, ..DeviceSchwarz::default() }.build(system, backend)?;
        let next = backend.vector(&state.x)?;
        on_device.hessian(&next, &mut a)?;
        a.check()?; // whether the pattern has all blocks
        let assemble: fn(&mut _, &_, &mut _) -> _ =
            |f: &mut DeviceImplicitEuler<f64>, x, a| Ok(f.hessian(x, a)?);
        let update: fn(&_, &_, &mut _) -> _ =
            |a, _, m: &mut DeviceSubdomains<f64>| Ok(m.update_on_device(a)?);
        let f = Linearized::new(on_device, a, m, assemble, update)
            .projecting(|f, on| f.curvature = if on { Curvature::Projected } else { Curvature::Exact });
        let stop = Stop { max_iterations: method.inner, ..Stop::relative(NEWTON) };
        let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(0.0));
        descent.norm = Norm::weighted(backend.vector(&weights)?)?;
        descent.refresh = if method.refresh > 0 { Refresh::Every(method.refresh) } else { Refresh::AtStart };
        let newton = Newton::with(Cg::new(stop), Forcing::AsGiven);
        Ok(Self { backend: backend.clone(), f, newton, descent, next, pins, frame: None })
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
        let Self { backend, f, newton, descent, next, .. } = self;
        let forward: Vec<f64> = state.v.iter().map(|v| h * v).collect();
        let bound = contact_bound(forces, &state.x, &forward);
        let is_current = self.frame.take() == Some(state.frame); // then nothing touches, as after every step of the device
        if bound.is_nan() || !is_current && !is_clear(forces, &state.x)? {
            return Ok(None);
        }
        if !is_current {
            let [x, v] = f.objective.state();
            let written = backend.write(&state.x, x).and_then(|()| backend.write(&state.v, v));
            written.map_err(DescentError::from)?;
        }
        let pins = all_pins(crate::step::pins(forces), self.pins.elements.clone())
            .map_err(DescentError::linearize)?;
        if let Some(last) = f.objective.energies().last_mut().filter(|_| pins != self.pins) {
            last.write(&pins.held, &pins.data).map_err(DescentError::from)?;
            self.pins = pins;
        }
        // As `ContactStepper::predict`.
        f.objective.begin(gravity);
        f.objective.predict(0.0, next);
        let before = bound.is_finite().then(|| f.objective.value(next).value);
        f.objective.predict(bound.clamp(0.0, 1.0), next);
        if let Some(before) = before {
            let [before, after] = DeviceVector::wait_for([&before, &f.objective.value(next).value]);
            if after > before {
                f.objective.predict(0.0, next);
            }
        }
        newton.forget();
        descent.stop = stop;
        let report = descent.minimize(f, newton, next)?;
        let mut x = vec![0.0; state.x.len()];
        backend.read(next, &mut x).map_err(DescentError::from)?;
        let moved: Vec<f64> = x.iter().zip(&state.x).map(|(next, x)| next - x).collect();
        let is_step = report.outcome != DescentOutcome::NotFinite
            && moved.iter().all(|d| d.is_finite())
            && contact_bound(forces, &state.x, &moved) >= 1.0
            && is_clear(forces, &x)?;
        if is_step {
            f.objective.end(next);
            self.frame = Some(state.frame + 1);
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
    let is_body = |part: &mut Box<dyn Part>| !part.is_contact() && part.pins().is_none();
    let parts = forces.parts_mut().iter_mut().filter_map(|part| is_body(part).then(|| part.kernels()));
    let kernels = parts.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?.concat();
    match kernels.iter().any(|kernel| kernel.bounds_steps) {
        true => {
            Err("an energy bounds the displacement, and the start of a step there ignores that".to_owned())
        }
        false => Ok((kernels, pins)),
    }
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

/// Whether nothing is in contact at x; not so if it is not known.
fn is_clear(forces: &mut Forces, x: &[f64]) -> Result<bool, ContactError> {
    let Depths { contacts, obstacles, bodies } = Depths::of(forces, None, x)?;
    Ok(contacts == 0 && ![obstacles, bodies].into_iter().flatten().any(f64::is_nan))
}

/// The largest part of a displacement for which contact is known to be free of collisions.
fn contact_bound(forces: &mut Forces, x: &[f64], d: &[f64]) -> f64 {
    let contacts = forces.parts_mut().iter_mut().filter(|part| part.is_contact());
    let bounds = contacts.map(|part| part.max_step(x, d));
    bounds.fold(f64::INFINITY, |least, bound| if bound <= least || bound.is_nan() { bound } else { least })
}
