//! The state of a running descent: counters and stopping tests.

use std::ops::ControlFlow;

use coarsen_core::{Dot, Objective, Real, Scalar, Stop, Vector};

use crate::refresh::Pace;
use crate::{
    Criterion, DescentError, DescentMonitor, DescentOutcome, DescentReport, Direction, Iterate, Norm,
    Proposal, Refresh, Refusal, Start, Step, Verdict,
};

/// The smallest number of steps without progress that counts as stagnation.
const PATIENCE: usize = 20;

/// Stagnation also requires that the last 1/`SHARE` of all steps made no progress, since a method that takes
/// thousands of steps progresses slowly.
const SHARE: usize = 8;

/// If f no longer falls, ‖∇f‖ must fall to this fraction to count as progress.
const PROGRESS: f64 = 0.9;

/// The maximal number of failures at one x. In a chain each direction fails at most twice, and the chain
/// starts again after a refresh. So the limit allows all attempts of a chain of eight directions. It also
/// stops a direction that always falls back.
const RECOVERIES: usize = 32;

/// The largest factor between the predicted first step and the step with the same first-order decrease as the
/// last step.
const SCALE: f64 = 10.0;

/// The requested criteria.
pub(crate) struct Criteria<T> {
    pub(crate) stop: Stop<T>,
    pub(crate) decrease: T,
    pub(crate) step: T,
    pub(crate) least: usize,
}

/// A descent direction: the start of its line search, and ‖d‖₂.
pub(crate) struct Aim<T> {
    pub(crate) start: Start<T>,
    length: T,
}

/// The last step.
struct Last<T> {
    alpha: T,
    slope: T,
    fall: T,
}

/// The state of a descent except for its vectors.
pub(crate) struct DescentState<T> {
    pub(crate) evaluations: [usize; 2],
    iterations: usize,
    fallbacks: usize,
    refreshes: usize,
    initial: [T; 2],
    value: T,
    round_off: T,
    norm: T,
    threshold: T,
    last: Option<Last<T>>,
    met: Option<Criterion>,
    pace: Pace,
    /// ‖∇f‖ at the last progress.
    mark: T,
    /// The number of steps since the last progress.
    idle: usize,
    /// One plus the number of the last iterate passed to the monitor.
    shown: usize,
    /// The number of failures at this iterate.
    failures: usize,
    /// Whether the bound on steps may be a number that the host does not know yet.
    bound_is_remote: bool,
}

impl<T: Real> DescentState<T> {
    /// Evaluates f and ∇f at the start.
    pub(crate) fn begin<V, F>(f: &mut F, x: &V, g: &mut V, norm: &mut Norm<V>, criteria: &Criteria<T>) -> Self
    where
        V: Vector<Real = T>,
        F: Objective<V> + ?Sized,
    {
        let value = f.value(x);
        f.gradient(x, g);
        let [value, magnitude, square] = V::wait_for([&value.value, &value.magnitude, &norm.square(g)]);
        let (round_off, norm) = (T::EPSILON * magnitude, square.sqrt());
        Self {
            evaluations: [1, 1],
            iterations: 0,
            fallbacks: 0,
            refreshes: 0,
            initial: [value, norm],
            value,
            round_off,
            norm,
            threshold: criteria.stop.threshold(norm),
            last: None,
            met: None,
            pace: Pace::default(),
            mark: norm,
            idle: 0,
            shown: 0,
            failures: 0,
            bound_is_remote: true,
        }
    }

    /// Calls the monitor once per x, and returns whether the descent ends here.
    pub(crate) fn judge<V: Vector<Real = T>>(
        &mut self,
        criteria: &Criteria<T>,
        x: &V,
        g: &V,
        monitor: &mut DescentMonitor<'_, V>,
    ) -> Option<DescentOutcome> {
        if self.shown > self.iterations {
            return None;
        }
        self.shown = self.iterations + 1;
        if !(self.value.is_finite() && self.norm.is_finite()) {
            return Some(DescentOutcome::NotFinite);
        }
        let (number, value, round_off, gradient, evaluations) =
            (self.iterations, self.value, self.round_off, self.norm, self.evaluations);
        let alpha = self.last.as_ref().map_or(T::zero(), |last| last.alpha);
        let flow = monitor(&Iterate { number, value, round_off, gradient, alpha, evaluations, x, g });
        let asked = criteria.least.min(criteria.stop.max_iterations);
        if self.is_within() && (self.iterations >= asked || self.norm == T::zero()) {
            return Some(DescentOutcome::Converged(Criterion::Gradient));
        }
        match flow {
            ControlFlow::Break(Verdict::Converged) => {
                return Some(DescentOutcome::Converged(Criterion::Monitor));
            }
            ControlFlow::Break(Verdict::Stop) => return Some(DescentOutcome::Stopped),
            ControlFlow::Continue(()) => {}
        }
        match self.met {
            Some(criterion) => Some(DescentOutcome::Converged(criterion)),
            None if self.idle >= PATIENCE.max(self.iterations / SHARE) => Some(DescentOutcome::Stagnated),
            None if self.iterations >= criteria.stop.max_iterations => Some(DescentOutcome::IterationLimit),
            None => None,
        }
    }

    /// Whether ‖∇f‖ is within the tolerance.
    pub(crate) fn is_within(&self) -> bool {
        self.norm <= self.threshold
    }

