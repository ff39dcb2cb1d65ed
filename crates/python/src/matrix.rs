//! Matrices of SciPy, copied once.

use std::mem;
use std::sync::Arc;

use coarsen::LinearOperator;
use coarsen::sparse::{Bsr, Pattern, Zeros, detect_block_size};
use pyo3::prelude::*;

use crate::array::{equals, indices, numbers, to_array, to_indices, vector};
use crate::error::raise;
use crate::run::run;

/// A sparse matrix of dense blocks, whose values do not change.
#[pyclass(module = "pycoarsen._core")]
pub(crate) struct Matrix {
    pub(crate) bsr: Arc<Bsr<f64>>,
}

impl Matrix {
    /// Returns the matrix and leaves an empty one, so that the only owner need not copy it.
    pub(crate) fn take(&mut self) -> PyResult<Arc<Bsr<f64>>> {
        let empty = Bsr::identity(0, 1).map_err(raise)?;
        Ok(mem::replace(&mut self.bsr, Arc::new(empty)))
    }
}

/// The pattern of a matrix, for another one that may have it too.
#[pyclass(frozen, module = "pycoarsen._core")]
pub(crate) struct Structure(Arc<Pattern>);

/// Three arrays of SciPy: `indptr`, `indices` and `data`.
type Arrays<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Matrix {
    /// Copies compressed rows of `block[0]` x `block[1]` blocks, with sorted columns. Where the pattern is that of `like`, that
    /// pattern is shared and only values are copied.
    #[new]
    #[pyo3(signature = (shape, block, indptr, indices, data, like=None, threads=None))]
    #[allow(clippy::too_many_arguments)] // the parts of SciPy's matrices
    fn new(
        py: Python<'_>,
        shape: (usize, usize),
        block: (usize, usize),
        indptr: &Bound<'_, PyAny>,
        indices: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        like: Option<&Structure>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        let width = shape.1 / block.1.max(1);
        let pattern = match like {
            Some(Structure(known))
                if known.columns() == width
                    && equals(indptr, known.offsets(), "indptr")?
                    && equals(indices, known.indices(), "indices")? =>
            {
                known.clone()
            }
            _ => {
                let offsets: Vec<usize> = self::indices(indptr, "indptr")?;
                let columns: Vec<u32> = self::indices(indices, "indices")?;
                Arc::new(run(py, threads, |_| Pattern::new(width, offsets, columns))?.map_err(raise)?)
            }
        };
        Ok(Bsr::new(pattern, block, numbers(data)?).map_err(raise)?.into())
    }

    /// The pattern.
    #[getter]
    fn structure(&self) -> Structure {
        Structure(self.bsr.pattern().clone())
    }

    /// The numbers of scalar rows and columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        self.bsr.shape()
    }

    /// The numbers of rows and columns of a block.
    #[getter]
    fn block(&self) -> (usize, usize) {
        self.bsr.block()
    }

    /// The number of stored scalars.
    #[getter]
    fn nnz(&self) -> usize {
        self.bsr.nnz()
    }

    /// The block size that needs the fewest bytes, for a matrix of scalars.
    #[pyo3(signature = (threads=None))]
    fn detect_block_size(&self, py: Python<'_>, threads: Option<usize>) -> PyResult<usize> {
        let bsr = &self.bsr;
        run(
            py,
            threads,
            |_| if bsr.block() == (1, 1) { detect_block_size(bsr.pattern()) } else { bsr.block().0 },
        )
    }

    /// The same matrix in blocks of `size` x `size`, padded with zeros.
    #[pyo3(signature = (size, threads=None))]
    fn reblock(&self, py: Python<'_>, size: usize, threads: Option<usize>) -> PyResult<Self> {
        if self.bsr.block() == (size, size) {
            return Ok(Self { bsr: self.bsr.clone() });
        }
        let bsr = &self.bsr;
        Ok(run(py, threads, |_| bsr.reblock((size, size), Zeros::Keep))?.map_err(raise)?.into())
    }

    /// A x.
    #[pyo3(signature = (x, threads=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (rows, columns) = self.bsr.shape();
        let (x, bsr, mut y) = (vector(x, columns, "x")?, &*self.bsr, vec![0.0; rows]);
        run(py, threads, |_| bsr.apply(&x, &mut y))?;
        to_array(py, &y)
    }

    /// The arrays of SciPy's `csr_array` or `bsr_array`; `data` is flat.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Arrays<'py>> {
        let pattern = self.bsr.pattern();
        let indptr = to_indices(py, pattern.offsets().iter().copied())?;
        let indices = to_indices(py, pattern.indices().iter().map(|j| *j as usize))?;
        Ok((indptr, indices, to_array(py, self.bsr.values())?))
    }
}

impl From<Bsr<f64>> for Matrix {
    fn from(bsr: Bsr<f64>) -> Self {
        Self { bsr: Arc::new(bsr) }
    }
}
