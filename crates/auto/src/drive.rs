//! Does what a plan says: a cheap trial, a hierarchy, a factor, each as long as it promises to be the cheapest.
//!
//! | step | what |
//! |---|---|
//! | 1 | conjugate gradients with a cheap preconditioner, as long as they promise to be cheaper than what follows |
//! | 2 | the preconditioners of the plan, the next where one ends without a solution; the trial again where the first promises more than it did, and the first once more where the trial does not keep its promise |
//! | 3 | the factor, whenever [`Rental`] says so |
//! | 4 | where there is no factor: smoothed aggregation and IC(0) by turns, each twice as long as the one before |
//!
//! The best x so far is the guess of what follows.

use crate::choose::Plan;
use crate::course::{Course, End, Event, Last};
use crate::ledger::Item;
use crate::meter::{Against, FIRST_TURN, Meter, Order, Verdict, order};
use crate::rent::{Advice, NoFactor, Price, Rental};
use crate::{Forecast, Kind, Method};

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The method.
    pub method: Method,
    /// The preconditioner.
    pub kind: Kind,
    /// Whether it is stored in f32.
    pub narrow: bool,
}

/// How a factor served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factored {
    /// How it ended.
    pub end: End,
    /// Whether it was factored twice: a Cholesky factor failed.
    pub twice: bool,
}

/// Who does the work.
///
/// It keeps the best x, and begins each step from it. A preconditioner that a later step names again may be kept.
pub trait Steps {
    /// What ends everything: a device that fails.
    type Error;

    /// Sets a preconditioner up, says so by [`Meter::built`], and iterates until the tolerance is reached or [`Meter::look`] breaks.
    ///
    /// # Errors
    /// Those of the machine; how the mathematics ended is returned.
    fn iterate(&mut self, step: Step, meter: &mut Meter<'_>) -> Result<End, Self::Error>;

    /// Factors the matrix and solves, with refinement from the best x.
    ///
    /// # Errors
    /// Those of the machine.
    fn factor(&mut self) -> Result<Factored, Self::Error>;
}

/// What a run is told beside the plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms {
    /// The relative residual asked for.
    pub tolerance: f64,
    /// Iterations at most, in all.
    pub max_iterations: usize,
    /// Whether preconditioners are stored in f32 first.
    pub narrow: bool,
}

/// Solves by a plan; `order` orders the matrix for a factor, at most once.
///
/// *Cost* at most three times the cheaper of what was tried and the factor, where there is one ([`Rental`]).
///
/// # Errors
/// Those of `steps`.
pub fn drive<S: Steps>(
    plan: &Plan,
    terms: Terms,
    steps: &mut S,
    order: &mut Order<'_>,
) -> Result<Course, S::Error> {
    let rental = Rental::new(plan.price);
    let promised_by_trial = f64::INFINITY;
    let mut drive =
        Drive { plan, terms, steps, order, rental, events: Vec::new(), done: 0, promised_by_trial };
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
    /// Work that the trial promised to take when it was given up.
    promised_by_trial: f64,
}

/// How many times as much as the trial promised it may take when it is taken up again, before what it was taken for goes on.
const TRUST: f64 = 2.0;

/// How an attempt ended, and why the watch ended it.
type Ended = (End, Option<Verdict>);

