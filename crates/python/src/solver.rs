//! A solver that keeps what it chose, on a thread of its own.
//!
//! [`coarsen::Solver`] lives on a thread of a pool that belongs to the Python object, and receives jobs.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::{self, ThreadId};

use coarsen::auto::{Attempt, Auto, Method, Solved};
use coarsen::constraints::{Constraints as Rows, Filtered, prefilter};
use coarsen::sparse::Bsr;
use coarsen::{AnyError, Cancel};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::array::{guess, numbers, to_array};
use crate::constraints::Constraints;
use crate::error::raise;
use crate::matrix::Matrix;
use crate::precond::{Geometry, told};
use crate::run::{POLL, outer};

/// The solver and what it was given.
struct State {
    solver: coarsen::Solver,
    geometry: Geometry,
    /// The constraints and the filtered system.
    filtered: Option<(Rows, Filtered<f64>)>,
    auto: Auto,
    cancel: Arc<Cancel>,
}

type Job = Box<dyn FnOnce(&mut Option<State>) + Send>;

/// The names of a method and of a preconditioner.
type Kept = Option<(String, String)>;

/// A solver for systems that follow each other.
#[pyclass(frozen, module = "pycoarsen._core")]
pub(crate) struct Solver {
    jobs: Sender<Job>,
    cancel: Arc<Cancel>,
    /// One call at a time.
    calls: Mutex<()>,
    /// The thread whose call it is.
    caller: Mutex<Option<ThreadId>>,
    /// What the next solve takes first. It has a lock of its own, since handlers of signals may ask during a solve.
    kept: Arc<Mutex<Kept>>,
    /// A fork of the process has no threads.
    process: u32,
    _pool: ThreadPool,
}

/// x, the report, and the relative residuals of all iterations.
type Done = (Vec<f64>, Solved, Vec<f64>);

impl State {
    fn new(
        a: Arc<Bsr<f64>>,
        geometry: Geometry,
        constraints: Option<Rows>,
        auto: Auto,
        cancel: Arc<Cancel>,
    ) -> Result<Self, AnyError> {
        a.check_finite()?;
        let (solver, filtered) = match constraints {
            None => (coarsen::Solver::from_owned(geometry.owned(Arc::unwrap_or_clone(a)))?, None),
            Some(rows) => {
                let filtered = prefilter(geometry.system(&a, None), &rows)?;
                let solver = coarsen::Solver::new(filtered.system(geometry.positions()))?;
                (solver, Some((rows, filtered)))
            }
        };
        let mut state = Self { solver, geometry, filtered, auto, cancel };
        (state.solver.auto, state.solver.cancel) = (state.auto, Some(state.cancel.clone()));
        Ok(state)
    }

    fn update(&mut self, a: &Bsr<f64>, constraints: Option<Rows>) -> Result<(), AnyError> {
        let Self { solver, geometry, filtered, .. } = self;
        a.check_finite()?;
        let system = geometry.system(a, None);
        let positions = system.positions;
        match filtered {
            None => solver.update(system)?,
            Some((rows, filtered)) => {
                let next = constraints.as_ref().unwrap_or(rows);
                filtered.update(system, next)?;
                if let Some(next) = constraints {
                    *rows = next;
                }
                solver.update(filtered.system(positions))?;
            }
        }
        geometry.keep_for(a);
        Ok(())
    }

