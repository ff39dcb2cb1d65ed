//! The monitor of a running method: it records the work of iterations, makes forecasts, and decides whether
//! to continue.

use std::ops::ControlFlow;

use coarsen_core::{Iteration, Real, RitzValues, Vector};
use coarsen_direct::Figures;

use crate::Forecast;
use crate::factor_cost::{Advice, FactorCost, Item, NoFactor, Spent};
use crate::plan::{Candidate, Plan};
use crate::run::Event;

/// Pairs (fraction, multiple). While the work so far is at most this fraction of the forecast of another
/// method, the forecast for the remaining work may be this multiple of it. Early forecasts are
/// inaccurate, and waiting for late forecasts costs iterations.
const PATIENCE: [(f64, f64); 5] = [(0.05, 4.0), (0.10, 2.5), (0.15, 1.6), (0.20, 1.2), (f64::INFINITY, 1.0)];

/// The same for a hierarchy once its expected work is spent. Until then it is not left, since its first forecasts are too high.
const HIERARCHY_PATIENCE: f64 = 4.0;

/// The relative residual below which a hierarchy converges: its forecast is at most [`SLOPE`] times that of its rate, and
/// it is not left for methods that did not begin.
const CONVERGING: f64 = 2e-2;

/// See [`CONVERGING`].
const SLOPE: f64 = 1.3;

/// If the forecast for the remaining work exceeds this many turns, a turn ends at half its length. If it is
/// at most half a turn, the turn is extended by half.
const HOPELESS: f64 = 4.0;

/// A function that orders the matrix. It returns the sizes of the factor, or the reason why no factor is
/// possible.
pub type Order<'a> = dyn FnMut() -> Result<Figures, NoFactor> + 'a;

/// The reason why a method was stopped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// The factor is computed.
    Factor,
    /// Another method has a lower forecast. The values are the iterations of this attempt, the forecast of their total
    /// number, and of the remaining work, and whether all work that was expected is spent.
    Leave { after: usize, total: f64, rest: f64, overdue: bool },
    /// The work of a turn is spent; the value is the forecast of the remaining work.
    Turn { rest: f64 },
}

/// The monitor of a method with a preconditioner.
pub struct Monitor<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) spent: &'a mut Spent,
    pub(crate) order: &'a mut Order<'a>,
    pub(crate) events: &'a mut Vec<Event>,
    pub(crate) candidate: Candidate,
    /// The lowest forecast of the other methods, without those of `alike`.
    pub(crate) others: f64,
    /// The expected number of iterations, if this is a one-level method.
    pub(crate) of_one_level: Option<f64>,
    /// The setups of one-level methods that did not begin, and the expected work of their iterations. They take more
    /// iterations than expected if this one does.
    pub(crate) alike: Vec<(f64, f64)>,
    /// The lowest forecast of the methods that did not begin, if a few iterations decide about them.
    pub(crate) probes: f64,
    /// The expected work of this method before its setup.
    pub(crate) expected: f64,
    /// The work of a turn, if no factor is possible.
    pub(crate) turn: f64,
    pub(crate) limit: f64,
    pub(crate) forecast: Forecast,
    /// The work of an iteration.
    pub(crate) work: f64,
    /// The work of this method before this attempt, setup included.
    pub(crate) begun: f64,
    /// The work of this attempt before which the method is not left for another one.
    pub(crate) least: f64,
    /// The iterations of this attempt.
    pub(crate) done: usize,
    /// The number of iterations before the next forecast.
    pub(crate) check: usize,
    /// The total number of iterations in the last forecast.
    pub(crate) total: Option<f64>,
    pub(crate) verdict: Option<Verdict>,
}

