//! Convergence tests, restarts, and the outcome of a solve.
//!
//! A method runs its recurrence between two recomputed residuals. Conjugate gradients may recompute the
//! residual more often, see [`ConvergenceTest::replace`].
//!
//! ```text
//! while test.goes_on(x, r)? {         r = b − A x; its norm decides: report, or run (again) from here
//!     ... loop {
//!         ... if test.step() {        counts an iteration; time for a look?
//!             wait for the numbers of this look, all at once
//!             if test.look(..).is_break() { break; }
//!         }
//!     }
//! }
//! test.report(x)
//! ```
//!
//! A convergence test ends only the recurrence, not the solve. The residual is then recomputed, and the solve
//! ends or continues:
//!
//! - The recomputed residual is within the tolerance: `Converged`, whatever stopped the recurrence.
//! - The recurrence had a residual r with A r nearly zero, and the recomputed residual is no smaller:
//!   `Inconsistent`, with the iterate of that r.
//! - The recurrence converged, but the recomputed residual is above the tolerance: the method restarts from
//!   this residual. If the last run did not halve the residual: `Stagnated`.
//! - The recurrence broke down: restart if the run made progress, otherwise `Breakdown` (`Stagnated` from the
//!   second run on).
//! - Any other reason is the outcome, or `Diverged` if the residual has grown too much.
//!
//! `safe` stores a finite iterate. It is replaced when the residual has halved, a few dozen times per solve.
//! So a returned x never contains NaN.

use std::ops::ControlFlow;

use coarsen_core::{
    Dot, Error, Iteration, LinearOperator, Monitor, Outcome, Real, Report, RitzValues, Stop, Vector,
};
use num_traits::{Float, one, zero};

use crate::residual::{length, measure};
use crate::scale::{self, Size};
use crate::settling::Settling;
use crate::start::{Spare, check_finite, round_off};

/// If the recomputed residual exceeds the residual of the recurrence by this factor, it is no longer
/// conjugate to the direction, and the direction is dropped.
const ASTRAY: f64 = 1.5;

/// The state of one solve.
pub(crate) struct ConvergenceTest<'a, V: Vector> {
    stop: Stop<V::Real>,
    a: &'a dyn LinearOperator<V>,
    b: &'a V,
    monitor: &'a mut dyn Monitor<V>,
    /// The iterate that is returned if the current iterate is not finite or has a larger residual.
    safe: &'a mut V,
    /// ‖r‖ of `safe`.
    saved: V::Real,
    /// b / power, used if power ≠ 1.
    spare: &'a mut Spare<V>,
    /// The number by which x and b are divided during the solve: 1, unless b·b overflows or underflows.
    power: f64,
    /// Whether the iterate of smallest residual is returned at the iteration limit; methods that minimise
    /// another norm return the last iterate.
    smallest: bool,
    /// ‖b‖, or 1 if b = 0. Like every norm here it is divided by `power`.
    scale: V::Real,
    /// The residual norm at which the recurrence has converged.
    threshold: V::Real,
    /// ‖b − A x₀‖
    initial: V::Real,
    /// ‖b − A x‖ at the last restart. At the end, the residual norm of the returned x.
    truth: V::Real,
    /// ‖b − A x‖ at the last restart or replacement. This is the first residual of the recurrence.
    known: V::Real,
    replaced: bool,
    /// ‖r‖ at the last convergence test.
    seen: V::Real,
    /// Whether `safe` must not change until the run ends.
    held: bool,
    iterations: usize,
    runs: usize,
    /// The test in the norm of the preconditioner.
    settling: Settling<V::Real>,
    /// Why the recurrence stopped; `Converged` must still be checked. `None`: a cycle is complete.
    verdict: Option<Outcome>,
}

