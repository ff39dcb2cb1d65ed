//! The Python package `pycoarsen`: the extension module `pycoarsen._core`.
//!
//! The package has two parts. The folder `python/pycoarsen` is the interface for users: signatures, SciPy objects, docstrings,
//! dataclasses. This crate computes: it takes arrays and numbers, and depends neither on SciPy nor on defaults of keywords.
//!
//! | convention | |
//! |---|---|
//! | arrays in | NumPy arrays of `float64`, C-contiguous ones of `int32` or `int64`, read through the buffer protocol ([`array`]). The Python part converts everything else (`_arrays.py`: `vector`, `near_kernel`, `coordinates`) and refuses complex numbers with `TypeError` |
//! | arrays out | new NumPy arrays ([`array::to_array`]); nothing here writes into an array of the user |
//! | matrices | `_arrays.py`: `rows` and `blocks` turn any SciPy sparse or dense matrix into a [`matrix::Matrix`], which copies once: CSR as 1x1 blocks, BSR as its blocks, other formats by SciPy's conversion to CSR, unsorted rows and duplicates by SciPy on a copy |
//! | preconditioners | [`precond::Preconditioner`] holds any `Prepared<Vec<f64>, f64> + Send`; in Python it is a `LinearOperator` (`_preconditioners.py`: `Preconditioner`), and a Krylov method of this package applies it without Python |
//! | threads | an argument `threads` (`None`: one for each core) of each function that computes, passed to [`run::run`], which works in a pool that no other call uses meanwhile, and keeps it for the next one |
//! | the GIL | is released by [`run::run`] while Rust works, and taken by a callback into Python ([`callback`]) |
//! | Ctrl-C | [`run::run`] asks Python for signals every 50 ms and sets a `Cancel`: give it to a setup as `System::cancel`, and let a monitor end a solve when it is set. `run` then returns the `KeyboardInterrupt` |
//! | errors | [`error::raise`] maps an error of the library to an exception with the same words: `ValueError` for an invalid argument, `SetupError` (a `ValueError`) for a matrix that a method cannot take, `SolveError` (a `RuntimeError`) for a solve that does not reach its tolerance. A missing feature is a `NotImplementedError` that names it |
//! | an exception in a callback | ends the solve, and is raised as it is |

mod array;
mod callback;
mod constraints;
mod error;
mod files;
mod krylov;
mod levels;
mod matrix;
mod minimize;
mod precond;
mod run;
mod solver;

use pyo3::prelude::*;

/// What the Python half of the package calls. Use `pycoarsen` itself.
#[pymodule(gil_used = true)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<matrix::Matrix>()?;
    module.add_class::<matrix::Structure>()?;
    module.add_class::<constraints::Constraints>()?;
    module.add_class::<solver::Solver>()?;
    module.add_function(wrap_pyfunction!(files::read, module)?)?;
    module.add_function(wrap_pyfunction!(files::diagnose, module)?)?;
    module.add_function(wrap_pyfunction!(minimize::minimize, module)?)?;
    precond::register(module)?;
    krylov::register(module)?;
    levels::register(module)
}
