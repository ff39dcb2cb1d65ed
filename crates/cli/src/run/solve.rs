//! A solve by a plan, on the backend and in the precision that were asked for.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Instant;

use coarsen::Cancel;
use coarsen::auto::{self, Builder, Ending, KnownFactor, Method as AutoMethod, Observer, Plan, Precond};
use coarsen::backend::{Prepared, SetupError};
use coarsen::direct::{Analysis, Method as Factorisation};
use coarsen::sparse::{Bsr, System};

use super::backend::{Parameters, SolveBackend};
use super::progress::Progress;
use super::refuse::{Ended, refuse};
use super::solution::{Attempt, Solution, used};
use crate::arguments::{Given, Method, Precision};
use crate::decision::backends::Backends;
use crate::decision::choose::Choice;
use crate::error::Failure;
use crate::input::ready::Ready;
use crate::input::renumber;
use crate::words::{Rows, options, told};

/// What a run needs besides the choice.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) ready: &'a Ready<'a>,
    pub(crate) given: &'a Given,
    pub(crate) backends: &'a Backends,
    pub(crate) precision: Precision,
    pub(crate) progress: &'a Progress,
    /// The start of the setup, when the matrix was parsed.
    pub(crate) begun: Instant,
    /// The deadline.
    pub(crate) deadline: Option<Instant>,
}

/// Solves by a choice, which then tells how it went. `ordered` is an ordering of the matrix that is already known.
pub(crate) fn solve(
    run: Run<'_>,
    choice: &mut Choice,
    ordered: Option<Analysis>,
) -> Result<Solution, Failure> {
    let Run { ready, backends, precision, .. } = run;
    let asked = choice.method();
    if let Some(ending) = refuse(asked, ready.adapted_diagnosis()) {
        return Ok(Solution::refused((asked, choice.precond()), ready, ending));
    }
    match backends {
        Backends::Cpu if precision == Precision::F32 => {
            let backend = coarsen::backend::Cpu::single();
            by_plan(run, choice, (&backend, &backend), ordered)
        }
        Backends::Cpu => {
            let (double, mixed) = (coarsen::backend::Cpu::new(), coarsen::backend::Cpu::mixed());
            by_plan(run, choice, (&double, &mixed), ordered)
        }
        #[cfg(feature = "opencl")]
        Backends::Double(backend) => by_plan(run, choice, (backend, &backend.mixed()), ordered),
        #[cfg(feature = "opencl")]
        Backends::Single(backend) => by_plan(run, choice, (backend, backend), ordered),
    }
}

/// Solves with preconditioners of two backends: in the precision of the vectors, and in f32.
fn by_plan<D: SolveBackend, M: SolveBackend<Vector = D::Vector>>(
    run: Run<'_>,
    choice: &mut Choice,
    (double, single): (&D, &M),
    ordered: Option<Analysis>,
) -> Result<Solution, Failure> {
    let Run { ready, given, progress, deadline, precision, .. } = run;
    let (parameters, cancel) = (Parameters::of(given, precision), Cancel::new());
    let kept: Kept<D::Vector> = RefCell::new(None);
    let build = |precond: Precond, in_f32: bool, a: &Bsr<f64>| {
        if let Some(((_, known), built)) = &mut *kept.borrow_mut()
            && *known == precond
            && let Some(built) = built.take()
        {
            return Ok((built, None));
        }
        let (positions, near_kernel) = (ready.positions.as_deref(), ready.near_kernel.as_deref());
        let system = System { positions, near_kernel, cancel: Some(&cancel), ..a.into() };
        match precision == Precision::Mixed || in_f32 && precision != Precision::F64 {
            true => single.build(precond, &parameters, system),
            false => double.build(precond, &parameters, system),
        }
    };
    let builder = Builder { backend: double, operator: &|a| double.operator(a), build: &build };
    progress.iterations(given.tol);
    std::thread::scope(|scope| {
        let (end, ended) = channel::<()>();
        if let Some(deadline) = deadline {
            let cancel = &cancel;
            scope.spawn(move || {
                let left = deadline.saturating_duration_since(Instant::now());
                if ended.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                    cancel.cancel();
                }
            });
        }
        let mut known = ordered.map(KnownFactor::Ordering);
        let input = ready.input;
        let mut first =
            column(run, choice, &builder, &kept, (&input.b, input.x0.as_deref()), &mut known, true)?;
        first.notes.splice(0..0, double.remark());
        let mut other = |(b, x0): &(Vec<f64>, Option<Vec<f64>>)| {
            column(run, choice, &builder, &kept, (b, x0.as_deref()), &mut known, false)
        };
        let others = input.others.iter().map(&mut other).collect::<Result<Vec<_>, _>>();
        drop(end);
        Ok(first.with(others?))
    })
}

