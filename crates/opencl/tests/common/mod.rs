//! A place to test on, or the reason why there is none.

use coarsen_core::Real;
use coarsen_opencl::{OpenCl, OpenClError};

/// The default device; `None`, with the reason printed, where there is no OpenCL or no device for `T`.
///
/// With `COARSEN_REQUIRE_OPENCL` set, as on machines that must test it, a missing device is a failure.
pub(crate) fn place<T: Real>() -> Option<OpenCl<T>> {
    match OpenCl::default_device() {
        Ok(on) => Some(on),
        Err(why @ (OpenClError::Absent(_) | OpenClError::Precision { .. })) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{why}");
            println!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}
