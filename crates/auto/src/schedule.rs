//! Which method runs, and when it is left: forecasts, the work so far, and the rule for a factor.
//!
//! The steps, and the proof of the bound, are in the page "Choosing a solver" of the book. R is `iteration_work`; C = O + F and
//! C₀ ≤ C are those of [`FactorCost`]. *Reference* Karlin, Manasse, Rudolph, Sleator 1988, "Competitive snoopy caching",
//! Algorithmica 3 (ski rental).
//!
//! **Forecasts.** The total number of iterations is a weighted geometric mean of two forecasts. The first extends the mean change
//! of ln ‖r‖ over the last half of the iterations. It is too high on a plateau before the smallest eigenvalue is found, and too
//! low if convergence slows down later. The second is ½ √κ ln(2/ε) (Saad 2003, (6.128)), with κ from Ritz values. It is too
//! low until the smallest eigenvalue is found, and too high if only few eigenvalues are small.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen_backend::SetupError;
use coarsen_core::Outcome;
use coarsen_direct::{Analysis, FactorStats};

use crate::plan::FactorCost;
use crate::{Ending, Plan};

/// The weight of the slope in a forecast; the condition number has the remaining weight.
const SLOPE_WEIGHT: f64 = 0.3;

/// The forecast if the residual does not fall.
const NO_DECREASE: f64 = 1e4;

/// While the expected work of a hierarchy is not spent it is not left, since its first forecasts are too high. Later the
/// forecast of its remaining work may be this multiple of that of another method.
const HIERARCHY_PATIENCE: f64 = 4.0;

/// If the expected work of a hierarchy is spent and its relative residual is above `CONVERGING_BELOW`, what is expected of other
/// methods may be wrong too: at most `PROBE_FACTOR` times the work after which their own forecast is known is expected of them.
const CONVERGING_BELOW: f64 = 2e-2;
const PROBE_FACTOR: f64 = 8.0;

/// The number of iterations before the first forecast, with a hierarchy and with others.
const FIRST_FORECAST: [usize; 2] = [8, 10];

/// If the forecast is below this fraction of F, iterations continue.
const CONTINUE_BELOW: f64 = 0.5;

/// If the forecast is above this multiple of F, the factor is computed at C/2. It is above 1 because early
/// forecasts are too high.
const FACTOR_ABOVE: f64 = 1.2;

/// What follows: an attempt with a candidate of the plan, the factor, or the end of the solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Iterate(usize),
    Factor,
    End,
}

/// Orders the matrix. It returns the size of the factor, with the ordering for it, or why no factor is possible.
pub(crate) type Order<'a> = dyn FnMut() -> Result<(FactorStats, Option<Analysis>), Ending> + 'a;

/// What is known of a candidate.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The forecast of the remaining work, with the setup before it is set up.
    forecast: f64,
    /// The work so far; 0 before it begins.
    spent: f64,
    failed_in_f32: bool,
    failed: bool,
}

/// The state of a solve.
pub(crate) struct Schedule<'a> {
    plan: &'a Plan,
    order: &'a mut Order<'a>,
    pub(crate) factor: FactorCost,
    pub(crate) iteration_work: f64,
    /// The work of orderings and factors.
    pub(crate) factor_work: f64,
    /// The size of the factor, once the matrix is ordered, and the seconds of the ordering.
    pub(crate) ordered: Option<FactorStats>,
    pub(crate) ordering_seconds: f64,
    /// The ordering, until a factor is computed.
    pub(crate) analysis: Option<Analysis>,
    states: Vec<State>,
    /// The forecast of the total iterations of the method that was left for another one.
    left: Option<f64>,
    factor_is_due: bool,
    ended: bool,
}

impl<'a> Schedule<'a> {
    /// A `known` factor is already computed, and solves first.
    pub(crate) fn new(plan: &'a Plan, order: &'a mut Order<'a>, known: bool) -> Self {
        let state = |i| State { forecast: plan.expected(i), spent: 0.0, failed_in_f32: false, failed: false };
        Self {
            plan,
            order,
            factor: if known { FactorCost::Known { factor: 0.0, total: 0.0 } } else { plan.factor.clone() },
            iteration_work: 0.0,
            factor_work: 0.0,
            ordered: None,
            ordering_seconds: 0.0,
            analysis: None,
            states: (0..plan.candidates.len()).map(state).collect(),
            left: None,
            factor_is_due: known || plan.factor_first,
            ended: false,
        }
    }

