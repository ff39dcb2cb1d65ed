//! Does what `coarsen::auto` asks for: attempts at one system, each from the best x so far.

use std::time::Instant;

use coarsen::Outcome;
use coarsen::auto::{End, Factored, Meter, NoFactor, Step, Steps, Terms, drive};
use coarsen::sparse::NearKernel;

use crate::args::{Given, Method, Precision, Precond};
use crate::choose::Choice;
use crate::ending::Ending;
use crate::error::Failure;
use crate::factor::order;
use crate::job::Solution;
use crate::progress::Progress;
use crate::ready::Ready;
use crate::solve::{attempt, fits};
use crate::stage::Stages;

/// Where and until when.
pub(crate) type Place<'a> = (&'a Stages, Precision, Option<Instant>);

/// Does what was chosen, until the deadline; `choice` is told how it went.
pub(crate) fn by_choice(
    ready: &Ready<'_>,
    given: &Given,
    choice: &mut Choice,
    place: Place<'_>,
    progress: &Progress,
) -> Result<Solution, Failure> {
    let (stages, precision, deadline) = place;
    let Some(plan) = choice.plan.take() else {
        let near_kernel = ready.near_kernel()?;
        let mut job = ready.job(given, near_kernel.as_ref(), progress);
        (job.method, job.preconds, job.deadline) = (choice.method, choice.preconds.clone(), deadline);
        return attempt(&job, stages, precision, &ready.diagnosis, None);
    };
    let narrow = precision == Precision::Auto && fits(&ready.matrix);
    let terms = Terms { tolerance: given.tol, max_iterations: given.max_iterations, narrow };
    let mut order = || {
        let ordered = || order(&ready.matrix, &ready.ordered).map_err(|_| NoFactor::Failed);
        ready.looks.borrow_mut().time("ordering for a factor", ordered)
    };
    let near_kernel = ready.near_kernel()?;
    let mut attempts = Attempts { ready, given, place, progress, near_kernel, done: 0, best: None };
    let course = drive(&plan, terms, &mut attempts, &mut order)?;
    choice.went(&course);
    let mut solution = attempts.best.expect("a plan begins with an attempt");
    solution.notes.splice(0..0, course.events.iter().map(ToString::to_string));
    Ok(solution)
}

/// The attempts at one system.
struct Attempts<'a> {
    ready: &'a Ready<'a>,
    given: &'a Given,
    place: Place<'a>,
    progress: &'a Progress,
    near_kernel: Option<NearKernel>,
    /// Iterations done.
    done: usize,
    /// The last attempt with the best x of all, and those before it.
    best: Option<Solution>,
}

impl Attempts<'_> {
    /// One attempt from the best x; how it ended.
    fn make(
        &mut self,
        (method, precond, precision): (Method, Precond, Precision),
        meter: Option<&mut Meter<'_>>,
    ) -> Result<End, Failure> {
        let (stages, _, deadline) = self.place;
        let mut job = self.ready.job(self.given, self.near_kernel.as_ref(), self.progress);
        (job.method, job.preconds, job.deadline) = (method, vec![precond], deadline);
        if let Some(best) = &self.best {
            job.x0 = Some(&best.x);
            job.since.set(Instant::now());
        }
        job.max_iterations = job.max_iterations.saturating_sub(self.done);
        // Ordering for a factor, in the middle of an attempt, is a look of its own.
        let looked = self.ready.looks.borrow().seconds();
        let mut solution = attempt(&job, stages, precision, &self.ready.diagnosis, meter)?;
        solution.solve_seconds -= self.ready.looks.borrow().seconds() - looked;
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

/// What an ending means for what follows; `narrow` where the preconditioner is stored in f32 and f64 is yet to come.
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
