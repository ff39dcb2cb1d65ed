//! A solve by a plan, at the backend and in the precision that were asked for.

use std::ops::ControlFlow;
use std::time::Instant;

use coarsen::auto::{Builder, Built, Ending, Event, Kept, Kind, Problem, solve_by_plan};
use coarsen::backend::SetupError;
use coarsen::direct::{Analysis, Factor, Method as Factorisation};
use coarsen::sparse::{Bsr, System};
use coarsen::{Error, LinearOperator, Vector};

use super::progress::Progress;
use super::refuse::refuse;
use super::solution::{Solution, Try, labels, used};
use super::stage::{Recipes, Stage};
use crate::arguments::{Given, Method, Precision};
use crate::decision::choose::Choice;
use crate::decision::places::Stages;
use crate::error::Failure;
use crate::input::ready::Ready;
use crate::input::renumber;
use crate::words::{self, Rows};

/// What a run needs besides the choice.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) ready: &'a Ready<'a>,
    pub(crate) given: &'a Given,
    pub(crate) stages: &'a Stages,
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
    let Run { ready, stages, precision, .. } = run;
    let asked = choice.method();
    if let Some(ending) = refuse(asked, ready.seen()) {
        let x = ready.input.x0.clone().unwrap_or_else(|| vec![0.0; ready.input.b.len()]);
        return Ok(Solution::refused((asked, choice.precond()), x, ending));
    }
    match stages {
        Stages::Cpu if precision == Precision::F32 => {
            let on = coarsen::backend::Cpu::single();
            by_plan(run, choice, (&on, &on), ordered)
        }
        Stages::Cpu => {
            let (double, mixed) = (coarsen::backend::Cpu::new(), coarsen::backend::Cpu::mixed());
            in_double(run, choice, (&double, &mixed), ordered)
        }
        #[cfg(feature = "opencl")]
        Stages::Double(on) => in_double(run, choice, (on, &on.mixed()), ordered),
        #[cfg(feature = "opencl")]
        Stages::Single(on) => by_plan(run, choice, (on, on), ordered),
    }
}

/// Solves with vectors in f64 and a preconditioner in the requested precision.
fn in_double<D: Stage, M: Stage<Vector = D::Vector>>(
    run: Run<'_>,
    choice: &mut Choice,
    (double, mixed): (&D, &M),
    ordered: Option<Analysis>,
) -> Result<Solution, Failure> {
    match run.precision {
        Precision::Mixed => by_plan(run, choice, (mixed, mixed), ordered),
        Precision::F64 => by_plan(run, choice, (double, double), ordered),
        _ => by_plan(run, choice, (double, mixed), ordered),
    }
}

