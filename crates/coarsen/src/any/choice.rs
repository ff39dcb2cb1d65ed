//! Which backend a program is to take.

use std::str::FromStr;

use coarsen_backend::Cpu;
use coarsen_core::Real;
#[cfg(feature = "opencl")]
use coarsen_opencl::{DeviceError, OpenCl, OpenClError, default_device, devices};

use super::place::AnyBackend;

/// The environment variable that decides for [`BackendChoice::Auto`].
const VARIABLE: &str = "COARSEN_BACKEND";

/// A backend by name: `auto`, `cpu`, `opencl`, or `opencl:1` for the second device that is listed.
///
/// ```
/// use coarsen::BackendChoice;
/// assert_eq!("opencl:1".parse(), Ok(BackendChoice::OpenCl(Some(1))));
/// assert!("cuda".parse::<BackendChoice>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// What `COARSEN_BACKEND` names; where that is not set, the first accelerator that computes in the precision asked for, else the first such device;
    /// the CPU where there is none, or where that one does not take the kernels of vectors.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// A device by its place in the list of devices; without one, the first accelerator, else the first device.
    OpenCl(Option<usize>),
}

/// A backend that is not there.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// A name that no backend has.
    #[error("no backend is called `{found}`; take auto, cpu, opencl, or opencl:N for device N of the list")]
    Unknown {
        /// The name.
        found: String,
    },
    /// The program was built without OpenCL.
    #[error(
        "this program was built without OpenCL; build it with the Cargo feature `opencl`, or take the backend cpu"
    )]
    NotBuilt,
    /// Fewer devices than the one asked for needs.
    #[error("there are {count} OpenCL devices, counted from 0, so there is none with number {index}")]
    Index {
        /// The number asked for.
        index: usize,
        /// Devices there are.
        count: usize,
    },
    /// No device, or one that cannot be used.
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

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
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
    /// The place for vectors of `V`.
    pub(super) fn open<V: Real>(self, cpu: Cpu<V>) -> Result<AnyBackend<V>, Unavailable> {
        Ok(match self.decided()? {
            Decided::Cpu => AnyBackend::Cpu(cpu),
            // A device that no kernel can be compiled for, or that lacks `V`, is none.
            #[cfg(feature = "opencl")]
            Decided::Any => default_device().map_or(AnyBackend::Cpu(cpu), AnyBackend::OpenCl),
            #[cfg(feature = "opencl")]
            Decided::First => AnyBackend::OpenCl(default_device()?),
            #[cfg(feature = "opencl")]
            Decided::Device(device) => AnyBackend::OpenCl(OpenCl::on(device)?),
        })
    }

    /// What the environment and the machine make of it.
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
    /// The first accelerator that computes in the precision asked for, else the first device that does, else the CPU.
    #[cfg(feature = "opencl")]
    Any,
    /// The same without the CPU.
    #[cfg(feature = "opencl")]
    First,
    #[cfg(feature = "opencl")]
    Device(&'static coarsen_opencl::Device),
}

impl Decided {
    /// What nobody has asked to be something else.
    #[cfg(feature = "opencl")]
    const ANY: Self = Self::Any;

    #[cfg(not(feature = "opencl"))]
    const ANY: Self = Self::Cpu;
}
