//! The backends that solve.

use coarsen::{AnyBackend, BackendChoice};

use crate::arguments::{Precision, Precond};
use crate::error::Failure;

/// One backend, in every precision.
pub(crate) enum Backends {
    Cpu,
    #[cfg(feature = "opencl")]
    Double(coarsen::opencl::OpenCl<f64>),
    #[cfg(feature = "opencl")]
    Single(coarsen::opencl::OpenCl<f32>),
}

impl Backends {
    /// Opens a backend by name, before any input is read.
    pub(crate) fn open(choice: BackendChoice, precision: Precision) -> Result<Self, Failure> {
        if precision == Precision::F32 {
            return Ok(match AnyBackend::choose_single(choice)? {
                #[cfg(feature = "opencl")]
                AnyBackend::OpenCl(backend) => Self::Single(backend),
                _ => Self::Cpu,
            });
        }
        Ok(match AnyBackend::choose(choice)? {
            #[cfg(feature = "opencl")]
            AnyBackend::OpenCl(backend) => Self::Double(backend),
            _ => Self::Cpu,
        })
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            #[cfg(feature = "opencl")]
            Self::Double(_) | Self::Single(_) => "opencl",
        }
    }

    /// Whether a preconditioner is available on this backend.
    pub(crate) fn builds(&self, precond: Precond) -> bool {
        matches!(self, Self::Cpu)
            || !matches!(precond, Precond::Ic0 | Precond::Ilu0 | Precond::As | Precond::Ras)
    }
}
