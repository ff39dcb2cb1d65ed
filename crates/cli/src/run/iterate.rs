//! A Krylov method at one precision.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen::auto::Meter;
use coarsen::backend::SetupError;
use coarsen::krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected};
use coarsen::{Error, Iteration, Outcome, Preconditioner, Real, Stop, Vector, power_of_two};

use super::ending::Ending;
use super::job::Job;
use super::solution::Solution;
use super::stage::Stage;
use crate::arguments::{Method, name};
use crate::error::of_device;

/// The maximum number of continuations of a solve whose residual in `f64` is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// Solves `job` at the place `on`, watched by `meter` if several attempts are made.
///
/// # Errors
/// Only failures of the device. If the solve does not converge, the solution records this.
pub(crate) fn iterate<B: Stage>(
    job: &Job<'_>,
    on: &B,
    mut meter: Option<&mut Meter<'_>>,
) -> Result<Solution, Error> {
    let mut solution = Solution::new(job, on.name());
    solution.notes.extend(on.remark());
    on.check_room(job)?;
    let mut m = match first_built(job, on, &mut solution) {
        Ok(built) => built,
        Err(Ending::Setup(SetupError::Place(error))) if of_device(&error) => return Err(error),
        Err(ending) => return Ok(solution.fail(job, ending)),
    };
    let mut method = krylov(job.method, Stop::relative(B::Real::of(job.tolerance)));
    if let Some(vectors) = &job.null_space {
        let columns = (0..vectors.vectors()).map(|j| on.vector(&numbers(vectors.column(j), 1.0)));
        match NullSpace::new(columns.collect::<Result<_, _>>()?) {
            Ok(space) => method = Box::new(Projected::new(method, space)),
            Err(error) => return Ok(solution.fail(job, Ending::Dependent(error))),
        }
    }
    // Scaling by a power of two is exact, and keeps the squares of tiny and huge right-hand sides in range.
    let scale = power_of_two(job.b.iter().fold(0.0, |m, v| v.abs().max(m)));
    let b = on.vector(&numbers(job.arranged(job.b).into_owned(), scale))?;
    let mut found: Vec<B::Real> = numbers(job.arranged(&solution.x).into_owned(), scale);
    if found.iter().any(|v| !v.wide().is_finite()) && solution.x.iter().all(|v| v.is_finite()) {
        found.fill(B::Real::of(0.0)); // a guess that overflows in the unit of b is worse than zeros
    }
    let mut x = on.vector(&found)?;
    let a = on.operator(job.system.matrix)?;
    solution.begin(job);
    if let Some(meter) = &mut meter {
        meter.built(solution.grids.as_ref().map_or(1.0, |grids| grids.operator_complexity));
    }

    job.progress.iterations(job.tolerance);
    let mut asked = job.tolerance;
    for run in 0..=CONTINUATIONS {
        let before = solution.iterations;
        let mut told = false;
        *method.stop_mut() = Stop {
            max_iterations: job.max_iterations.saturating_sub(before),
            ..Stop::relative(B::Real::of(asked))
        };
        let mut watch = |it: &Iteration<'_, B::Vector>| {
            let relative = it.relative.wide();
            if run == 0 || it.number > 0 {
                solution.history.push(relative);
                solution.times.push(job.begun.elapsed().as_secs_f64());
            }
            job.progress.look(before + it.number, relative);
            if let Some(meter) = &mut meter
                && meter.look(it).is_break()
            {
                told = true;
                return ControlFlow::Break(());
            }
            if late(job) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let report = match method.solve_with(a.get(), &mut m, &b, &mut x, &mut watch) {
            Ok(report) => report,
            Err(error) if of_device(&error) => return Err(error),
            Err(error) => return Ok(solution.fail(job, Ending::Unsuitable(error))),
        };
        solution.iterations += report.iterations;
        solution.condition = solution.condition.or(report.condition.map(Real::wide));
        on.read(&x, &mut found)?;
        let whole = found.iter().map(|v| v.wide() * scale).collect();
        solution.take(job, job.restored(whole), report.outcome);
        if report.outcome == Outcome::Stopped && !solution.ending.converged() && !told {
            solution.ending = Ending::TimeLimit;
        }
        // The residual in the order and precision of the input may be just above the tolerance. The solve
        // then continues from this x with a smaller tolerance.
        if solution.ending.converged() || report.outcome != Outcome::Converged {
            break;
        }
        asked *= 0.5;
    }
    Ok(solution.end(job))
}

/// Whether the deadline has passed.
fn late(job: &Job<'_>) -> bool {
    job.deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A vector at the place, divided by `scale`.
fn numbers<V: Real>(x: Vec<f64>, scale: f64) -> Vec<V> {
    x.into_iter().map(|v| V::of(v / scale)).collect()
}

/// The first preconditioner that can be set up; records the errors of the preconditioners before it.
fn first_built<B: Stage>(
    job: &Job<'_>,
    on: &B,
    solution: &mut Solution,
) -> Result<Box<dyn Preconditioner<B::Vector>>, Ending> {
    let (last, before) = job.preconds.split_last().expect("a choice names a preconditioner");
    for &precond in before {
        match on.build(precond, job) {
            Ok((built, grids)) => {
                (solution.precond, solution.grids) = (precond, grids);
                return Ok(built);
            }
            Err(SetupError::Place(error)) if of_device(&error) => {
                return Err(Ending::Setup(SetupError::Place(error)));
            }
            Err(error) => {
                let order = if job.order.is_some() { " (rows of the reordered matrix)" } else { "" };
                solution.notes.push(format!("{} left out: {error}{order}", name(precond)));
            }
        }
    }
    solution.precond = *last;
    let (built, grids) = on.build(*last, job).map_err(Ending::Setup)?;
    solution.grids = grids;
    Ok(built)
}

fn krylov<V: Vector>(method: Method, stop: Stop<V::Real>) -> Box<dyn Krylov<V>> {
    match method {
        Method::Fcg => Box::new(FlexibleCg::new(stop)),
        Method::Minres => Box::new(Minres::new(stop)),
        Method::Gmres => Box::new(Gmres::new(stop)),
        Method::Bicgstab => Box::new(BiCgStab::new(stop)),
        Method::Auto | Method::Cg | Method::Direct => Box::new(Cg::new(stop)),
    }
}
