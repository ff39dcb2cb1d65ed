//! The errors of making a backend on an OpenCL device.

use coarsen_core::Error;
use coarsen_device::DeviceError;

use crate::loader::Absent;

/// The reason why a backend cannot be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenClError {
    /// This machine has no OpenCL.
    #[error(transparent)]
    Absent(#[from] Absent),
    /// No device computes in the required precision, or a device fails.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

coarsen_core::debug_as_display!(OpenClError);

impl From<Error> for OpenClError {
    fn from(e: Error) -> Self {
        Self::Device(e.into())
    }
}

/// Returns the error of a failed call with the status of the driver; `call` is the name of the function.
pub(crate) fn failed(call: &'static str) -> impl Fn(ocl::core::Error) -> Error {
    move |e| Error::Device { call, status: e.api_status().map_or(0, |s| s as i32) }
}

/// Returns an error if the `status` of a call is a failure.
pub(crate) fn check(call: &'static str, status: i32) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error::Device { call, status }) }
}
