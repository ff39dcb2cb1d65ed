//! Runs a plan: a cheap trial, a hierarchy and a factor. Each runs as long as its forecast is the cheapest.
//!
//! | step | method |
//! |---|---|
//! | 0 | what has ended the solve of a similar system, if the plan names it; then there is no trial |
//! | 1 | the trial: conjugate gradients with a cheap preconditioner, if the next method costs more |
//! | 2 | the preconditioners of the plan; the next one if an attempt ends without a solution. If the forecast of the first preconditioner is more than four times the last forecast of the trial, the trial continues; if it then exceeds its forecast, the first preconditioner continues |
//! | 3 | the factor, when [`Rental`] decides so |
//! | 4 | if no factor is possible: smoothed aggregation and IC(0) in turns, each turn twice as long as the last |
//!
//! In step 2, the trial continues if the forecast of the first preconditioner is more than four times the
//! last forecast of the trial. If the trial then exceeds its forecast, the first preconditioner continues.
//! Each method starts from the best x so far.

use crate::choose::Plan;
use crate::course::{Course, End, Event, Last};
use crate::ledger::Item;
use crate::meter::{Against, FIRST_TURN, Meter, Order, Verdict, order};
use crate::rent::{Advice, NoFactor, Price, Rental};
use crate::{Forecast, Kind, Method};

/// An attempt: a method with a preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The method.
    pub method: Method,
    /// The preconditioner.
    pub kind: Kind,
    /// Whether the preconditioner is stored in f32.
    pub narrow: bool,
}

/// The result of a factorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factored {
    /// How the factorisation ended.
    pub end: End,
    /// Whether there were two factorisations because Cholesky failed.
    pub twice: bool,
}

/// The functions that make attempts.
///
/// An implementation stores the best x, from which each attempt starts. It may keep preconditioners for later
/// attempts.
pub trait Steps {
    /// An error that ends the run, such as a failed device.
    type Error;

    /// Sets up a preconditioner, calls [`Meter::built`], and iterates until the tolerance is reached or
    /// [`Meter::look`] breaks.
    ///
    /// # Errors
    /// Failures of the machine; a numerical failure is an [`End`].
    fn iterate(&mut self, step: Step, meter: &mut Meter<'_>) -> Result<End, Self::Error>;

    /// Factorises the matrix and solves by it, with refinement from the best x.
    ///
    /// # Errors
    /// Failures of the machine.
    fn factor(&mut self) -> Result<Factored, Self::Error>;
}

/// The parameters of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The tolerance for the relative residual.
    pub tolerance: f64,
    /// The maximal total number of iterations.
    pub max_iterations: usize,
    /// Whether preconditioners are first tried in f32.
    pub narrow: bool,
}

/// Solves a system by a plan; `order` orders the matrix for a factor, and is called at most once.
///
/// *Cost*: if a factor is possible, at most three times the smaller of the cost of all methods tried and the
/// cost of the factor ([`Rental`]).
///
/// # Errors
/// The errors of `steps`.
pub fn drive<S: Steps>(
    plan: &Plan,
    terms: Terms,
    steps: &mut S,
    order: &mut Order<'_>,
) -> Result<Course, S::Error> {
    let rental = Rental::new(plan.price);
    let promised_by_trial = f64::INFINITY;
    let mut drive = Drive {
        plan,
        terms,
        steps,
        order,
        rental,
        events: Vec::new(),
        done: 0,
        promised_by_trial,
        begins: None,
    };
    let (last, end) = drive.run()?;
    let Drive { rental, events, .. } = drive;
    let unbounded = match rental.price() {
        Price::None(why) => Some(why),
        _ => None,
    };
    Ok(Course { last, end, events, ledger: rental.ledger, unbounded })
}

struct Drive<'a, 'o, S> {
    plan: &'a Plan,
    terms: Terms,
    steps: &'a mut S,
    order: &'a mut Order<'o>,
    rental: Rental,
    events: Vec<Event>,
    done: usize,
    /// The forecast of the remaining work of the trial when it was stopped.
    promised_by_trial: f64,
    /// The method that begins in place of the trial.
    begins: Option<Last>,
}

/// A continued trial may take this multiple of its forecast before the other method continues.
const TRUST: f64 = 2.0;

/// How an attempt ended, and why the meter stopped it.
type Ended = (End, Option<Verdict>);

