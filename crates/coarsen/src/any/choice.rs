//! The choice of a backend.

use std::str::FromStr;

use coarsen_backend::Cpu;
use coarsen_core::Real;
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceError, OpenCl, OpenClError, default_device, devices};

use super::any_backend::AnyBackend;

/// The environment variable that [`BackendChoice::Auto`] reads.
const VARIABLE: &str = "COARSEN_BACKEND";

/// A backend by name: `auto`, `cpu`, `opencl`, or `opencl:1` for the second device of the list.
///
/// ```
/// use coarsen::BackendChoice;
/// assert_eq!("opencl:1".parse(), Ok(BackendChoice::OpenCl(Some(1))));
/// assert!("cuda".parse::<BackendChoice>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendChoice {
    /// The backend that `COARSEN_BACKEND` names. If the variable is not set, this is the first accelerator
    /// that supports the requested precision, otherwise the first other device that supports it. It is the
    /// CPU if there is no such device, or if the vector kernels do not compile for it.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A device, given by its number in the list of devices. Without a number, the first accelerator is used,
    /// or the first device if there is no accelerator.
    OpenCl(Option<usize>),
}

/// A backend that is not available.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// An unknown name.
    #[error("there is no backend `{found}`; use auto, cpu, opencl, or opencl:N for device N of the list")]
    Unknown {
        /// The name.
        found: String,
    },
    /// The program was built without OpenCL.
    #[error(
        "this program was built without OpenCL; build it with the Cargo feature `opencl`, or use the backend cpu"
    )]
    NotBuilt,
    /// The device number is too large.
    #[error("there is no OpenCL device {index}: {count} devices were found, numbered from 0")]
    Index {
        /// The requested number.
        index: usize,
        /// The number of devices.
        count: usize,
    },
    /// There is no device, or the device cannot be used.
    #[cfg(feature = "opencl")]
    #[error(transparent)]
    OpenCl(#[from] OpenClError),
}

#[cfg(feature = "opencl")]
impl From<DeviceError> for Unavailable {
    fn from(e: DeviceError) -> Self {
        Self::OpenCl(e.into())
    }
}

coarsen_core::debug_as_display!(Unavailable);

/// The name that [`FromStr`] reads.
impl std::fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::OpenCl(None) => f.write_str("opencl"),
            Self::OpenCl(Some(index)) => write!(f, "opencl:{index}"),
        }
    }
}

impl FromStr for BackendChoice {
    type Err = Unavailable;

    fn from_str(text: &str) -> Result<Self, Unavailable> {
        match (text, text.strip_prefix("opencl:").map(str::parse)) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("opencl", _) => Ok(Self::OpenCl(None)),
            (_, Some(Ok(index))) => Ok(Self::OpenCl(Some(index))),
            _ => Err(Unavailable::Unknown { found: text.to_owned() }),
        }
    }
}

impl BackendChoice {
    /// Returns the backend for vectors of `V`.
    pub(super) fn open<V: Real>(self, cpu: Cpu<V>) -> Result<AnyBackend<V>, Unavailable> {
        Ok(match self.decided()? {
            Decided::Cpu => AnyBackend::Cpu(cpu),
            // A device that does not compile the kernels or does not support `V` is not used.
            #[cfg(feature = "opencl")]
            Decided::Any => default_device().map_or(AnyBackend::Cpu(cpu), AnyBackend::OpenCl),
            #[cfg(feature = "opencl")]
            Decided::First => AnyBackend::OpenCl(default_device()?),
            #[cfg(feature = "opencl")]
            Decided::Device(device) => AnyBackend::OpenCl(OpenCl::new(device)?),
        })
    }

    /// Returns the choice after reading the environment variable.
    fn decided(self) -> Result<Decided, Unavailable> {
        match (self, std::env::var(VARIABLE)) {
            (Self::Auto, Ok(name)) if name != "auto" && !name.is_empty() => {
                name.parse::<Self>().and_then(Self::asked)
            }
            (Self::Auto, _) => Ok(Decided::ANY),
            (asked, _) => asked.asked(),
        }
    }

    #[cfg(feature = "opencl")]
    fn asked(self) -> Result<Decided, Unavailable> {
        match self {
            Self::Auto => Ok(Decided::ANY),
            Self::Cpu => Ok(Decided::Cpu),
            Self::OpenCl(None) => Ok(Decided::First),
            Self::OpenCl(Some(index)) => {
                let all = devices()?;
                all.get(index).map(Decided::Device).ok_or(Unavailable::Index { index, count: all.len() })
            }
        }
    }

    #[cfg(not(feature = "opencl"))]
    fn asked(self) -> Result<Decided, Unavailable> {
        match self {
            Self::Auto | Self::Cpu => Ok(Decided::Cpu),
            Self::OpenCl(_) => Err(Unavailable::NotBuilt),
        }
    }
}

enum Decided {
    Cpu,
    /// The first accelerator that supports the requested precision, otherwise the first other device that
    /// supports it, otherwise the CPU.
    #[cfg(feature = "opencl")]
    Any,
    /// A device as for `Any`, but not the CPU.
    #[cfg(feature = "opencl")]
    First,
    #[cfg(feature = "opencl")]
    Device(&'static coarsen_opencl::Device),
}

impl Decided {
    /// The choice if the environment variable is not set.
    #[cfg(feature = "opencl")]
    const ANY: Self = Self::Any;

    #[cfg(not(feature = "opencl"))]
    const ANY: Self = Self::Cpu;
}