/// Solves with preconditioners of two stages: in the precision of the vectors, and in f32.
fn by_plan<D: Stage, M: Stage<Vector = D::Vector>>(
    run: Run<'_>,
    choice: &mut Choice,
    (double, single): (&D, &M),
    ordered: Option<Analysis>,
) -> Result<Solution, Failure> {
    let Run { ready, given, progress, deadline, precision, .. } = run;
    let (order, block) = (ready.order.as_ref(), ready.matrix().block().0);
    let given_b = renumber::arranged(order, block, &ready.input.b);
    let b = ready.adapted.right_hand_side(&given_b);
    let mut x = match &ready.input.x0 {
        Some(x0) => renumber::arranged(order, block, x0).into_owned(),
        None => vec![0.0; b.len()],
    };
    ready.adapted.start(&mut x);
    let (positions, near_kernel) = (ready.positions.as_deref(), ready.near_kernel.as_deref());
    let problem = Problem {
        system: System { positions, near_kernel, ..ready.matrix().into() },
        operator: ready.adapted.matrix(),
        b: &b,
        null_space: ready.null_space.as_ref(),
        unconstrained: ready.seen().values.as_ref().is_some_and(|values| values.floating > 0),
        tolerance: given.tol,
        max_iterations: given.max_iterations,
        single: precision == Precision::Auto,
    };
    let recipes = Recipes::of(given, precision);
    let place = Place { double, single, recipes: &recipes };
    let (mut history, mut times) = (Vec::new(), Vec::new());
    let mut at = None;
    progress.iterations(given.tol);
    let mut observe = |iteration: usize, relative: f64| {
        // The first residual of a later attempt is the last one of the attempt before it.
        if at != Some(iteration) {
            history.push(relative);
            times.push(run.begun.elapsed().as_secs_f64());
            at = Some(iteration);
        }
        progress.look(iteration, relative);
        match deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut done = solve_by_plan(&choice.plan, problem, &place, ordered, &mut x, &mut observe)?;
    in_file_order(&mut done.ending, ready);
    for event in done.run.iter_mut().flat_map(|run| &mut run.events) {
        if let Event::Failed { ending, .. } | Event::Retried { ending, .. } = event {
            in_file_order(ending, ready);
        }
    }
    ready.adapted.set_prescribed(&given_b, &mut x);
    if done.ordering_seconds > 0.0 {
        ready.looks.borrow_mut().note("ordering for a factor", done.ordering_seconds);
    }
    let mut notes = Vec::from_iter(double.remark());
    notes.extend((!ready.adapted.is_given()).then(|| ready.adapted.to_string()));
    if let Some(run) = &done.run {
        let unbounded = run.unbounded.filter(|_| choice.is_auto()).map(Event::NoFactor);
        let told = run.events.iter().filter(|event| !matches!(event, Event::NoFactor(_))).chain(&unbounded);
        let told = told.map(words::told);
        let reason = choice.went(run);
        notes.extend(told.filter(|told| Some(told) != reason.as_ref()));
    }
    if let Some(Kept::Factor(factor)) = &done.solver {
        notes.extend(described(factor, ready));
    }
    if history.is_empty() {
        history.push(done.residual);
        times.push(run.begun.elapsed().as_secs_f64());
    }
    let (last, before) = match done.tried.split_last() {
        Some((last, before)) => (Some(last), before),
        None => (None, &[][..]),
    };
    let (method, precond) = last.map_or((choice.method(), choice.precond()), |tried| labels(tried.of));
    Ok(Solution {
        method,
        backend: if method == Method::Direct { "cpu" } else { double.name() },
        precond,
        precision: last.map_or(Precision::F64, |tried| used(tried, precision)),
        x: renumber::restored(order, block, x),
        ending: done.ending,
        residual: done.residual,
        iterations: last.map_or(0, |tried| tried.iterations),
        history,
        times,
        levels: last.and_then(|tried| tried.levels.clone()),
        condition: last.and_then(|tried| tried.condition),
        tries: before.iter().map(|tried| Try::new(tried, precision)).collect(),
        setup_seconds: last.map_or(0.0, |tried| tried.setup_seconds),
        solve_seconds: last.map_or(0.0, |tried| tried.solve_seconds),
        notes,
    })
}

/// How a matrix was factorised. A row is that of the input.
fn described(factor: &Factor, ready: &Ready<'_>) -> Vec<String> {
    let how = match factor.method() {
        Factorisation::Auto | Factorisation::Cholesky => "Cholesky, L L^T",
        Factorisation::Ldlt => "L B L^T with pivots of order 1 and 2",
        Factorisation::Lu => "LU with row exchanges",
    };
    let failed = factor.fallback().map(|error| {
        let mut ending = Ending::Factor(error.clone());
        in_file_order(&mut ending, ready);
        format!("a cheaper factorisation failed: {}", words::told(&ending))
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
        Ending::NotNull { .. }
        | Ending::NotNullOfTranspose { .. }
        | Ending::Setup(SetupError::Level { .. }) => {}
        Ending::Setup(
            SetupError::SingularBlock { node, first_row } | SetupError::Released { node, first_row },
        ) => {
            *node = nodes[*node];
            *first_row = *node * block;
        }
        Ending::Setup(SetupError::OffGrid { node, .. } | SetupError::Domain { node, .. }) => {
            *node = nodes[*node]
        }
        other => other.rows().into_iter().for_each(|at| *at = row(*at)),
    }
}

/// Preconditioners of two stages with the same vectors, by the recipes of the command line.
struct Place<'a, D, M> {
    double: &'a D,
    single: &'a M,
    recipes: &'a Recipes,
}

impl<D: Stage, M: Stage<Vector = D::Vector>> Builder for Place<'_, D, M> {
    type Vector = D::Vector;

    fn vector(&self, values: &[<D::Vector as Vector>::Real]) -> Result<D::Vector, Error> {
        self.double.vector(values)
    }

    fn read(&self, vector: &D::Vector, into: &mut [<D::Vector as Vector>::Real]) -> Result<(), Error> {
        self.double.read(vector, into)
    }

    fn operator<'a>(&self, a: &'a Bsr<f64>) -> Result<Box<dyn LinearOperator<D::Vector> + 'a>, Error> {
        self.double.operator(a)
    }

    fn build(
        &self,
        kind: Kind,
        single: bool,
        system: System<'_, f64>,
    ) -> Result<Built<D::Vector>, SetupError> {
        match single {
            true => self.single.build(kind, self.recipes, system),
            false => self.double.build(kind, self.recipes, system),
        }
    }
}
