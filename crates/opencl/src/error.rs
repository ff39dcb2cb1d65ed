//! Why there is no place, or why a matrix cannot go there.

use coarsen_core::Error;
use coarsen_opencl_loader::Absent;

/// A place that cannot be made, or data it cannot take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenClError {
    /// This machine has no OpenCL.
    #[error(transparent)]
    Absent(#[from] Absent),
    /// No device computes in the precision asked for.
    #[error("none of {found} OpenCL devices computes in {precision}; use f32, or another device")]
    Precision {
        /// `"f32"` or `"f64"`.
        precision: &'static str,
        /// Devices looked at.
        found: usize,
    },
    /// The driver's compiler refused the kernels.
    #[error("the OpenCL compiler of {device} refused the kernels: {log}")]
    Build {
        /// The name of the device.
        device: String,
        /// What the compiler said.
        log: String,
    },
    /// A zero where a diagonal entry must be divided by.
    #[error(
        "the diagonal entry of row {row} is 0, so Jacobi cannot divide by it; constrain that unknown, or use another preconditioner"
    )]
    ZeroDiagonal {
        /// The scalar row.
        row: usize,
    },
    /// A failing call, or a shape.
    #[error(transparent)]
    Core(#[from] Error),
}

/// The failure of a call as the status of the driver; `call` names what was tried.
pub(crate) fn failed(call: &'static str) -> impl Fn(ocl::core::Error) -> Error {
    move |e| Error::Device { call, status: e.api_status().map_or(0, |s| s as i32) }
}

/// The failure of a call that returned `status`, if it is one.
pub(crate) fn check(call: &'static str, status: i32) -> Result<(), Error> {
    if status == 0 { Ok(()) } else { Err(Error::Device { call, status }) }
}