    /// Solves for several right-hand sides, at once where conjugate gradients are kept; the history is then that of the largest
    /// residual. There are no reports of those that were not begun.
    fn solve_many(&mut self, b: &[Vec<f64>], mut x: Vec<Vec<f64>>) -> Result<Vec<Done>, AnyError> {
        let is_together = matches!(self.solver.method(), Some((Method::Cg, _))) && self.filtered.is_none();
        if !is_together {
            let mut done = Vec::new();
            for (b, x) in b.iter().zip(x) {
                done.push(self.solve(b, x)?);
                if self.cancel.is_cancelled() {
                    break;
                }
            }
            return Ok(done);
        }
        let Self { solver, cancel, .. } = self;
        let mut history = Vec::new();
        let mut observer = |_: usize, relative: f64| {
            history.push(relative);
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solved = solver.solve_many_with(b, &mut x, &mut observer)?;
        Ok(x.into_iter().zip(solved).map(|(x, solved)| (x, solved, history.clone())).collect())
    }

    fn solve(&mut self, b: &[f64], mut x: Vec<f64>) -> Result<Done, AnyError> {
        let Self { solver, filtered, cancel, .. } = self;
        let mut history = Vec::new();
        let mut observer = |_: usize, relative: f64| {
            history.push(relative);
            if cancel.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let solved = match filtered {
            None => solver.solve_with(b, &mut x, &mut observer)?,
            Some((_, filtered)) => {
                filtered.solve(b, &mut x, |_, c, y| solver.solve_with(c, y, &mut observer))??
            }
        };
        Ok((x, solved, history))
    }
}

impl Solver {
    /// Runs a job on the thread of the solver, without the GIL; Ctrl-C cancels it.
    fn call<R: Send + 'static>(
        &self,
        py: Python<'_>,
        job: impl FnOnce(&mut Option<State>) -> R + Send + 'static,
    ) -> PyResult<R> {
        if self.process != process::id() {
            let text = "this solver belongs to the parent process, whose threads a fork does not have; make a solver in each process";
            return Err(PyRuntimeError::new_err(text));
        }
        py.detach(|| {
            let _guard = self.begin_call()?;
            self.cancel.reset();
            let ((done, result), kept) = (channel(), self.kept.clone());
            let guarded = move |state: &mut Option<State>| {
                let ended = catch_unwind(AssertUnwindSafe(|| job(state)));
                let now = state.as_ref().and_then(|state| state.solver.method());
                *locked(&kept) = now.map(|(method, precond)| (method.to_string(), precond.to_string()));
                let _ = done.send(ended);
            };
            self.jobs.send(Box::new(guarded)).expect("the thread waits for jobs");
            let mut signal = Ok(());
            let result = loop {
                match result.recv_timeout(POLL) {
                    Ok(result) => break result,
                    Err(RecvTimeoutError::Timeout) if signal.is_ok() => {
                        signal = Python::attach(|py| py.check_signals());
                        // In a callback of a run, the thread of that run is told.
                        if signal.is_err() || outer().is_some_and(|outer| outer.is_cancelled()) {
                            self.cancel.cancel();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => (),
                    Err(RecvTimeoutError::Disconnected) => unreachable!("a job sends its result"),
                }
            };
            signal.map(|()| result.unwrap_or_else(|panic| resume_unwind(panic)))
        })
    }

    /// Waits for the calls of other threads. A handler of a signal runs in the middle of a call of its own thread, which it cannot wait
    /// for.
    fn begin_call(&self) -> PyResult<CallGuard<'_>> {
        let own = thread::current().id();
        loop {
            let calls = match self.calls.try_lock() {
                Ok(calls) => calls,
                Err(TryLockError::Poisoned(error)) => error.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    if *locked(&self.caller) == Some(own) {
                        let text = "this thread is in a call of this solver, so a handler of a signal cannot call it";
                        return Err(PyRuntimeError::new_err(text));
                    }
                    thread::sleep(POLL);
                    Python::attach(|py| py.check_signals())?;
                    continue;
                }
            };
            *locked(&self.caller) = Some(own);
            return Ok(CallGuard { caller: &self.caller, _guard: calls });
        }
    }
}

/// The right to call, which ends when it is dropped.
struct CallGuard<'a> {
    caller: &'a Mutex<Option<ThreadId>>,
    _guard: MutexGuard<'a, ()>,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        *locked(self.caller) = None;
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A method by its name in reports; `None` for `"auto"`.
fn method(name: &str) -> PyResult<Option<Method>> {
    let all =
        [Method::Direct, Method::Cg, Method::FlexibleCg, Method::Minres, Method::Gmres, Method::BiCgStab];
    let found = all.into_iter().find(|method| method.to_string() == name);
    if found.is_none() && name != "auto" {
        let names = all.map(|method| format!("'{method}'")).join(", ");
        return Err(PyValueError::new_err(format!(
            "method is '{name}', but must be 'auto' or one of {names}"
        )));
    }
    Ok(found)
}

#[pymethods]
impl Solver {
    /// Takes the matrix of the first system away.
    #[new]
    #[pyo3(signature = (matrix, method="auto", rtol=1e-8, maxiter=5000, memory=None, single=true, coordinates=None, near_kernel=None, constraints=None, threads=None))]
    #[allow(clippy::too_many_arguments)] // the options of Python
    fn new(
        py: Python<'_>,
        matrix: &Bound<'_, Matrix>,
        method: &str,
        rtol: f64,
        maxiter: usize,
        memory: Option<usize>,
        single: bool,
        coordinates: Option<&Bound<'_, PyAny>>,
        near_kernel: Option<&Bound<'_, PyAny>>,
        constraints: Option<&Constraints>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let method = self::method(method)?;
        let memory = memory.unwrap_or(coarsen::auto::MEMORY);
        let auto =
            Auto { tolerance: rtol, max_iterations: maxiter, memory, method, single, ..Auto::default() };
        let geometry = Geometry::read(coordinates, near_kernel)?;
        let (rows, a) = (constraints.map(Constraints::rows), matrix.try_borrow_mut()?.take()?);

        let n = threads.unwrap_or(0);
        let named = |i| format!("pycoarsen-solver-{i}");
        let pool = ThreadPoolBuilder::new().num_threads(n).thread_name(named).build();
        let pool = pool.map_err(|_| raise(coarsen::Error::Threads { threads: n }))?;
        let (jobs, received) = channel::<Job>();
        pool.spawn(move || {
            let mut state = None;
            received.into_iter().for_each(|job| job(&mut state));
        });
        let cancel = Arc::new(Cancel::new());
        let (calls, caller, kept) = Default::default();
        let solver =
            Self { jobs, cancel: cancel.clone(), calls, caller, kept, process: process::id(), _pool: pool };
        let start = move |state: &mut Option<State>| -> Result<(), AnyError> {
            *state = Some(State::new(a, geometry, rows, auto, cancel)?);
            Ok(())
        };
        solver.call(py, start)?.map_err(raise)?;
        Ok(solver)
    }

