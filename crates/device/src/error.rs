//! The errors of making a backend, and a check of lengths.

use coarsen_core::Error;

/// An error of making a backend on a device.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// No device supports the requested precision.
    #[error("none of {found} devices computes in {precision}; use f32, or another device")]
    Precision {
        /// `"f32"` or `"f64"`.
        precision: &'static str,
        /// The number of devices.
        found: usize,
    },
    /// A failed call, kernels that do not compile, or memory that cannot be allocated.
    #[error(transparent)]
    Core(#[from] Error),
}

coarsen_core::debug_as_display!(DeviceError);

/// Returns [`Error::Shape`] unless the lengths are equal.
pub(crate) fn same_length(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}