/// Solves for one right-hand side. What solved the `first` one is kept for the others: its preconditioner in `kept`, its
/// factor in `known`. If that does not suffice, all methods are tried.
fn column<D: SolveBackend>(
    run: Run<'_>,
    choice: &mut Choice,
    builder: &Builder<'_, D>,
    kept: &Kept<D::Vector>,
    (b, x0): (&[f64], Option<&[f64]>),
    known: &mut Option<KnownFactor>,
    first: bool,
) -> Result<Solution, Failure> {
    let Run { ready, progress, deadline, precision, .. } = run;
    let (order, block) = (ready.order.as_ref(), ready.matrix().block().0);
    let b = renumber::arranged(order, block, b);
    let mut x = match x0 {
        Some(x0) => renumber::arranged(order, block, x0).into_owned(),
        None => vec![0.0; b.len()],
    };
    let (mut history, mut times) = (Vec::new(), Vec::new());
    let mut at = None;
    let mut observe = |iteration: usize, relative: f64| {
        // The first residual of a later attempt is the last one of the attempt before it.
        if at != Some(iteration) {
            history.push(relative);
            times.push(run.begun.elapsed().as_secs_f64());
            at = Some(iteration);
        }
        progress.update(iteration, relative);
        match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut kept_plan = (!first).then(|| choice.plan.clone());
    if let (Some(plan), Some((pair, _))) = (&mut kept_plan, &*kept.borrow()) {
        plan.candidates = vec![*pair];
        plan.exclude_factor(Ending::FactorExcluded);
    }
    let plan = kept_plan.as_ref().unwrap_or(&choice.plan);
    let solve = |plan: &Plan, known, x: &mut [f64], observe: &mut Observer<'_>| {
        plan.solve(&ready.problem, known, builder, &b, x, observe)
    };
    let (mut done, mut built, mut factor) = solve(plan, known.take(), &mut x, &mut observe)?;
    if !first && !done.ending.converged() && done.ending != Ending::TimeLimit {
        let before = done;
        (done, built, factor) = solve(&choice.plan, None, &mut x, &mut observe)?;
        done.attempts.splice(0..0, before.attempts);
    }
    let last = done.attempts.last();
    if let (Some(built), Some(last)) = (built, last) {
        kept.replace(Some(((last.method, last.precond), Some(built))));
    }
    *known = factor.map(|factor| KnownFactor::Factor(Box::new(factor)));
    if matches!(done.ending, Ending::Setup(SetupError::Cancelled)) {
        done.ending = Ending::TimeLimit;
    }
    if done.ordering_seconds > 0.0 {
        ready.analysis.borrow_mut().note("ordering for a factor", done.ordering_seconds);
    }
    in_file_order(&mut done.ending, ready);
    let endings = done.attempts.iter_mut().map(|attempt| &mut attempt.ending);
    for ending in endings.chain(&mut done.unbounded) {
        in_file_order(ending, ready);
        ending.number(&|row| row + 1);
    }
    let mut notes = Vec::new();
    if first {
        notes.extend((!ready.problem.is_given()).then(|| ready.problem.to_string()));
        let reason = choice.went(&done);
        let others = done.notes().into_iter().filter(|note| Some(note) != reason.as_ref());
        notes.extend(others.map(|note| options(&note)));
        notes.extend(done.no_bound().filter(|_| choice.is_auto()));
        notes.extend(done.attempts.last().into_iter().flat_map(|last| described(last, ready)));
    }
    if history.is_empty() {
        history.push(done.true_residual);
        times.push(run.begun.elapsed().as_secs_f64());
    }
    let (last, before) = match done.attempts.split_last() {
        Some((last, before)) => (Some(last), before),
        None => (None, &[][..]),
    };
    let method = last.map_or(choice.method(), |last| last.method.into());
    Ok(Solution {
        method,
        backend: if method == Method::Direct { "cpu" } else { builder.backend.name() },
        precond: last.map_or(choice.precond(), |last| last.precond.into()),
        precision: last.map_or(Precision::F64, |tried| used(tried, precision)),
        x: renumber::restored(order, block, x),
        ending: Ended::Solve(done.ending),
        tolerance: done.tolerance,
        residual: done.true_residual,
        iterations: last.map_or(0, |tried| tried.iterations),
        history,
        times,
        levels: last.and_then(|tried| tried.levels.clone()),
        condition: last.and_then(|tried| tried.condition),
        attempts: before.iter().map(|tried| Attempt::new(tried, precision)).collect(),
        setup_seconds: last.map_or(0.0, |tried| tried.setup_seconds),
        solve_seconds: last.map_or(0.0, |tried| tried.solve_seconds),
        notes,
        columns: Vec::new(),
    })
}

/// How a matrix was factorised. A row is that of the input.
fn described(last: &auto::Attempt, ready: &Ready<'_>) -> Vec<String> {
    let Some((method, failed)) = &last.factorised else { return Vec::new() };
    let how = match method {
        Factorisation::Auto | Factorisation::Cholesky => "Cholesky, L L^T",
        Factorisation::Ldlt => "L B L^T with pivots of order 1 and 2",
        Factorisation::Lu => "LU with row exchanges",
        _ => "another factorisation",
    };
    let failed = failed.iter().map(|error| {
        let mut ending = Ending::Factor(error.clone());
        in_file_order(&mut ending, ready);
        format!("a cheaper factorisation failed: {}", told(&ending))
    });
    [format!("factorised by {how}")].into_iter().chain(failed).collect()
}

/// Changes the rows and nodes of an ending to those of the file, where nodes were renumbered. Rows of coarse levels stay.
fn in_file_order(ending: &mut Ending, ready: &Ready<'_>) {
    let Some(order) = &ready.order else { return };
    let block = ready.matrix().block().0;
    let given: Vec<usize> = (0..ready.matrix().pattern().rows()).collect();
    let nodes = renumber::arranged(Some(order), 1, &given);
    let row = |row: usize| nodes.get(row / block).map_or(row, |node| node * block + row % block);
    match ending {
        Ending::NotNull { .. } => {}
        Ending::Setup(error) if !matches!(error, SetupError::Matrix(_) | SetupError::Core(_)) => {
            error.renumber(|node| nodes[node], row);
        }
        other => other.number(&row),
    }
}

/// What solved the last right-hand side: a method with its preconditioner, until that is taken.
type Kept<V> = RefCell<Option<((AutoMethod, Precond), Option<Box<dyn Prepared<V, f64> + Send>>)>>;
