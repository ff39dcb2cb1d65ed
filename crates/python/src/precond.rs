//! Preconditioners that Python holds.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coarsen::auto::{Built, Levels, Parameters, Precond};
use coarsen::backend::{Cpu, Prepared, Reused, Setup};
use coarsen::direct::{Direct, Method};
use coarsen::multigrid::{Cycle, Smoothing};
use coarsen::relax::{BlockJacobi, Chebyshev, DampedJacobi, GaussSeidel, Ic0, Ilu0, Jacobi, Spai0};
use coarsen::ruge_stueben::{Interpolation, RugeStueben, ruge_stueben};
use coarsen::schwarz::{AdditiveSchwarz, Schwarz};
use coarsen::skinning::{Skinning, skinning};
use coarsen::smoothed_aggregation::{SmoothedAggregation, smoothed_aggregation};
use coarsen::sparse::{Bsr, NearKernel, OwnedSystem, Strength, System};
use coarsen::{AnyError, Cancel, Preconditioner as _, PreconditionerKind, Vector};
use pyo3::buffer::PyBuffer;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::array::{numbers, to_array, vector};
use crate::error::raise;
use crate::matrix::Matrix;
use crate::run::run;

/// A preconditioner of any kind.
pub(crate) type Held = Box<dyn Prepared<Vec<f64>, f64> + Send>;

/// A preconditioner, for Python and for the methods of this package.
#[pyclass(frozen, module = "pycoarsen._core")]
pub(crate) struct Preconditioner {
    held: Shared,
    levels: Option<Levels>,
    size: usize,
    kind: PreconditionerKind,
}

/// A preconditioner that is locked for each application, so that callbacks and other threads may apply it too.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<Held>>);

/// What a setup may know beside the matrix.
#[derive(Default)]
pub(crate) struct Geometry {
    positions: Option<Vec<[f64; 3]>>,
    near_kernel: Option<NearKernel>,
}

impl Shared {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl coarsen::Preconditioner<Vec<f64>> for Shared {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        self.held().apply(r, z);
    }

    fn apply_many(&mut self, r: &[Vec<f64>], z: &mut [Vec<f64>]) {
        self.held().apply_many(r, z);
    }

    fn apply_dot(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) -> coarsen::Dot<<Vec<f64> as Vector>::Scalar> {
        self.held().apply_dot(r, z)
    }

    fn kind(&self) -> PreconditionerKind {
        self.held().kind()
    }

    fn size(&self) -> Option<usize> {
        self.held().size()
    }
}

impl Preconditioner {
    /// Holds a preconditioner for vectors of `size` numbers.
    pub(crate) fn new(held: Held, levels: Option<Levels>, size: usize) -> Self {
        let kind = held.kind();
        Self { held: Shared(Arc::new(Mutex::new(held))), levels, size, kind }
    }

    /// The preconditioner for a Krylov method.
    pub(crate) fn shared(&self) -> Shared {
        self.held.clone()
    }
}

#[pymethods]
impl Preconditioner {
    /// The number of unknowns.
    #[getter]
    fn size(&self) -> usize {
        self.size
    }

