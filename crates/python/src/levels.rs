//! Hierarchies with the parts and the options of PyAMG, for `pycoarsen.pyamg`.
//!
//! The methods of `coarsen` choose much by themselves. A program for PyAMG chooses each part, so this module has the parts: what
//! it takes is exactly what it does. Python puts them together level by level; the cycle runs here.
//!
//! | file | what |
//! |---|---|
//! | `strength` | symmetric, classical and evolution strength of connection |
//! | `aggregation` | standard and naive aggregates |
//! | `clusters` | aggregates by Lloyd's algorithm |
//! | `prolongation` | the tentative prolongation, and its smoothing by Jacobi, Richardson or energy |
//! | `radius` | ρ(D A) |
//! | `relaxation` | Gauss-Seidel, Jacobi, polynomials, normal equations, Schwarz |
//! | `coarsest` | factors, the pseudo-inverse, Krylov methods, functions of the user |
//! | `cycle` | V, W, F and AMLI cycles; the stationary iteration |
//! | `dense` | inverses of small matrices |
//!
//! Splitting and interpolation of classical multigrid are in [`coarsen::ruge_stueben`](mod@coarsen::ruge_stueben).

mod aggregation;
mod blocks;
mod clusters;
mod coarsest;
mod cycle;
mod dense;
mod prolongation;
mod radius;
mod relaxation;
mod strength;

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use coarsen::backend::SetupError;
use coarsen::direct::{DirectError, Method};
use coarsen::ruge_stueben::{Interpolation, interpolation, splitting};
use coarsen::sparse::{Pattern, SparseError};
use coarsen::{
    AnyError, Cancel, Error, Identity, Iteration, LinearOperator, Preconditioner, PreconditionerKind, Stop,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::array::{indices, numbers, to_array, to_indices, vector};
use crate::callback::{Failure, Function};
use crate::error::raise;
use crate::matrix::Matrix;
use crate::run::run;
use blocks::{Fault, Sparse};
use cycle::{Cycle, Level, OneCycle, Shared};
use prolongation::{Energy, Minimiser, Weighting};
use relaxation::{Normal, Order, Relaxation as Relaxes};
use strength::{Evolution, Norm};

/// The exception for an error.
fn exception(fault: Fault) -> PyErr {
    let fault = match fault.downcast::<SparseError>() {
        Ok(error) => return raise(AnyError::from(*error)),
        Err(fault) => fault,
    };
    let fault = match fault.downcast::<SetupError>() {
        Ok(error) => return raise(AnyError::from(*error)),
        Err(fault) => fault,
    };
    let fault = match fault.downcast::<DirectError>() {
        Ok(error) => return raise(AnyError::from(*error)),
        Err(fault) => fault,
    };
    match fault.downcast::<Error>() {
        Ok(error) => raise(AnyError::from(*error)),
        Err(fault) => PyValueError::new_err(fault.to_string()),
    }
}

/// Runs `work` without the GIL; its matrix.
fn matrix(py: Python<'_>, work: impl FnOnce(&Cancel) -> Result<Sparse, Fault> + Send) -> PyResult<Matrix> {
    Ok(run(py, None, |cancel| work(cancel))?.map_err(exception)?.into())
}

fn weighting(name: &str) -> Result<Weighting, Fault> {
    match name {
        "diagonal" => Ok(Weighting::Diagonal),
        "block" => Ok(Weighting::Block),
        "local" => Ok(Weighting::Local),
        "none" => Ok(Weighting::None),
        _ => Err(format!("unknown weighting \"{name}\"").into()),
    }
}

/// |a_ij| ≥ θ (|a_ii| |a_jj|)^½.
#[pyfunction]
fn strength_symmetric(py: Python<'_>, a: &Matrix, theta: f64, blocks: bool) -> PyResult<Matrix> {
    matrix(py, |_| strength::symmetric(&a.bsr, theta, blocks))
}

/// |a_ij| ≥ θ max |a_ik|.
#[pyfunction]
fn strength_classical(py: Python<'_>, a: &Matrix, theta: f64, norm: &str) -> PyResult<Matrix> {
    let norm = match norm {
        "abs" => Norm::Abs,
        "min" => Norm::Min,
        _ => Norm::Fro,
    };
    matrix(py, |_| strength::classical(&a.bsr, theta, norm))
}

/// The evolution measure for near-kernel vectors in the columns of `b`, row-major.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the options of PyAMG
fn strength_evolution(
    py: Python<'_>,
    a: &Matrix,
    b: &Bound<'_, PyAny>,
    vectors: usize,
    radius: f64,
    epsilon: f64,
    steps: usize,
    weighted: bool,
    symmetrised: bool,
) -> PyResult<Matrix> {
    let b = numbers(b)?;
    let options = Evolution { epsilon, steps, weighted, symmetrised };
    matrix(py, |cancel| strength::evolution(&a.bsr, (&b, vectors), radius, &options, cancel))
}

/// C without diagonally dominant nodes.
#[pyfunction]
fn without_dominant(py: Python<'_>, a: &Matrix, c: &Matrix, theta: f64) -> PyResult<Matrix> {
    matrix(py, |_| strength::without_dominant(&a.bsr, &c.bsr, theta))
}

/// Two arrays of indices.
type Indices<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The aggregate of each node, one for each more than its number (0 for none), and the root of each aggregate.
#[pyfunction]
fn aggregate<'py>(py: Python<'py>, c: &Matrix, naive: bool) -> PyResult<Indices<'py>> {
    let by = if naive { aggregation::naive } else { aggregation::standard };
    let (of, roots) = run(py, None, |_| by(&c.bsr))?;
    let positive =
        |v: Vec<i32>, by: i32| -> Vec<usize> { v.into_iter().map(|v| (v + by) as usize).collect() };
    let of = to_indices(py, positive(of, 1).into_iter())?;
    Ok((of, to_indices(py, positive(roots, 0).into_iter())?))
}

