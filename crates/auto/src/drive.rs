//! Runs a plan: the method with the lowest forecast runs until another one has a lower forecast.
//!
//! | step | action |
//! |---|---|
//! | 1 | the method with the lowest expected work begins; a factor, if its estimate is lower |
//! | 2 | while it runs, its [`Monitor`] forecasts the remaining work. It is left if another method, or a factor, is cheaper |
//! | 3 | the method with the lowest forecast goes on, from the best x so far. What was left comes back with a forecast that is raised each time |
//! | 4 | a method that fails does not come back. When none is left, the factor is computed |
//!
//! If no factor is possible, a method is also left when its work reaches twice that of a hierarchy plus all work before.

use coarsen_backend::SetupError;
use coarsen_core::Outcome;

use crate::Forecast;
use crate::ending::Ending;
use crate::factor_cost::{Advice, FactorCost, Item, NextAttempt, NoFactor, Spent};
use crate::monitor::{Monitor, Order, Verdict, order, slower};
use crate::plan::{Candidate, Plan};
use crate::run::{Event, Last, Run};

/// An attempt: a method with a preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The method and the preconditioner.
    pub candidate: Candidate,
    /// Whether the preconditioner is stored in f32.
    pub single: bool,
}

/// The functions that make attempts.
///
/// An implementation stores the best x, from which each attempt starts. It may keep preconditioners for later
/// attempts.
pub trait Attempts {
    /// An error that ends the run, such as a failed device.
    type Error;

    /// Sets up a preconditioner, calls [`Monitor::built`], and iterates until the tolerance is reached or
    /// [`Monitor::observe`] breaks.
    ///
    /// # Errors
    /// Failures of the machine; a numerical failure is an [`Ending`].
    fn iterate(&mut self, attempt: Attempt, monitor: &mut Monitor<'_>) -> Result<Ending, Self::Error>;

    /// Factorises the matrix and solves by it, with refinement from the best x. Also returns whether there were two
    /// factorisations because the first one failed.
    ///
    /// # Errors
    /// Failures of the machine.
    fn factor(&mut self) -> Result<(Ending, bool), Self::Error>;
}

/// The limits of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// The tolerance for the relative residual.
    pub tolerance: f64,
    /// The maximal total number of iterations.
    pub max_iterations: usize,
    /// Whether preconditioners are first tried in f32.
    pub single: bool,
}

/// Solves a system by a plan; `order` orders the matrix for a factor, and is called at most once.
///
/// *Cost*: if a factor is possible, at most three times the smaller of the work of all methods tried and the
/// work of the factor (see the source of `factor_cost` for the proof).
///
/// # Errors
/// The errors of `attempts`.
pub fn drive<A: Attempts>(
    plan: &Plan,
    limits: Limits,
    attempts: &mut A,
    order: &mut Order<'_>,
) -> Result<Run, A::Error> {
    let states = plan
        .candidates
        .iter()
        .map(|candidate| State { forecast: plan.expected(*candidate), ..State::default() });
    let mut drive = Drive {
        states: states.collect(),
        spent: Spent { log: Default::default(), factor: plan.factor },
        last: Last::Factor,
        slower: None,
        events: Vec::new(),
        plan,
        limits,
        attempts,
        order,
    };
    let last = drive.run()?;
    let Drive { spent, events, .. } = drive;
    let unbounded = match spent.factor {
        FactorCost::None(why) => Some(why),
        _ => None,
    };
    Ok(Run { last, events, log: spent.log, unbounded })
}

/// What is known of a candidate.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The forecast of the remaining work, with the setup before it is set up.
    forecast: f64,
    /// The work so far.
    spent: f64,
    /// Whether it failed in f32.
    retried: bool,
    failed: bool,
}

struct Drive<'a, 'o, A> {
    plan: &'a Plan,
    limits: Limits,
    attempts: &'a mut A,
    order: &'a mut Order<'o>,
    spent: Spent,
    states: Vec<State>,
    events: Vec<Event>,
    /// The last attempt.
    last: Last,
    /// How many times the expected iterations a one-level method takes, once one was left.
    slower: Option<f64>,
}