    /// Rebuilds the preconditioner if the policy requires it.
    pub(crate) fn refresh_if_due<V, F, D>(
        &mut self,
        policy: Refresh,
        f: &mut F,
        direction: &mut D,
        x: &V,
    ) -> Result<(), DescentError>
    where
        V: Vector<Real = T>,
        F: ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        if self.pace.due(policy, self.iterations, self.norm) && direction.refresh(f, x)? {
            self.refreshes += 1;
        }
        Ok(())
    }

    /// Computes a descent direction from x. Returns the reason if none is available.
    pub(crate) fn aim<V, F, D>(
        &mut self,
        f: &mut F,
        direction: &mut D,
        x: &V,
        g: &V,
        d: &mut V,
    ) -> Result<Result<Aim<T>, Refusal>, DescentError>
    where
        V: Vector<Real = T>,
        F: Objective<V> + ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        let proposal = direction.propose(f, x, g, d)?;
        if let Proposal::Refused(refusal) = proposal {
            return Ok(Err(refusal));
        }
        let (gd, dd, xx) = (g.dot_magnitude(d), d.dot(d), x.dot(x));
        // A bound that a device computes is asked for before the slope is known, which saves a synchronisation;
        // a bound that the host computes, only where the direction descends.
        let early = (self.bound_is_remote && gd.value.known().is_none()).then(|| f.max_step(x, d));
        self.bound_is_remote = early.as_ref().is_some_and(|bound| bound.known().is_none());
        let bound = early.as_ref().unwrap_or(&dd);
        let [slope, magnitude, dd, xx, bound] = V::wait_for([&gd.value, &gd.magnitude, &dd, &xx, bound]);
        if !(slope.is_finite() && dd.is_finite()) {
            return Ok(Err(Refusal::NotFinite));
        }
        let noise = T::from_f64(Dot::<T>::ROUNDINGS) * T::EPSILON * magnitude;
        if slope >= -noise {
            let slope = slope.as_f64();
            let ascent = slope > noise.as_f64();
            return Ok(Err(if ascent { Refusal::Ascent { slope } } else { Refusal::RoundOff { slope } }));
        }
        let first = match proposal {
            Proposal::Scaled(first) if !(first.is_finite() && first > T::zero()) => {
                return Ok(Err(Refusal::NotFinite));
            }
            Proposal::Scaled(first) => self.predict(slope).unwrap_or(first),
            _ => T::one(),
        };
        let (value, round_off, length) = (self.value, self.round_off, dd.sqrt());
        let least = T::EPSILON * xx.sqrt() / length;
        let most = if early.is_some() {
            bound
        } else {
            let bound = f.max_step(x, d);
            self.bound_is_remote = bound.known().is_none();
            bound.read()
        };
        Ok(Ok(Aim { start: Start { value, round_off, slope, first, least, most }, length }))
    }

    /// Predicts the first step along a direction of arbitrary length: Nocedal & Wright 2006, §3.5.
    fn predict(&self, slope: T) -> Option<T> {
        let last = self.last.as_ref()?;
        let same = last.alpha * last.slope / slope; // equal first-order decrease
        let parabola = T::from_f64(2.0) * last.fall / slope; // (3.60)
        let scale = T::from_f64(SCALE);
        let guess = if parabola > T::zero() { parabola.max(same / scale).min(same * scale) } else { same };
        (guess.is_finite() && guess > T::zero()).then_some(guess)
    }

    /// Requests a safer direction or a new preconditioner after a failure at x. Returns whether one is
    /// available.
    pub(crate) fn recover<V, F, D>(
        &mut self,
        f: &mut F,
        direction: &mut D,
        x: &V,
    ) -> Result<bool, DescentError>
    where
        V: Vector<Real = T>,
        F: ?Sized,
        D: Direction<V, F> + ?Sized,
    {
        self.failures += 1;
        if self.failures > RECOVERIES {
            return Ok(false);
        }
        let fallbacks = direction.fall_back();
        self.fallbacks += usize::from(fallbacks);
        if fallbacks || !self.pace.stale(self.iterations) || !direction.refresh(f, x)? {
            return Ok(fallbacks);
        }
        self.pace.renewed(self.iterations, self.norm);
        self.refreshes += 1;
        Ok(true)
    }

    /// Counts a step to a point with gradient norm `norm`; `round_off` is the round-off of the energy there, if known.
    pub(crate) fn advance(
        &mut self,
        criteria: &Criteria<T>,
        aim: &Aim<T>,
        (step, norm, round_off): (Step<T>, T, Option<T>),
    ) {
        let fall = step.value - self.value;
        self.met = if -fall <= criteria.decrease * self.value.abs() && criteria.decrease > T::zero() {
            Some(Criterion::Decrease)
        } else if step.alpha * aim.length <= criteria.step && criteria.step > T::zero() {
            Some(Criterion::Step)
        } else {
            None
        };
        (self.idle, self.failures) = (self.idle + 1, 0);
        if -fall > T::from_f64(4.0) * self.round_off || norm < T::from_f64(PROGRESS) * self.mark {
            (self.mark, self.idle) = (norm, 0);
        }
        self.last = Some(Last { alpha: step.alpha, slope: aim.start.slope, fall });
        (self.value, self.norm) = (step.value, norm);
        self.round_off = round_off.unwrap_or(self.round_off);
        self.iterations += 1;
    }

    pub(crate) fn report(&self, outcome: DescentOutcome, inner: usize) -> DescentReport<T> {
        let [initial_value, initial_gradient] = self.initial;
        DescentReport {
            outcome,
            iterations: self.iterations,
            inner,
            values: self.evaluations[0],
            gradients: self.evaluations[1],
            fallbacks: self.fallbacks,
            refreshes: self.refreshes,
            initial_value,
            value: self.value,
            initial_gradient,
            gradient: self.norm,
            tolerance: self.threshold,
        }
    }
}