/// The cluster of each node, one for each more than its number (0 for none), and the centre of each cluster. The entries of `g` are
/// lengths, 0 or more.
#[pyfunction]
#[pyo3(signature = (g, centres, rounds, rebalances))]
fn cluster<'py>(
    py: Python<'py>,
    g: &Matrix,
    centres: &Bound<'py, PyAny>,
    rounds: usize,
    rebalances: Option<usize>,
) -> PyResult<Indices<'py>> {
    let centres: Vec<usize> = indices(centres, "centres")?;
    let n = g.bsr.shape().0;
    let mut seen = vec![false; n];
    for &c in &centres {
        if seen.get(c) != Some(&false) {
            return Err(PyValueError::new_err(format!("the centre {c} is no node, or is given twice")));
        }
        seen[c] = true;
    }
    if g.bsr.block() != (1, 1) || g.bsr.values().iter().any(|v| v.is_nan() || *v < 0.0) {
        return Err(PyValueError::new_err("Lloyd aggregation requires a positive measure."));
    }
    let work = |cancel: &Arc<Cancel>| clusters::clusters(&g.bsr, centres, rounds, rebalances, cancel);
    let (of, centres) = run(py, None, work)?.map_err(raise)?;
    let of: Vec<usize> = of.into_iter().map(|k| (k + 1) as usize).collect();
    Ok((to_indices(py, of.into_iter())?, to_indices(py, centres.into_iter())?))
}

/// T, and the coarse near-kernel, row-major. `aggregates` is −1 for none.
#[pyfunction]
fn tentative<'py>(
    py: Python<'py>,
    aggregates: &Bound<'py, PyAny>,
    count: usize,
    b: &Bound<'py, PyAny>,
    vectors: usize,
    spanned: f64,
) -> PyResult<(Matrix, Bound<'py, PyAny>)> {
    let (aggregates, b) = (indices::<i32>(aggregates, "aggregates")?, numbers(b)?);
    let work = |_: &Arc<Cancel>| prolongation::tentative(&aggregates, count, (&b, vectors), spanned);
    let (t, coarse) = run(py, None, work)?.map_err(exception)?;
    Ok((t.into(), to_array(py, &coarse)?))
}

