//! Why there is no place.

use coarsen_core::Error;
use coarsen_device::DeviceError;
use coarsen_opencl_loader::Absent;

/// A place that cannot be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenClError {
    /// This machine has no OpenCL.
    #[error(transparent)]
    Absent(#[from] Absent),
    /// No device computes in the precision asked for, or one of them fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for OpenClError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl From<Error> for OpenClError {
    fn from(e: Error) -> Self {
        Self::Device(e.into())
    }
}

/// The failure of a call as the status of the driver; `call` names what was tried.
pub(crate) fn failed(call: &'static str) -> impl Fn(ocl::core::Error) -> Error {
    move |e| Error::Device { call, status: e.api_status().map_or(0, |s| s as i32) }
}

/// The failure of a call that returned `status`, if it is one.
pub(crate) fn check(call: &'static str, status: i32) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error::Device { call, status }) }
}
