//! What a running method is watched by: it charges iterations, makes forecasts, and asks whether to go on.

use std::ops::ControlFlow;

use coarsen_core::{Iteration, Real, RitzValues, Vector};
use coarsen_direct::Figures;

use crate::course::Event;
use crate::ledger::Item;
use crate::rent::{Advice, NoFactor, Price, Rental};
use crate::{Forecast, Kind, Plan};

/// Iterations before the first forecast.
const LEAST: usize = 10;

/// The same for smoothed aggregation, which is looked at in every iteration from then on.
const LEAST_OF_A_HIERARCHY: usize = 8;

/// Shares of what the next preconditioner costs, and how many times that cost the rest may promise there. Early forecasts
/// are bad, late ones costly: fitted to the gallery, scrambled, where that cost was wrong by up to a quarter.
const PATIENCE: [(f64, f64); 5] = [(0.05, 4.0), (0.10, 2.5), (0.15, 1.6), (0.20, 1.2), (f64::INFINITY, 1.0)];

/// The first turn, in what smoothed aggregation promises to cost.
pub(crate) const FIRST_TURN: f64 = 2.0;

/// A turn may be half as long again where the rest promises to fit, and ends at half where it promises this many turns.
const HOPELESS: f64 = 4.0;

/// Orders the matrix; the sizes of its factor, or why there is none.
pub type Order<'a> = dyn FnMut() -> Result<Figures, NoFactor> + 'a;

/// Why a method was told to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The factor is bought.
    Buy,
    /// The next preconditioner, or the trial before it, promises to be cheaper than the rest; iterations that it would have taken in all.
    GiveUp(f64),
    /// Its budget is spent.
    Turn,
}

/// How much dearer than the trial that was given up a method may promise to be before the trial is taken up again.
const BACK: f64 = 4.0;

/// What a method is measured against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Against {
    /// A factor, and the rest that the trial promised when it was given up; infinite where that does not count any more.
    Factor { trial: f64 },
    /// A stronger preconditioner as well: its setup, and its setup and iterations.
    Next { setup: f64, whole: f64 },
    /// Others that take turns with it: work that it may spend.
    Turns { budget: f64 },
    /// Nothing is left beside it.
    Nothing,
}

/// The watch over one method with one preconditioner.
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
    /// Iterations in all, by the last forecast.
    pub(crate) total: Option<f64>,
    pub(crate) verdict: Option<Verdict>,
}

impl Meter<'_> {
    /// The preconditioner is set up; `complexity` is the operator complexity of a hierarchy, 1 of all others.
    pub fn built(&mut self, complexity: f64) {
        self.work = self.plan.costs.iteration(self.kind, complexity);
    }

    /// Sees an iteration; `Break` where the method is to stop.
    ///
    /// *Cost* a logarithm, and at every tenth look or so a forecast, whose Ritz values take time linear in the iterations done.
    pub fn look<V: Vector>(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        let condition = || {
            let [low, high] = it.ritz_values.and_then(RitzValues::extremes)?;
            Some(high / low)
        };
        self.see(it.number, it.relative.wide(), &condition)
    }

    /// [`look`](Self::look) at numbers: the iteration, 0 for the guess, its relative residual, and a condition number from below where there is one.
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
            let wait = if self.kind == Kind::SmoothedAggregation { 1 } else { (self.done / 10).max(5) };
            self.check = self.done + wait;
        }
        // Between two forecasts the last one counts.
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
        // Where there turns out to be no factor, turns are taken from here on.
        let without = matches!(self.rental.price(), Price::None(_));
        match self.against {
            // Early forecasts are long: as much as it promised to cost in all is spent before.
            Against::Factor { trial }
                if self.spent >= self.plan.costs.hierarchy()
                    && rest.is_some_and(|rest| rest > BACK * trial) =>
            {
                total.map(Verdict::GiveUp)
            }
            Against::Factor { .. } if without => {
                self.judge_turn(FIRST_TURN * self.plan.costs.hierarchy(), rest)
            }
            Against::Factor { .. } | Against::Nothing => None,
            Against::Next { setup, whole } => self.against_next(setup, whole, total?, rest?),
            Against::Turns { budget } => self.judge_turn(budget, rest),
        }
    }

    fn judge_turn(&self, budget: f64, rest: Option<f64>) -> Option<Verdict> {
        let soon = rest.is_some_and(|rest| rest <= 0.5 * budget);
        let over = self.spent >= budget && !soon || self.spent >= 1.5 * budget;
        let hopeless = self.spent >= 0.5 * budget && rest.is_some_and(|rest| rest > HOPELESS * budget);
        (over || hopeless).then_some(Verdict::Turn)
    }

    /// Whether a stronger preconditioner is cheaper than the rest.
    fn against_next(&mut self, setup: f64, whole: f64, total: f64, rest: f64) -> Option<Verdict> {
        let share = self.spent / whole;
        let patience = PATIENCE.iter().find(|(until, _)| share <= *until).map_or(1.0, |(_, p)| *p);
        if rest <= patience * whole && total <= self.limit {
            return None;
        }
        if self.rental.before(setup, false) == Advice::Order {
            self.order();
        }
        // A factor that is cheaper is waited for: half of its price is rented here.
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

/// Orders the matrix, pays for it, and notes what it says.
pub(crate) fn order(plan: &Plan, rental: &mut Rental, order: &mut Order<'_>, events: &mut Vec<Event>) {
    let sized = order().and_then(|figures| {
        // Without `products`, which depend on the caches of the machine: the same matrix is solved the same way.
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
    /// Iterations before the first forecast.
    pub(crate) fn first(kind: Kind) -> usize {
        if kind == Kind::SmoothedAggregation { LEAST_OF_A_HIERARCHY } else { LEAST }
    }
}