/// An estimate of ρ(D A).
#[pyfunction]
fn spectral_radius(py: Python<'_>, a: &Matrix, by: &str) -> PyResult<f64> {
    run(py, None, |cancel| radius::radius(&a.bsr, weighting(by)?, cancel))?.map_err(exception)
}

/// (I − ω D A)ᵈ T.
#[pyfunction]
fn smooth(py: Python<'_>, a: &Matrix, t: &Matrix, omega: f64, by: &str, degree: usize) -> PyResult<Matrix> {
    matrix(py, |cancel| prolongation::smoothed(&a.bsr, &t.bsr, omega, weighting(by)?, degree, cancel))
}

/// A without the couplings that are not in C.
#[pyfunction]
fn filtered(py: Python<'_>, a: &Matrix, c: &Matrix) -> PyResult<Matrix> {
    matrix(py, |_| prolongation::filtered(&a.bsr, &c.bsr))
}

/// As [`smooth`], where each step keeps P `b`.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the options of PyAMG
fn smooth_with_constraints(
    py: Python<'_>,
    a: &Matrix,
    t: &Matrix,
    omega: f64,
    by: &str,
    degree: usize,
    b: &Bound<'_, PyAny>,
    vectors: usize,
) -> PyResult<Matrix> {
    let b = numbers(b)?;
    matrix(py, |cancel| {
        let options = (omega, weighting(by)?, degree);
        prolongation::smoothed_with_constraints(&a.bsr, &t.bsr, options, (&b, vectors), cancel)
    })
}

/// P of minimal energy.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the options of PyAMG
fn smooth_by_energy(
    py: Python<'_>,
    a: &Matrix,
    t: &Matrix,
    c: &Matrix,
    b: &Bound<'_, PyAny>,
    vectors: usize,
    krylov: &str,
    steps: usize,
    tolerance: f64,
    degree: usize,
    by: &str,
) -> PyResult<Matrix> {
    let b = numbers(b)?;
    let minimiser = match krylov {
        "cg" => Minimiser::Cg,
        "cgnr" => Minimiser::Cgnr,
        _ => Minimiser::Gmres,
    };
    matrix(py, |cancel| {
        let options = Energy { by: minimiser, steps, tolerance, degree, weighting: weighting(by)? };
        prolongation::energy(&a.bsr, &t.bsr, &c.bsr, (&b, vectors), &options, cancel)
    })
}

/// Aᵀ.
#[pyfunction]
fn transpose(py: Python<'_>, a: &Matrix) -> PyResult<Matrix> {
    matrix(py, |_| Ok(a.bsr.transpose()?))
}

/// Pᵀ A P.
#[pyfunction]
fn galerkin(py: Python<'_>, a: &Matrix, p: &Matrix) -> PyResult<Matrix> {
    matrix(py, |_| coarsest::galerkin(&a.bsr, &p.bsr))
}

/// R A P.
#[pyfunction]
fn triple(py: Python<'_>, r: &Matrix, a: &Matrix, p: &Matrix) -> PyResult<Matrix> {
    matrix(py, |_| coarsest::triple(&r.bsr, &a.bsr, &p.bsr))
}

/// The neighbours of each node in C.
fn strong(c: &Sparse) -> Result<Pattern, SparseError> {
    let row = |i: usize| c.row(i).filter(move |(j, v)| *j != i && v[0] != 0.0).map(|(j, _)| j as u32);
    Pattern::from_rows(c.pattern().rows(), c.pattern().columns(), c.nnz(), row)
}

