//! Solvers that choose a method and keep it, and reports.

use std::ffi::{CString, c_char, c_void};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use coarsen::auto::{Auto, Ending, Method, Solved};
use coarsen::backend::SetupError;
use coarsen::krylov::Krylov;
use coarsen::sparse::COLUMNS;
use coarsen::{
    Cancel, Error, Identity, Iteration, LinearOperator, Outcome, Preconditioner, Report, Solver, Stop,
};

use crate::matrix::coarsen_matrix;
use crate::preconditioner::{Held, coarsen_preconditioner, precond};
use crate::status::{
    Failure, array, array_mut, call, check_apart, coarsen_status, give, lock, object, one_of, raise, take,
    text,
};
use crate::threads::run;

/// Called at every iteration with the relative residual; true ends the solve. `user` is that of the options.
pub type coarsen_observer =
    Option<unsafe extern "C" fn(user: *mut c_void, iteration: usize, residual: f64) -> bool>;

/// y = A x, for `n` numbers each, with the same A during a solve. `user` is that of coarsen_solver_new_operator().
pub type coarsen_operator =
    Option<unsafe extern "C" fn(user: *mut c_void, n: usize, x: *const f64, y: *mut f64)>;

/// How to solve. Begin with coarsen_options_default().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct coarsen_options {
    /// "auto", "direct", "cg", "fcg", "minres", "gmres" or "bicgstab"; NULL: "auto", which tries methods with a bound on the cost.
    pub method: *const c_char,
    /// "auto", or a name that coarsen_preconditioner_new() knows; NULL: "auto".
    pub preconditioner: *const c_char,
    /// The tolerance for the relative residual |b - A x| / |b| in the 2-norm; 1e-8.
    pub tolerance: f64,
    /// The largest number of iterations of all methods together; 5000.
    pub max_iterations: usize,
    /// The largest size of a factor in bytes, if iterations are an alternative; 4 GiB.
    pub memory: usize,
    /// Sees all iterations; NULL: none.
    pub observer: coarsen_observer,
    /// The first argument of the observer.
    pub user: *mut c_void,
}

/// How a solve ended. The text is valid as long as the report.
#[repr(C)]
#[derive(Debug)]
pub struct coarsen_report {
    /// "converged", "cancelled", or what went wrong, such as "iteration_limit" or "indefinite_operator".
    pub outcome: *const c_char,
    /// A line with the method, the iterations and the residual; unless converged also the cause and a remedy.
    pub message: *const c_char,
    /// The method that ended the solve, such as "cg" or "direct"; "none" if the guess was a solution.
    pub method: *const c_char,
    /// Its preconditioner, such as "sa"; "none" for a direct method.
    pub preconditioner: *const c_char,
    /// The iterations of all methods.
    pub iterations: usize,
    /// |b - A x| / |b|, recomputed from x.
    pub residual: f64,
    /// The seconds of analyses and setups.
    pub setup_seconds: f64,
    /// The seconds of iterations.
    pub solve_seconds: f64,
}

/// A solver that keeps the method and the preconditioner that it chose, for systems that follow each other.
pub struct coarsen_solver {
    cancel: Arc<Cancel>,
    state: Mutex<State>,
}

struct State {
    kind: Kind,
    observer: Observer,
    reports: Vec<Told>,
}

enum Kind {
    Matrix(Box<Solver>, usize),
    Operator(Box<Operator>),
}

/// The observer of the caller.
#[derive(Clone, Copy)]
struct Observer(coarsen_observer, *mut c_void);

impl Observer {
    fn sees(self, cancel: &Cancel, iteration: usize, residual: f64) -> ControlFlow<()> {
        // SAFETY: the caller promises a function that may be called with this argument during a solve.
        let ends = self.0.is_some_and(|observer| unsafe { observer(self.1, iteration, residual) });
        if ends || cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A function y = A x of the caller.
struct Function {
    n: usize,
    apply: unsafe extern "C" fn(*mut c_void, usize, *const f64, *mut f64),
    user: *mut c_void,
}

impl LinearOperator<Vec<f64>> for Function {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        // SAFETY: the caller promises a function that reads and writes n numbers.
        unsafe { (self.apply)(self.user, self.n, x.as_ptr(), y.as_mut_ptr()) }
    }
}

/// A Krylov method with a function of the caller.
struct Operator {
    a: Function,
    preconditioner: Option<Arc<Mutex<Held>>>,
    method: Method,
    krylov: Box<dyn Krylov<Vec<f64>> + Send>,
    b: Vec<f64>,
    x: Vec<f64>,
}

// `run` sends solvers to a thread of the pool. Only the functions of the caller, an operator and an observer, are not sent by their
// types.
const _: () = {
    const fn is_sent<T: Send>() {}
    is_sent::<Solver>();
};

/// A report with its text.
struct Told {
    report: coarsen_report,
    status: coarsen_status,
    message: CString,
    _names: [CString; 3],
}

impl Told {
    fn new(
        status: coarsen_status,
        names: [String; 3],
        message: String,
        (iterations, residual): (usize, f64),
        (setup_seconds, solve_seconds): (f64, f64),
    ) -> Self {
        let (names, message) = (names.map(text), text(message));
        let [outcome, method, preconditioner] = names.each_ref().map(|name| name.as_ptr());
        let report = coarsen_report {
            outcome,
            message: message.as_ptr(),
            method,
            preconditioner,
            iterations,
            residual,
            setup_seconds,
            solve_seconds,
        };
        Self { report, status, message, _names: names }
    }