    /// Decides what follows; orders the matrix where this is necessary.
    pub(crate) fn next(&mut self) -> Next {
        loop {
            if self.ended {
                return Next::End;
            }
            let (best, begun) = (self.cheapest(|_| true), self.cheapest(|state| state.spent > 0.0));
            if let FactorCost::None(_) = self.factor {
                return best.map_or(Next::End, Next::Iterate);
            }
            if let Some(i) = best.filter(|_| !self.factor_is_due) {
                let with = self.iteration_work + self.setup(i);
                if self.factor.is_deferred(self.states[i].forecast, with, begun.is_none()) {
                    return Next::Iterate(i);
                }
                if let Some(i) = begun.filter(|_| self.iteration_work < self.factor.limits().0) {
                    return Next::Iterate(i);
                }
            }
            match self.factor {
                FactorCost::Known { .. } => return Next::Factor,
                _ => self.order(),
            }
        }
    }

    /// The candidate with the lowest forecast among those that did not fail.
    fn cheapest(&self, of: impl Fn(&State) -> bool) -> Option<usize> {
        let open = (0..self.states.len()).filter(|&i| !self.states[i].failed && of(&self.states[i]));
        open.min_by(|&i, &j| self.states[i].forecast.total_cmp(&self.states[j].forecast))
    }

    /// Whether the preconditioner of a candidate is stored in f32.
    pub(crate) fn single(&self, i: usize) -> bool {
        self.plan.auto.single && self.plan.stores_single(i) && !self.states[i].failed_in_f32
    }

    /// Begins an attempt with a candidate, or goes on with it: counts its setup.
    pub(crate) fn begin(&mut self, i: usize) {
        self.spend(i, self.setup(i));
    }

    /// Watches the iterations of the attempt that began; `complexity` is the operator complexity of a hierarchy, otherwise 1.
    pub(crate) fn monitor(&mut self, i: usize, complexity: f64) -> Monitor<'_, 'a> {
        let least = (self.states[i].spent - self.plan.setup(i)).max(0.0);
        let [hierarchy, other] = FIRST_FORECAST;
        let check = if self.plan.candidates[i].1.is_hierarchy() { hierarchy } else { other };
        let work = self.plan.iteration(i, complexity);
        Monitor { schedule: self, i, work, least, done: 0, check, logs: Vec::new(), total: None }
    }

    /// The work of the setup of a candidate; 0 if it is set up.
    fn setup(&self, i: usize) -> f64 {
        if self.states[i].spent > 0.0 { 0.0 } else { self.plan.setup(i) }
    }

    fn spend(&mut self, i: usize, work: f64) {
        self.iteration_work += work;
        self.states[i].spent += work;
    }

    /// Takes the ending of an attempt. Returns a sentence if the method was left, or is repeated in f64.
    pub(crate) fn end(&mut self, i: usize, iterations: usize, ending: &Ending) -> Option<String> {
        let (plan, left) = (self.plan, self.left.take());
        let (method, precond) = plan.candidates[i];
        match ending {
            Ending::Method(Outcome::Stopped) if left.is_some() || self.factor_is_due => {
                return left.map(|total| {
                    format!("{method} with {precond} left: after {iterations} iterations the forecast is {total:.0}")
                });
            }
            _ if self.single(i) && ending.may_be_rounding() => {
                let forecast = plan.expected(i);
                self.states[i] = State { forecast, spent: 0.0, failed_in_f32: true, failed: false };
                return Some("repeated in f64".to_owned());
            }
            Ending::Method(Outcome::Converged | Outcome::Stopped)
            | Ending::TimeLimit
            | Ending::Singular(_)
            | Ending::NotInRange(_)
            | Ending::Setup(SetupError::Cancelled) => self.ended = true,
            // Refinement with a factor reaches a smaller residual than iterations that stagnate. It may cost
            // at most twice the work so far.
            Ending::RoundOff { .. } if self.factor_is_expensive() => self.ended = true,
            // No method goes on from here except the factor.
            Ending::RoundOff { .. } | Ending::Method(Outcome::IterationLimit) => self.fail(|_| true),
            Ending::Method(Outcome::IndefiniteOperator) => {
                self.fail(|j| j == i || plan.candidates[j].0.needs_definite());
            }
            _ => self.fail(|j| j == i),
        }
        None
    }

    fn fail(&mut self, of: impl Fn(usize) -> bool) {
        self.states.iter_mut().enumerate().filter(|(j, _)| of(*j)).for_each(|(_, state)| state.failed = true);
    }

    /// Whether a factor, or its ordering alone, costs more than twice the work so far.
    fn factor_is_expensive(&mut self) -> bool {
        if matches!(self.factor, FactorCost::Estimated { least, .. } if least <= 2.0 * self.iteration_work) {
            self.order();
        }
        !matches!(self.factor, FactorCost::Known { total, .. } if total <= 2.0 * self.iteration_work)
    }