/// 1 for coarse unknowns, 0 for the others.
#[pyfunction]
fn split<'py>(py: Python<'py>, c: &Matrix, second_pass: bool) -> PyResult<Bound<'py, PyAny>> {
    let work = |cancel: &Arc<Cancel>| -> Result<_, SetupError> {
        splitting(&strong(&c.bsr)?, second_pass, Some(cancel))
    };
    let coarse = run(py, None, work)?.map_err(raise)?;
    to_indices(py, coarse.into_iter().map(usize::from))
}

/// P of classical multigrid.
#[pyfunction]
fn interpolate(
    py: Python<'_>,
    a: &Matrix,
    c: &Matrix,
    coarse: &Bound<'_, PyAny>,
    by: &str,
) -> PyResult<Matrix> {
    let coarse: Vec<bool> = indices::<u32>(coarse, "splitting")?.into_iter().map(|c| c != 0).collect();
    let by = match by {
        "direct" => Interpolation::Direct,
        "classical" => Interpolation::Classical,
        _ => Interpolation::Modified,
    };
    matrix(py, |cancel| Ok(interpolation(&a.bsr, &strong(&c.bsr)?, &coarse, by, Some(cancel))?))
}

/// A method that improves x in A x = b.
#[pyclass(frozen, module = "pycoarsen._core")]
struct Relaxation {
    method: Shared,
    /// The exception of a function of Python.
    failure: Arc<Failure>,
    size: usize,
}

impl Relaxation {
    fn of<M: Relaxes + 'static>(
        py: Python<'_>,
        a: &Matrix,
        build: impl FnOnce(&Arc<Sparse>, &Cancel) -> Result<M, Fault> + Send,
    ) -> PyResult<Self> {
        let method = run(py, None, |cancel| build(&a.bsr, cancel))?.map_err(exception)?;
        let method: Box<dyn Relaxes> = Box::new(method);
        Ok(Self { method: Arc::new(Mutex::new(method)), failure: Arc::default(), size: a.bsr.shape().0 })
    }
}

#[pymethods]
impl Relaxation {
    /// x stays as it is.
    #[staticmethod]
    fn nothing(py: Python<'_>, a: &Matrix) -> PyResult<Self> {
        Self::of(py, a, |_, _| Ok(relaxation::Nothing))
    }

    /// Gauss-Seidel and SOR on blocks of `size`.
    #[staticmethod]
    fn sweeps(
        py: Python<'_>,
        a: &Matrix,
        size: usize,
        omega: f64,
        sweep: &str,
        iterations: usize,
    ) -> PyResult<Self> {
        Self::of(py, a, |a, _| relaxation::Sweeps::new(a, size, omega, Order::parse(sweep)?, iterations))
    }

    /// Jacobi on blocks of `size`.
    #[staticmethod]
    fn jacobi(py: Python<'_>, a: &Matrix, size: usize, omega: f64, iterations: usize) -> PyResult<Self> {
        Self::of(py, a, |a, _| relaxation::Jacobi::new(a, size, omega, iterations))
    }

    /// Steps of a polynomial, with its coefficients from the highest power.
    #[staticmethod]
    fn polynomial(py: Python<'_>, a: &Matrix, coefficients: Vec<f64>, iterations: usize) -> PyResult<Self> {
        Self::of(py, a, |a, _| Ok(relaxation::Polynomial::new(a, coefficients, iterations)))
    }

    /// Gauss-Seidel or Jacobi on normal equations: `of` is "ne", "nr" or "jacobi_ne".
    #[staticmethod]
    fn normal(
        py: Python<'_>,
        a: &Matrix,
        of: &str,
        omega: f64,
        sweep: &str,
        iterations: usize,
    ) -> PyResult<Self> {
        let of = match of {
            "ne" => Normal::Rows,
            "nr" => Normal::Columns,
            _ => Normal::Jacobi,
        };
        Self::of(py, a, |a, _| {
            relaxation::NormalEquations::new(a, of, omega, Order::parse(sweep)?, iterations)
        })
    }

