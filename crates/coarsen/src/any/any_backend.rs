//! The backend as a value: the CPU or a device.

use std::fmt;

use coarsen_backend::Cpu;
use coarsen_core::Real;
#[cfg(feature = "opencl")]
use coarsen_opencl::OpenCl;

use super::choice::{BackendChoice, Unavailable};

/// The CPU or, with the feature `opencl`, a device; chosen at run time.
///
/// It implements [`Backend`](coarsen_backend::Backend). A program that uses it is compiled once and runs at
/// the backend that [`auto`](Self::auto) or a [`BackendChoice`] selects. *Cost*: one `match` for each vector
/// operation. *Panics* on operations with vectors of different backends. `Display` prints the name of the
/// backend. *Use* in programs; a library should take `impl Backend`.
///
/// ```
/// use coarsen::prelude::*;
/// let backend = AnyBackend::auto()?;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = Jacobi::default().build(&a, &backend)?;
/// let (a, b) = (backend.matrix(&a)?, backend.vector(&[2.0, 4.0])?);
/// let mut x = b.like()?;
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// println!("{report} on {backend}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyBackend<V: Real = f64, S: Real = V> {
    /// The CPU.
    Cpu(Cpu<V, S>),
    /// An OpenCL device.
    #[cfg(feature = "opencl")]
    OpenCl(OpenCl<V, S>),
}

impl AnyBackend<f64, f64> {
    /// Returns the backend that [`BackendChoice::Auto`] selects, in `f64`.
    ///
    /// # Errors
    /// [`Unavailable`] only if the environment variable `COARSEN_BACKEND` requires a backend that is not
    /// available.
    pub fn auto() -> Result<Self, Unavailable> {
        Self::choose(BackendChoice::Auto)
    }

    /// Returns the requested backend, in `f64`.
    ///
    /// # Errors
    /// [`Unavailable`], which names the missing part.
    pub fn choose(choice: BackendChoice) -> Result<Self, Unavailable> {
        choice.open(Cpu::new())
    }

    /// Returns the same backend with matrices and blocks stored in `f32`.
    pub fn mixed(&self) -> AnyBackend<f64, f32> {
        match self {
            Self::Cpu(_) => AnyBackend::Cpu(Cpu::mixed()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(backend) => AnyBackend::OpenCl(backend.mixed()),
        }
    }
}

impl AnyBackend<f32, f32> {
    /// Returns the requested backend, in `f32` throughout; devices without `f64` are included.
    ///
    /// # Errors
    /// [`Unavailable`], which names the missing part.
    pub fn choose_single(choice: BackendChoice) -> Result<Self, Unavailable> {
        choice.open(Cpu::single())
    }
}

/// Prints `cpu`, or `opencl` and the description of the device.
impl<V: Real, S: Real> fmt::Display for AnyBackend<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(_) => f.write_str("cpu"),
            #[cfg(feature = "opencl")]
            Self::OpenCl(backend) => write!(f, "opencl: {}", backend.device()),
        }
    }
}
