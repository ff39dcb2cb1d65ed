//! NumPy arrays, through the buffer protocol: one copy in, one copy out.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A copy of an array of `float64` of any shape, in C order.
pub(crate) fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    copy::<f64>(array)
}

/// A copy of an array of `int32` or `int64` as indices; `what` names it in errors.
pub(crate) fn indices<I: TryFrom<i64>>(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<I>> {
    match copy::<i32>(array) {
        Ok(short) => converted(short, what),
        Err(_) => converted(copy::<i64>(array)?, what),
    }
}

/// A new array of `float64`.
pub(crate) fn to_array<'py>(py: Python<'py>, values: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    new(py, values, "float64")
}

/// A new array of `int32`, or of `int64` if a number does not fit.
pub(crate) fn to_indices<'py>(
    py: Python<'py>,
    values: impl ExactSizeIterator<Item = usize> + Clone,
) -> PyResult<Bound<'py, PyAny>> {
    let short: Result<Vec<i32>, _> = values.clone().map(i32::try_from).collect();
    match short {
        Ok(short) => new(py, &short, "int32"),
        Err(_) => new(py, &values.map(|v| v as i64).collect::<Vec<_>>(), "int64"),
    }
}

fn copy<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}

fn new<'py, T: Element>(py: Python<'py>, values: &[T], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let array = py.import("numpy")?.call_method1("empty", (values.len(), dtype))?;
    PyBuffer::<T>::get(&array)?.copy_from_slice(py, values)?;
    Ok(array)
}

fn converted<T: Copy + Into<i64>, I: TryFrom<i64>>(from: Vec<T>, what: &str) -> PyResult<Vec<I>> {
    let convert = |v: T| {
        let v: i64 = v.into();
        I::try_from(v).map_err(|_| PyValueError::new_err(format!("{what}: the index {v} is out of range")))
    };
    from.into_iter().map(convert).collect()
}