    /// Multiplicative Schwarz on the rows of `domains`, or of A.
    #[staticmethod]
    #[pyo3(signature = (a, domains, sweep, iterations))]
    fn schwarz(
        py: Python<'_>,
        a: &Matrix,
        domains: Option<&Matrix>,
        sweep: &str,
        iterations: usize,
    ) -> PyResult<Self> {
        let domains = domains.map(|domains| &*domains.bsr);
        Self::of(py, a, |a, cancel| {
            relaxation::Schwarz::new(a, domains, Order::parse(sweep)?, iterations, cancel)
        })
    }

    /// A Krylov method without a preconditioner.
    #[staticmethod]
    fn krylov(
        py: Python<'_>,
        a: &Matrix,
        name: &str,
        tolerance: f64,
        most: usize,
        restart: usize,
    ) -> PyResult<Self> {
        Self::of(py, a, |a, _| coarsest::Inner::new(a, name, tolerance, most, restart))
    }

    /// A sparse factor: "lu" or "cholesky".
    #[staticmethod]
    fn factor(py: Python<'_>, a: &Matrix, name: &str) -> PyResult<Self> {
        let method = if name == "cholesky" { Method::Cholesky } else { Method::Lu };
        Self::of(py, a, |a, _| coarsest::Factored::new(a, method))
    }

    /// The pseudo-inverse.
    #[staticmethod]
    #[pyo3(signature = (a, absolute, relative))]
    fn pseudo_inverse(py: Python<'_>, a: &Matrix, absolute: f64, relative: Option<f64>) -> PyResult<Self> {
        Self::of(py, a, |a, _| coarsest::Pseudo::new(a, absolute, relative))
    }

    /// x = f(b).
    #[staticmethod]
    fn called(a: &Matrix, f: Py<PyAny>) -> Self {
        let failure: Arc<Failure> = Arc::default();
        let method: Box<dyn Relaxes> = Box::new(coarsest::Called { f, failure: failure.clone() });
        Self { method: Arc::new(Mutex::new(method)), failure, size: a.bsr.shape().0 }
    }

    /// The x after this method, from x.
    fn run<'py>(
        &self,
        py: Python<'py>,
        b: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (b, mut x) = (vector(b, self.size, "b")?, vector(x, self.size, "x")?);
        let x = run(py, None, |_| {
            self.method.lock().unwrap_or_else(std::sync::PoisonError::into_inner).run(&b, &mut x);
            x
        })?;
        self.failure.raise()?;
        to_array(py, &x)
    }
}

/// A hierarchy with its cycle.
#[pyclass(frozen, module = "pycoarsen._core")]
struct Levels {
    levels: Mutex<cycle::Levels>,
    failure: Arc<Failure>,
    size: usize,
}

/// A, P and R of a level with its relaxation before and after the coarse correction.
type Parts<'py> = (
    PyRef<'py, Matrix>,
    PyRef<'py, Matrix>,
    PyRef<'py, Matrix>,
    PyRef<'py, Relaxation>,
    PyRef<'py, Relaxation>,
);

/// x, the residual norms, and how the solve ended: the name of an outcome.
type Solved<'py> = (Bound<'py, PyAny>, Vec<f64>, &'static str);

#[pymethods]
impl Levels {
    #[new]
    fn new(levels: Vec<Parts<'_>>, last: &Matrix, coarsest: &Relaxation) -> PyResult<Self> {
        let mut built = Vec::new();
        for (a, p, r, before, after) in &levels {
            let relaxations = [before.method.clone(), after.method.clone()];
            built.push(
                Level::new(a.bsr.clone(), p.bsr.clone(), r.bsr.clone(), relaxations).map_err(exception)?,
            );
        }
        let levels = cycle::Levels::new(built, &last.bsr, coarsest.method.clone()).map_err(exception)?;
        let (size, failure) = (levels.size(), coarsest.failure.clone());
        Ok(Self { levels: Mutex::new(levels), failure, size })
    }

