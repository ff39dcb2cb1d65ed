//! Who decides that a solve ends, and how.
//!
//! A method runs its recurrence between two true residuals (conjugate gradients may ask for more of them in between, [`Watch::replace`]):
//!
//! ```text
//! while watch.goes_on(x, r)? {         r = b − A x; its norm decides: report, or run (again) from here
//!     ... loop {
//!         ... if watch.step() {        counts an iteration; time for a look?
//!             wait for the numbers of this look, all at once
//!             if watch.look(..).is_break() { break; }
//!         }
//!     }
//! }
//! watch.report(x)
//! ```
//!
//! A look never ends a solve: it only stops the recurrence. The true residual is then recomputed, and
//!
//! - within the tolerance: `Converged`, whatever stopped the recurrence;
//! - the recurrence claimed convergence, but the truth disagrees: the method restarts from the true residual, unless the
//!   last run did not even halve it: `Stagnated`;
//! - a breakdown: restart if the run made progress, else `Breakdown` (`Stagnated` from the second run on);
//! - anything else is the outcome.
//!
//! `safe` holds the last iterate known to be finite whose residual had halved: a few dozen copies a solve, and no NaN is
//! ever handed back.

use std::ops::ControlFlow;

use coarsen_core::{
    Dot, Error, Iteration, LinearOperator, Monitor, Outcome, Real, Report, RitzValues, Stop, Vector,
};
use num_traits::{Float, one, zero};

use crate::start::round_off;

/// Times as large as the recurrence has it, a true residual is not conjugate to the direction any more, and steps along it are no line search.
const ASTRAY: f64 = 1.5;

/// The judge of one solve.
pub(crate) struct Watch<'a, V: Vector> {
    stop: Stop<V::Real>,
    a: &'a dyn LinearOperator<V>,
    b: &'a V,
    monitor: &'a mut dyn Monitor<V>,
    /// The iterate to return if the current one is no good.
    safe: &'a mut V,
    /// Its ‖r‖.
    saved: V::Real,
    /// Whether the smallest residual wins when the budget is spent; methods that minimise another norm return their last
    /// iterate.
    smallest: bool,
    /// ‖b‖, or 1 where b = 0.
    scale: V::Real,
    /// ‖r‖ that ends the solve.
    threshold: V::Real,
    /// ‖b − A x₀‖
    initial: V::Real,
    /// ‖b − A x‖ at the last restart, and of the returned x in the end.
    truth: V::Real,
    /// The same, or that of the last replacement: what the recurrence runs from.
    known: V::Real,
    replaced: bool,
    iterations: usize,
    runs: usize,
    /// Why the recurrence stopped; `Converged` is its claim. `None`: it only finished a cycle.
    verdict: Option<Outcome>,
}

impl<'a, V: Vector> Watch<'a, V> {
    /// A judge for A x = b; `safe` is a vector to keep iterates in.
    pub(crate) fn new(
        stop: Stop<V::Real>,
        a: &'a dyn LinearOperator<V>,
        b: &'a V,
        safe: &'a mut V,
        monitor: &'a mut dyn Monitor<V>,
    ) -> Self {
        let infinite = V::Real::infinity();
        Self {
            stop,
            a,
            b,
            monitor,
            safe,
            saved: infinite,
            smallest: false,
            scale: one(),
            threshold: zero(),
            initial: infinite,
            truth: infinite,
            known: infinite,
            replaced: false,
            iterations: 0,
            runs: 0,
            verdict: None,
        }
    }

    /// Out of budget, returns the iterate of the smallest residual instead of the last one.
    pub(crate) fn smallest_residual(self) -> Self {
        Self { smallest: true, ..self }
    }

