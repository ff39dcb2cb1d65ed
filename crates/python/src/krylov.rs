//! Krylov methods: A and M are matrices and preconditioners of this package, or Python functions.

use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen::krylov::{Krylov, NullSpace, Projected};
use coarsen::{
    AnyError, BiCgStab, Cancel, Cg, FlexibleCg, Gmres, Identity, Iteration, LinearOperator, Minres, Outcome,
    PreconditionerKind, Report, Stop,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{guess, numbers, to_array};
use crate::callback::{Failure, Function};
use crate::error::raise;
use crate::matrix::Matrix;
use crate::precond::Preconditioner;
use crate::run::run;

/// A, or a Python function y = A x.
#[derive(FromPyObject)]
pub(crate) enum Operator<'py> {
    Matrix(Bound<'py, Matrix>),
    Function(Bound<'py, PyAny>),
}

/// M⁻¹, or a Python function z = M⁻¹ r.
#[derive(FromPyObject)]
pub(crate) enum Inverse<'py> {
    Held(Bound<'py, Preconditioner>),
    Function(Bound<'py, PyAny>),
}

/// How a solve ended.
#[derive(IntoPyObject)]
pub(crate) struct Ended {
    /// Snake case; `"converged"` if it did.
    ending: &'static str,
    /// The cause and a remedy; empty if converged.
    advice: &'static str,
    /// One line with all numbers.
    message: String,
    iterations: usize,
    initial_residual: f64,
    residual: f64,
    tolerance: f64,
    condition: Option<f64>,
    /// The relative residuals that the method saw, the first of the guess.
    history: Vec<f64>,
}

impl Ended {
    fn new(report: &Report<f64>, history: Vec<f64>) -> Self {
        Self {
            ending: report.outcome.name(),
            advice: report.outcome.advice(),
            message: report.to_string(),
            iterations: report.iterations,
            initial_residual: report.initial_residual,
            residual: report.true_residual,
            tolerance: report.tolerance,
            condition: report.condition,
            history,
        }
    }
}

/// A − σ I.
struct Shifted<'a> {
    a: &'a dyn LinearOperator<Vec<f64>>,
    shift: f64,
}

impl LinearOperator<Vec<f64>> for Shifted<'_> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        self.a.apply(x, y);
        y.iter_mut().zip(x).for_each(|(y, x)| *y -= self.shift * x);
    }
}

/// The numbers of a call.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Call {
    method: String,
    rtol: f64,
    atol: f64,
    maxiter: usize,
    restart: usize,
    shift: f64,
    /// `"x"` or `"residual"`: what the callback receives.
    callback_with: String,
}

/// A method that is not in use.
fn method(call: &Call, kind: PreconditionerKind) -> PyResult<Box<dyn Krylov<Vec<f64>> + Send>> {
    let stop = Stop { absolute: call.atol, max_iterations: call.maxiter, ..Stop::relative(call.rtol) };
    let varies = kind == PreconditionerKind::Variable;
    Ok(match &call.method[..] {
        "cg" if varies => Box::new(FlexibleCg::new(stop)),
        "cg" => Box::new(Cg::new(stop)),
        "minres" => Box::new(Minres::new(stop)),
        "bicgstab" => Box::new(BiCgStab::new(stop)),
        "gmres" => {
            let mut gmres = Gmres::new(stop);
            (gmres.restart, gmres.flexible) = (call.restart, varies);
            Box::new(gmres)
        }
        other => return Err(PyValueError::new_err(format!("there is no method '{other}'"))),
    })
}

