//! A Krylov method at one precision.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen::backend::{Backend, Setup, SetupError};
use coarsen::krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected};
use coarsen::multigrid::{Multigrid, Relaxation, SmoothedAggregation};
use coarsen::relax::{BlockJacobi, Chebyshev, GaussSeidel, Ic0, Ilu0, Jacobi};
use coarsen::schwarz::Place;
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, Identity, Iteration, LinearOperator, Outcome, Preconditioner, Real, Stop, Vector};

use crate::args::{Method, Precond, name};
use crate::domains::Form;
use crate::ending::Ending;
use crate::job::{Grids, Job, Solution};
use crate::trial::Trial;

/// The relaxation factor of `--precond ssor`: between Gauss-Seidel's 1 and the 2 at which it ends; model problems like 1.2 to 1.7.
pub(crate) const OVER_RELAXATION: f64 = 1.3;

/// How often a solve may be continued because the residual in `f64` is still above the tolerance.
const CONTINUATIONS: usize = 3;

/// Solves `job` with vectors of V at the place `on`.
///
/// # Errors
/// The device alone; how the mathematics ended is in the solution.
pub(crate) fn iterate<V, B>(job: &Job<'_>, on: &B) -> Result<Solution, Error>
where
    V: Real,
    B: Place<Real = V, Vector = Vec<V>>,
{
    let mut solution = Solution::new(job, on.name());
    let mut m = match first_built(job, on, &mut solution) {
        Ok(built) => built,
        Err(ending) => return Ok(solution.fail(ending)),
    };
    let mut method = krylov(job.method, Stop::relative(V::of(job.tolerance)));
    if let Some(vectors) = &job.null_space {
        let columns = (0..vectors.vectors()).map(|j| vectors.column(j).into_iter().map(V::of).collect());
        match NullSpace::new(columns.collect()) {
            Ok(space) => method = Box::new(Projected::new(method, space)),
            Err(error) => return Ok(solution.fail(Ending::Dependent(error))),
        }
    }
    // A power of two keeps the squares of tiny and huge right-hand sides in range, and loses nothing.
    let scale = power_of_two(job.b.iter().fold(0.0, |m, v| v.abs().max(m)));
    let b: Vec<V> = job.arranged(job.b).iter().map(|v| V::of(v / scale)).collect();
    let mut x: Vec<V> = job.arranged(&solution.x).iter().map(|v| V::of(v / scale)).collect();
    let narrow: Bsr<V>;
    let a: &dyn LinearOperator<Vec<V>> = if V::NAME == f64::NAME {
        job.system.matrix
    } else {
        narrow = job.system.matrix.to();
        &narrow
    };
    solution.begin();

    job.progress.iterations(job.tolerance);
    let mut asked = job.tolerance;
    let mut trial = job.worth.map(|worth| Trial::new(worth, job.tolerance, job.max_iterations));
    for run in 0..=CONTINUATIONS {
        let before = solution.iterations;
        *method.stop_mut() = Stop {
            max_iterations: job.max_iterations.saturating_sub(before),
            ..Stop::relative(V::of(asked))
        };
        let mut watch = |it: &Iteration<'_, Vec<V>>| {
            let relative = it.relative.wide();
            if run == 0 || it.number > 0 {
                solution.history.push(relative);
                solution.times.push(job.begun.elapsed().as_secs_f64());
            }
            job.progress.look(before + it.number, relative);
            if run == 0
                && let Some(ControlFlow::Break(forecast)) = trial.as_mut().map(|trial| trial.look(it))
            {
                solution.forecast = Some(forecast);
                return ControlFlow::Break(());
            }
            if late(job) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let report = match method.solve_with(a, &mut m, &b, &mut x, &mut watch) {
            Ok(report) => report,
            Err(error @ Error::Device { .. }) => return Err(error),
            Err(error) => return Ok(solution.fail(Ending::Unsuitable(error))),
        };
        solution.iterations += report.iterations;
        solution.condition = solution.condition.or(report.condition.map(V::wide));
        let found = x.iter().map(|v| v.wide() * scale).collect();
        solution.take(job, job.restored(found), report.outcome);
        if report.outcome == Outcome::Stopped && !solution.ending.converged() && solution.forecast.is_none() {
            solution.ending = Ending::TimeLimit;
        }
        // What the method calls converged may be just above the tolerance when it is summed in another order or
        // precision: ask for more, from where it stands.
        if solution.ending.converged() || report.outcome != Outcome::Converged {
            break;
        }
        asked *= 0.5;
    }
    Ok(solution.end())
}

/// Whether the time is up.
fn late(job: &Job<'_>) -> bool {
    job.deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

/// A preconditioner, and its levels where it has some.
type Built<V> = (Box<dyn Preconditioner<Vec<V>>>, Option<Grids>);

/// The first preconditioner that can be set up; notes why those before it could not.
fn first_built<V, B>(
    job: &Job<'_>,
    on: &B,
    solution: &mut Solution,
) -> Result<Box<dyn Preconditioner<Vec<V>>>, Ending>
where
    V: Real,
    B: Place<Real = V, Vector = Vec<V>>,
{
    let (last, before) = job.preconds.split_last().expect("a choice names a preconditioner");
    for &precond in before {
        match build(precond, job, on) {
            Ok((built, grids)) => {
                (solution.precond, solution.grids) = (precond, grids);
                return Ok(built);
            }
            Err(error) => {
                let order = if job.order.is_some() { " (rows as renumbered)" } else { "" };
                solution.notes.push(format!("{} left out: {error}{order}", name(precond)));
            }
        }
    }
    solution.precond = *last;
    let (built, grids) = build(*last, job, on).map_err(Ending::Setup)?;
    solution.grids = grids;
    Ok(built)
}

fn build<V, B>(precond: Precond, job: &Job<'_>, on: &B) -> Result<Built<V>, SetupError>
where
    V: Real,
    B: Place<Real = V, Vector = Vec<V>>,
{
    let system = job.system;
    let ssor = GaussSeidel { omega: OVER_RELAXATION, ..GaussSeidel::default() };
    let one_level: Box<dyn Preconditioner<Vec<V>>> = match precond {
        Precond::Sa => return hierarchy(&job.aggregation, system, on),
        Precond::Mas => return domains(&job.domains, system, on),
        Precond::Auto | Precond::None => Box::new(Identity),
        Precond::Jacobi => Box::new(Jacobi::default().build_from(system, on)?),
        Precond::BlockJacobi => Box::new(BlockJacobi::default().build_from(system, on)?),
        Precond::Gs => Box::new(GaussSeidel::default().build_from(system, on)?),
        Precond::Ssor => Box::new(ssor.build_from(system, on)?),
        Precond::Ic0 => Box::new(Ic0::default().build_from(system, on)?),
        Precond::Ilu0 => Box::new(Ilu0.build_from(system, on)?),
        Precond::Chebyshev => Box::new(Chebyshev::default().build_from(system, on)?),
    };
    Ok((one_level, None))
}

fn hierarchy<V, B, S>(
    recipe: &Multigrid<SmoothedAggregation, S>,
    system: System<'_, f64>,
    on: &B,
) -> Result<Built<V>, SetupError>
where
    V: Real,
    B: Backend<Real = V, Vector = Vec<V>>,
    S: Relaxation<f64, B> + 'static,
{
    let built = recipe.build_from(system, on)?;
    let grids = Grids {
        levels: built.levels(),
        operator_complexity: built.operator_complexity(),
        table: built.to_string(),
    };
    Ok((Box::new(built), Some(grids)))
}

fn domains<V, B>(recipe: &Form, system: System<'_, f64>, on: &B) -> Result<Built<V>, SetupError>
where
    V: Real,
    B: Place<Real = V, Vector = Vec<V>>,
{
    let schwarz = match recipe {
        Form::Additive(schwarz) => schwarz,
        Form::Multiplicative(recipe) => return hierarchy(recipe, system, on),
    };
    let built = schwarz.build_from(system, on)?;
    let plan = built.plan();
    let grids = Grids {
        levels: plan.levels() + usize::from(plan.top_nodes() > 0),
        operator_complexity: 1.0 + plan.values() as f64 / system.matrix.nnz().max(1) as f64,
        table: built.to_string(),
    };
    Ok((Box::new(built), Some(grids)))
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

/// The power of two at or below v; 1 for 0.
fn power_of_two(v: f64) -> f64 {
    if v == 0.0 { 1.0 } else { 2.0_f64.powi((v.log2().floor() as i32).clamp(-1022, 1022)) }
}
