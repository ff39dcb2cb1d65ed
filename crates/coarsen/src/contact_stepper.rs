//! Time steps with contact.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² a    (1)
//!
//! from x_n + h v_n or as far on this way as contact allows, and then v_{n+1} = (x_{n+1} − x_n) / h.

use coarsen_contact::{ClothContact, ContactError, Pair};
use coarsen_core::{Error, Objective, Stop};
use coarsen_elastic::{BodyError, ImplicitEuler, Potential};
use coarsen_optimize::{
    Descent, DescentError, DescentOutcome, DescentReport, Direction, LineSearch, MoreThuente, Norm, Refresh,
    node_weights,
};

/// Steps of bodies and cloth whose surfaces do not cross.
///
/// A step takes the minimum of (1), or where its descent ends before; [`DescentReport::outcome`] tells. The potential E
/// contains a [`ClothContact`], which bounds the start of the descent and each step of it, so no pair of triangles crosses in
/// any iterate, whether the descent converges or not. The start is x_n where f is lower there than at the end of its way.
/// If the limit on iterations ends a descent whose last step a pair has cut below half of its direction, it begins again,
/// [`restarts`](Self::restarts) times at most, since the pair holds back everything else.
///
/// A step that fails leaves x and v as they were. *Use* [`predict`](Self::predict) and [`minimize`](Self::minimize) in place of
/// [`step`](Self::step) where something happens between them, such as held nodes that move. *Cost* of a step: two values and a
/// bound in addition to the descent. *Reference* Li et al. 2020, "Incremental potential contact", ACM TOG 39(4), §3;
/// Xian, Tong & Liu 2019, Alg. 4, for the tolerance.
///
/// ```
/// use coarsen::contact::ClothContact;
/// use coarsen::elastic::ImplicitEuler;
/// use coarsen::follow::{Follower, NewtonAt};
/// use coarsen::{ContactStepper, Identity, prelude::*};
/// // A triangle falls on a larger one, which is held.
/// let x = [[-5.0, 0.0, -5.0], [0.0, 0.0, 9.0], [9.0, 0.0, -5.0], [0.1, 0.1, 0.0], [0.2, 0.1, 0.5], [0.6, 0.1, 0.1]];
/// let held = [true, true, true, false, false, false];
/// let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, 0.02, 1e3)?;
/// let f = ImplicitEuler::new(contact, &[0.1; 3], 0.01)?;
/// let newton = NewtonAt::new(Newton::inexact(), Follower::constant(Box::new(Identity)), &Cpu::new(), 9)?;
/// let mut stepper = ContactStepper::new(f, &[0.1; 3], 1e-3, newton, |contact| Some(contact))?;
/// let (mut x, mut v) = (x.as_flattened()[9..].to_vec(), vec![0.0; 9]);
/// for _ in 0..40 {
///     stepper.step(&mut x, &mut v, [0.0, -9.81, 0.0])?;
/// }
/// assert!(x.iter().skip(1).step_by(3).all(|y| *y > 0.002 && *y < 0.02)); // it lies within the thickness
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ContactStepper<P, D> {
    /// The objective (1), with the potential E.
    pub f: ImplicitEuler<P>,
    /// The directions of the descent. What they keep about (1) is dropped before each step.
    pub direction: D,
    /// The descent: by default a line search of Moré and Thuente, and a preconditioner that is updated once in a step.
    pub descent: Descent<Vec<f64>, Box<dyn LineSearch<f64>>>,
    /// How often a descent that contact cuts short begins again; 0 by default.
    pub restarts: usize,
    contact: fn(&mut P) -> Option<&mut ClothContact>,
}

