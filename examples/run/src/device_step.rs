//! Time steps on an OpenCL device.
//!
//! Positions, energies, derivatives, the assembly, the domains of the preconditioner, conjugate gradients and Newton's method are on
//! the device; the host reads what it asks for.

use std::any::Any;
use std::sync::Once;

use coarsen::Scalar;
use coarsen::elastic::{Curvature, ElementKernel, ImplicitEuler, Potential, SurfaceKernel};
use coarsen::opencl::{
    DeviceContacts, DeviceImplicitEuler, DeviceMatrix, DeviceScalar, DeviceSchwarz, DeviceSubdomains,
    DeviceSum, DeviceVector, OpenCl,
};
use coarsen::optimize::{DescentError, DescentReport, Forcing, Linearized, Norm, node_weights};
use coarsen::prelude::*;
use coarsen::sparse::{OwnedSystem, SystemAt};
use coarsen::{Dot, Error, LinearOperator};

use crate::Failure;

/// The objective with its Hessian and its domains.
type Step = Linearized<
    DeviceImplicitEuler<f64>,
    Hessian,
    DeviceSubdomains<f64>,
    fn(&mut DeviceImplicitEuler<f64>, &DeviceVector<f64>, &mut Hessian) -> Result<(), DescentError>,
    fn(&Hessian, &DeviceVector<f64>, &mut DeviceSubdomains<f64>) -> Result<(), DescentError>,
>;

/// The Hessian of elements, and beside it that of contact of triangles.
struct Hessian {
    elastic: DeviceMatrix<f64>,
    contact: Option<DeviceContacts<f64>>,
}

impl Hessian {
    fn assemble(&mut self, f: &mut DeviceImplicitEuler<f64>, x: &DeviceVector<f64>) -> Result<(), Error> {
        f.hessian(x, &mut self.elastic)?;
        self.contact.as_mut().map_or(Ok(()), |contact| f.contact_hessian(x, contact))
    }

    fn update(&self, m: &mut DeviceSubdomains<f64>) -> Result<(), Error> {
        match &self.contact {
            Some(contact) => m.update_on_device(&DeviceSum::new(&self.elastic, contact)?),
            None => m.update_on_device(&self.elastic),
        }
    }

    /// Calls `with` with the sum. Without contact it is the first part, and also on a backend that has failed, which computes nothing.
    fn sum<R>(&self, with: impl FnOnce(&dyn LinearOperator<DeviceVector<f64>>) -> R) -> R {
        match self.contact.as_ref().and_then(|contact| DeviceSum::new(&self.elastic, contact).ok()) {
            Some(sum) => with(&sum),
            None => with(&self.elastic),
        }
    }
}

impl LinearOperator<DeviceVector<f64>> for Hessian {
    fn shape(&self) -> (usize, usize) {
        self.elastic.shape()
    }

    fn apply(&self, x: &DeviceVector<f64>, y: &mut DeviceVector<f64>) {
        self.sum(|a| a.apply(x, y));
    }

    fn apply_dot(&self, x: &DeviceVector<f64>, y: &mut DeviceVector<f64>) -> Dot<DeviceScalar<f64>> {
        self.sum(|a| a.apply_dot(x, y))
    }

    fn residual(&self, b: &DeviceVector<f64>, x: &DeviceVector<f64>, r: &mut DeviceVector<f64>) {
        self.sum(|a| a.residual(b, x, r));
    }
}

/// Newton's method of a step, whose linear systems are solved by conjugate gradients with multilevel Schwarz.
pub struct DeviceMethod<'a> {
    /// The most levels of the preconditioner, in the first entry if there is one.
    pub levels: &'a [usize],
    /// When a linear solve ends.
    pub inner: Stop<f64>,
    /// Whether linear solves take the maximal number of iterations, without a convergence check; for projected Hessians.
    pub fixed: bool,
    /// When the preconditioner is updated.
    pub refresh: Refresh,
    /// Whether the projected Hessian is used only where the exact one is indefinite; otherwise always.
    pub projects_on_demand: bool,
}

/// The energies of a scene and the solver of its steps in device memory.
pub struct DeviceSteps {
    backend: OpenCl<f64>,
    f: Step,
    /// What the preconditioner is built from if there is contact of triangles: its lists may grow.
    schwarz: DeviceSchwarz,
    system: Option<OwnedSystem<f64>>,
    newton: Newton<DeviceVector<f64>, Box<dyn Krylov<DeviceVector<f64>>>>,
    descent: Descent<DeviceVector<f64>, MoreThuente<f64>>,
    next: DeviceVector<f64>,
    /// The forces of friction, and its work in the steps since it was last read.
    friction: DeviceVector<f64>,
    work: Option<DeviceScalar<f64>>,
    /// The frame whose state the device has.
    frame: Option<usize>,
}

