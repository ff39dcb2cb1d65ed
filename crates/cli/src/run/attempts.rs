//! The attempts of `coarsen::auto` at one system, each from the best x so far.

use std::time::Instant;

use coarsen::Outcome;
use coarsen::auto::{Course, End, Event, Factored, Meter, NoFactor, Step, Steps, Terms, drive};

use super::attempt::{RANGE, attempt, fits};
use super::ending::Ending;
use super::factor::order;
use super::job::Job;
use super::progress::Progress;
use super::solution::Solution;
use crate::arguments::{Given, Method, Precision, Precond};
use crate::decision::choose::Choice;
use crate::decision::places::Stages;
use crate::error::Failure;
use crate::input::ready::Ready;

/// The place and the deadline.
pub(crate) type Place<'a> = (&'a Stages, Precision, Option<Instant>);

/// Runs the choice until the deadline, and records the course in `choice`.
pub(crate) fn by_choice(
    ready: &Ready<'_>,
    given: &Given,
    choice: &mut Choice,
    place: Place<'_>,
    progress: &Progress,
) -> Result<Solution, Failure> {
    let (stages, precision, deadline) = place;
    let Some(plan) = choice.plan.take() else {
        let mut job = Job::of(ready, given, precision, progress);
        (job.method, job.preconds, job.deadline) = (choice.method, choice.preconds.clone(), deadline);
        let mut solution = attempt(&job, stages, precision, &ready.diagnosis, None)?;
        solution.notes.extend(choice.unbounded.map(|why| Event::NoFactor(why).to_string()));
        return Ok(solution);
    };
    let narrow = precision == Precision::Auto && ready.looks.borrow_mut().time(RANGE, || fits(&ready.matrix));
    let terms = Terms { tolerance: given.tol, max_iterations: given.max_iterations, narrow };
    let mut order = || {
        let ordered = || order(&ready.matrix, &ready.ordered).map_err(|_| NoFactor::Failed);
        ready.looks.borrow_mut().time("ordering for a factor", ordered)
    };
    let mut attempts = Attempts { ready, given, place, progress, done: 0, best: None };
    let course = drive(&plan, terms, &mut attempts, &mut order)?;
    choice.went(&course);
    let mut solution = attempts.best.expect("a plan begins with an attempt");
    solution.notes.splice(0..0, told(&course));
    Ok(solution)
}

/// The events as lines, with an additional line if the cost has no bound.
fn told(course: &Course) -> Vec<String> {
    let said = course.events.iter().any(|event| matches!(event, Event::NoFactor(_)));
    let unbounded = course.unbounded.filter(|_| !said).map(Event::NoFactor);
    course.events.iter().chain(&unbounded).map(ToString::to_string).collect()
}

/// The attempts at one system.
struct Attempts<'a> {
    ready: &'a Ready<'a>,
    given: &'a Given,
    place: Place<'a>,
    progress: &'a Progress,
    /// The number of iterations so far.
    done: usize,
    /// The last attempt with the best x of all attempts; its `tries` are the attempts before it.
    best: Option<Solution>,
}

impl Attempts<'_> {
    /// Makes one attempt from the best x; returns how it ended.
    fn make(
        &mut self,
        (method, precond, precision): (Method, Precond, Precision),
        meter: Option<&mut Meter<'_>>,
    ) -> Result<End, Failure> {
        let (stages, asked, deadline) = self.place;
        let mut job = Job::of(self.ready, self.given, asked, self.progress);
        (job.method, job.preconds, job.deadline) = (method, vec![precond], deadline);
        if let Some(best) = &self.best {
            job.x0 = Some(&best.x);
        }
        job.max_iterations = job.max_iterations.saturating_sub(self.done);
        let solution = attempt(&job, stages, precision, &self.ready.diagnosis, meter)?;
        if method != Method::Direct {
            self.done += solution.iterations;
        }
        let end = ended(&solution, precision == Precision::Mixed);
        self.best = Some(match self.best.take() {
            Some(before) => solution.after(before),
            None => solution,
        });
        Ok(end)
    }
}

impl Steps for Attempts<'_> {
    type Error = Failure;

    fn iterate(&mut self, step: Step, meter: &mut Meter<'_>) -> Result<End, Failure> {
        let precision = match self.place.1 {
            Precision::Auto if step.narrow => Precision::Mixed,
            Precision::Auto => Precision::F64,
            asked => asked,
        };
        self.make((step.method.into(), step.kind.into(), precision), Some(meter))
    }

    fn factor(&mut self) -> Result<Factored, Failure> {
        let end = self.make((Method::Direct, Precond::None, Precision::F64), None)?;
        Ok(Factored { end, twice: self.best.as_ref().is_some_and(|solution| solution.refactored) })
    }
}

/// Converts an ending for `auto`; `narrow` states that the preconditioner is stored in f32 and that f64 has
/// not been tried.
fn ended(solution: &Solution, narrow: bool) -> End {
    match &solution.ending {
        Ending::Method(Outcome::Converged) => End::Converged,
        Ending::Method(Outcome::Stopped) | Ending::TimeLimit => End::Stopped,
        Ending::Singular(_) if !narrow => End::Singular,
        Ending::Method(Outcome::IterationLimit)
        | Ending::TooLong { .. }
        | Ending::NotNull { .. }
        | Ending::Dependent(_) => End::Limit,
        ending if narrow && ending.may_be_rounding() => End::Rounding,
        Ending::Floor(_) => End::Floor,
        Ending::Indefinite { .. }
        | Ending::Unsymmetric { .. }
        | Ending::Method(Outcome::IndefiniteOperator) => End::Indefinite,
        _ => End::Broken,
    }
}
