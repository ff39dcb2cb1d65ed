//! A backend that is chosen at run time.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | the place |
//! | `choice` | the choice of the place, by name, machine and environment |
//! | `vector` | vectors and scalars at any place |
//! | `matrix` | matrices, blocks and row sets at any place |
//! | `sweeps` | sweeps over half of a matrix, for the CPU only |
//! | `domains` | multilevel domains at any place |

mod choice;
mod domains;
mod matrix;
mod sweeps;
mod transfer;
mod vector;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use coarsen_backend::{Backend, Cpu, DenseBlocks, MatrixTransfer, RowSets, SetupError, Sweeps, Transfer};
use coarsen_core::{Error, Real};
#[cfg(feature = "opencl")]
use coarsen_opencl::OpenCl;
use coarsen_sparse::{Bsr, Pattern, Prolongation, TransposePlan};

pub use choice::{BackendChoice, Unavailable};
pub use matrix::{AnyBlocks, AnyMatrix, AnyRows};
pub use vector::{AnyScalar, AnyVector};

/// The CPU or, with the feature `opencl`, a device; chosen at run time.
///
/// An enum that implements [`Backend`]. A program that uses it is compiled once and runs at the place that [`auto`](Self::auto) or a
/// [`BackendChoice`] selects. *Cost* one `match` for each vector operation. Operations on vectors of different places
/// *panic*. `Display` prints the name of the place.
/// *Use* in programs; a library should take `impl Backend`.
///
/// ```
/// use coarsen::prelude::*;
/// let on = AnyBackend::auto()?;
/// let a = assembly::from_triplets(2, 2, &[(0, 0, 2.0), (1, 1, 4.0)])?;
/// let mut m = Jacobi::default().build(&a, &on)?;
/// let (a, b) = (on.matrix(&a)?, on.vector(&[2.0, 4.0])?);
/// let mut x = b.like()?;
/// let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x)?.converged()?;
/// println!("{report} on {on}");
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
    /// The place that [`BackendChoice::Auto`] selects, in `f64`.
    ///
    /// # Errors
    /// [`Unavailable`] only if the environment variable `COARSEN_BACKEND` names a backend that is not available.
    pub fn auto() -> Result<Self, Unavailable> {
        Self::choose(BackendChoice::Auto)
    }

    /// The requested place, in `f64`.
    ///
    /// # Errors
    /// [`Unavailable`] names what is missing.
    pub fn choose(choice: BackendChoice) -> Result<Self, Unavailable> {
        choice.open(Cpu::new())
    }

    /// The same place, storing matrices and blocks in `f32`.
    pub fn mixed(&self) -> AnyBackend<f64, f32> {
        match self {
            Self::Cpu(_) => AnyBackend::Cpu(Cpu::mixed()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => AnyBackend::OpenCl(on.mixed()),
        }
    }
}

impl AnyBackend<f32, f32> {
    /// The requested place, with all numbers in `f32`; includes devices without `f64`.
    ///
    /// # Errors
    /// [`Unavailable`] names what is missing.
    pub fn choose_single(choice: BackendChoice) -> Result<Self, Unavailable> {
        choice.open(Cpu::single())
    }
}

/// `cpu`, or `opencl` with the description of the device.
impl<V: Real, S: Real> fmt::Display for AnyBackend<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(_) => f.write_str("cpu"),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => write!(f, "opencl: {}", on.device()),
        }
    }
}

/// Calls the value in either variant and wraps the result in the variant of the same name.
macro_rules! wrapped {
    ($self:ident, $kind:ident, $on:ident => $call:expr) => {
        match $self {
            AnyBackend::Cpu($on) => $call.map($kind::Cpu),
            #[cfg(feature = "opencl")]
            AnyBackend::OpenCl($on) => $call.map($kind::OpenCl),
        }
    };
}

impl<V: Real, S: Real> Backend for AnyBackend<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = AnyVector<V>;
    type Matrix = AnyMatrix<V, S>;
    type Blocks = AnyBlocks<V, S>;
    type Rows = AnyRows<V>;

    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(on) => on.name(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.name(),
        }
    }

    fn is_remote(&self) -> bool {
        match self {
            Self::Cpu(on) => on.is_remote(),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.is_remote(),
        }
    }

    fn vector(&self, host: &[V]) -> Result<AnyVector<V>, Error> {
        wrapped!(self, AnyVector, on => on.vector(host))
    }

    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<AnyMatrix<V, S>, Error> {
        wrapped!(self, AnyMatrix, on => on.matrix(host))
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<AnyBlocks<V, S>, Error> {
        wrapped!(self, AnyBlocks, on => on.blocks(host))
    }

    fn rows(&self, sets: &RowSets) -> Result<AnyRows<V>, Error> {
        match self {
            Self::Cpu(on) => on.rows(sets).map(|rows| AnyRows::Cpu(rows, PhantomData)),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.rows(sets).map(AnyRows::OpenCl),
        }
    }

    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        match self {
            Self::Cpu(on) => on.relaxation_order(pattern),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.relaxation_order(pattern),
        }
    }

    fn half_sweeps<T: Real>(
        &self,
        a: &Bsr<T>,
        d: &DenseBlocks<T>,
    ) -> Result<Option<Box<dyn Sweeps<T, Self>>>, Error> {
        match self {
            Self::Cpu(on) => {
                let half = on.half_sweeps(a, d)?;
                Ok(half.map(|half| Box::new(sweeps::HostSweeps(half)) as Box<dyn Sweeps<T, Self>>))
            }
            #[cfg(feature = "opencl")]
            Self::OpenCl(_) => Ok(None),
        }
    }

    fn transfer<T: Real>(
        &self,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Box<dyn Transfer<T, Self>>, SetupError> {
        Ok(match self {
            Self::Cpu(on) if p.matrix().is_none() => {
                Box::new(transfer::HostTransfer(on.transfer(p, transpose)?))
            }
            _ => Box::new(MatrixTransfer::new(self, p, transpose)?),
        })
    }

    fn read(&self, v: &AnyVector<V>, host: &mut [V]) -> Result<(), Error> {
        match self {
            Self::Cpu(on) => on.read(v.cpu(), host),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.read(v.device(), host),
        }
    }

    fn write(&self, host: &[V], v: &mut AnyVector<V>) -> Result<(), Error> {
        match self {
            Self::Cpu(on) => on.write(host, v.cpu_mut()),
            #[cfg(feature = "opencl")]
            Self::OpenCl(on) => on.write(host, v.device_mut()),
        }
    }
}
