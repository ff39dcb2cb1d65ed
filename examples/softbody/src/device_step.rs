//! Time steps on an OpenCL device.
//!
//! Positions, energies, derivatives, the assembly, the domains of the preconditioner, conjugate gradients and Newton's method are on the
//! device; the host reads the frame. The device has neither obstacles nor contact of bodies. So the host tests each step: if
//! something is within the reach of a contact at its end, or bounds the displacement, the host computes this step again. A
//! step that passes the test is a step with contact, since the energies of contact are 0 there.

use std::any::Any;

use coarsen::StepFault;
use coarsen::elastic::{BodyError, Curvature, Potential, Twin};
use coarsen::opencl::{
    DeviceImplicitEuler, DeviceMatrix, DeviceSchwarz, DeviceSubdomains, DeviceVector, OpenCl,
};
use coarsen::optimize::{DescentError, DescentReport, Forcing, Linearized, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::sparse::SystemAt;
use examples_run::Failure;
use examples_run::solver::Solver;

use crate::options::{Integrator, Method};
use crate::part::{Depths, Forces};
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
    /// Whether the device has the state, which is not so after a step of the host.
    is_current: bool,
}

impl DeviceSteps {
    /// Uploads a scene whose next step begins at a state; `None` if the backend is no device in `f64`, the solver is not Newton's method
    /// with multilevel domains, attachments move, begin or end, or an energy has no kernels for a device. The host computes the steps of
    /// such a scene.
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
        let rests = attachments.iter().all(|attachment| attachment.rests_from(state.frame + 1));
        if method.solver != Solver::Mas || method.integrator != Integrator::Newton || !rests {
            return Ok(None);
        }
        match twins(&f.potential) {
            Ok(twins) => Self::new(backend, f, &twins, masses, state, method).map(Some),
            Err(reason) => {
                eprintln!("steps on the host: {reason}");
                Ok(None)
            }
        }
    }

    fn new(
        backend: &OpenCl<f64>,
        f: &mut Step,
        twins: &[Twin],
        masses: &[f64],
        state: &State,
        method: &Method,
    ) -> Result<Self, Failure> {
        let weights = node_weights(&f.characteristic(), 3)?;
        let mut there = DeviceImplicitEuler::new(backend, twins, masses, f.step())?;
        let system = coarsen::prelude::System { contact: None, ..f.system_at(&state.x)?.system() };
        let mut a = backend.matrix(system.matrix)?;
        let schwarz = Schwarz::multilevel();
        let schwarz = Schwarz { levels: method.levels.first().copied().unwrap_or(schwarz.levels), ..schwarz };
        let m = DeviceSchwarz { schwarz, ..DeviceSchwarz::default() }.build(system, backend)?;
        let next = backend.vector(&state.x)?;
        there.hessian(&next, &mut a)?;
        a.check()?; // whether the pattern has all blocks
        let assemble: fn(&mut _, &_, &mut _) -> _ =
            |f: &mut DeviceImplicitEuler<f64>, x, a| Ok(f.hessian(x, a)?);
        let update: fn(&_, &_, &mut _) -> _ =
            |a, _, m: &mut DeviceSubdomains<f64>| Ok(m.update_on_device(a)?);
        let f = Linearized::new(there, a, m, assemble, update)
            .projecting(|f, on| f.curvature = if on { Curvature::Projected } else { Curvature::Exact });
        let stop = Stop { max_iterations: method.inner, ..Stop::relative(NEWTON) };
        let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(0.0));
        descent.norm = Norm::weighted(backend.vector(&weights)?)?;
        descent.refresh = if method.refresh > 0 { Refresh::Every(method.refresh) } else { Refresh::AtStart };
        let newton = Newton::with(Cg::new(stop), Forcing::AsGiven);
        Ok(Self { backend: backend.clone(), f, newton, descent, next, is_current: false })
    }

    /// Computes the positions after the next step, until the gradient is as small as `stop` says; `None` if something is in contact, or if
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
        if bound.is_nan() {
            return Ok(None);
        }
        if !std::mem::take(&mut self.is_current) {
            let [x, v] = f.objective.state();
            let written = backend.write(&state.x, x).and_then(|()| backend.write(&state.v, v));
            written.map_err(DescentError::from)?;
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
        let is_clear = moved.iter().all(|d| d.is_finite())
            && contact_bound(forces, &state.x, &moved) >= 1.0
            && Depths::of(forces, None, &x)?.contacts == 0;
        if is_clear {
            f.objective.end(next);
        }
        self.is_current = is_clear;
        Ok(is_clear.then_some((x, report)))
    }
}

/// The energies of a scene for a device, without contact.
fn twins(forces: &Forces) -> Result<Vec<Twin>, BodyError> {
    let parts = forces.parts().iter().filter(|part| !part.is_contact());
    parts.map(Potential::twins).collect::<Result<Vec<_>, _>>().map(|twins| twins.concat())
}

/// The largest part of a displacement for which contact is known to be free of collisions.
fn contact_bound(forces: &mut Forces, x: &[f64], d: &[f64]) -> f64 {
    let contacts = forces.parts_mut().iter_mut().filter(|part| part.is_contact());
    let bounds = contacts.map(|part| part.max_step(x, d));
    bounds.fold(f64::INFINITY, |least, bound| if bound <= least || bound.is_nan() { bound } else { least })
}
