//! A device for tests.

use coarsen::{AnyBackend, Unavailable};

/// The first OpenCL device; `None` after printing why there is none.
///
/// # Panics
/// If `COARSEN_REQUIRE_OPENCL` is set and the program was built with OpenCL.
pub fn opencl() -> Option<AnyBackend<f64>> {
    match "opencl".parse().and_then(AnyBackend::choose) {
        Ok(backend) => Some(backend),
        Err(why) => {
            let required = std::env::var_os("COARSEN_REQUIRE_OPENCL").is_some();
            assert!(!required || matches!(why, Unavailable::NotBuilt), "{why}");
            println!("skipped: {why}");
            None
        }
    }
}