    /// `"symmetric"`, `"linear"` or `"variable"`: what Krylov methods may rely on.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.kind {
            PreconditionerKind::Symmetric => "symmetric",
            PreconditionerKind::Linear => "linear",
            PreconditionerKind::Variable => "variable",
        }
    }

    /// The number of levels, the operator complexity and a table, for a hierarchy.
    #[getter]
    fn levels(&self) -> Option<(usize, f64, String)> {
        self.levels.as_ref().map(told)
    }

    /// M⁻¹ r.
    #[pyo3(signature = (r, threads=None))]
    fn apply<'py>(
        &self,
        py: Python<'py>,
        r: &Bound<'py, PyAny>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (r, mut z) = (vector(r, self.size, "r")?, vec![0.0; self.size]);
        run(py, threads, |_| self.shared().apply(&r, &mut z))?;
        to_array(py, &z)
    }

    /// Updates to new values, and says what was kept: `"structure"`, `"rest"` or `"nothing"`.
    #[pyo3(signature = (matrix, threads=None))]
    fn update(&self, py: Python<'_>, matrix: &Matrix, threads: Option<usize>) -> PyResult<&'static str> {
        let found = matrix.bsr.shape().0;
        if found != self.size {
            let (what, expected) = ("the rows of A", self.size);
            return Err(raise(coarsen::Error::Shape { what, expected, found }));
        }
        let update = |cancel: &Arc<Cancel>| {
            let system = System { cancel: Some(cancel), ..System::from(&*matrix.bsr) };
            self.held.held().update_from(system)
        };
        Ok(match run(py, threads, update)?.map_err(raise)? {
            Reused::Structure => "structure",
            Reused::Nothing => "nothing",
            _ => "rest",
        })
    }
}

/// Levels as Python takes them.
pub(crate) fn told(levels: &Levels) -> (usize, f64, String) {
    (levels.count, levels.operator_complexity, levels.table.clone())
}

impl Geometry {
    /// Reads positions, n x 3, and a near-kernel, one row for each unknown.
    pub(crate) fn read(
        coordinates: Option<&Bound<'_, PyAny>>,
        near_kernel: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let points = |array| Ok::<_, PyErr>(numbers(array)?.as_chunks().0.to_vec());
        let vectors = |array: &Bound<'_, PyAny>| {
            let columns = PyBuffer::<f64>::get(array)?.shape().get(1).copied().unwrap_or(1);
            NearKernel::from_rows(columns, numbers(array)?).map_err(raise)
        };
        Ok(Self {
            positions: coordinates.map(points).transpose()?,
            near_kernel: near_kernel.map(vectors).transpose()?,
        })
    }

    /// Drops what does not fit the next matrix: that of other nodes.
    pub(crate) fn keep_for(&mut self, a: &Bsr<f64>) {
        self.positions.take_if(|points| points.len() != a.pattern().rows());
        self.near_kernel.take_if(|vectors| vectors.size() != a.shape().0);
    }

    /// One point for each node.
    pub(crate) fn positions(&self) -> Option<&[[f64; 3]]> {
        self.positions.as_deref()
    }

    /// The system of a matrix, with what fits it.
    pub(crate) fn system<'a>(&'a self, a: &'a Bsr<f64>, cancel: Option<&'a Cancel>) -> System<'a, f64> {
        let positions = self.positions().filter(|points| points.len() == a.pattern().rows());
        let near_kernel = self.near_kernel.as_ref().filter(|vectors| vectors.size() == a.shape().0);
        System { positions, near_kernel, cancel, ..System::from(a) }
    }

    /// The system of a matrix that it owns, with copies of all that is known.
    pub(crate) fn owned(&self, a: Bsr<f64>) -> OwnedSystem<f64> {
        let (positions, near_kernel) = (self.positions.clone().unwrap_or_default(), self.near_kernel.clone());
        OwnedSystem { positions, near_kernel, ..OwnedSystem::from(a) }
    }
}

/// The options of a preconditioner, each of which must be known.
struct Options<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Options<'_, 'py> {
    /// Sets a number or a list if it is given.
    fn set<T: FromPyObjectOwned<'py>>(&self, name: &str, to: &mut T) -> PyResult<()> {
        if let Some(value) = self.0.get_item(name)? {
            *to = value.extract().map_err(Into::into)?;
        }
        Ok(())
    }

    /// The word, or `None` where it is not given.
    fn word(&self, name: &str) -> PyResult<Option<String>> {
        self.0.get_item(name)?.map(|value| value.extract()).transpose()
    }
}