/// A method that was left comes back if its forecast, times this factor, is the lowest.
const RETURN: f64 = 1.2;

/// See [`Drive::probed`].
const PROBE: f64 = 8.0;

/// What follows an attempt.
enum Next {
    /// The run ends.
    Done,
    /// Another attempt.
    Another,
    /// The factor.
    Factor,
}

impl<A: Attempts> Drive<'_, '_, A> {
    fn run(&mut self) -> Result<Last, A::Error> {
        if self.plan.first == Some(Last::Factor) && self.factor()? {
            return Ok(self.last);
        }
        let mut ordered_for = None;
        loop {
            // After an ordering that counts on a setup, this setup or the factor follows.
            let next = ordered_for.take().or_else(|| self.cheapest());
            match self.advice(next) {
                Advice::Order => {
                    self.order();
                    ordered_for = next.filter(|_| !self.alive());
                }
                Advice::Factor => {
                    if self.factor()? {
                        return Ok(self.last);
                    }
                }
                Advice::Iterate => {
                    let Some(i) = next else { return Ok(self.last) };
                    match self.attempt(i)? {
                        Next::Done => return Ok(self.last),
                        Next::Another => (),
                        Next::Factor => {
                            if self.factor()? {
                                return Ok(self.last);
                            }
                        }
                    }
                }
            }
        }
    }

    /// The candidate with the lowest forecast, if none runs.
    fn cheapest(&self) -> Option<usize> {
        let least = |i: &usize, j: &usize| self.forecast(*i).total_cmp(&self.forecast(*j));
        let open = || (0..self.states.len()).filter(|&i| !self.states[i].failed);
        open().filter(|&i| self.is_affordable(i, false)).min_by(least).or_else(|| open().min_by(least))
    }

    /// Whether candidate `i` may be next. If a factor is cheaper than it, but must wait for half of its cost, no setup beyond
    /// that half begins, and what `runs` goes on until then.
    fn is_affordable(&self, i: usize, runs: bool) -> bool {
        let (forecast, begun, done) =
            (self.forecast(i), self.states[i].spent > 0.0, self.spent.log.iterated());
        // Without half of its cost, neither the ordering nor the factor may bound a setup.
        let (factor, total, half, most) = match self.spent.factor {
            FactorCost::None(_) => return true,
            FactorCost::Estimated { ordering, least, total } => (total, total, 0.5 * ordering, 2.0 * least),
            FactorCost::Known { factor, total } => (factor, total, 0.5 * total, 2.0 * total),
        };
        if self.alive() && !begun && done < half && done + self.setup(i) > most {
            return false;
        }
        forecast <= factor || if begun { !runs } else { self.setup(i) <= 0.5 * total - done }
    }

    fn advice(&self, next: Option<usize>) -> Advice {
        let Some(i) = next else {
            return match self.spent.factor {
                FactorCost::None(_) => Advice::Iterate,
                FactorCost::Estimated { .. } => Advice::Order,
                FactorCost::Known { .. } => Advice::Factor,
            };
        };
        let setup = if self.states[i].spent > 0.0 { 0.0 } else { self.setup(i) };
        self.spent.before(NextAttempt { setup, rest: self.forecast(i), alive: self.alive() })
    }

    /// Whether a method that began can go on.
    fn alive(&self) -> bool {
        self.states.iter().any(|state| state.spent > 0.0 && !state.failed)
    }

    /// The forecast of candidate `i`. The numbers of iterations of one-level methods are in proportion, so one that did not
    /// begin is expected to take more than planned if another one does.
    fn forecast(&self, i: usize) -> f64 {
        match self.slower {
            Some(ratio) if self.is_unbegun_one_level(i) => self.setup(i) + ratio * self.iterations(i),
            _ => self.states[i].forecast,
        }
    }

    fn is_unbegun_one_level(&self, i: usize) -> bool {
        let Candidate { method, kind } = self.plan.candidates[i];
        self.states[i].spent == 0.0 && self.plan.costs.one_level(method, kind).is_some()
    }