    /// Begins a factorisation: counts its work, and returns why it begins.
    pub(crate) fn begin_factor(&mut self) -> String {
        let FactorCost::Known { factor, total } = self.factor else { return String::new() };
        self.factor_work += factor;
        if total == 0.0 {
            "the factor of an earlier solve".to_owned()
        } else if self.iteration_work > 0.0 {
            let share = 100.0 * self.iteration_work / total;
            format!("a factor was computed after {share:.0} % of its cost was spent on iterations")
        } else {
            "a factor has the lowest forecast".to_owned()
        }
    }

    /// Takes the ending of a factorisation, and whether there were two because the first one failed.
    pub(crate) fn end_factor(&mut self, ending: &Ending, twice: bool) {
        if let FactorCost::Known { factor, .. } = self.factor
            && twice
        {
            self.factor_work += factor;
        }
        self.ended = ending.converged() || matches!(ending, Ending::RoundOff { .. } | Ending::TimeLimit);
        if !self.ended {
            (self.factor, self.factor_is_due) = (FactorCost::None(ending.clone()), false);
        }
    }

    /// Orders the matrix unless it is ordered already.
    fn order(&mut self) {
        let FactorCost::Estimated { ordering, .. } = self.factor else { return };
        self.factor_work += ordering;
        let begun = Instant::now();
        let ordered = (self.order)();
        self.ordering_seconds += begun.elapsed().as_secs_f64();
        // Where nothing else is possible, the limit does not hold.
        let allowed = if self.plan.candidates.is_empty() { usize::MAX } else { self.plan.auto.memory };
        self.factor = match ordered {
            Err(why) => FactorCost::None(why),
            // `products` depends on the caches of the machine. It is ignored, so that a matrix is always solved
            // in the same way.
            Ok((FactorStats { bytes, .. }, _)) if bytes > allowed => {
                FactorCost::None(Ending::FactorTooLarge { bytes, allowed })
            }
            Ok((stats, analysis)) => {
                (self.ordered, self.analysis) = (Some(stats), analysis);
                let factor = self.plan.costs.factor(&stats);
                FactorCost::Known { factor, total: ordering + factor }
            }
        };
    }

    /// Whether the factor follows after an iteration; `rest` is the forecast of the work of the remaining iterations, if there
    /// is one. Orders the matrix where this is necessary.
    pub(crate) fn stops_for_factor(&mut self, rest: Option<f64>) -> bool {
        let done = self.iteration_work;
        let above = |limit: f64| rest.is_some_and(|rest| rest > limit);
        if let FactorCost::Estimated { ordering, least, total } = self.factor
            && (done >= 2.0 * least || done >= 0.5 * ordering && above(total))
        {
            self.order();
        }
        let FactorCost::Known { factor, total } = self.factor else { return false };
        done >= 2.0 * total
            || done >= total && above(CONTINUE_BELOW * factor)
            || done >= 0.5 * total && above(FACTOR_ABOVE * factor)
    }

    /// Whether candidate `i` is left for another one. `total` and `rest` are its forecasts of iterations and of
    /// remaining work; its relative residual is near the tolerance if it `converges`.
    fn leaves(&mut self, i: usize, total: f64, rest: f64, converges: bool) -> bool {
        let (plan, spent, expected) = (self.plan, self.states[i].spent, self.plan.expected(i));
        let is_hierarchy = plan.candidates[i].1.is_hierarchy();
        let mut forecasts: Vec<f64> = self.states.iter().map(|state| state.forecast).collect();
        let others: Vec<usize> = (0..forecasts.len()).filter(|&j| j != i && !self.states[j].failed).collect();

        let probes = is_hierarchy && spent >= expected && rest > expected && !converges;
        for &j in others.iter().filter(|_| probes) {
            let probe = plan.setup(j) + FIRST_FORECAST[1] as f64 * plan.iteration(j, 1.0);
            if self.states[j].spent == 0.0 && forecasts[j].is_finite() {
                forecasts[j] = forecasts[j].min(PROBE_FACTOR * probe);
            }
        }

        let (_, most, cost) = self.factor.limits();
        // The iterations of one-level methods are in proportion: if this one takes more than expected, so do the others.
        let one_level = |i: usize| {
            let (method, precond) = plan.candidates[i];
            (method.needs_definite() && (!precond.is_hierarchy() || plan.costs.roughness() > 0.5))
                .then(|| plan.costs.iterations(method, precond))
        };
        if let Some(expected) = one_level(i) {
            let ratio = (total / expected).max(1.0);
            let alike = |&&j: &&usize| self.states[j].spent == 0.0 && one_level(j).is_some();
            for &j in others.iter().filter(alike) {
                forecasts[j] = plan.setup(j) + ratio * (plan.expected(j) - plan.setup(j));
            }
        }

        let affordable = |&&j: &&usize| forecasts[j] <= cost && self.iteration_work + self.setup(j) <= most;
        let least = others.iter().filter(affordable).fold(f64::INFINITY, |least, &j| least.min(forecasts[j]));
        // Early forecasts are inaccurate, and waiting for late forecasts costs iterations.
        let patience = match is_hierarchy {
            true if spent < expected => f64::INFINITY,
            true => HIERARCHY_PATIENCE,
            false => (4.0 - 15.0 * spent / least).max(1.0),
        };
        let mut leaves = rest > patience * least;
        leaves |= total > plan.auto.max_iterations as f64 && rest > least;
        if leaves {
            forecasts[i] = rest;
            self.states.iter_mut().zip(forecasts).for_each(|(state, forecast)| state.forecast = forecast);
            self.left = Some(total);
        }
        leaves
    }
}

