//! Matrix Market files, and the diagnosis of a matrix.

use std::path::PathBuf;

use coarsen::diagnose::diagnose as diagnosis;
use coarsen::matrix_market;
use pyo3::prelude::*;

use crate::error::raise;
use crate::matrix::Matrix;
use crate::run::run;

/// Reads a Matrix Market file, plain or gzip.
#[pyfunction]
#[pyo3(signature = (path, threads=None))]
pub(crate) fn read(py: Python<'_>, path: PathBuf, threads: Option<usize>) -> PyResult<Matrix> {
    Ok(run(py, threads, |_| matrix_market::read(path))?.map_err(raise)?.into())
}

/// What is known of a matrix before a solve.
#[derive(IntoPyObject)]
pub(crate) struct Diagnosis {
    text: String,
    symmetric: bool,
    severity: Option<String>,
    /// The severity and the sentence of each finding, the most severe first.
    findings: Vec<(String, String)>,
}

/// Inspects a matrix.
#[pyfunction]
#[pyo3(signature = (matrix, threads=None))]
pub(crate) fn diagnose(py: Python<'_>, matrix: &Matrix, threads: Option<usize>) -> PyResult<Diagnosis> {
    let found = run(py, threads, |_| diagnosis(&*matrix.bsr))?;
    Ok(Diagnosis {
        text: found.to_string(),
        symmetric: found.is_symmetric(),
        severity: found.severity().map(|severity| severity.to_string()),
        findings: found.findings.iter().map(|f| (f.severity().to_string(), f.to_string())).collect(),
    })
}
