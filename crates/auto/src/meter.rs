//! The monitor of a running method: it records the work of iterations, makes forecasts, and decides whether
//! to continue.

use std::ops::ControlFlow;

use coarsen_core::{Iteration, Real, RitzValues, Vector};
use coarsen_direct::Figures;

use crate::course::Event;
use crate::ledger::Item;
use crate::rent::{Advice, NoFactor, Price, Rental};
use crate::{Forecast, Kind, Plan};

/// The number of iterations before the first forecast.
const LEAST: usize = 10;

/// The number of iterations before the first forecast of smoothed aggregation. Every later iteration makes a
/// forecast.
const LEAST_OF_A_HIERARCHY: usize = 8;

/// Pairs (fraction, multiple). While the work so far is at most this fraction of the cost of the next
/// preconditioner, the forecast for the remaining work may be this multiple of that cost. Early forecasts are
/// inaccurate, and waiting for late forecasts costs iterations. The pairs are fitted to the gallery with
/// costs perturbed by up to a quarter.
const PATIENCE: [(f64, f64); 5] = [(0.05, 4.0), (0.10, 2.5), (0.15, 1.6), (0.20, 1.2), (f64::INFINITY, 1.0)];

/// The length of the first turn, relative to the expected cost of smoothed aggregation.
pub(crate) const FIRST_TURN: f64 = 2.0;

/// If the forecast for the remaining work exceeds this many turns, a turn ends at half its length. If it is
/// at most half a turn, the turn is extended by half.
const HOPELESS: f64 = 4.0;

/// A function that orders the matrix. It returns the sizes of the factor, or the reason why no factor is
/// possible.
pub type Order<'a> = dyn FnMut() -> Result<Figures, NoFactor> + 'a;

/// The reason why a method was stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The factor is bought.
    Buy,
    /// The next preconditioner or the earlier trial has a cheaper forecast. The value is the forecast of the
    /// total number of iterations of the stopped method.
    GiveUp(f64),
    /// The budget of the turn is spent.
    Turn,
}

/// The trial continues when the forecast of the current method exceeds the forecast of the trial by this
/// factor.
const BACK: f64 = 4.0;

/// The alternatives to a running method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Against {
    /// A factor, and the trial with its forecast when it was stopped. The forecast is infinite if the trial
    /// is not an alternative.
    Factor { trial: f64 },
    /// A factor, and a stronger preconditioner. `setup` is the cost of its setup, `whole` the cost of its
    /// setup and iterations.
    Next { setup: f64, whole: f64 },
    /// Other methods in turns; `budget` is the allowed work of this turn.
    Turns { budget: f64 },
    /// No alternative.
    Nothing,
}

/// The monitor of a method with a preconditioner.
pub struct Meter<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) rental: &'a mut Rental,
    pub(crate) order: &'a mut Order<'a>,
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) kind: Kind,
    pub(crate) against: Against,
    pub(crate) limit: f64,
    pub(crate) forecast: Forecast,
    pub(crate) work: f64,
    pub(crate) spent: f64,
    pub(crate) done: usize,
    pub(crate) check: usize,
    /// The total number of iterations in the last forecast.
    pub(crate) total: Option<f64>,
    pub(crate) verdict: Option<Verdict>,
}

