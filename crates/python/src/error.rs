//! Errors of the library as exceptions with the same words.

use std::io::ErrorKind;

use coarsen::matrix_market::Problem;
use coarsen::{AnyError, Error};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    pycoarsen,
    SolveError,
    PyRuntimeError,
    "A solve that does not reach its tolerance. The message gives the cause and a remedy."
);
create_exception!(
    pycoarsen,
    SetupError,
    PyValueError,
    "A matrix of which a preconditioner or a factor cannot be built. The message gives the row or node and a remedy."
);

/// The exception for an error: its class by what is wrong, its message unchanged.
pub(crate) fn raise(error: impl Into<AnyError>) -> PyErr {
    let error = error.into();
    let text = error.to_string();
    match error {
        AnyError::NotConverged(_)
        | AnyError::Core(Error::NotConverged(_))
        | AnyError::Auto(_)
        | AnyError::NotMinimized(_)
        | AnyError::Descent(_) => SolveError::new_err(text),
        AnyError::Setup(_) | AnyError::Direct(_) => SetupError::new_err(text),
        AnyError::Core(Error::Memory { .. } | Error::Allocation { .. }) => PyMemoryError::new_err(text),
        AnyError::Core(
            Error::Device { .. } | Error::Build { .. } | Error::Threads { .. } | Error::Ranks { .. },
        ) => PyRuntimeError::new_err(text),
        AnyError::Read(ref read) => match read.problem {
            Problem::Open { kind: ErrorKind::NotFound } => PyFileNotFoundError::new_err(text),
            Problem::Open { kind: ErrorKind::PermissionDenied } => PyPermissionError::new_err(text),
            Problem::Open { .. } | Problem::Read { .. } => PyOSError::new_err(text),
            _ => PyValueError::new_err(text),
        },
        AnyError::Write(_) | AnyError::Io(_) => PyOSError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// Adds the exceptions to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SolveError", module.py().get_type::<SolveError>())?;
    module.add("SetupError", module.py().get_type::<SetupError>())
}