/// One of several words, or a `ValueError` that lists them.
fn one_of<T: Copy>(what: &str, word: &str, all: &[(&str, T)]) -> PyResult<T> {
    all.iter().find(|(name, _)| *name == word).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|(name, _)| format!("'{name}'")).collect();
        PyValueError::new_err(format!("{what} is '{word}', but must be one of {}", names.join(", ")))
    })
}

const CYCLES: [(&str, Cycle); 5] =
    [("V", Cycle::V), ("W", Cycle::W), ("F", Cycle::F), ("K", Cycle::K), ("additive", Cycle::Additive)];

const INTERPOLATIONS: [(&str, Interpolation); 3] = [
    ("direct", Interpolation::Direct),
    ("classical", Interpolation::Classical),
    ("modified", Interpolation::Modified),
];

/// The smoothers of a hierarchy by name.
fn smoothers() -> [(&'static str, Smoothing); 6] {
    [
        ("fitted", Smoothing::Fitted),
        ("gauss_seidel", Smoothing::GaussSeidel(GaussSeidel::default())),
        ("symmetric_gauss_seidel", Smoothing::SymmetricGaussSeidel(GaussSeidel::default())),
        ("chebyshev", Smoothing::CHEBYSHEV_2),
        ("damped_jacobi", Smoothing::DampedJacobi(DampedJacobi::default())),
        ("spai0", Smoothing::Spai0(Spai0::default())),
    ]
}

const METHODS: [(&str, Method); 4] =
    [("auto", Method::Auto), ("cholesky", Method::Cholesky), ("ldlt", Method::Ldlt), ("lu", Method::Lu)];

/// The function that builds a preconditioner.
pub(crate) type Build = Box<dyn FnOnce(System<'_, f64>) -> Result<Built<Vec<f64>>, AnyError> + Send>;

/// The parameters of hierarchies that all coarsenings have.
fn cycle<C>(options: &Options<'_, '_>, m: &mut coarsen::multigrid::Multigrid<C>) -> PyResult<()> {
    if let Some(word) = options.word("cycle")? {
        m.cycle = one_of("cycle", &word, &CYCLES)?;
    }
    if let Some(word) = options.word("smoother")? {
        m.smoothing = one_of("smoother", &word, &smoothers())?;
    }
    options.set("max_levels", &mut m.levels)?;
    options.set("max_coarse", &mut m.coarse_size)
}

/// A preconditioner that is one level, in f64.
fn plain<S>(parameters: S) -> Build
where
    S: Setup<f64, Cpu> + Send + 'static,
    S::Built: Prepared<Vec<f64>, f64> + Send + 'static,
{
    Box::new(move |system| Ok((Box::new(parameters.build_from(system, &Cpu::new())?), None)))
}

/// A hierarchy by `auto`'s parameters, in f32 or f64.
fn hierarchy(precond: Precond, parameters: Parameters, single: bool) -> Build {
    Box::new(move |system| {
        let built = match single {
            true => parameters.build(precond, system, &Cpu::mixed()),
            false => parameters.build(precond, system, &Cpu::new()),
        };
        Ok(built?)
    })
}

/// What builds a preconditioner by name, with its options.
pub(crate) fn builder(name: &str, options: &Bound<'_, PyDict>) -> PyResult<Build> {
    let options = &Options(options);
    let mut parameters = Parameters::default();
    let mut single = true;
    options.set("single", &mut single)?;
    Ok(match name {
        "smoothed_aggregation" => {
            let mut m = smoothed_aggregation();
            cycle(options, &mut m)?;
            let SmoothedAggregation { strength, omega, kernel_sweeps, .. } = &mut m.coarsening;
            let mut theta = match *strength {
                Strength::Symmetric { theta } | Strength::SpectralRadius { theta } => theta,
                _ => 0.0,
            };
            options.set("theta", &mut theta)?;
            options.set("omega", omega)?;
            options.set("kernel_sweeps", kernel_sweeps)?;
            let word = options.word("strength")?.unwrap_or("spectral_radius".into());
            let (symmetric, radius) = (Strength::Symmetric { theta }, Strength::SpectralRadius { theta });
            *strength = one_of("strength", &word, &[("spectral_radius", radius), ("symmetric", symmetric)])?;
            parameters.aggregation = m;
            hierarchy(Precond::SmoothedAggregation, parameters, single)
        }
        "skinning" => {
            let mut m = skinning();
            cycle(options, &mut m)?;
            let Skinning { control_points, .. } = &mut m.coarsening;
            options.set("control_points", control_points)?;
            if !control_points.is_empty() {
                m.coarse_size = 0;
            }
            parameters.skinning = m;
            hierarchy(Precond::Skinning, parameters, single)
        }
        "ruge_stueben" => {
            let mut m = ruge_stueben();
            cycle(options, &mut m)?;
            let RugeStueben { theta, interpolation } = &mut m.coarsening;
            options.set("theta", theta)?;
            if let Some(word) = options.word("interpolation")? {
                *interpolation = one_of("interpolation", &word, &INTERPOLATIONS)?;
            }
            parameters.ruge_stueben = m;
            hierarchy(Precond::RugeStueben, parameters, false)
        }
        "schwarz" => {
            let mut m = Schwarz::multilevel();
            options.set("domain", &mut m.domain)?;
            options.set("max_levels", &mut m.levels)?;
            plain(m)
        }
        "additive_schwarz" => {
            let mut restricted = false;
            options.set("restricted", &mut restricted)?;
            let mut m =
                if restricted { AdditiveSchwarz::restricted() } else { AdditiveSchwarz::overlapping() };
            options.set("domain", &mut m.domain)?;
            options.set("overlap", &mut m.overlap)?;
            plain(m)
        }
        "jacobi" => {
            let mut m = Jacobi::default();
            options.set("omega", &mut m.omega)?;
            options.set("l1", &mut m.l1)?;
            plain(m)
        }
        "block_jacobi" => plain(BlockJacobi::default()),
        "gauss_seidel" => {
            let mut m = GaussSeidel::default();
            options.set("omega", &mut m.omega)?;
            options.set("sweeps", &mut m.sweeps)?;
            plain(m)
        }
        "chebyshev" => {
            let mut m = Chebyshev::default();
            options.set("degree", &mut m.degree)?;
            options.set("ratio", &mut m.ratio)?;
            plain(m)
        }
        "ic" => plain(Ic0::default()),
        "ilu" => plain(Ilu0),
        "factor" => {
            let mut m = Direct::default();
            if let Some(word) = options.word("method")? {
                m.method = one_of("method", &word, &METHODS)?;
            }
            plain(m)
        }
        other => return Err(PyValueError::new_err(format!("there is no preconditioner '{other}'"))),
    })
}

/// Builds a preconditioner by name.
#[pyfunction]
#[pyo3(signature = (name, matrix, options, coordinates=None, near_kernel=None, threads=None))]
fn precondition(
    py: Python<'_>,
    name: &str,
    matrix: &Matrix,
    options: &Bound<'_, PyDict>,
    coordinates: Option<&Bound<'_, PyAny>>,
    near_kernel: Option<&Bound<'_, PyAny>>,
    threads: Option<usize>,
) -> PyResult<Preconditioner> {
    let build = builder(name, options)?;
    let geometry = Geometry::read(coordinates, near_kernel)?;
    let a = &*matrix.bsr;
    let built = run(py, threads, |cancel| -> Result<_, AnyError> {
        a.check_finite()?;
        build(geometry.system(a, Some(cancel)))
    })?;
    let (held, levels) = built.map_err(raise)?;
    Ok(Preconditioner::new(held, levels, a.shape().0))
}

/// Adds the classes of this file to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Preconditioner>()?;
    module.add_function(wrap_pyfunction!(precondition, module)?)
}