impl Monitor<'_> {
    /// The number of iterations before the first forecast.
    pub(crate) const FIRST: usize = 10;

    /// The same for a hierarchy. Every later iteration makes a forecast.
    pub(crate) const HIERARCHY: usize = 8;

    /// Records the setup; `complexity` is the operator complexity of a hierarchy, otherwise 1.
    pub fn built(&mut self, complexity: f64) {
        self.work = self.plan.costs.iteration(self.candidate.method, self.candidate.kind, complexity);
    }

    /// Observes an iteration; returns `Break` to stop the method.
    ///
    /// *Cost*: a logarithm, and in some calls a forecast, whose Ritz values take time linear in the number of
    /// iterations so far.
    pub fn observe<V: Vector>(&mut self, it: &Iteration<'_, V>) -> ControlFlow<()> {
        let condition = || {
            let [low, high] = it.ritz_values.and_then(RitzValues::extremes)?;
            Some(high / low)
        };
        self.see(it.number, it.relative.wide(), &condition)
    }

    /// As [`observe`](Self::observe), but with plain numbers: the iteration (0 for the guess), its relative
    /// residual and, if available, an estimate of the condition number from below.
    pub fn see(
        &mut self,
        number: usize,
        relative: f64,
        condition: &dyn Fn() -> Option<f64>,
    ) -> ControlFlow<()> {
        self.forecast.see(relative);
        if number > 0 {
            let Candidate { method, kind } = self.candidate;
            self.spent.log.add(Item::Iterations(method, kind), self.work);
            self.done += 1;
        }
        let checked = self.done >= self.check;
        if checked {
            let hierarchy = self.candidate.kind.is_hierarchy();
            let total = self.forecast.total(condition());
            // Once a hierarchy converges, its rate holds, and the condition number says too much.
            let by_slope = if hierarchy && relative < CONVERGING {
                SLOPE * self.forecast.total(None)
            } else {
                f64::INFINITY
            };
            self.total = Some(total.min(by_slope));
            let wait = if hierarchy { 1 } else { (self.done / 10).max(5) };
            self.check = self.done + wait;
        }
        // Between two forecasts the last forecast is used.
        let rest = self.total.map(|total| (total - self.done as f64).max(1.0) * self.work);
        self.verdict = self.judge(checked.then_some(self.total).flatten(), rest, relative < CONVERGING);
        if self.verdict.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// The multiple of the forecast of the other methods that the forecast of this method may reach.
    fn patience(&self, spent: f64, others: f64) -> f64 {
        if self.candidate.kind.is_hierarchy() {
            return if spent < self.expected { f64::INFINITY } else { HIERARCHY_PATIENCE };
        }
        PATIENCE.iter().find(|(until, _)| spent <= *until * others).map_or(1.0, |(_, p)| *p)
    }

    fn judge(&mut self, total: Option<f64>, rest: Option<f64>, converges: bool) -> Option<Verdict> {
        let advice = match self.spent.after(rest) {
            Advice::Order => {
                order(self.plan, self.spent, self.order, self.events);
                self.spent.after(rest)
            }
            advice => advice,
        };
        if advice == Advice::Factor {
            return Some(Verdict::Factor);
        }
        // A method that comes back runs at least as long as it ran before, so that turns grow.
        if self.done as f64 * self.work < self.least {
            return None;
        }
        if let (Some(total), Some(rest)) = (total, rest) {
            let spent = self.begun + self.done as f64 * self.work;
            let settled = self.candidate.kind.is_hierarchy() && converges;
            let overdue = spent >= self.expected && rest > self.expected && !settled;
            let ratio = self.of_one_level.map_or(1.0, |expected| slower(total, expected));
            let alike = self.alike.iter().map(|(setup, iterations)| setup + ratio * iterations);
            let others = alike.fold(self.others, f64::min);
            let others = if overdue { others.min(self.probes) } else { others };
            let limit = self.patience(spent, others) * others;
            if rest > limit || total > self.limit && rest > others {
                return Some(Verdict::Leave { after: self.done, total, rest, overdue });
            }
        }
        // If no factor is possible, methods take turns from here on.
        if !matches!(self.spent.factor, FactorCost::None(_))
            || self.others.is_infinite() && self.alike.is_empty()
        {
            return None;
        }
        let spent = self.done as f64 * self.work;
        let soon = rest.is_some_and(|rest| rest <= 0.5 * self.turn);
        let over = spent >= self.turn && !soon || spent >= 1.5 * self.turn;
        let hopeless = spent >= 0.5 * self.turn && rest.is_some_and(|rest| rest > HOPELESS * self.turn);
        (over || hopeless).then_some(Verdict::Turn { rest: rest.unwrap_or(f64::INFINITY) })
    }
}

/// How many times the expected number of iterations a method takes, but at least one.
pub(crate) fn slower(total: f64, expected: f64) -> f64 {
    (total / expected).max(1.0)
}

/// Orders the matrix, adds the work to the log, and records the result.
pub(crate) fn order(plan: &Plan, spent: &mut Spent, order: &mut Order<'_>, events: &mut Vec<Event>) {
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
    spent.ordered(sized.map(|(work, _)| work));
}