impl<S: Steps> Drive<'_, '_, S> {
    fn run(&mut self) -> Result<(Last, End), S::Error> {
        let (costs, trial) = (self.plan.costs, self.plan.trial);
        // 0
        self.begins = self.plan.first.filter(|first| self.may_begin(*first));
        if self.begins == Some(Last::Factor) {
            if let Some(done) = self.buy()? {
                return Ok(done);
            }
            self.begins = None;
        }
        // 1
        if self.begins.is_none() {
            let next = self.plan.kinds[0];
            let against = Against::Next { setup: costs.setup(next), whole: self.promised(next) };
            if let Some(done) = self.attempt(trial, against)? {
                return Ok(done);
            }
        }
        // 2
        for kind in self.kinds() {
            if matches!(self.rental.price(), Price::None(_)) {
                break;
            }
            // The trial continues only once. Afterwards both preconditioners are compared with the factor
            // only.
            let promised = std::mem::replace(&mut self.promised_by_trial, f64::INFINITY);
            if let Some(done) = self.attempt(kind, Against::Factor { trial: promised })? {
                return Ok(done);
            }
            let back = matches!(self.events.last(), Some(Event::GivenUp { next, .. }) if *next == trial);
            if back && let Some(done) = self.trial_again(kind, TRUST * promised)? {
                return Ok(done);
            }
        }
        // 3
        if let Some(done) = self.buy()? {
            return Ok(done);
        }
        // 4
        self.turns()
    }

    /// Continues the trial after `kind` was stopped. If the trial exceeds its forecast, `kind` continues and
    /// is compared with the factor only.
    fn trial_again(&mut self, kind: Kind, budget: f64) -> Result<Option<(Last, End)>, S::Error> {
        if let Some(done) = self.attempt(self.plan.trial, Against::Turns { budget })? {
            return Ok(Some(done));
        }
        if matches!(self.events.last(), Some(Event::Turn { .. })) {
            return self.attempt(kind, Against::Factor { trial: f64::INFINITY });
        }
        Ok(None)
    }

    /// Whether a method may begin without a trial: the plan has it, it is not the trial itself, and its setup, which
    /// nothing can interrupt, costs at most twice the factor.
    fn may_begin(&self, first: Last) -> bool {
        match (first, self.rental.price()) {
            (Last::Factor, price) => !matches!(price, Price::None(_)),
            (Last::Iterations(kind), price) => {
                let most = match price {
                    Price::None(_) => f64::INFINITY,
                    Price::Unknown { least, .. } => 2.0 * least,
                    Price::Known { whole, .. } => 2.0 * whole,
                };
                let known = kind != self.plan.trial && self.plan.kinds.contains(&kind);
                known && self.plan.costs.setup(kind) <= most
            }
        }
    }

    /// The preconditioners of the plan, and first among them the one that begins.
    fn kinds(&self) -> Vec<Kind> {
        let begins = |kind: &Kind| self.begins == Some(Last::Iterations(*kind));
        let (begin, others): (Vec<Kind>, Vec<Kind>) = self.plan.kinds.iter().partition(|kind| begins(kind));
        [begin, others].concat()
    }

    /// The forecast of the total work with a preconditioner.
    fn promised(&self, kind: Kind) -> f64 {
        let costs = &self.plan.costs;
        match kind {
            kind if kind.is_hierarchy() => costs.hierarchy(kind),
            // Without an estimate, the trial is stopped only if its forecast exceeds the iteration limit.
            _ => f64::INFINITY,
        }
    }

    /// Orders the matrix unless it is ordered already.
    fn ordered(&mut self) {
        if matches!(self.rental.price(), Price::Unknown { .. }) {
            order(self.plan, &mut self.rental, self.order, &mut self.events);
        }
    }

    /// Whether the factor is bought before a setup while no other method runs. Orders the matrix if the rule
    /// requires this.
    fn buys_before(&mut self, setup: f64) -> bool {
        if self.rental.before(setup, true) == Advice::Order {
            self.ordered();
        }
        self.rental.before(setup, true) == Advice::Buy
    }

    /// Whether a factor, or its ordering alone, costs more than twice the rent.
    fn is_dear(&mut self) -> bool {
        let rent = self.rental.ledger.rent();
        if matches!(self.rental.price(), Price::Unknown { least, .. } if least <= 2.0 * rent) {
            self.ordered();
        }
        !matches!(self.rental.price(), Price::Known { whole, .. } if whole <= 2.0 * rent)
    }