    /// One cycle from zero.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        cycle: &str,
        after: usize,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (cycle, b) = (Cycle::parse(cycle, after).map_err(exception)?, vector(b, self.size, "b")?);
        let levels = &mut *self.lock()?;
        let mut x = vec![0.0; b.len()];
        let x = run(py, None, |_| {
            levels.cycle(cycle, &b, &mut x);
            x
        })?;
        self.failure.raise()?;
        to_array(py, &x)
    }

    /// Cycles from x until ‖b − A x‖ < tolerance ‖b‖.
    #[allow(clippy::too_many_arguments)] // the options of PyAMG
    #[pyo3(signature = (cycle, after, b, x, tolerance, most, callback=None))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        cycle: &str,
        after: usize,
        b: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        tolerance: f64,
        most: usize,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Solved<'py>> {
        let cycle = Cycle::parse(cycle, after).map_err(exception)?;
        let (b, mut x) = (vector(b, self.size, "b")?, vector(x, self.size, "x0")?);
        let levels = &mut *self.lock()?;
        let failure = &self.failure;
        let (x, norms, converged) = run(py, None, |cancel| {
            let mut monitor = |x: &[f64], _: f64| observe(cancel, failure, callback.as_ref(), Some(x));
            let (norms, converged) = levels.solve(cycle, &b, &mut x, (tolerance, most), &mut monitor);
            (x, norms, converged)
        })?;
        failure.raise()?;
        Ok((to_array(py, &x)?, norms, if converged { "converged" } else { "iteration_limit" }))
    }

    /// A Krylov method with one cycle as its preconditioner.
    #[allow(clippy::too_many_arguments)] // the options of PyAMG
    #[pyo3(signature = (method, cycle, after, b, x, tolerance, most, restart, callback=None))]
    fn accelerate<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        cycle: &str,
        after: usize,
        b: &Bound<'py, PyAny>,
        x: &Bound<'py, PyAny>,
        tolerance: f64,
        most: usize,
        restart: usize,
        callback: Option<Py<PyAny>>,
    ) -> PyResult<Solved<'py>> {
        let cycle = Cycle::parse(cycle, after).map_err(exception)?;
        let (b, x) = (vector(b, self.size, "b")?, vector(x, self.size, "x0")?);
        let levels = &mut *self.lock()?;
        let a = levels.matrix().clone();
        // PyAMG trusts the preconditioner too, and warns of relaxations that are not symmetric.
        let kind =
            if cycle == Cycle::Amli { PreconditionerKind::Variable } else { PreconditionerKind::Symmetric };
        let mut m = OneCycle { levels, cycle, kind };
        let stop = Stop { max_iterations: most, ..Stop::relative(tolerance) };
        krylov(py, (method, stop, restart), &*a, &mut m, b, x, &self.failure, callback)
    }
}

impl Levels {
    /// The levels, which solve one system at a time.
    fn lock(&self) -> PyResult<std::sync::MutexGuard<'_, cycle::Levels>> {
        self.levels.try_lock().map_err(|_| {
            PyRuntimeError::new_err(
                "this hierarchy is at work in another thread, or in the call of this callback",
            )
        })
    }
}

/// A Krylov method for a matrix or a function A, preconditioned by a function M.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // the options of PyAMG
#[pyo3(signature = (method, a, m, b, x, tolerance, most, restart, callback=None))]
fn iterate<'py>(
    py: Python<'py>,
    method: &str,
    a: &Bound<'py, PyAny>,
    m: Option<Py<PyAny>>,
    b: &Bound<'py, PyAny>,
    x: &Bound<'py, PyAny>,
    tolerance: f64,
    most: usize,
    restart: usize,
    callback: Option<Py<PyAny>>,
) -> PyResult<Solved<'py>> {
    let (b, x, failure) = (numbers(b)?, numbers(x)?, Failure::default());
    let (n, kind) = (b.len(), PreconditionerKind::Symmetric);
    let stop = Stop { max_iterations: most, ..Stop::relative(tolerance) };
    let mut function = m.as_ref().map(|f| Function { f, n, kind, failure: &failure });
    let mut identity = Identity;
    let m: &mut (dyn Preconditioner<Vec<f64>> + Send) = match &mut function {
        Some(function) => function,
        None => &mut identity,
    };
    let options = (method, stop, restart);
    match a.cast::<Matrix>() {
        Ok(a) => krylov(py, options, &*a.borrow().bsr.clone(), m, b, x, &failure, callback),
        Err(_) => {
            let f = a.clone().unbind();
            let a = Function { f: &f, n, kind, failure: &failure };
            krylov(py, options, &a, m, b, x, &failure, callback)
        }
    }
}