/// A step that is not possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepFault {
    /// NaN or infinity.
    #[error("no finite energy ({}); take a smaller time step", DescentOutcome::NotFinite.advice())]
    NotFinite,
    /// Contacts that cannot be detected.
    #[error("contact cannot be resolved: {0}")]
    Contact(#[from] ContactError),
    /// Forces that press a pair together which is at its smallest distance.
    #[error("{0} block every step; take a smaller time step or a larger thickness of contact")]
    Blocked(Pair),
    /// A linear system that cannot be assembled or preconditioned.
    #[error(transparent)]
    Descent(#[from] DescentError),
    /// A potential that cannot be renewed.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// Standard gravity in m/s², the unit of the tolerance, also in scenes without gravity.
const GRAVITY: f64 = 9.81;

/// A step is blocked if it does not converge and contact leaves less than this share of the last direction.
const BLOCKED: f64 = 1e-6;

/// A descent begins again if contact bounds its last step to less than this share of the direction.
const CUT: f64 = 0.5;

impl<P: Potential, D: Direction<Vec<f64>, ImplicitEuler<P>>> ContactStepper<P, D> {
    /// Returns the steps of an objective for free nodes with these `masses` in kg. A descent ends when the mean residual force
    /// of the nodes, in units of their characteristic forces, is the share `tolerance` of that of their weight. `contact` finds
    /// the contact in the potential; `None` for a scene without.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a node whose characteristic force is not positive and finite.
    pub fn new(
        f: ImplicitEuler<P>,
        masses: &[f64],
        tolerance: f64,
        direction: D,
        contact: fn(&mut P) -> Option<&mut ClothContact>,
    ) -> Result<Self, Error> {
        let mut norm = Norm::weighted(node_weights(&f.characteristic(), 3)?)?;
        let weight: Vec<f64> = masses.iter().flat_map(|m| [0.0, GRAVITY * m, 0.0]).collect();
        let stop = Stop::absolute(tolerance * norm.of(&weight));
        let search: Box<dyn LineSearch<f64>> = Box::new(MoreThuente::default());
        let mut descent = Descent::new(search, stop);
        (descent.norm, descent.refresh) = (norm, Refresh::AtStart);
        Ok(Self { f, direction, descent, restarts: 0, contact })
    }

    /// Computes a step with the same acceleration a for all nodes. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`StepFault`]; x and v are then those before the step.
    pub fn step(
        &mut self,
        x: &mut Vec<f64>,
        v: &mut [f64],
        acceleration: [f64; 3],
    ) -> Result<DescentReport<f64>, StepFault> {
        self.f.begin(x, v, acceleration)?;
        let mut next = self.predict(x, v)?;
        let report = self.minimize(&mut next)?;
        let h = self.f.step();
        for ((v, x), next) in v.iter_mut().zip(&*x).zip(&next) {
            *v = (next - x) / h; // v_{n+1}
        }
        *x = next;
        Ok(report)
    }

    /// Where the descent of a step that has [begun](ImplicitEuler::begin) starts: at x + h v or as far on this way as the
    /// potential allows, or at x where f is lower there. *Panics* on wrong lengths.
    ///
    /// # Errors
    /// [`StepFault::NotFinite`] and [`StepFault::Contact`].
    pub fn predict(&mut self, x: &Vec<f64>, v: &[f64]) -> Result<Vec<f64>, StepFault> {
        let forward: Vec<f64> = v.iter().map(|v| self.f.step() * v).collect();
        let bound = self.f.max_step(x, &forward);
        let fault = self.take_fault(); // only a fault during the descent counts after this
        if bound.is_nan() {
            return Err(fault.map_or(StepFault::NotFinite, StepFault::Contact));
        }
        let share = bound.clamp(0.0, 1.0);
        let next: Vec<f64> = x.iter().zip(&forward).map(|(x, d)| x + share * d).collect();
        // What nothing bounds is far from contact.
        let rises = bound.is_finite() && self.f.value(&next) > self.f.value(x);
        Ok(if rises { x.clone() } else { next })
    }

    /// Minimises (1) from `next`, and returns the report of the last descent with the iterations of all.
    ///
    /// # Errors
    /// [`StepFault`]
    pub fn minimize(&mut self, next: &mut Vec<f64>) -> Result<DescentReport<f64>, StepFault> {
        self.direction.forget();
        let mut report = self.descent.minimize(&mut self.f, &mut self.direction, next, &mut ())?;
        self.check(report.outcome, next)?;
        for _ in 0..self.restarts {
            let cut = self.blocking().is_some_and(|(share, _)| share < CUT);
            if !cut || report.outcome != DescentOutcome::IterationLimit {
                break;
            }
            let last = self.descent.minimize(&mut self.f, &mut self.direction, next, &mut ())?;
            let (iterations, inner) = (report.iterations + last.iterations, report.inner + last.inner);
            report = DescentReport { iterations, inner, ..last };
            // The descent before has led to positions that the step may take, so what stops this one is no fault.
            let fault = self.take_fault();
            if !is_finite(report.outcome, next) {
                return Err(fault.map_or(StepFault::NotFinite, StepFault::Contact));
            }
        }
        Ok(report)
    }

    /// Whether a descent that ended so, at `next`, has led to positions that a step may take. *Use* after another minimiser than
    /// [`minimize`](Self::minimize).
    ///
    /// # Errors
    /// [`StepFault::NotFinite`], [`StepFault::Contact`] and [`StepFault::Blocked`].
    pub fn check(&mut self, outcome: DescentOutcome, next: &[f64]) -> Result<(), StepFault> {
        use DescentOutcome::{Converged, LineSearchFailed, NoDirection};
        let fault = self.take_fault();
        if !is_finite(outcome, next) {
            return Err(fault.map_or(StepFault::NotFinite, StepFault::Contact));
        }
        match self.blocking() {
            Some((share, pair)) if share < BLOCKED && !matches!(outcome, Converged(_)) => {
                return Err(StepFault::Blocked(pair));
            }
            _ => (),
        }
        let is_stuck = matches!(outcome, LineSearchFailed(_) | NoDirection(_));
        fault.filter(|_| is_stuck).map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Drops the error of the last detection that failed, and returns it.
    pub fn take_fault(&mut self) -> Option<ContactError> {
        (self.contact)(&mut self.f.potential)?.take_fault()
    }

    fn blocking(&mut self) -> Option<(f64, Pair)> {
        (self.contact)(&mut self.f.potential)?.blocking()
    }
}

fn is_finite(outcome: DescentOutcome, x: &[f64]) -> bool {
    outcome != DescentOutcome::NotFinite && x.iter().all(|x| x.is_finite())
}

#[cfg(test)]
mod tests {
    use coarsen_backend::Cpu;
    use coarsen_core::Identity;
    use coarsen_krylov::Cg;
    use coarsen_optimize::{Forcing, Newton, Proposal};

    use super::*;
    use crate::follow::{Follower, NewtonAt};

    const H: f64 = 0.01;
    const MASS: f64 = 0.1;
    const DOWN: [f64; 3] = [0.0, -9.81, 0.0];

    /// A triangle above a large one, which is held, for a thickness and the height of the triangle.
    fn pair<D>(
        thickness: f64,
        height: f64,
        direction: D,
    ) -> (ContactStepper<ClothContact, D>, Vec<f64>, Vec<f64>)
    where
        D: Direction<Vec<f64>, ImplicitEuler<ClothContact>>,
    {
        let x = [
            [-5.0, 0.0, -5.0],
            [0.0, 0.0, 9.0],
            [9.0, 0.0, -5.0],
            [0.1, height, 0.0],
            [0.2, 1.1 * height, 0.5],
            [0.6, 1.2 * height, 0.1],
        ];
        let held = [true, true, true, false, false, false];
        let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, thickness, 1e3).unwrap();
        let f = ImplicitEuler::new(contact, &[MASS; 3], H).unwrap();
        let stepper = ContactStepper::new(f, &[MASS; 3], 1e-3, direction, |contact| Some(contact)).unwrap();
        (stepper, x.as_flattened()[9..].to_vec(), vec![0.0; 9])
    }

    fn newton() -> NewtonAt<Cpu, Cg<Vec<f64>>> {
        let newton = Newton::with(Cg::new(Stop::relative(1e-3)), Forcing::AsGiven);
        NewtonAt::new(newton, Follower::constant(Box::new(Identity)), &Cpu::new(), 9).unwrap()
    }

    fn lowest(x: &[f64]) -> f64 {
        x.iter().skip(1).step_by(3).fold(f64::INFINITY, |a, b| a.min(*b))
    }

    /// A triangle falls on another one and comes to rest: it stays above a tenth of the thickness, its energy does not grow,
    /// and the steps converge.
    #[test]
    fn steps_neither_cross_nor_gain_energy() {
        let (mut stepper, mut x, mut v) = pair(0.02, 0.1, newton());
        let mut before = f64::INFINITY;
        for _ in 0..60 {
            stepper.step(&mut x, &mut v, DOWN).unwrap().converged().unwrap();
            let kinetic: f64 = v.iter().map(|v| 0.5 * MASS * v * v).sum();
            let height: f64 = x.iter().skip(1).step_by(3).map(|y| MASS * 9.81 * y).sum();
            let energy = kinetic + height + stepper.f.potential.energy(&x).value;
            assert!(energy < before + 1e-6 && lowest(&x) > 0.002, "{energy} after {before}");
            before = energy;
        }
        assert!(v.iter().all(|v| v.abs() < 1e-2) && lowest(&x) < 0.02, "{v:?}");
    }

    /// A fast step starts before the surface, and at x where the barrier makes that better.
    #[test]
    fn predictions_are_bounded() {
        let (mut stepper, x, mut v) = pair(0.02, 0.021, newton());
        v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -1e-3);
        stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
        let free: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + H * v).collect();
        assert_eq!(stepper.predict(&x, &v).unwrap(), free);
        v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -100.0);
        stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
        let bounded = stepper.predict(&x, &v).unwrap();
        assert!(lowest(&bounded) > 0.002 && bounded != x, "{bounded:?}");
        let (mut stepper, x, mut v) = pair(0.02, 0.01, newton());
        v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -1.0);
        stepper.f.begin(&x, &v, [0.0; 3]).unwrap();
        assert_eq!(stepper.predict(&x, &v).unwrap(), x);
    }

    /// Where contact cuts a step of one iteration, the descent begins again.
    #[test]
    fn descents_that_contact_cuts_begin_again() {
        let iterations = |restarts: usize| {
            let (mut stepper, mut x, mut v) = pair(0.02, 0.03, newton());
            v.iter_mut().skip(1).step_by(3).for_each(|v| *v = -3.0);
            (stepper.descent.stop.max_iterations, stepper.restarts) = (1, restarts);
            (0..4).map(|_| stepper.step(&mut x, &mut v, DOWN).unwrap().iterations).max()
        };
        assert_eq!(iterations(0), Some(1));
        assert!(iterations(10).is_some_and(|most| most > 1 && most <= 11));
    }

    /// A pair at its smallest distance that forces press together is named, and nothing has moved.
    #[test]
    fn pairs_that_block_are_named() {
        let (mut stepper, mut x, mut v) = pair(1e-9, 1e-3, newton());
        stepper.descent.stop.max_iterations = 12;
        let fault = (0..30).find_map(|_| {
            let before = (x.clone(), v.clone());
            let fault = stepper.step(&mut x, &mut v, [0.0, -1e6, 0.0]).err()?;
            assert!(before == (x.clone(), v.clone()));
            Some(fault)
        });
        assert!(matches!(fault, Some(StepFault::Blocked(_))), "{fault:?}");
    }

    /// A direction that is too long for the detection of contact.
    struct Far;

    impl<F: ?Sized> Direction<Vec<f64>, F> for Far {
        fn propose(
            &mut self,
            _: &mut F,
            _: &Vec<f64>,
            g: &Vec<f64>,
            d: &mut Vec<f64>,
        ) -> Result<Proposal<f64>, DescentError> {
            d.iter_mut().zip(g).for_each(|(d, g)| *d = -1e307 * g.signum());
            Ok(Proposal::Unit)
        }
    }

    /// Positions that are not finite, and a descent that is stuck because contact cannot be detected, give the fault of
    /// the detection; x and v stay.
    #[test]
    fn faults_of_detection_are_told() {
        let (mut stepper, mut x, mut v) = pair(0.02, 0.1, newton());
        v[4] = f64::NAN;
        let before = x.clone();
        let fault = stepper.step(&mut x, &mut v, DOWN).unwrap_err();
        assert!(matches!(fault, StepFault::Contact(_)) && x == before, "{fault}");
        let (mut stepper, mut x, mut v) = pair(0.02, 0.1, Far);
        let fault = stepper.step(&mut x, &mut v, DOWN).unwrap_err();
        assert!(matches!(fault, StepFault::Contact(_)) && x == before, "{fault}");
    }
}
