//! `coarsen devices`: what `--backend opencl:N` counts.

use std::process::ExitCode;

use crate::error::Failure;
#[cfg(feature = "opencl")]
use crate::say;

/// Lists the devices; without any, says how to get one.
#[cfg(feature = "opencl")]
pub(crate) fn run() -> Result<ExitCode, Failure> {
    let devices = coarsen::opencl::devices().map_err(coarsen::Unavailable::from)?;
    for (index, device) in devices.iter().enumerate() {
        say(&format!("opencl:{index}  {device}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says that this build knows none.
#[cfg(not(feature = "opencl"))]
pub(crate) fn run() -> Result<ExitCode, Failure> {
    Err(coarsen::Unavailable::NotBuilt.into())
}