#[allow(clippy::too_many_arguments)] // a system, and how it is solved
fn krylov<'py>(
    py: Python<'py>,
    (method, stop, restart): (&str, Stop<f64>, usize),
    a: &(dyn LinearOperator<Vec<f64>> + Sync),
    m: &mut (dyn Preconditioner<Vec<f64>> + Send),
    b: Vec<f64>,
    mut x: Vec<f64>,
    failure: &Failure,
    callback: Option<Py<PyAny>>,
) -> PyResult<Solved<'py>> {
    let mut method = coarsest::method(method, stop, restart).map_err(exception)?;
    let (x, norms, report) = run(py, None, |cancel| {
        let mut norms = Vec::new();
        let mut monitor = |it: &Iteration<'_, Vec<f64>>| {
            if it.number < norms.len() {
                return ControlFlow::Continue(()); // the start of another run
            }
            norms.push(it.residual);
            let called = callback.as_ref().filter(|_| it.number > 0);
            observe(cancel, failure, called, it.x.map(|x| &x[..]))
        };
        let report = method.solve_with(a, m, &b, &mut x, &mut monitor);
        (x, norms, report)
    })?;
    failure.raise()?;
    let report = report.map_err(raise)?;
    Ok((to_array(py, &x)?, norms, report.outcome.name()))
}

/// Calls the callback of the user with x; ends the solve after an exception or Ctrl-C.
fn observe(
    cancel: &Cancel,
    failure: &Failure,
    callback: Option<&Py<PyAny>>,
    x: Option<&[f64]>,
) -> ControlFlow<()> {
    if let (Some(f), Some(x)) = (callback, x) {
        failure.unless(Python::attach(|py| f.bind(py).call1((to_array(py, x)?,)).map(|_| ())));
    }
    if cancel.is_cancelled() || failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Adds the classes of this file to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Relaxation>()?;
    module.add_class::<Levels>()?;
    module.add_function(wrap_pyfunction!(strength_symmetric, module)?)?;
    module.add_function(wrap_pyfunction!(strength_classical, module)?)?;
    module.add_function(wrap_pyfunction!(strength_evolution, module)?)?;
    module.add_function(wrap_pyfunction!(without_dominant, module)?)?;
    module.add_function(wrap_pyfunction!(aggregate, module)?)?;
    module.add_function(wrap_pyfunction!(cluster, module)?)?;
    module.add_function(wrap_pyfunction!(tentative, module)?)?;
    module.add_function(wrap_pyfunction!(spectral_radius, module)?)?;
    module.add_function(wrap_pyfunction!(smooth, module)?)?;
    module.add_function(wrap_pyfunction!(filtered, module)?)?;
    module.add_function(wrap_pyfunction!(smooth_with_constraints, module)?)?;
    module.add_function(wrap_pyfunction!(smooth_by_energy, module)?)?;
    module.add_function(wrap_pyfunction!(transpose, module)?)?;
    module.add_function(wrap_pyfunction!(galerkin, module)?)?;
    module.add_function(wrap_pyfunction!(triple, module)?)?;
    module.add_function(wrap_pyfunction!(split, module)?)?;
    module.add_function(wrap_pyfunction!(interpolate, module)?)?;
    module.add_function(wrap_pyfunction!(iterate, module)?)
}