    fn cancelled(iterations: usize, residual: f64) -> String {
        format!(
            "cancelled after {iterations} iterations; x is the best x found, with a true relative residual of {residual:.2e}"
        )
    }

    fn of_solved(solved: &Solved) -> Self {
        let Solved { ending, iterations, true_residual, attempts, ordering_seconds, .. } = solved;
        let (status, outcome, message) = match ending {
            Ending::TimeLimit | Ending::Setup(SetupError::Cancelled) => {
                let message = Self::cancelled(*iterations, *true_residual);
                (coarsen_status::Cancelled, "cancelled", message)
            }
            ending if ending.converged() => (coarsen_status::Ok, ending.name(), solved.to_string()),
            ending => (coarsen_status::NotConverged, ending.name(), solved.to_string()),
        };
        let (method, preconditioner) = match attempts.last() {
            Some(last) => (last.method.to_string(), last.precond.to_string()),
            None => ("none".to_owned(), "none".to_owned()),
        };
        let setup = attempts.iter().map(|attempt| attempt.setup_seconds).sum::<f64>() + ordering_seconds;
        let iterating = attempts.iter().map(|attempt| attempt.solve_seconds).sum();
        let names = [outcome.to_owned(), method, preconditioner];
        Self::new(status, names, message, (*iterations, *true_residual), (setup, iterating))
    }

