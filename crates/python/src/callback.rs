//! Python functions as operators, preconditioners and monitors.

use std::sync::Mutex;

use coarsen::{LinearOperator, Preconditioner, PreconditionerKind};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;

use crate::array::to_array;

/// The first exception of the callbacks of a run, which ends it and is raised afterwards.
#[derive(Default)]
pub(crate) struct Failure(Mutex<Option<PyErr>>);

impl Failure {
    /// Keeps an exception, unless there is one.
    pub(crate) fn set(&self, error: PyErr) {
        self.kept().get_or_insert(error);
    }

    /// Whether a callback has raised an exception.
    pub(crate) fn is_set(&self) -> bool {
        self.kept().is_some()
    }

    /// Raises the exception, if there is one.
    pub(crate) fn raise(&self) -> PyResult<()> {
        self.kept().take().map_or(Ok(()), Err)
    }

    /// The result of a callback; its exception is kept.
    pub(crate) fn unless<T>(&self, result: PyResult<T>) -> Option<T> {
        result.map_err(|error| self.set(error)).ok()
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<PyErr>> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// y = f(x), where f takes and returns an array of n `float64`. After an exception y is NaN, and f is not called again.
pub(crate) struct Function<'a> {
    pub(crate) f: &'a Py<PyAny>,
    pub(crate) n: usize,
    pub(crate) kind: PreconditionerKind,
    pub(crate) failure: &'a Failure,
}

/// y = f(x); NaN if f raises, or if a call failed before.
pub(crate) fn call(f: &Py<PyAny>, failure: &Failure, x: &[f64], y: &mut [f64]) {
    let called = |py: Python<'_>| {
        let found = f.bind(py).call1((to_array(py, x)?,))?;
        PyBuffer::<f64>::get(&found)?.copy_to_slice(py, y)
    };
    if failure.is_set() || failure.unless(Python::attach(called)).is_none() {
        y.fill(f64::NAN);
    }
}

impl LinearOperator<Vec<f64>> for Function<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.n)
    }

    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        call(self.f, self.failure, x, y);
    }
}

impl Preconditioner<Vec<f64>> for Function<'_> {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        call(self.f, self.failure, r, z);
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.n)
    }
}
