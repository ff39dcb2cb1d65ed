//! Hierarchies with the parts and the options of PyAMG, for `pycoarsen.pyamg`.

use pyo3::prelude::*;

/// Adds the classes of this file to the extension module.
pub(crate) fn register(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