    fn of_report(report: &Report<f64>, method: Method, has_preconditioner: bool, seconds: f64) -> Self {
        let Report { outcome, iterations, true_residual, .. } = *report;
        let (status, outcome, message) = match outcome {
            Outcome::Converged => (coarsen_status::Ok, outcome.name(), report.to_string()),
            Outcome::Stopped => {
                let message = Self::cancelled(iterations, true_residual);
                (coarsen_status::Cancelled, "cancelled", message)
            }
            _ => (coarsen_status::NotConverged, outcome.name(), format!("{report}; {}", outcome.advice())),
        };
        let preconditioner = if has_preconditioner { "given" } else { "none" };
        let names = [outcome.to_owned(), method.to_string(), preconditioner.to_owned()];
        Self::new(status, names, message, (iterations, true_residual), (0.0, seconds))
    }
}

impl Operator {
    fn solve(
        &mut self,
        observer: Observer,
        cancel: &Cancel,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Told, Failure> {
        let Self { a, preconditioner, krylov, .. } = self;
        for (to, from) in [(&mut self.b, b), (&mut self.x, &*x)] {
            to.clear();
            to.extend_from_slice(from);
        }
        let mut held = match preconditioner {
            Some(preconditioner) => Some(lock(preconditioner, "the preconditioner")?),
            None => None,
        };
        let m: &mut dyn Preconditioner<Vec<f64>> = match &mut held {
            Some(held) => &mut held.built,
            None => &mut Identity,
        };
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| observer.sees(cancel, it.number, it.relative);
        let begun = Instant::now();
        let solved = krylov.solve_with(a, m, &self.b, &mut self.x, &mut monitor);
        let report = solved.map_err(raise)?;
        x.copy_from_slice(&self.x);
        Ok(Told::of_report(&report, self.method, held.is_some(), begun.elapsed().as_secs_f64()))
    }
}

impl State {
    /// Solves for each column.
    fn solve(&mut self, cancel: &Cancel, n: usize, b: &[f64], x: &mut [f64]) -> Result<(), Failure> {
        let Self { kind, observer, reports } = self;
        let observer = *observer;
        match kind {
            _ if b.is_empty() => (),
            Kind::Matrix(solver, _) => {
                let mut sees = |iteration, residual| observer.sees(cancel, iteration, residual);
                let (first, first_x, rest) = (&b[..n], &mut x[..n], n..b.len());
                reports.push(Told::of_solved(&solver.solve_with(first, first_x, &mut sees).map_err(raise)?));
                // eight at once, so that few are copied
                for begin in rest.step_by(COLUMNS * n) {
                    if reports.iter().any(|told| told.status == coarsen_status::Cancelled) {
                        break;
                    }
                    let all = begin..b.len().min(begin + COLUMNS * n);
                    let [b, mut x_copy] = [&b[all.clone()], &x[all.clone()]]
                        .map(|v| v.chunks_exact(n).map(<[f64]>::to_vec).collect::<Vec<_>>());
                    let solved = solver.solve_many_with(&b, &mut x_copy, &mut sees).map_err(raise)?;
                    reports.extend(solved.iter().map(Told::of_solved));
                    x[all].chunks_exact_mut(n).zip(&x_copy).for_each(|(x, copy)| x.copy_from_slice(copy));
                }
            }
            Kind::Operator(operator) => {
                for (b, x) in b.chunks_exact(n).zip(x.chunks_exact_mut(n)) {
                    reports.push(operator.solve(observer, cancel, b, x)?);
                    if reports.last().is_some_and(|last| last.status == coarsen_status::Cancelled) {
                        break;
                    }
                }
            }
        }
        match reports.iter().find(|told| told.status != coarsen_status::Ok) {
            None => Ok(()),
            Some(told) => {
                Err(Failure { status: told.status, message: told.message.to_string_lossy().into_owned() })
            }
        }
    }
}

/// The options of the caller, or the default ones for null.
///
/// # Safety
/// The pointer is null, or valid for reads; so are its names.
unsafe fn options(pointer: *const coarsen_options) -> Result<(Auto, Observer), Failure> {
    // SAFETY: promised by the caller.
    let given = unsafe { pointer.as_ref() }.copied().unwrap_or_else(|| coarsen_options_default());
    let coarsen_options { tolerance, max_iterations, memory, observer, user, .. } = given;
    Stop::relative(tolerance).validate().map_err(raise)?;
    // SAFETY: promised by the caller.
    let (method, precond) =
        unsafe { (one_of("method", given.method, Method::ALL)?, precond(given.preconditioner)?) };
    let auto = Auto { tolerance, max_iterations, memory, method, precond, ..Auto::default() };
    Ok((auto, Observer(observer, user)))
}

/// The default options.
#[unsafe(no_mangle)]
pub extern "C" fn coarsen_options_default() -> coarsen_options {
    let Auto { tolerance, max_iterations, memory, .. } = Auto::default();
    let (name, user) = (std::ptr::null(), std::ptr::null_mut());
    let (method, preconditioner, observer) = (name, name, None);
    coarsen_options { method, preconditioner, tolerance, max_iterations, memory, observer, user }
}

/// Makes a solver for a matrix, which it copies, in `*solver`. `options` is NULL for the default ones, or copied. Nothing is chosen or
/// set up before the first solve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_new(
    matrix: *const coarsen_matrix,
    options: *const coarsen_options,
    solver: *mut *mut coarsen_solver,
) -> coarsen_status {
    let new = || {
        // SAFETY: as the crate says.
        let (matrix, (auto, observer)) = unsafe { (object(matrix, "matrix")?, self::options(options)?) };
        let system = matrix.system.system();
        let mut solver = Solver::new(system).map_err(raise)?;
        let cancel = Arc::new(Cancel::new());
        (solver.auto, solver.cancel) = (auto, Some(cancel.clone()));
        let kind = Kind::Matrix(Box::new(solver), system.matrix.shape().0);
        Ok(coarsen_solver { cancel, state: Mutex::new(State { kind, observer, reports: Vec::new() }) })
    };
    // SAFETY: as the crate says.
    unsafe { give(solver, new) }
}

/// Makes a solver for a function, y = A x with `n` unknowns, in `*solver`. `preconditioner` is NULL for none; updates of it hold from the
/// next solve. Of the options `method` must be iterative ("auto" is "cg"), and `preconditioner` and `memory` have no meaning.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_new_operator(
    n: usize,
    apply: coarsen_operator,
    user: *mut c_void,
    preconditioner: *const coarsen_preconditioner,
    options: *const coarsen_options,
    solver: *mut *mut coarsen_solver,
) -> coarsen_status {
    let new = || {
        let apply = apply.ok_or_else(|| Failure::argument("apply is a null pointer"))?;
        // SAFETY: as the crate says.
        let (auto, observer) = unsafe { self::options(options) }?;
        let method = auto.method.unwrap_or(Method::Cg);
        if method == Method::Direct {
            return Err(Failure::argument("method is 'direct', but a function has no entries to factorise"));
        }
        if auto.precond.is_some() {
            let text = "a preconditioner by name needs a matrix; build it with coarsen_preconditioner_new";
            return Err(Failure::argument(text));
        }
        // SAFETY: as the crate says.
        let preconditioner = unsafe { preconditioner.as_ref() }.map(|m| m.held.clone());
        let stop = Stop { max_iterations: auto.max_iterations, ..Stop::relative(auto.tolerance) };
        let (a, krylov) = (Function { n, apply, user }, method.krylov(stop));
        let operator = Operator { a, preconditioner, method, krylov, b: Vec::new(), x: Vec::new() };
        let (cancel, kind) = (Arc::new(Cancel::new()), Kind::Operator(Box::new(operator)));
        Ok(coarsen_solver { cancel, state: Mutex::new(State { kind, observer, reports: Vec::new() }) })
    };
    // SAFETY: as the crate says.
    unsafe { give(solver, new) }
}