    /// Sets r = b − A x and says whether to run from there; `false` once the report is ready.
    ///
    /// # Errors
    /// [`Error::Parameter`] when b is not zero, but ‖b‖² underflows.
    pub(crate) fn goes_on(&mut self, x: &mut V, r: &mut V) -> Result<bool, Error> {
        let norm = if self.runs == 0 { self.open(x, r)? } else { measure(self.a, self.b, x, r) };
        let enough = match self.verdict {
            Some(Outcome::Converged) => V::Real::of(0.5),
            _ => one::<V::Real>() - V::Real::EPSILON.sqrt(),
        };
        let progress = norm <= enough * self.truth;
        let outcome = match self.verdict {
            _ if !norm.is_finite() => Some(Outcome::NotFinite),
            _ if norm <= self.threshold => Some(Outcome::Converged),
            Some(end) if end != Outcome::Converged && end != Outcome::Breakdown => Some(end),
            Some(Outcome::Breakdown) if !progress && self.runs == 1 => Some(Outcome::Breakdown),
            _ if !progress => Some(Outcome::Stagnated),
            _ if self.iterations >= self.stop.max_iterations => Some(Outcome::IterationLimit),
            _ => None,
        };
        (self.truth, self.known, self.verdict) = (norm, norm, outcome);
        let Some(end) = outcome else {
            self.runs += 1;
            self.keep(x, norm);
            return Ok(true);
        };
        if self.runs > 0 {
            self.choose(end, x, r);
        }
        Ok(false)
    }

    /// Counts an iteration; whether its numbers are to be looked at.
    pub(crate) fn step(&mut self) -> bool {
        self.iterations += 1;
        self.iterations.is_multiple_of(self.stop.look_every) || self.iterations >= self.stop.max_iterations
    }

    /// Judges the numbers of a look: r·r of the recurrence, and inner products that must be positive, each with the
    /// outcome that a negative one means. `Break` ends the run.
    pub(crate) fn look(
        &mut self,
        rr: V::Real,
        positive: &[(Outcome, Dot<V::Real>)],
        x: Option<&V>,
    ) -> ControlFlow<()> {
        self.look_at(rr, positive, x, None)
    }