impl<S: Steps> Drive<'_, '_, S> {
    fn run(&mut self) -> Result<(Last, End), S::Error> {
        // 1
        let (costs, trial) = (self.plan.costs, self.plan.trial);
        let next = self.plan.kinds[0];
        let against = Against::Next { setup: costs.setup(next), whole: self.promised(next) };
        if let Some(done) = self.attempt(trial, against)? {
            return Ok(done);
        }
        // 2
        for &kind in &self.plan.kinds {
            if matches!(self.rental.price(), Price::None(_)) {
                break;
            }
            // Once: from then on both are judged by the factor alone.
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

    /// The trial, for which `kind` was given up; `kind` once more where the trial does not keep its promise, from then on against the factor alone.
    fn trial_again(&mut self, kind: Kind, budget: f64) -> Result<Option<(Last, End)>, S::Error> {
        if let Some(done) = self.attempt(self.plan.trial, Against::Turns { budget })? {
            return Ok(Some(done));
        }
        if matches!(self.events.last(), Some(Event::Turn { .. })) {
            return self.attempt(kind, Against::Factor { trial: f64::INFINITY });
        }
        Ok(None)
    }

    /// What a preconditioner promises to cost in all.
    fn promised(&self, kind: Kind) -> f64 {
        let costs = &self.plan.costs;
        match kind {
            Kind::SmoothedAggregation => costs.hierarchy(),
            // Nothing is known of the others but that they take half of the iterations or so.
            _ => f64::INFINITY,
        }
    }

    /// Orders where that is not done yet.
    fn ordered(&mut self) {
        if matches!(self.rental.price(), Price::Unknown { .. }) {
            order(self.plan, &mut self.rental, self.order, &mut self.events);
        }
    }

    /// Whether the factor is bought before a setup, where nothing else goes on; orders where that is due.
    fn buys_before(&mut self, setup: f64) -> bool {
        if self.rental.before(setup, true) == Advice::Order {
            self.ordered();
        }
        self.rental.before(setup, true) == Advice::Buy
    }

    /// Whether a factor costs more than twice what was rented, or its ordering does.
    fn is_dear(&mut self) -> bool {
        let rent = self.rental.ledger.rent();
        if matches!(self.rental.price(), Price::Unknown { least, .. } if least <= 2.0 * rent) {
            self.ordered();
        }
        !matches!(self.rental.price(), Price::Known { whole, .. } if whole <= 2.0 * rent)
    }

    /// Tries a preconditioner, again in f64 where f32 may be the cause; `None` where something else is to follow.
    fn attempt(&mut self, kind: Kind, against: Against) -> Result<Option<(Last, End)>, S::Error> {
        let setup = self.plan.costs.setup(kind);
        let tried = self.rental.ledger.rent() > 0.0;
        if tried {
            let buys = self.buys_before(setup);
            let price = self.rental.price();
            // What is taken up again is alive: the factor waits until enough is rented.
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
            // A factor refines to a lower residual than iterations stagnate at; it is not worth more than twice what was spent.
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

    /// One setup and its iterations, charged.
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

    /// The factor, where there is one; `None` where something else is to follow.
    fn buy(&mut self) -> Result<Option<(Last, End)>, S::Error> {
        self.ordered();
        let Price::Known { factor, whole } = self.rental.price() else { return Ok(None) };
        self.events.push(Event::Bought { rent: self.rental.ledger.rent(), price: whole });
        self.rental.ledger.charge(Item::Factor, factor);
        let Factored { end, twice } = self.steps.factor()?;
        // The price was that of the Cholesky factor: one that fails is beyond it, and beyond the bound.
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

    /// Smoothed aggregation and IC(0) by turns; what breaks down takes part no more.
    fn turns(&mut self) -> Result<(Last, End), S::Error> {
        let failed: Vec<Kind> = self
            .events
            .iter()
            .filter_map(|e| if let Event::Failed { kind, .. } = e { Some(*kind) } else { None })
            .collect();
        let mut kinds: Vec<Kind> =
            self.plan.kinds.iter().copied().filter(|kind| !failed.contains(kind)).collect();
        // Its first turn may have been taken before it was known that there is no factor.
        let begun =
            matches!(self.events.last(), Some(Event::Turn { kind, .. }) if kinds.first() == Some(kind));
        let mut at = usize::from(begun);
        let mut budget = FIRST_TURN * self.plan.costs.hierarchy() * if begun { 2.0 } else { 1.0 };
        let mut last = failed.last().copied().unwrap_or(self.plan.trial);
        loop {
            // Two take turns; the weaker ones wait for one of them to break down.
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