impl Meter<'_> {
    /// Records the setup; `complexity` is the operator complexity of a hierarchy, otherwise 1.
    pub fn built(&mut self, complexity: f64) {
        self.work = self.plan.costs.iteration(self.kind, complexity);
    }

    /// Observes an iteration; returns `Break` to stop the method.
    ///
    /// *Cost*: a logarithm, and in some calls a forecast, whose Ritz values take time linear in the number of
    /// iterations so far.
    pub fn look<V: Vector>(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        let condition = || {
            let [low, high] = it.ritz_values.and_then(RitzValues::extremes)?;
            Some(high / low)
        };
        self.see(it.number, it.relative.wide(), &condition)
    }

    /// As [`look`](Self::look), but with plain numbers: the iteration (0 for the guess), its relative
    /// residual and, if available, an estimate of the condition number from below.
    pub fn see(
        &mut self,
        number: usize,
        relative: f64,
        condition: &dyn Fn() -> Option<f64>,
    ) -> ControlFlow<()> {
        self.forecast.see(relative);
        if number > 0 {
            self.rental.ledger.charge(Item::Iterations(self.kind), self.work);
            self.spent += self.work;
            self.done += 1;
        }
        let checked = self.done >= self.check;
        if checked {
            self.total = Some(self.forecast.total(condition()));
            let wait = if self.kind.is_hierarchy() { 1 } else { (self.done / 10).max(5) };
            self.check = self.done + wait;
        }
        // Between two forecasts the last forecast is used.
        let rest = self.total.map(|total| (total - self.done as f64).max(1.0) * self.work);
        self.verdict = self.judge(checked.then_some(self.total).flatten(), rest);
        if self.verdict.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn judge(&mut self, total: Option<f64>, rest: Option<f64>) -> Option<Verdict> {
        let advice = match self.rental.after(rest) {
            Advice::Order => {
                self.order();
                self.rental.after(rest)
            }
            advice => advice,
        };
        if advice == Advice::Buy {
            return Some(Verdict::Buy);
        }
        // If no factor is possible, methods take turns from here on.
        let without = matches!(self.rental.price(), Price::None(_));
        match self.against {
            // Early forecasts are too high, so the expected total cost is spent before they count.
            Against::Factor { trial }
                if self.spent >= self.hierarchy() && rest.is_some_and(|rest| rest > BACK * trial) =>
            {
                total.map(Verdict::GiveUp)
            }
            Against::Factor { .. } if without => self.judge_turn(FIRST_TURN * self.hierarchy(), rest),
            Against::Factor { .. } | Against::Nothing => None,
            Against::Next { setup, whole } => self.against_next(setup, whole, total?, rest?),
            Against::Turns { budget } => self.judge_turn(budget, rest),
        }
    }

    /// The expected cost of the hierarchy that runs, or of the first hierarchy.
    fn hierarchy(&self) -> f64 {
        if self.kind.is_hierarchy() { self.plan.costs.hierarchy(self.kind) } else { self.plan.hierarchy() }
    }

    fn judge_turn(&self, budget: f64, rest: Option<f64>) -> Option<Verdict> {
        let soon = rest.is_some_and(|rest| rest <= 0.5 * budget);
        let over = self.spent >= budget && !soon || self.spent >= 1.5 * budget;
        let hopeless = self.spent >= 0.5 * budget && rest.is_some_and(|rest| rest > HOPELESS * budget);
        (over || hopeless).then_some(Verdict::Turn)
    }

    /// Whether a stronger preconditioner is cheaper than the remaining iterations.
    fn against_next(&mut self, setup: f64, whole: f64, total: f64, rest: f64) -> Option<Verdict> {
        let share = self.spent / whole;
        let patience = PATIENCE.iter().find(|(until, _)| share <= *until).map_or(1.0, |(_, p)| *p);
        if rest <= patience * whole && total <= self.limit {
            return None;
        }
        if self.rental.before(setup, false) == Advice::Order {
            self.order();
        }
        // If a factor is cheaper than the preconditioner, continue until half of its price is spent.
        let cheaper = matches!(self.rental.price(), Price::Known { whole: factor, .. } if factor < whole);
        match self.rental.before(setup, false) {
            Advice::Buy => Some(Verdict::Buy),
            Advice::GoOn if !cheaper => Some(Verdict::GiveUp(total)),
            _ => None,
        }
    }

    fn order(&mut self) {
        order(self.plan, self.rental, self.order, self.events);
    }
}

/// Orders the matrix, adds the work to the ledger, and records the result.
pub(crate) fn order(plan: &Plan, rental: &mut Rental, order: &mut Order<'_>, events: &mut Vec<Event>) {
    let sized = order().and_then(|figures| {
        // `products` depends on the caches of the machine. It is ignored, so that a matrix is always solved
        // in the same way.
        let bytes = figures.bytes;
        if bytes > plan.memory {
            return Err(NoFactor::TooLarge { bytes, allowed: plan.memory });
        }
        let work = plan.costs.factor(&figures).ok_or(NoFactor::Unknown)?;
        Ok((work, figures))
    });
    events.push(match sized {
        Ok((work, figures)) => Event::Ordered { work: plan.costs.ordering() + work, figures },
        Err(why) => Event::NoFactor(why),
    });
    rental.ordered(sized.map(|(work, _)| work));
}

impl Meter<'_> {
    /// The number of iterations before the first forecast.
    pub(crate) fn first(kind: Kind) -> usize {
        if kind.is_hierarchy() { LEAST_OF_A_HIERARCHY } else { LEAST }
    }
}