/// The smaller bound of a step; 0 if the second is NaN, since pairs of triangles are missing.
fn least(bound: f64, own: f64) -> f64 {
    if own.is_nan() { 0.0 } else { bound.min(own) }
}

/// The device of a backend, and the energies of a scene for it. `None` for a backend that is no device in `f64`, and if
/// `energies` gives a reason, which is printed once: the host then computes the steps.
pub fn device_of<T>(
    backend: &dyn Any,
    energies: impl FnOnce() -> Result<T, String>,
) -> Option<(&OpenCl<f64>, T)> {
    let Some(AnyBackend::OpenCl(device)) = backend.downcast_ref::<AnyBackend<f64>>() else { return None };
    let print = |reason: &String| {
        static PRINTED: Once = Once::new(); // a run has a solver for each checkpoint
        PRINTED.call_once(|| eprintln!("steps on the host: {reason}"));
    };
    Some((device, energies().inspect_err(print).ok()?))
}

impl DeviceSteps {
    /// Uploads the energies `kernels` of the steps f, and a surface that touches itself; x has positions as those of the first step.
    pub fn new<P: Potential>(
        backend: &OpenCl<f64>,
        kernels: &[ElementKernel],
        surface: Option<&SurfaceKernel>,
        f: &mut ImplicitEuler<P>,
        masses: &[f64],
        x: &[f64],
        method: DeviceMethod<'_>,
    ) -> Result<Self, Failure> {
        let weights = node_weights(&f.characteristic(), 3)?;
        let mut on_device = DeviceImplicitEuler::new(backend, kernels, masses, f.step())?;
        if let Some(surface) = surface {
            on_device = on_device.with_contact(surface)?;
        }
        let system = f.system_at(x)?;
        let mut elastic = backend.matrix(&system.matrix)?;
        let schwarz = Schwarz::multilevel();
        let levels = method.levels.first().copied().unwrap_or(schwarz.levels);
        let schwarz = DeviceSchwarz { schwarz: Schwarz { levels, ..schwarz }, ..DeviceSchwarz::default() };
        let m = schwarz.build(System { contact: None, ..system.system() }, backend)?;
        let system = surface.map(|_| OwnedSystem { contact: None, ..system.clone() });
        let next = backend.vector(x)?;
        on_device.hessian(&next, &mut elastic)?;
        elastic.check()?; // whether the pattern has all blocks
        let assemble: fn(&mut _, &_, &mut _) -> _ = |f, x, a: &mut Hessian| Ok(a.assemble(f, x)?);
        let update: fn(&_, &_, &mut _) -> _ = |a: &Hessian, _, m| Ok(a.update(m)?);
        let friction = next.like()?;
        let mut f = Linearized::new(on_device, Hessian { elastic, contact: None }, m, assemble, update);
        if method.projects_on_demand {
            f = f.projecting(|f, on| f.curvature = if on { Curvature::Projected } else { Curvature::Exact });
        }
        let mut descent = Descent::new(MoreThuente::default(), Stop::absolute(0.0));
        descent.norm = Norm::weighted(backend.vector(&weights)?)?;
        descent.refresh = method.refresh;
        let cg: Box<dyn Krylov<_>> = match method.fixed && !method.projects_on_demand {
            true => Box::new(FixedCg::new(method.inner)),
            false => Box::new(Cg::new(method.inner)),
        };
        let newton = Newton::with(cg, Forcing::AsGiven);
        let backend = backend.clone();
        let (work, frame) = (None, None);
        let mut steps = Self { backend, f, schwarz, system, newton, descent, next, friction, work, frame };
        steps.resize()?;
        loop {
            let Self { f, next, .. } = &mut steps;
            if let Some(contact) = f.objective.contact() {
                contact.search(next, None);
                contact.energy(next);
            }
            if !steps.grow()? {
                return Ok(steps);
            }
        }
    }

    /// Enlarges the lists of contact that were too small since the last call, and what depends on their length. Returns whether there
    /// were any: what was computed is to be computed again.
    fn grow(&mut self) -> Result<bool, DescentError> {
        let Some(contact) = self.f.objective.contact() else { return Ok(false) };
        let grows = contact.grow()?;
        Ok(self.resize()? || grows)
    }