impl<'a, V: Vector> ConvergenceTest<'a, V> {
    /// Starts a solve of A x = b. `safe` stores iterates, `spare` a scaled b.
    pub(crate) fn new(
        stop: Stop<V::Real>,
        a: &'a dyn LinearOperator<V>,
        b: &'a V,
        safe: &'a mut V,
        spare: &'a mut Spare<V>,
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
            spare,
            power: 1.0,
            smallest: false,
            scale: one(),
            threshold: zero(),
            initial: infinite,
            truth: infinite,
            known: infinite,
            replaced: false,
            seen: infinite,
            held: false,
            iterations: 0,
            runs: 0,
            settling: Settling::default(),
            verdict: None,
        }
    }

    /// Also ends the solve at this tolerance for √(rᵀM⁻¹r); an error if it is negative.
    pub(crate) fn also_in_preconditioner(&mut self, tolerance: Option<V::Real>) -> Result<(), Error> {
        self.settling = Settling::new(tolerance)?;
        Ok(())
    }

    /// Whether rᵀM⁻¹r is small enough, which ends the solve.
    pub(crate) fn settles(&mut self, rho: &V::Scalar) -> bool {
        let settled = self.settling.settles(rho);
        if settled {
            self.end(Outcome::Converged);
        }
        settled
    }

    /// At the iteration limit, returns the iterate of smallest residual instead of the last iterate.
    pub(crate) fn smallest_residual(self) -> Self {
        Self { smallest: true, ..self }
    }

    /// Sets r = b − A x, both divided by a power of two if b requires it. Returns whether the method must run
    /// (again) from this x; `false` means that the report is ready.
    ///
    /// # Errors
    /// As [`Vector::like`] if a scaled b cannot be allocated; [`Error::NotFinite`] for b and the guess.
    pub(crate) fn goes_on(&mut self, x: &mut V, r: &mut V) -> Result<bool, Error> {
        let norm = if self.runs == 0 { self.open(x, r)? } else { measure(self.a, self.load(), x, r) };
        let enough = match self.verdict {
            Some(Outcome::Converged) => V::Real::of(0.5),
            _ => one::<V::Real>() - V::Real::EPSILON.sqrt(),
        };
        let progress = norm <= enough * self.truth;
        let outcome = match self.verdict {
            _ if !norm.is_finite() => Some(Outcome::NotFinite),
            _ if norm <= self.threshold || self.settling.done => Some(Outcome::Converged),
            Some(end) if may_be_mended(end) && self.is_least(norm) => Some(Outcome::Inconsistent),
            Some(end) if !may_be_mended(end) => Some(end),
            Some(Outcome::Breakdown) if !progress && self.runs == 1 => Some(Outcome::Breakdown),
            _ if !progress => Some(Outcome::Stagnated),
            _ if self.iterations >= self.stop.max_iterations => Some(Outcome::IterationLimit),
            _ => None,
        };
        (self.truth, self.known, self.seen, self.verdict) = (norm, norm, norm, outcome);
        let Some(end) = outcome else {
            self.runs += 1;
            self.held = false;
            self.keep(x, norm);
            return Ok(true);
        };
        if self.runs > 0 {
            self.choose(end, x, r);
        }
        self.restore(x, r);
        Ok(false)
    }

    /// r = b − A x for the possibly scaled system, without a convergence test.
    pub(crate) fn recompute(&self, x: &V, r: &mut V) {
        self.a.residual(self.load(), x, r);
    }

    /// Stores x as a possible least-squares solution until the run ends. Only the first call of a run has an
    /// effect.
    pub(crate) fn hold(&mut self, x: &V) {
        if !self.held {
            self.held = true;
            self.safe.copy(x);
            self.saved = self.seen;
        }
    }

    /// Whether the stored iterate is a least-squares solution: the recomputed residual is not smaller than
    /// the stored residual, and the stored residual exceeds the round-off of b.
    fn is_least(&self, norm: V::Real) -> bool {
        let rest = V::Real::EPSILON.sqrt();
        self.held
            && norm > (one::<V::Real>() - V::Real::of(4.0) * rest) * self.saved
            && self.saved > rest * self.scale
    }

    /// Counts an iteration. Returns whether a convergence test is due.
    pub(crate) fn step(&mut self) -> bool {
        self.iterations += 1;
        self.iterations.is_multiple_of(self.stop.look_every) || self.iterations >= self.stop.max_iterations
    }

    /// A convergence test with r·r of the recurrence. `positive` lists inner products that must be positive,
    /// each with the outcome if it is negative. `Break` ends the run.
    pub(crate) fn look(
        &mut self,
        rr: V::Real,
        positive: &[(Outcome, Dot<V::Real>)],
        x: Option<&V>,
    ) -> ControlFlow<()> {
        self.look_at(rr, positive, x, None)
    }

    /// [`look`](Self::look) with Ritz values of M⁻¹A.
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
        // Below EPSILON times its first value, the recurrence no longer approximates the residual.
        if residual <= self.threshold.max(V::Real::EPSILON * self.known) {
            return Some(Outcome::Converged);
        }
        if residual > self.initial / V::Real::EPSILON {
            return Some(Outcome::Diverged);
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

    /// Whether the residual of the recurrence is at most `share` times the last recomputed residual.
    pub(crate) fn has_fallen(&self, residual: V::Real, share: V::Real) -> bool {
        residual <= share * self.known
    }

    /// Recomputes r = b − A x during a run; `residual` is the norm in the recurrence. Returns whether the two
    /// norms differ so much that the direction must be dropped. `Break` if the recomputed residual has not
    /// halved since the last recomputation.
    pub(crate) fn replace(&mut self, residual: V::Real, x: &V, r: &mut V) -> ControlFlow<(), bool> {
        let norm = measure(self.a, self.load(), x, r);
        self.replaced = true;
        if norm <= self.known / V::Real::of(2.0) {
            self.known = norm;
            return ControlFlow::Continue(norm > V::Real::of(ASTRAY) * residual);
        }
        self.verdict = Some(Outcome::Converged); // checked with the recomputed residual
        ControlFlow::Break(())
    }

    /// Ends the run for a reason found by the method. The method then leaves its loop.
    pub(crate) fn end(&mut self, verdict: Outcome) {
        self.verdict = Some(verdict);
    }

    /// ‖b − A x‖ at the start of this run.
    pub(crate) fn residual(&self) -> V::Real {
        self.truth
    }

    /// Whether this is the first run, in which the Lanczos process starts from the residual of x₀.
    pub(crate) fn first_run(&self) -> bool {
        self.runs == 1 && !self.replaced
    }

    /// The report, once [`goes_on`](Self::goes_on) returned `false`.
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

    /// The first residual. Also computes ‖b‖ and scales the system if necessary. If b = 0, sets x = 0 unless
    /// the guess is not finite.
    fn open(&mut self, x: &mut V, r: &mut V) -> Result<V::Real, Error> {
        self.a.residual(self.b, x, r);
        let (bb, [rr, rx]) = (self.b.dot(self.b), r.dots([r, x]));
        let [bb, rr, rx] = V::wait_for([&bb, &rr, &rx]);
        let mut norm = length(self.a, self.b, x, r, [rr, rx]);
        self.initial = norm;
        let mut size = bb.sqrt();
        if !scale::is_ordinary(bb) {
            let load = self.spare.like(self.b)?;
            match scale::fit(self.b, bb, load) {
                Size::Zero => {
                    size = zero();
                    if !rx.is_finite() {
                        check_finite(&[("x", x)])?;
                    }
                    x.fill(zero());
                    norm = measure(self.a, self.b, x, r);
                }
                Size::Power(power) if scale::divide(x, power, r) => {
                    (self.power, size) = (power, load.norm());
                    norm = self.first_scaled(x, r);
                }
                Size::Power(_) | Size::NotFinite => (norm, size) = (V::Real::nan(), one()),
            }
        }
        if !norm.is_finite() {
            check_finite(&[("b", self.b), ("x", x)])?;
        }
        let absolute = scale::tolerance(self.stop.absolute, self.power);
        self.threshold = Stop { absolute, ..self.stop }.threshold(size);
        if size > zero() {
            self.scale = size;
        }
        if norm.is_finite() && self.observe(norm, Some(x), None).is_break() {
            self.verdict = Some(Outcome::Stopped);
        }
        Ok(norm)
    }

    /// The first residual of the scaled system. If the scaled residual of the guess cannot be squared, the
    /// guess is replaced by zeros.
    fn first_scaled(&mut self, x: &mut V, r: &mut V) -> V::Real {
        let mut norm = measure(self.a, self.load(), x, r);
        if !norm.is_finite() {
            x.fill(zero());
            norm = measure(self.a, self.load(), x, r);
        }
        self.initial = norm;
        norm
    }

    /// The right-hand side of the system that is solved: b / power.
    fn load(&self) -> &V {
        if self.power == 1.0 { self.b } else { self.spare.get().unwrap_or(self.b) }
    }

    /// Converts x to the unit of the caller and computes its residual after rounding.
    fn restore(&mut self, x: &mut V, r: &mut V) {
        if self.power == 1.0 {
            return;
        }
        scale::round(x, self.power, r);
        self.truth = measure(self.a, self.load(), x, r);
        if !self.truth.is_finite() {
            self.verdict = Some(Outcome::NotFinite); // x overflows
            x.fill(zero());
            self.truth = measure(self.a, self.load(), x, r);
        } else if self.verdict == Some(Outcome::Converged)
            && self.truth > self.threshold
            && !self.settling.done
        {
            self.verdict = Some(Outcome::Stagnated); // x is subnormal and has few digits
        }
        scale::restore(x, self.power, r);
    }

    /// Restores the safe iterate if the last iterate is not finite or has a larger residual.
    fn choose(&mut self, end: Outcome, x: &mut V, r: &mut V) {
        let ruined = self.truth > self.initial / V::Real::EPSILON.sqrt();
        let doubt = match end {
            Outcome::Converged => false,
            Outcome::NotFinite => true,
            Outcome::IterationLimit | Outcome::Stopped => {
                (self.smallest || ruined) && self.truth > self.saved
            }
            _ => self.truth > self.saved,
        };
        if ruined && matches!(end, Outcome::IterationLimit | Outcome::Stopped | Outcome::Stagnated) {
            self.verdict = Some(Outcome::Diverged);
        }
        if doubt {
            let safe = measure(self.a, self.load(), self.safe, r);
            if end == Outcome::NotFinite || safe < self.truth {
                x.copy(self.safe);
                self.truth = safe;
            }
            if !self.truth.is_finite() {
                // x or A x overflowed while the residual of the recurrence decreased. x = 0 has the finite
                // residual ‖b‖.
                x.fill(zero());
                self.truth = measure(self.a, self.load(), x, r);
            }
        }
    }

    fn observe(
        &mut self,
        residual: V::Real,
        x: Option<&V>,
        ritz_values: Option<&dyn RitzValues>,
    ) -> ControlFlow<()> {
        self.seen = residual;
        let relative = residual / self.scale;
        let (number, residual) = (self.iterations, scale::unscaled(residual, self.power));
        let x = x.filter(|_| self.power == 1.0);
        self.monitor.observe(&Iteration { number, residual, relative, x, ritz_values })
    }

    fn keep(&mut self, x: &V, residual: V::Real) {
        if !self.held && residual <= self.saved / V::Real::of(2.0) {
            self.safe.copy(x);
            self.saved = residual;
        }
    }
}

/// Whether a method may restart if its recurrence stopped for this reason.
fn may_be_mended(verdict: Outcome) -> bool {
    matches!(verdict, Outcome::Converged | Outcome::Breakdown | Outcome::Inconsistent)
}