    /// The same, with what has been learned of the eigenvalues of M⁻¹A.
    pub(crate) fn look_at(
        &mut self,
        rr: V::Real,
        positive: &[(Outcome, Dot<V::Real>)],
        x: Option<&V>,
        ritz_values: Option<&dyn RitzValues>,
    ) -> ControlFlow<()> {
        self.verdict = self.judge(rr.sqrt(), positive, x, ritz_values);
        if self.verdict.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn judge(
        &mut self,
        residual: V::Real,
        positive: &[(Outcome, Dot<V::Real>)],
        x: Option<&V>,
        ritz_values: Option<&dyn RitzValues>,
    ) -> Option<Outcome> {
        if !residual.is_finite() || positive.iter().any(|(_, dot)| !dot.value.is_finite()) {
            return Some(Outcome::NotFinite);
        }
        let stopped = self.observe(residual, x, ritz_values).is_break();
        // Below EPSILON of what it runs from, the recurrence says nothing about the truth any more.
        if residual <= self.threshold.max(V::Real::EPSILON * self.known) {
            return Some(Outcome::Converged);
        }
        for (negative, dot) in positive {
            let floor = dot.floor(&round_off());
            if dot.value <= floor {
                return Some(if dot.value < -floor { *negative } else { Outcome::Breakdown });
            }
        }
        if stopped {
            return Some(Outcome::Stopped);
        }
        if self.iterations >= self.stop.max_iterations {
            return Some(Outcome::IterationLimit);
        }
        if let Some(x) = x {
            self.keep(x, residual);
        }
        None
    }

    /// Whether a residual of the recurrence has fallen to this share of the last true one.
    pub(crate) fn has_fallen(&self, residual: V::Real, share: V::Real) -> bool {
        residual <= share * self.known
    }

    /// r = b − A x in the middle of a run, where the recurrence has `residual`: whether that was far astray, so that no direction can be kept. `Break`
    /// where the truth has not halved since it was known.
    pub(crate) fn replace(&mut self, residual: V::Real, x: &V, r: &mut V) -> ControlFlow<(), bool> {
        let norm = measure(self.a, self.b, x, r);
        self.replaced = true;
        if norm <= self.known / V::Real::of(2.0) {
            self.known = norm;
            return ControlFlow::Continue(norm > V::Real::of(ASTRAY) * residual);
        }
        self.verdict = Some(Outcome::Converged); // a claim, which the truth refutes
        ControlFlow::Break(())
    }

    /// Ends the run for a reason of the method's own; the method leaves its loop.
    pub(crate) fn end(&mut self, verdict: Outcome) {
        self.verdict = Some(verdict);
    }

    /// ‖b − A x‖ at the start of this run.
    pub(crate) fn residual(&self) -> V::Real {
        self.truth
    }

    /// Whether this is the first run, whose Lanczos process starts at x₀, with the residual that it began with.
    pub(crate) fn first_run(&self) -> bool {
        self.runs == 1 && !self.replaced
    }

    /// The report, once [`goes_on`](Self::goes_on) said no.
    pub(crate) fn report(&self, x: &V, condition: Option<V::Real>) -> Result<Report<V::Real>, Error> {
        x.sync()?;
        Ok(Report {
            outcome: self.verdict.unwrap_or(Outcome::IterationLimit),
            iterations: self.iterations,
            initial_residual: self.initial / self.scale,
            true_residual: self.truth / self.scale,
            tolerance: self.threshold / self.scale,
            condition,
        })
    }

    /// The first true residual: also measures b, and answers b = 0 with x = 0.
    fn open(&mut self, x: &mut V, r: &mut V) -> Result<V::Real, Error> {
        self.a.residual(self.b, x, r);
        let (bb, [rr, rx]) = (self.b.dot(self.b), r.dots([r, x]));
        let [bb, rr, rx] = V::wait_for([&bb, &rr, &rx]);
        let mut norm = finite(rr, rx);
        self.initial = norm;
        self.threshold = self.stop.threshold(bb.sqrt());
        if bb == zero() {
            self.refuse_underflow()?;
            x.fill(zero());
            norm = measure(self.a, self.b, x, r);
        } else if bb.is_finite() {
            self.scale = bb.sqrt();
        } else {
            norm = V::Real::nan();
        }
        if norm.is_finite() && self.observe(norm, Some(x), None).is_break() {
            self.verdict = Some(Outcome::Stopped);
        }
        Ok(norm)
    }

    /// b·b = 0 means b = 0 only if b, scaled up, still has no length. An absolute tolerance above the limit of the
    /// squares answers either way.
    fn refuse_underflow(&mut self) -> Result<(), Error> {
        let least = V::Real::min_positive_value().sqrt();
        if self.stop.absolute < least {
            self.safe.scaled(&self.b.scalar(least.recip()), self.b);
            let value = (self.safe.norm() * least).wide();
            if value > 0.0 {
                let range = "0, or large enough for its square; scale the system, or set Stop::absolute";
                return Err(Error::Parameter { name: "the norm of b", value, range });
            }
        }
        Ok(())
    }

    /// Goes back to the safe iterate where the last one is no good.
    fn choose(&mut self, end: Outcome, x: &mut V, r: &mut V) {
        let doubt = match end {
            Outcome::Converged => false,
            Outcome::NotFinite => true,
            Outcome::IterationLimit | Outcome::Stopped => self.smallest && self.truth > self.saved,
            _ => self.truth > self.saved,
        };
        if doubt {
            let safe = measure(self.a, self.b, self.safe, r);
            if end == Outcome::NotFinite || safe < self.truth {
                x.copy(self.safe);
                self.truth = safe;
            }
        }
    }

    fn observe(
        &mut self,
        residual: V::Real,
        x: Option<&V>,
        ritz_values: Option<&dyn RitzValues>,
    ) -> ControlFlow<()> {
        let relative = residual / self.scale;
        self.monitor.observe(&Iteration { number: self.iterations, residual, relative, x, ritz_values })
    }

    fn keep(&mut self, x: &V, residual: V::Real) {
        if residual <= self.saved / V::Real::of(2.0) {
            self.safe.copy(x);
            self.saved = residual;
        }
    }
}

/// r = b − A x and its norm; NaN if x or r is not finite.
fn measure<V: Vector>(a: &dyn LinearOperator<V>, b: &V, x: &V, r: &mut V) -> V::Real {
    a.residual(b, x, r);
    let [rr, rx] = r.dots([r, x]);
    let [rr, rx] = V::wait_for([&rr, &rx]);
    finite(rr, rx)
}

/// ‖r‖ from r·r, or NaN where r·x, which touches every entry of x, is not finite.
fn finite<T: Real>(rr: T, rx: T) -> T {
    if rx.is_finite() { rr.sqrt() } else { T::nan() }
}
