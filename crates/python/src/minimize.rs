//! Minimisation of an energy that is written in Python.

use std::ops::ControlFlow;
use std::sync::Arc;

use coarsen::backend::{Prepared, Update};
use coarsen::optimize::{
    Backtracking, Descent, DescentError, DescentReport, Iterate, Lbfgs, LineSearch, Linearized, MoreThuente,
    Newton, Objective, Refresh, Verdict,
};
use coarsen::sparse::Bsr;
use coarsen::{AnyError, Cancel, Dot, Iteration, LinearOperator, PreconditionerKind, Stop};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{numbers, to_array};
use crate::callback::{Failure, Function};
use crate::error::raise;
use crate::krylov::Inverse;
use crate::matrix::Matrix;
use crate::precond::{Build, Geometry, builder};
use crate::run::run;

/// The pairs of L-BFGS (HOT: 8).
const WINDOW: usize = 8;

/// f with its gradient and its Hessian, as Python functions. After an exception f is NaN, which ends the descent.
struct Energy<'a> {
    value: &'a Py<PyAny>,
    gradient: &'a Py<PyAny>,
    hessian: Option<&'a Py<PyAny>>,
    max_step: Option<&'a Py<PyAny>>,
    failure: &'a Failure,
}

impl Energy<'_> {
    fn call<T>(&self, f: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        match self.failure.is_set() {
            true => None,
            false => self.failure.unless(Python::attach(f)),
        }
    }

    fn hessian(&self, x: &[f64]) -> Result<Arc<Bsr<f64>>, DescentError> {
        let called = self.call(|py| {
            let hessian = self.hessian.expect("Newton's method has a Hessian").bind(py);
            let a = hessian.call1((to_array(py, x)?,))?;
            let bsr = a.cast::<Matrix>()?.borrow().bsr.clone();
            if bsr.shape() != (x.len(), x.len()) {
                let (rows, columns) = bsr.shape();
                let text = format!("the Hessian is {rows} x {columns}, but x has {} numbers", x.len());
                return Err(PyValueError::new_err(text));
            }
            Ok(bsr)
        });
        called.ok_or_else(|| DescentError::linearize("an exception in Python"))
    }
}

impl Objective<Vec<f64>> for Energy<'_> {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        let called = |py: Python<'_>| self.value.bind(py).call1((to_array(py, x)?,))?.extract();
        self.call(called).unwrap_or(f64::NAN).into()
    }

    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        let called = self.call(|py| {
            let found = self.gradient.bind(py).call1((to_array(py, x)?,))?;
            PyBuffer::<f64>::get(&found)?.copy_to_slice(py, g)
        });
        if called.is_none() {
            g.fill(f64::NAN);
        }
    }

    fn max_step(&mut self, x: &Vec<f64>, d: &Vec<f64>) -> f64 {
        let Some(max_step) = self.max_step else { return f64::INFINITY };
        let called =
            |py: Python<'_>| max_step.bind(py).call1((to_array(py, x)?, to_array(py, d)?))?.extract();
        self.call(called).unwrap_or(f64::NAN)
    }
}

/// The Hessian at the last x.
struct Hessian(Arc<Bsr<f64>>);

impl LinearOperator<Vec<f64>> for Hessian {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        self.0.apply(x, y);
    }
}

/// The preconditioner of the Hessian: the identity until it is built.
struct CachedInverse<'a> {
    build: Option<Build>,
    held: Box<dyn Prepared<Vec<f64>, f64> + Send>,
    geometry: &'a Geometry,
}

impl CachedInverse<'_> {
    fn refresh(&mut self, a: &Bsr<f64>, cancel: &Cancel) -> Result<(), DescentError> {
        let system = self.geometry.system(a, Some(cancel));
        match self.build.take() {
            Some(build) => self.held = build(system).map_err(DescentError::linearize)?.0,
            None => _ = self.held.update_from(system).map_err(DescentError::linearize)?,
        }
        Ok(())
    }
}

impl coarsen::Preconditioner<Vec<f64>> for CachedInverse<'_> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.held.apply(r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.held.kind()
    }

    fn size(&self) -> Option<usize> {
        self.held.size()
    }
}

/// The numbers and words of a call.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Call {
    method: String,
    /// The tolerances for ‖∇f‖, relative to that of the start, and absolute.
    gtol: f64,
    atol: f64,
    maxiter: usize,
}

/// The functions of a call.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Functions {
    value: Py<PyAny>,
    gradient: Py<PyAny>,
    hessian: Option<Py<PyAny>>,
    max_step: Option<Py<PyAny>>,
    callback: Option<Py<PyAny>>,
}

/// How a descent ended, as a dictionary.
#[derive(IntoPyObject)]
pub(crate) struct Minimum {
    ending: &'static str,
    advice: &'static str,
    message: String,
    iterations: usize,
    inner_iterations: usize,
    values: usize,
    gradients: usize,
    value: f64,
    gradient: f64,
    tolerance: f64,
    /// f at each iterate, and ‖∇f‖.
    history: Vec<(f64, f64)>,
}

