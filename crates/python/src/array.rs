//! NumPy arrays, through the buffer protocol: one copy in, one copy out. Patterns are compared where they lie.

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;

/// A copy of an array of `float64` of any shape, in C order.
pub(crate) fn numbers(array: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    PyBuffer::<f64>::get(array)?.to_vec(array.py())
}

/// A copy of an array of n numbers.
pub(crate) fn vector(array: &Bound<'_, PyAny>, n: usize, what: &'static str) -> PyResult<Vec<f64>> {
    let found = numbers(array)?;
    if found.len() != n {
        return Err(raise(coarsen::Error::Shape { what, expected: n, found: found.len() }));
    }
    Ok(found)
}

/// A copy of a guess of n numbers; zeros without one.
pub(crate) fn guess(array: Option<&Bound<'_, PyAny>>, n: usize) -> PyResult<Vec<f64>> {
    array.map_or_else(|| Ok(vec![0.0; n]), numbers)
}

/// A copy of a contiguous array of `int32` or `int64` as indices; `what` names it in errors.
pub(crate) fn indices<I: TryFrom<i64>>(array: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<I>> {
    let py = array.py();
    match PyBuffer::<i32>::get(array) {
        Ok(short) => converted(contiguous(&short, py, what)?, what),
        Err(_) => converted(contiguous(&PyBuffer::<i64>::get(array)?, py, what)?, what),
    }
}

/// Whether a contiguous array of `int32` or `int64` has these indices; `what` names it in errors.
pub(crate) fn equals<I: Copy + TryInto<i64>>(
    array: &Bound<'_, PyAny>,
    known: &[I],
    what: &str,
) -> PyResult<bool> {
    let py = array.py();
    Ok(match PyBuffer::<i32>::get(array) {
        Ok(short) => same(contiguous(&short, py, what)?, known),
        Err(_) => same(contiguous(&PyBuffer::<i64>::get(array)?, py, what)?, known),
    })
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

fn contiguous<'a, T: Element>(buffer: &'a PyBuffer<T>, _: Python<'a>, what: &str) -> PyResult<&'a [T]> {
    let gaps = || PyValueError::new_err(format!("{what}: the array is not contiguous"));
    let all = buffer.as_slice_ptr().ok_or_else(gaps)?;
    // SAFETY: the buffer keeps the memory, and this thread holds the GIL (`gil_used` of the module): Python code of other threads
    // does not run meanwhile. As for any function of NumPy, no thread may write to an argument in a loop without the GIL.
    Ok(unsafe { all.as_ref() })
}

fn new<'py, T: Element>(py: Python<'py>, values: &[T], dtype: &str) -> PyResult<Bound<'py, PyAny>> {
    let array = py.import("numpy")?.call_method1("empty", (values.len(), dtype))?;
    PyBuffer::<T>::get(&array)?.copy_from_slice(py, values)?;
    Ok(array)
}

fn converted<T: Copy + Into<i64>, I: TryFrom<i64>>(from: &[T], what: &str) -> PyResult<Vec<I>> {
    let convert = |v: &T| {
        let v: i64 = (*v).into();
        I::try_from(v).map_err(|_| PyValueError::new_err(format!("{what}: the index {v} is out of range")))
    };
    from.iter().map(convert).collect()
}

fn same<T: Copy + Into<i64>, I: Copy + TryInto<i64>>(found: &[T], known: &[I]) -> bool {
    let equal = |(found, known): (&T, &I)| {
        let found: i64 = (*found).into();
        (*known).try_into().is_ok_and(|known| known == found)
    };
    found.len() == known.len() && found.iter().zip(known).all(equal)
}