    /// Allocates the blocks of contact and builds the preconditioner for as many, unless there are enough. Returns whether it has.
    fn resize(&mut self) -> Result<bool, DescentError> {
        let (Some(contact), Some(system)) = (self.f.objective.contact(), &self.system) else {
            return Ok(false);
        };
        let schwarz = DeviceSchwarz { contacts: contact.blocks(), ..self.schwarz };
        if schwarz.contacts <= self.schwarz.contacts {
            return Ok(false);
        }
        let nodes = system.matrix.pattern().rows();
        let blocks = DeviceContacts::new(&self.backend, nodes, 3, schwarz.contacts)?;
        let inverse = schwarz.build(system.system(), &self.backend).map_err(DescentError::linearize)?;
        (self.schwarz, self.f.inverse, self.f.hessian.contact) = (schwarz, inverse, Some(blocks));
        Ok(true)
    }

    /// Whether the state on the device is that of a frame.
    pub fn has(&self, frame: usize) -> bool {
        self.frame == Some(frame)
    }

    /// Begins with the state of a frame, which is uploaded unless the device has it.
    pub fn start(&mut self, frame: usize, x: &[f64], v: &[f64]) -> Result<(), DescentError> {
        self.work = None;
        if self.frame.take() != Some(frame) {
            let [positions, velocities] = self.f.objective.state();
            self.backend.write(x, positions)?;
            self.backend.write(v, velocities)?;
        }
        Ok(())
    }

    /// Writes the numbers of an energy again.
    pub fn write(&mut self, energy: usize, kernel: &ElementKernel) -> Result<(), DescentError> {
        Ok(self.f.objective.energies()[energy].write(&kernel.held, &kernel.data)?)
    }

    /// Computes the positions after a step, until the gradient is as small as `stop` says. The descent begins as that of
    /// `ContactStepper::predict`; `bound` is the part of h v that the host allows. Where a list of contact was too small, the step
    /// is computed again.
    pub fn step(
        &mut self,
        acceleration: [f64; 3],
        bound: f64,
        stop: Stop<f64>,
    ) -> Result<DescentReport<f64>, DescentError> {
        self.descent.stop = stop;
        loop {
            let report = self.descend(acceleration, bound);
            if !self.grow()? {
                return report;
            }
        }
    }

    fn descend(&mut self, acceleration: [f64; 3], bound: f64) -> Result<DescentReport<f64>, DescentError> {
        let Self { f, newton, descent, next, .. } = self;
        f.objective.begin(acceleration);
        let bound = f.objective.max_start(next).map_or(bound, |own| least(bound, own.read()));
        f.objective.predict(0.0, next);
        let before = bound.is_finite().then(|| f.objective.value(next).value);
        f.objective.predict(bound.clamp(0.0, 1.0), next);
        if let Some(before) = before {
            let [before, after] = DeviceVector::wait_for([&before, &f.objective.value(next).value]);
            let descends = after <= before; // not where one is NaN
            if !descends {
                f.objective.predict(0.0, next);
            }
        }
        newton.forget();
        descent.minimize(f, newton, next)
    }

    /// Reads the positions after the last step.
    pub fn positions(&self, x: &mut [f64]) -> Result<(), DescentError> {
        Ok(self.backend.read(&self.next, x)?)
    }

    /// Reads the velocities after the last step that has ended.
    pub fn velocities(&mut self, v: &mut [f64]) -> Result<(), DescentError> {
        let [_, velocities] = self.f.objective.state();
        Ok(self.backend.read(velocities, v)?)
    }

    /// Reads the work of friction in the steps of a frame, J.
    pub fn work(&mut self) -> f64 {
        self.work.take().map_or(0.0, |work| work.read())
    }

    /// Adds the work of friction in the last step; before its [`end`](Self::end).
    pub fn add_work(&mut self) {
        let Self { f, next, friction, work, .. } = self;
        let own = f.objective.friction_work(next, friction);
        *work = match (work.take(), own) {
            (Some(sum), Some(own)) => Some(sum + own),
            (sum, own) => sum.or(own),
        };
    }

    /// Ends the last step, with a frame if it is one.
    pub fn end(&mut self, frame: Option<usize>) {
        self.f.objective.end(&self.next);
        self.frame = frame;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bound that is not known allows no displacement.
    #[test]
    fn unknown_bounds_are_zero() {
        assert_eq!([least(f64::INFINITY, f64::NAN), least(0.5, f64::NAN)], [0.0; 2]);
        assert_eq!([least(f64::INFINITY, 0.25), least(0.25, f64::INFINITY)], [0.25; 2]);
    }
}