    /// The expected work of the iterations of a candidate, before any of them.
    fn iterations(&self, i: usize) -> f64 {
        self.plan.expected(self.plan.candidates[i]) - self.setup(i)
    }

    /// The forecast of a candidate that did not begin, if what is expected of methods does not hold for this system: a
    /// multiple of the work after which its own forecast is known.
    fn probed(&self, i: usize) -> f64 {
        let (forecast, spent) = (self.forecast(i), self.states[i].spent);
        let Candidate { method, kind } = self.plan.candidates[i];
        let known = self.slower.is_some() && self.is_unbegun_one_level(i);
        let probe = self.setup(i) + Monitor::FIRST as f64 * self.plan.costs.iteration(method, kind, 1.0);
        if spent > 0.0 || known || forecast.is_infinite() { forecast } else { forecast.min(PROBE * probe) }
    }

    fn setup(&self, i: usize) -> f64 {
        self.plan.costs.setup(self.plan.candidates[i].kind)
    }

    /// Orders the matrix unless it is ordered already.
    fn order(&mut self) {
        if matches!(self.spent.factor, FactorCost::Estimated { .. }) {
            order(self.plan, &mut self.spent, self.order, &mut self.events);
        }
    }

    /// Whether a factor, or its ordering alone, costs more than twice the work so far.
    fn is_dear(&mut self) -> bool {
        let done = self.spent.log.iterated();
        if matches!(self.spent.factor, FactorCost::Estimated { least, .. } if least <= 2.0 * done) {
            self.order();
        }
        !matches!(self.spent.factor, FactorCost::Known { total, .. } if total <= 2.0 * done)
    }

    /// Tries a candidate, and again in f64 if f32 may be the cause of a failure.
    fn attempt(&mut self, i: usize) -> Result<Next, A::Error> {
        let candidate = self.plan.candidates[i];
        let of = Last::Iterations(candidate.method, candidate.kind);
        let single = self.limits.single && candidate.stores_single() && !self.states[i].retried;
        let (mut ending, mut verdict) = self.iterate(i, single)?;
        if single && ending.may_be_rounding() {
            self.states[i].retried = true;
            let again = NextAttempt { setup: self.setup(i), rest: f64::INFINITY, alive: true };
            let mut advice = self.spent.before(again);
            if advice == Advice::Order {
                self.order();
                advice = self.spent.before(again);
            }
            if advice == Advice::Factor {
                self.fail(i, of, ending);
                return Ok(Next::Factor);
            }
            self.events.push(Event::Retried { kind: candidate.kind, ending });
            (ending, verdict) = self.iterate(i, false)?;
        }
        self.last = of;
        Ok(match (&ending, verdict) {
            (Ending::Method(Outcome::Stopped), Some(Verdict::Factor)) => Next::Factor,
            (Ending::Method(Outcome::Stopped), Some(Verdict::Leave { after, total, rest, overdue })) => {
                self.states[i].forecast = RETURN * rest;
                if let Some(expected) = self.plan.costs.one_level(candidate.method, candidate.kind) {
                    self.slower = Some(slower(total, expected));
                }
                if overdue {
                    (0..self.states.len()).for_each(|j| self.states[j].forecast = self.probed(j));
                }
                self.events.push(Event::Left { from: of, after, forecast: total });
                Next::Another
            }
            (Ending::Method(Outcome::Stopped), Some(Verdict::Turn { rest })) => {
                self.states[i].forecast = rest.max(self.states[i].spent);
                Next::Another
            }
            (Ending::Method(Outcome::Converged | Outcome::Stopped), _)
            | (Ending::TimeLimit | Ending::Singular(_) | Ending::NotInRange(_), _)
            | (Ending::Setup(SetupError::Cancelled), _) => Next::Done,
            // Refinement with a factor reaches a smaller residual than iterations that stagnate. It may cost
            // at most twice the work so far.
            (Ending::RoundOff(_), _) if self.is_dear() => Next::Done,
            _ => {
                self.fail(i, of, ending);
                Next::Another
            }
        })
    }