    /// Tries a preconditioner, and again in f64 if f32 may be the cause of a failure. `None` if another
    /// attempt should follow.
    fn attempt(&mut self, kind: Kind, against: Against) -> Result<Option<(Last, End)>, S::Error> {
        let setup = self.plan.costs.setup(kind);
        let tried = self.rental.ledger.rent() > 0.0;
        if tried {
            let buys = self.buys_before(setup);
            let price = self.rental.price();
            // A trial that continues may still converge, so the factor waits for enough rent.
            let again = kind == self.plan.trial;
            if buys || !again && matches!(price, Price::Known { whole, .. } if whole < self.promised(kind)) {
                return self.buy();
            }
        }
        let retried = self.events.iter().any(|e| matches!(e, Event::Retried { kind: k } if *k == kind));
        let narrow = self.terms.narrow && !retried;
        let mut ended = self.iterate(kind, narrow, against)?;
        if ended.0 == End::Rounding && narrow {
            if self.buys_before(setup) {
                return self.buy();
            }
            self.events.push(Event::Retried { kind });
            ended = self.iterate(kind, false, against)?;
        }
        match ended {
            (End::Stopped, Some(Verdict::Buy)) => self.buy(),
            (End::Stopped, Some(Verdict::GiveUp(total))) => {
                let next = if kind == self.plan.trial { self.plan.kinds[0] } else { self.plan.trial };
                if kind == self.plan.trial {
                    let rest = (total - self.done as f64).max(1.0);
                    self.promised_by_trial = rest * self.plan.costs.iteration(kind, 1.0);
                }
                self.events.push(Event::GivenUp { kind, after: self.done, total, next });
                Ok(None)
            }
            (End::Stopped, Some(Verdict::Turn)) => {
                self.events.push(Event::Turn { kind, iterations: self.done });
                Ok(None)
            }
            (end @ (End::Converged | End::Stopped | End::Singular), _) => {
                Ok(Some((Last::Iterations(kind), end)))
            }
            // Refinement with a factor reaches a smaller residual than iterations that stagnate. It may cost
            // at most twice the work so far.
            (End::Floor, _) if self.is_dear() => Ok(Some((Last::Iterations(kind), End::Floor))),
            (end @ (End::Indefinite | End::Limit | End::Floor), _) => {
                self.events.push(Event::Failed { kind, end });
                let bought = self.buy()?;
                Ok(Some(bought.unwrap_or((Last::Iterations(kind), end))))
            }
            (end @ (End::Rounding | End::Broken), _) => {
                self.events.push(Event::Failed { kind, end });
                Ok(None)
            }
        }
    }

    /// Runs one setup and its iterations, and adds their work to the ledger.
    fn iterate(&mut self, kind: Kind, narrow: bool, against: Against) -> Result<Ended, S::Error> {
        let setup = self.plan.costs.setup(kind);
        let retry = self.terms.narrow && !narrow;
        self.rental.ledger.charge(if retry { Item::Retry(kind) } else { Item::Setup(kind) }, setup);
        let mut meter = Meter {
            plan: self.plan,
            rental: &mut self.rental,
            order: &mut *self.order,
            events: &mut self.events,
            kind,
            against,
            limit: self.terms.max_iterations as f64,
            forecast: Forecast::new(self.terms.tolerance),
            work: self.plan.costs.iteration(kind, 1.0),
            spent: setup,
            done: 0,
            check: Meter::first(kind),
            total: None,
            verdict: None,
        };
        let step = Step { method: self.plan.method, kind, narrow };
        let end = self.steps.iterate(step, &mut meter)?;
        let verdict = meter.verdict;
        self.done = meter.done;
        Ok((end, verdict))
    }

    /// Solves by the factor. `None` if another attempt should follow.
    fn buy(&mut self) -> Result<Option<(Last, End)>, S::Error> {
        self.ordered();
        let Price::Known { factor, whole } = self.rental.price() else { return Ok(None) };
        self.events.push(Event::Bought { rent: self.rental.ledger.rent(), price: whole });
        self.rental.ledger.charge(Item::Factor, factor);
        let Factored { end, twice } = self.steps.factor()?;
        // The price covers one factorisation. A Cholesky factorisation that failed is not part of the bound.
        if twice {
            self.rental.ledger.charge(Item::Factor, factor);
        }
        if matches!(end, End::Converged | End::Floor | End::Limit) {
            return Ok(Some((Last::Factor, end)));
        }
        self.events.push(Event::NoFactor(NoFactor::Failed));
        self.rental.give_up(NoFactor::Failed);
        Ok(None)
    }

    /// Runs the two strongest preconditioners in turns, such as smoothed aggregation and IC(0). A preconditioner
    /// that breaks down gets no more turns.
    fn turns(&mut self) -> Result<(Last, End), S::Error> {
        let failed: Vec<Kind> = self
            .events
            .iter()
            .filter_map(|e| if let Event::Failed { kind, .. } = e { Some(*kind) } else { None })
            .collect();
        let mut kinds = self.kinds();
        kinds.retain(|kind| !failed.contains(kind));
        // The first preconditioner may have had a turn before the ordering showed that no factor is possible.
        let begun =
            matches!(self.events.last(), Some(Event::Turn { kind, .. }) if kinds.first() == Some(kind));
        let mut at = usize::from(begun);
        let mut budget = FIRST_TURN * self.plan.hierarchy() * if begun { 2.0 } else { 1.0 };
        let mut last = failed.last().copied().unwrap_or(self.plan.trial);
        loop {
            // Two preconditioners take turns. If one breaks down, the next weaker preconditioner replaces it.
            let playing = kinds.len().min(2);
            if playing == 0 {
                return Ok((Last::Iterations(last), End::Broken));
            }
            let kind = kinds[at % playing];
            last = kind;
            let against = if playing > 1 { Against::Turns { budget } } else { Against::Nothing };
            let before = self.events.len();
            if let Some(done) = self.attempt(kind, against)? {
                return Ok(done);
            }
            if self.events[before..].iter().any(|e| matches!(e, Event::Failed { .. })) {
                kinds.retain(|&k| k != kind);
            } else {
                at += 1;
                budget *= 2.0;
            }
        }
    }
}