/// Solves A x = b from the guess x, zeros without one. Returns x and how the solve ended.
#[pyfunction]
#[pyo3(signature = (call, a, m, b, x, null_space=None, callback=None, threads=None))]
#[allow(clippy::too_many_arguments)] // the arguments of SciPy
fn solve_krylov<'py>(
    py: Python<'py>,
    call: Call,
    a: Operator<'py>,
    m: Option<Inverse<'py>>,
    b: &Bound<'py, PyAny>,
    x: Option<&Bound<'py, PyAny>>,
    null_space: Option<Vec<Bound<'py, PyAny>>>,
    callback: Option<Py<PyAny>>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, Ended)> {
    let b = numbers(b)?;
    let mut x = guess(x, b.len())?;
    let failure = Failure::default();
    let (matrix, function) = match a {
        Operator::Matrix(matrix) => (Some(matrix.borrow().bsr.clone()), None),
        Operator::Function(f) => (None, Some(f.unbind())),
    };
    let (held, apply) = match m {
        None => (None, None),
        Some(Inverse::Held(m)) => (Some(m.get().shared()), None),
        Some(Inverse::Function(f)) => (None, Some(f.unbind())),
    };
    // What SciPy asks of a preconditioner: that of a symmetric method is symmetric.
    let promised = match &call.method[..] {
        "cg" | "minres" => PreconditionerKind::Symmetric,
        _ => PreconditionerKind::Linear,
    };
    let kind = held.as_ref().map_or(promised, coarsen::Preconditioner::<Vec<f64>>::kind);
    let mut krylov = method(&call, kind)?;
    let space =
        null_space.map(|vectors| vectors.iter().map(numbers).collect::<PyResult<Vec<_>>>()).transpose()?;
    if let Some(vectors) = space {
        krylov = Box::new(Projected::new(krylov, NullSpace::new(vectors).map_err(raise)?));
    }

    let mut history = Vec::new();
    let (b, n) = (&b, b.len());
    let work = |cancel: &Arc<Cancel>| -> Result<Report<f64>, AnyError> {
        let function = function.as_ref().map(|f| Function { f, n, kind: promised, failure: &failure });
        let a: &dyn LinearOperator<Vec<f64>> = match (&matrix, &function) {
            (Some(matrix), _) => {
                matrix.check_finite()?;
                &**matrix
            }
            (None, Some(function)) => function,
            (None, None) => unreachable!("A is a matrix or a function"),
        };
        let shifted = Shifted { a, shift: call.shift };
        let a: &dyn LinearOperator<Vec<f64>> = if call.shift == 0.0 { a } else { &shifted };
        let mut m: Box<dyn coarsen::Preconditioner<Vec<f64>> + '_> = match (held, &apply) {
            (Some(held), _) => Box::new(held),
            (None, Some(f)) => Box::new(Function { f, n, kind: promised, failure: &failure }),
            (None, None) => Box::new(Identity),
        };
        let with_x = call.callback_with == "x";
        let tell = |x: Option<&Vec<f64>>, relative: f64| {
            let Some(callback) = &callback else { return };
            let called = Python::attach(|py| {
                let callback = callback.bind(py);
                match (with_x, x) {
                    (true, Some(x)) => callback.call1((to_array(py, x)?,)),
                    (true, None) => return Ok(()),
                    (false, _) => callback.call1((relative,)),
                }?;
                Ok(())
            });
            failure.unless(called);
        };
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            history.push(it.relative);
            if it.number > 0 {
                tell(it.x, it.relative);
            }
            match cancel.is_cancelled() || failure.is_set() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        if !(call.method == "gmres" && with_x && callback.is_some()) {
            return Ok(krylov.solve_with(a, &mut m, b, &mut x, &mut monitor)?);
        }
        // Monitors of GMRES receive no x, which is known after each cycle.
        let (mut whole, most) = (None::<Report<f64>>, krylov.stop_mut().max_iterations);
        loop {
            let done = whole.map_or(0, |report| report.iterations);
            krylov.stop_mut().max_iterations = call.restart.min(most - done);
            let mut report = krylov.solve_with(a, &mut m, b, &mut x, &mut monitor)?;
            tell(Some(&x), report.true_residual);
            report.initial_residual = whole.map_or(report.initial_residual, |whole| whole.initial_residual);
            report.iterations += done;
            whole = Some(report);
            let goes_on = report.outcome == Outcome::IterationLimit && report.iterations < most;
            if !goes_on || cancel.is_cancelled() || failure.is_set() {
                return Ok(report);
            }
        }
    };
    let report = run(py, threads, work)?;
    failure.raise()?;
    let report = report.map_err(raise)?;
    Ok((to_array(py, &x)?, Ended::new(&report, history)))
}

/// Adds the functions of this file to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(solve_krylov, module)?)
}
