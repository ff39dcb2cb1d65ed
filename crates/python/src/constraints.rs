//! Linear equality constraints on x.

use std::sync::{Mutex, MutexGuard, PoisonError};

use coarsen::constraints::{ConstraintError, Constraints as Rows};
use pyo3::prelude::*;

use crate::array::numbers;
use crate::error::raise;
use crate::matrix::Matrix;

/// A list of constraints C x = d.
#[pyclass(frozen, module = "pycoarsen._core")]
pub(crate) struct Constraints(Mutex<Rows>);

impl Constraints {
    /// A copy of the list.
    pub(crate) fn rows(&self) -> Rows {
        self.list().clone()
    }

    fn list(&self) -> MutexGuard<'_, Rows> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, f: impl FnOnce(&mut Rows) -> Result<(), ConstraintError>) -> PyResult<()> {
        f(&mut self.list()).map_err(raise)
    }
}

#[pymethods]
impl Constraints {
    #[new]
    fn new(nodes: usize, block: usize) -> PyResult<Self> {
        Ok(Self(Mutex::new(Rows::new(nodes, block).map_err(raise)?)))
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.list().nodes()
    }

    #[getter]
    fn block(&self) -> usize {
        self.list().block()
    }

    fn __len__(&self) -> usize {
        self.list().len()
    }

    fn clear(&self) {
        self.list().clear();
    }

    fn point(&self, node: usize, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = numbers(value)?;
        self.add(|rows| rows.point(node, &value))
    }

    fn line(&self, node: usize, direction: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (direction, value) = (numbers(direction)?, numbers(value)?);
        self.add(|rows| rows.line(node, &direction, &value))
    }

    fn plane(&self, node: usize, normal: &Bound<'_, PyAny>, offset: f64) -> PyResult<()> {
        let normal = numbers(normal)?;
        self.add(|rows| rows.plane(node, &normal, offset))
    }

    /// Fixes scalar unknowns.
    fn fix(&self, unknowns: Vec<usize>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (values, block) = (numbers(values)?, self.block());
        let mut axis = vec![0.0; block];
        for (unknown, value) in unknowns.into_iter().zip(values) {
            let (node, component) = (unknown / block, unknown % block);
            axis[component] = 1.0;
            self.add(|rows| rows.equation(&[(node, &axis)], value))?;
            axis[component] = 0.0;
        }
        Ok(())
    }

    fn equation(&self, terms: Vec<(usize, Vec<f64>)>, value: f64) -> PyResult<()> {
        let terms: Vec<_> = terms.iter().map(|(node, c)| (*node, &c[..])).collect();
        self.add(|rows| rows.equation(&terms, value))
    }

    fn rows_of(&self, c: &Matrix, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let values = numbers(values)?;
        self.add(|rows| rows.rows(&c.bsr, &values))
    }

    fn vertex_face(
        &self,
        vertex: usize,
        face: [usize; 3],
        weights: [f64; 3],
        normal: &Bound<'_, PyAny>,
        gap: f64,
    ) -> PyResult<()> {
        let normal = numbers(normal)?;
        self.add(|rows| rows.vertex_face(vertex, face, weights, &normal, gap))
    }

    fn edge_edge(
        &self,
        first: [usize; 2],
        second: [usize; 2],
        at: [f64; 2],
        normal: &Bound<'_, PyAny>,
        gap: f64,
    ) -> PyResult<()> {
        let normal = numbers(normal)?;
        self.add(|rows| rows.edge_edge(first, second, at, &normal, gap))
    }
}
