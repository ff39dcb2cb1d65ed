//! Steps on an OpenCL device ([`DeviceSteps`]): stretching and bending of sheets, contact of triangles, and contact and friction with
//! obstacles, of which none moves.

use std::any::Any;
use std::ops::RangeInclusive;

use coarsen::StepFault;
use coarsen::elastic::{ElementKernel, ImplicitEuler, Plus, Potential, SurfaceKernel};
use coarsen::optimize::DescentOutcome;
use coarsen::prelude::*;
use examples_run::Failure;
use examples_run::device_step::{DeviceMethod, DeviceSteps, device_of};
use examples_run::solver::Solver;

use crate::options::{Method, Obstacles};
use crate::state::{Row, State};
use crate::step::{failed, inner};
use crate::world::{Fixed, Forces, GRAVITY};

/// Uploads the energies of a scene whose next step begins at a state; `None` if the host computes its steps.
pub(crate) fn device(
    backend: &dyn Any,
    f: &mut ImplicitEuler<Forces>,
    fixed: &Fixed,
    state: &State,
    method: &Method,
) -> Result<Option<DeviceSteps>, Failure> {
    let energies = || energies(&f.potential, fixed, method);
    let Some((backend, (kernels, surface))) = device_of(backend, energies) else { return Ok(None) };
    let own = DeviceMethod {
        levels: &method.levels,
        inner: inner(method),
        fixed: method.fixed,
        refresh: Refresh::AtStart,
        projects_on_demand: !method.fixed,
    };
    DeviceSteps::new(backend, &kernels, surface.as_ref(), f, &fixed.masses, &state.x, own).map(Some)
}

/// The energies of a scene for a device and its surface if triangles touch, or the reason why the host computes its steps.
pub(crate) fn energies(
    forces: &Forces,
    fixed: &Fixed,
    method: &Method,
) -> Result<(Vec<ElementKernel>, Option<SurfaceKernel>), String> {
    let reasons = [
        (method.solver != Solver::Mas, "a device needs --solver mas"),
        (method.obstacles == Obstacles::Constraints, "a device has no constraints; leave out --obstacles"),
        (
            fixed.motion.moves(),
            "on a device nothing moves by a formula; take a scene without motion and seams",
        ),
        (fixed.air.density > 0.0, "a device has no air; take --air 0"),
        (fixed.air.damping > 0.0, "a device has no damping; leave out --damping"),
    ];
    match reasons.iter().find(|(holds, _)| *holds) {
        Some((_, reason)) => Err((*reason).to_owned()),
        None => {
            let Plus { first: cloth, second: contact, .. } = &forces.first;
            let Plus { first: obstacles, second: Plus { first: frictions, second: rubbed, .. }, .. } =
                &forces.second;
            let all = [cloth.kernels(), obstacles.kernels(), frictions.kernels()];
            let all = all.into_iter().collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
            if method.no_self_contact {
                return Ok((all.concat(), None));
            }
            let surface = contact.kernel().map_err(|error| error.to_string())?;
            let friction = rubbed.kernel(&surface);
            Ok((all.concat(), Some(SurfaceKernel { friction, ..surface })))
        }
    }
}

/// Computes the steps with these numbers of the next frame, after which the host reads the state.
pub(crate) fn frame(
    device: &mut DeviceSteps,
    state: &mut State,
    steps: RangeInclusive<usize>,
    stop: Stop<f64>,
    row: &mut Row,
) -> Result<(), Failure> {
    let last = *steps.end();
    device.start(state.frame - 1, &state.x, &state.v)?;
    for step in steps {
        let report = device.step(GRAVITY, f64::INFINITY, stop).map_err(|fault| failed(state, step, fault))?;
        if report.outcome == DescentOutcome::NotFinite {
            return Err(failed(state, step, StepFault::NotFinite).into());
        }
        device.add_work();
        device.end((step == last).then_some(state.frame));
        row.add(report.outcome, [report.iterations, report.inner]);
    }
    device.positions(&mut state.x)?;
    device.velocities(&mut state.v)?;
    state.work += device.work();
    match state.x.iter().all(|x| x.is_finite()) {
        true => Ok(()),
        false => Err(failed(state, last, StepFault::NotFinite).into()),
    }
}