/// The monitor of a running method: it counts the work of iterations, makes forecasts, and decides whether to continue.
pub(crate) struct Monitor<'m, 'a> {
    schedule: &'m mut Schedule<'a>,
    i: usize,
    /// The work of an iteration.
    work: f64,
    /// The work before which the method is not left: a method that comes back runs at least as long as it ran before.
    least: f64,
    /// The iterations of this attempt.
    done: usize,
    /// The number of iterations before the next forecast.
    check: usize,
    /// ln(‖rₖ‖ / ‖b‖) of every iteration.
    logs: Vec<f64>,
    /// The total number of iterations in the last forecast.
    total: Option<f64>,
}

impl Monitor<'_, '_> {
    /// Observes an iteration by its number (0 for the guess), its relative residual and, if available, an estimate of the condition
    /// number from below. Returns `Break` to stop the method.
    ///
    /// *Cost*: a logarithm, and in some calls a forecast, whose Ritz values take time linear in the number of
    /// iterations so far.
    pub(crate) fn observe(
        &mut self,
        number: usize,
        relative: f64,
        condition: &dyn Fn() -> Option<f64>,
    ) -> ControlFlow<()> {
        let Self { schedule, i, work, least, done, check, logs, total } = self;
        logs.push(relative.ln());
        if number > 0 {
            schedule.spend(*i, *work);
            *done += 1;
        }
        let checked = *done >= *check;
        if checked {
            let hierarchy = schedule.plan.candidates[*i].1.is_hierarchy();
            let goal = schedule.plan.auto.tolerance.max(f64::MIN_POSITIVE).ln();
            *total = Some(forecast(logs, goal, condition()));
            // Between two forecasts the last forecast is used.
            *check = *done + if hierarchy { 1 } else { (*done / 10).max(5) };
        }
        let rest = total.map(|total| (total - *done as f64).max(1.0) * *work);
        if schedule.stops_for_factor(rest) {
            schedule.factor_is_due = true;
            return ControlFlow::Break(());
        }
        let checked = checked && *done as f64 * *work >= *least;
        if let (true, Some(total), Some(rest)) = (checked, *total, rest)
            && schedule.leaves(*i, total, rest, relative < CONVERGING_BELOW)
        {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// The forecast of the total number of iterations, from the logarithms of the residuals of all iterations, starting with the guess.
/// `goal` is ln ε; `condition` is an estimate from below of the condition number of M⁻¹A.
pub(crate) fn forecast(logs: &[f64], goal: f64, condition: Option<f64>) -> f64 {
    let extrapolated = extrapolated(logs, goal);
    match condition.filter(|c| *c >= 1.0) {
        Some(c) => {
            let bound = 0.5 * c.sqrt() * (2.0_f64.ln() - goal);
            extrapolated.min(NO_DECREASE).powf(SLOPE_WEIGHT) * bound.powf(1.0 - SLOPE_WEIGHT)
        }
        None => extrapolated,
    }
}

/// The iteration at which the line through the middle and the end of `logs` reaches `goal`; infinite if it does not fall.
pub(crate) fn extrapolated(logs: &[f64], goal: f64) -> f64 {
    let Some(last) = logs.len().checked_sub(1) else { return f64::INFINITY };
    let middle = last / 2;
    let slope = (logs[last] - logs[middle]) / (last - middle).max(1) as f64;
    if slope < 0.0 { last as f64 + (goal - logs[last]).min(0.0) / slope } else { f64::INFINITY }
}
