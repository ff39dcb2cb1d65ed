//! Time steps with contact.
//!
//! > minimise f(x) = ½ (x − y)ᵀ M (x − y) / h² + E(x),    y = x_n + h v_n + h² a    (1)
//!
//! from x_n + h v_n or as far along this displacement as contact allows, and then v_{n+1} = (x_{n+1} − x_n) / h.

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
/// any iterate, whether the descent converges or not. The start is x_n where something bounds this displacement and f is lower at x_n than at its end.
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
/// use coarsen::elastic::{ImplicitEuler, Plus, Spring, Springs};
/// use coarsen::descent::{CachedPreconditioner, BackendNewton};
/// use coarsen::{ContactStepper, Identity, prelude::*};
/// // A triangle of springs falls on a larger one, which is held.
/// let x = [[-5.0, 0.0, -5.0], [0.0, 0.0, 9.0], [9.0, 0.0, -5.0], [0.1, 0.1, 0.0], [0.2, 0.1, 0.5], [0.6, 0.1, 0.1]];
/// let held = [true, true, true, false, false, false];
/// let spring = |(a, b, length)| Spring { ends: [a, b], stiffness: 100.0, length };
/// let springs = [(3, 4, 0.51), (4, 5, 0.57), (5, 3, 0.51)].map(spring).to_vec();
/// let contact = ClothContact::new(&[[0, 1, 2], [3, 4, 5]], &held, &x, 0.02, 1e3)?;
/// let f = ImplicitEuler::new(Plus::new(Springs::new(springs, &held, &x)?, contact)?, &[0.1; 3], 0.01)?;
/// let newton = BackendNewton::new(Newton::inexact(), CachedPreconditioner::constant(Box::new(Identity)), &Cpu::new(), 9)?;
/// let mut stepper = ContactStepper::new(f, &[0.1; 3], 1e-3, newton, |sum| Some(&mut sum.second))?;
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
    #[error("{0}; take a smaller time step")]
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

    /// Computes a step with the same acceleration a for all nodes, in m/s². x and v have the positions in m and the velocities in
    /// m/s of the free nodes, three numbers for each. *Panics* on wrong lengths.
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

    /// Where the descent of a step that has [begun](ImplicitEuler::begin) starts: at x + h v or as far along h v as the
    /// potential allows, or at x where the potential bounds this displacement and f is lower at x. x and v as in [`step`](Self::step). *Panics* on
    /// wrong lengths.
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
        let rises = bound.is_finite() && self.f.value(&next).value > self.f.value(x).value;
        Ok(if rises { x.clone() } else { next })
    }

    /// Minimises (1) from the positions `next`, and returns the report of the last descent with the iterations of all.
    ///
    /// # Errors
    /// [`StepFault`]; `next` is then not to be used.
    pub fn minimize(&mut self, next: &mut Vec<f64>) -> Result<DescentReport<f64>, StepFault> {
        self.direction.forget();
        let mut report = self.descent.minimize(&mut self.f, &mut self.direction, next)?;
        self.check(report.outcome, next)?;
        for _ in 0..self.restarts {
            let cut = self.blocking().is_some_and(|(share, _)| share < CUT);
            if !cut || report.outcome != DescentOutcome::IterationLimit {
                break;
            }
            let last = self.descent.minimize(&mut self.f, &mut self.direction, next)?;
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
mod tests;