    /// Excludes a candidate that failed, and those that would fail for the same reason.
    fn fail(&mut self, i: usize, of: Last, ending: Ending) {
        let excluded = |candidate: &Candidate| match ending {
            // No method goes on from here but the factor.
            Ending::RoundOff(_) | Ending::Method(Outcome::IterationLimit) => true,
            Ending::Method(Outcome::IndefiniteOperator) => candidate.needs_definite(),
            _ => false,
        };
        for (state, candidate) in self.states.iter_mut().zip(&self.plan.candidates) {
            state.failed |= excluded(candidate);
        }
        self.states[i].failed = true;
        self.events.push(Event::Failed { of, ending });
    }

    /// Runs the iterations of a candidate, and its setup before the first ones.
    fn iterate(&mut self, i: usize, single: bool) -> Result<(Ending, Option<Verdict>), A::Error> {
        let candidate = self.plan.candidates[i];
        let Candidate { method, kind } = candidate;
        let retry = self.states[i].retried && !single;
        let begun = self.states[i].spent > 0.0;
        if !begun || retry {
            let setup = self.setup(i);
            self.spent.log.add(if retry { Item::Retry(kind) } else { Item::Setup(kind) }, setup);
            self.states[i].spent += setup;
        }
        let least = if begun { (self.states[i].spent - self.setup(i)).max(0.0) } else { 0.0 };
        let unbegun = (0..self.states.len())
            .filter(|&j| j != i && self.states[j].spent == 0.0 && !self.states[j].failed);
        let probes = unbegun.map(|j| self.probed(j)).fold(f64::INFINITY, f64::min);
        let rivals = (0..self.states.len())
            .filter(|&j| j != i && !self.states[j].failed && self.is_affordable(j, true));
        let of_one_level = self.plan.costs.one_level(method, kind);
        let (alike, others): (Vec<usize>, Vec<usize>) =
            rivals.partition(|&j| of_one_level.is_some() && self.is_unbegun_one_level(j));
        let others = others.into_iter().map(|j| self.forecast(j)).fold(f64::INFINITY, f64::min);
        let alike = alike.into_iter().map(|j| (self.setup(j), self.iterations(j))).collect();
        let mut monitor = Monitor {
            plan: self.plan,
            others,
            of_one_level,
            alike,
            probes,
            expected: self.plan.expected(candidate),
            turn: 2.0 * self.plan.hierarchy() + self.spent.log.iterated(),
            limit: self.limits.max_iterations as f64,
            forecast: Forecast::new(self.limits.tolerance),
            work: self.plan.costs.iteration(method, kind, 1.0),
            begun: self.states[i].spent,
            least,
            done: 0,
            check: if kind.is_hierarchy() { Monitor::HIERARCHY } else { Monitor::FIRST },
            total: None,
            verdict: None,
            candidate,
            spent: &mut self.spent,
            order: &mut *self.order,
            events: &mut self.events,
        };
        let ending = self.attempts.iterate(Attempt { candidate, single }, &mut monitor)?;
        let (work, done, verdict) = (monitor.work, monitor.done, monitor.verdict);
        self.states[i].spent += work * done as f64;
        Ok((ending, verdict))
    }

    /// Solves by the factor. `false` if another attempt should follow.
    fn factor(&mut self) -> Result<bool, A::Error> {
        self.order();
        let FactorCost::Known { factor, total } = self.spent.factor else { return Ok(false) };
        self.events.push(Event::Factored { iterated: self.spent.log.iterated(), cost: total });
        self.spent.log.add(Item::Factor, factor);
        let (ending, twice) = self.attempts.factor()?;
        // The cost is that of one factorisation. A factorisation that failed is not part of the bound.
        if twice {
            self.spent.log.add(Item::Factor, factor);
        }
        self.last = Last::Factor;
        if ending.converged() || matches!(ending, Ending::RoundOff(_) | Ending::TimeLimit) {
            return Ok(true);
        }
        self.events.push(Event::Failed { of: Last::Factor, ending });
        self.spent.factor = FactorCost::None(NoFactor::Failed);
        Ok(false)
    }
}