/// Sets the tolerance and the largest number of iterations of later solves, as in the options.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_set_limits(
    solver: *mut coarsen_solver,
    tolerance: f64,
    max_iterations: usize,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let solver = unsafe { object(solver, "solver") }?;
        let mut state = lock(&solver.state, "the solver")?;
        let stop = Stop { max_iterations, ..Stop::relative(tolerance) };
        stop.validate().map_err(raise)?;
        match &mut state.kind {
            Kind::Matrix(own, _) => {
                (own.auto.tolerance, own.auto.max_iterations) = (tolerance, max_iterations);
            }
            Kind::Operator(operator) => *operator.krylov.stop_mut() = stop,
        }
        Ok(())
    })
}

/// Copies the next matrix, of the same or another pattern and size. Coordinates and near-kernel stay where `matrix` has none and they
/// fit. After a failure the solver has the last matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_update(
    solver: *mut coarsen_solver,
    matrix: *const coarsen_matrix,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let (solver, matrix) = unsafe { (object(solver, "solver")?, object(matrix, "matrix")?) };
        let mut state = lock(&solver.state, "the solver")?;
        let Kind::Matrix(own, n) = &mut state.kind else {
            return Err(Failure::argument("the solver has a function in place of a matrix"));
        };
        let system = matrix.system.system();
        // SAFETY: see the methods above.
        unsafe { run(|| own.update(system)) }?.map_err(raise)?;
        *n = system.matrix.shape().0;
        Ok(())
    })
}

/// Solves A x = b for `n` unknowns, from the guess in x. Unless the arguments are wrong, x is then the best x found, and
/// coarsen_solver_report() has the report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_solve(
    solver: *mut coarsen_solver,
    n: usize,
    b: *const f64,
    x: *mut f64,
) -> coarsen_status {
    // SAFETY: as the crate says.
    unsafe { coarsen_solver_solve_many(solver, n, 1, b, x) }
}

/// Solves for `count` right-hand sides with one setup, eight at once where conjugate gradients solve the first one; that with index j
/// begins at `b + j * n`, and its solution at `x + j * n`. The status is that of the first one that failed; later ones are solved
/// too, except after a cancellation. The observer receives the largest residual of those that are solved at once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_solve_many(
    solver: *mut coarsen_solver,
    n: usize,
    count: usize,
    b: *const f64,
    x: *mut f64,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let solver = unsafe { object(solver, "solver") }?;
        let mut state = lock(&solver.state, "the solver")?;
        solver.cancel.reset();
        state.reports.clear();
        let expected = match &state.kind {
            Kind::Matrix(_, n) => *n,
            Kind::Operator(operator) => operator.a.n,
        };
        if n != expected {
            return Err(raise(Error::Shape { what: "b and x", expected, found: n }));
        }
        let size = n.checked_mul(count).ok_or_else(|| Failure::argument("there are too many columns"))?;
        check_apart(b, x, size)?;
        // SAFETY: as the crate says, and the arrays do not overlap.
        let (b, x) = unsafe { (array(b, size, "b")?, array_mut(x, size, "x")?) };
        if n == 0 {
            return Ok(());
        }
        // SAFETY: see the methods above; the caller promises that callbacks may be called on a thread of the pool.
        unsafe { run(|| state.solve(&solver.cancel, n, b, x)) }?
    })
}

/// The report of the last solve, or of its right-hand side with this index; NULL if there is none, or a call uses the solver. Valid
/// until the next solve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_report(
    solver: *const coarsen_solver,
    index: usize,
) -> *const coarsen_report {
    let mut found = std::ptr::null();
    let _ = call(|| {
        // SAFETY: as the crate says.
        let solver = unsafe { object(solver, "solver") }?;
        let state = lock(&solver.state, "the solver")?;
        let told = state.reports.get(index);
        found =
            &raw const told.ok_or_else(|| Failure::argument(format!("there is no report {index}")))?.report;
        Ok(())
    });
    found
}

/// Ends the solve that runs, from any thread; without one it has no effect. A setup ends between two of its steps, an iteration at its
/// end, and a factorisation is completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_cancel(solver: *const coarsen_solver) {
    let _ = call(|| {
        // SAFETY: as the crate says.
        unsafe { object(solver, "solver") }?.cancel.cancel();
        Ok(())
    });
}

/// Frees a solver.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_solver_free(solver: *mut coarsen_solver) {
    // SAFETY: as the crate says.
    unsafe { take(solver) }
}