    /// Copies the next system.
    #[pyo3(signature = (matrix, constraints=None))]
    fn update(&self, py: Python<'_>, matrix: &Matrix, constraints: Option<&Constraints>) -> PyResult<()> {
        let (rows, a) = (constraints.map(Constraints::rows), matrix.bsr.clone());
        self.call(py, move |state| state.as_mut().expect("there is a system").update(&a, rows))?
            .map_err(raise)
    }

    /// Solves A x = b from the guess x, zeros without one. Returns x and the report.
    #[pyo3(signature = (b, x=None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: &Bound<'py, PyAny>,
        x: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Told)> {
        let b = numbers(b)?;
        let x = guess(x, b.len())?;
        let solve = move |state: &mut Option<State>| state.as_mut().expect("there is a system").solve(&b, x);
        let (x, solved, history) = self.call(py, solve)?.map_err(raise)?;
        Ok((to_array(py, &x)?, Told::new(&solved, history)))
    }

    /// Solves A x = b for several b from the guesses x. Returns x and the report of each that was begun.
    fn solve_many<'py>(
        &self,
        py: Python<'py>,
        b: Vec<Bound<'py, PyAny>>,
        x: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Vec<(Bound<'py, PyAny>, Told)>> {
        let [b, x] = [b, x].map(|all| all.iter().map(numbers).collect::<PyResult<Vec<_>>>());
        let (b, x) = (b?, x?);
        let solve =
            move |state: &mut Option<State>| state.as_mut().expect("there is a system").solve_many(&b, x);
        let done = self.call(py, solve)?.map_err(raise)?;
        done.into_iter()
            .map(|(x, solved, history)| Ok((to_array(py, &x)?, Told::new(&solved, history))))
            .collect()
    }

    /// The method and the preconditioner that the next solve takes first.
    fn kept(&self) -> Kept {
        locked(&self.kept).clone()
    }
}

/// The report of a solve, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Told {
    ending: &'static str,
    advice: String,
    message: String,
    iterations: usize,
    residual: f64,
    tolerance: f64,
    negated: bool,
    notes: Vec<String>,
    attempts: Vec<ToldAttempt>,
    history: Vec<f64>,
}

/// An attempt of a solve, as a dictionary.
#[derive(IntoPyObject)]
struct ToldAttempt {
    method: String,
    preconditioner: String,
    single: bool,
    ending: &'static str,
    advice: String,
    note: Option<String>,
    iterations: usize,
    setup_seconds: f64,
    solve_seconds: f64,
    condition: Option<f64>,
    levels: Option<(usize, f64, String)>,
}

impl Told {
    fn new(solved: &Solved, history: Vec<f64>) -> Self {
        let attempt = |attempt: &Attempt| ToldAttempt {
            method: attempt.method.to_string(),
            preconditioner: attempt.precond.to_string(),
            single: attempt.single,
            ending: attempt.ending.name(),
            advice: attempt.ending.to_string(),
            note: attempt.note.clone(),
            iterations: attempt.iterations,
            setup_seconds: attempt.setup_seconds,
            solve_seconds: attempt.solve_seconds,
            condition: attempt.condition,
            levels: attempt.levels.as_ref().map(told),
        };
        Self {
            ending: solved.ending.name(),
            advice: solved.ending.to_string(),
            message: solved.to_string(),
            iterations: solved.iterations,
            residual: solved.true_residual,
            tolerance: solved.tolerance,
            negated: solved.negated,
            notes: solved.notes(),
            attempts: solved.attempts.iter().map(attempt).collect(),
            history,
        }
    }
}