/// Minimises f from x: Newton's method with conjugate gradients, or L-BFGS with M as its first inverse Hessian.
#[pyfunction]
#[pyo3(signature = (call, functions, x, m=None, preconditioner=None, coordinates=None, near_kernel=None, threads=None))]
#[allow(clippy::too_many_arguments)] // the options of Python
pub(crate) fn minimize<'py>(
    py: Python<'py>,
    call: Call,
    functions: Functions,
    x: &Bound<'py, PyAny>,
    m: Option<Inverse<'py>>,
    preconditioner: Option<(String, Bound<'py, PyDict>)>,
    coordinates: Option<&Bound<'py, PyAny>>,
    near_kernel: Option<&Bound<'py, PyAny>>,
    threads: Option<usize>,
) -> PyResult<(Bound<'py, PyAny>, Minimum)> {
    let mut x = numbers(x)?;
    let n = x.len();
    let failure = Failure::default();
    let (held, apply) = match m {
        None => (None, None),
        Some(Inverse::Held(m)) => (Some(m.get().shared()), None),
        Some(Inverse::Function(f)) => (None, Some(f.unbind())),
    };
    let build = preconditioner.map(|(name, options)| builder(&name, &options)).transpose()?;
    let geometry = Geometry::read(coordinates, near_kernel)?;
    let newton = match (&call.method[..], &functions.hessian) {
        ("newton", Some(_)) => true,
        ("lbfgs", _) => false,
        ("newton", None) => return Err(PyValueError::new_err("Newton's method needs hess")),
        (other, _) => {
            let text = format!("method is '{other}', but must be 'newton' or 'lbfgs'");
            return Err(PyValueError::new_err(text));
        }
    };

    let mut history = Vec::new();
    let work = |cancel: &Arc<Cancel>| -> Result<DescentReport<f64>, AnyError> {
        let mut energy = Energy {
            value: &functions.value,
            gradient: &functions.gradient,
            hessian: functions.hessian.as_ref(),
            max_step: functions.max_step.as_ref(),
            failure: &failure,
        };
        let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
            history.push((it.value, it.gradient));
            if let Some(callback) = functions.callback.as_ref().filter(|_| it.number > 0) {
                let called = |py: Python<'_>| callback.bind(py).call1((to_array(py, it.x)?,)).map(drop);
                failure.unless(Python::attach(called));
            }
            match cancel.is_cancelled() || failure.is_set() {
                true => ControlFlow::Break(Verdict::Stop),
                false => ControlFlow::Continue(()),
            }
        };
        let search: Box<dyn LineSearch<f64>> =
            if newton { Box::new(Backtracking::default()) } else { Box::new(MoreThuente::default()) };
        let stop = Stop { absolute: call.atol, max_iterations: call.maxiter, ..Stop::relative(call.gtol) };
        let mut descent = Descent::new(search, stop);
        if newton {
            let hessian = Hessian(energy.hessian(&x)?);
            let held = Box::new(coarsen::Identity);
            let is_constant = build.is_none();
            let mut inverse = CachedInverse { build, held, geometry: &geometry };
            if !is_constant {
                inverse.refresh(&hessian.0, cancel)?;
            }
            let assemble = |f: &mut Energy<'_>, x: &Vec<f64>, a: &mut Hessian| {
                a.0 = f.hessian(x)?;
                Ok(())
            };
            let update = |a: &Hessian, _: &Vec<f64>, m: &mut CachedInverse<'_>| m.refresh(&a.0, cancel);
            let mut f = Linearized::new(energy, hessian, inverse, assemble, update);
            if is_constant {
                f = f.with_constant_inverse();
            }
            descent.refresh = Refresh::WhenSlower(4);
            let mut method = Newton::inexact();
            let flag = cancel.clone();
            method.monitor = Some(Box::new(move |_: &Iteration<'_, Vec<f64>>| match flag.is_cancelled() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }));
            return Ok(descent.minimize_with(&mut f, &mut method, &mut x, &mut monitor)?);
        }
        let initial: Box<dyn coarsen::Preconditioner<Vec<f64>> + '_> = match (held, &apply) {
            (Some(held), _) => Box::new(held),
            (None, Some(f)) => {
                let kind = PreconditionerKind::Symmetric;
                Box::new(Function { f, n, kind, failure: &failure })
            }
            (None, None) => {
                let mut method = Lbfgs::scaled(WINDOW);
                return Ok(descent.minimize_with(&mut energy, &mut method, &mut x, &mut monitor)?);
            }
        };
        let mut method = Lbfgs::new(WINDOW, initial);
        Ok(descent.minimize_with(&mut energy, &mut method, &mut x, &mut monitor)?)
    };
    let report = run(py, threads, work)?;
    failure.raise()?;
    let report = report.map_err(raise)?;
    let minimum = Minimum {
        ending: report.outcome.name(),
        advice: report.outcome.advice(),
        message: report.to_string(),
        iterations: report.iterations,
        inner_iterations: report.inner,
        values: report.values,
        gradients: report.gradients,
        value: report.value,
        gradient: report.gradient,
        tolerance: report.tolerance,
        history,
    };
    Ok((to_array(py, &x)?, minimum))
}
