//! `coarsen devices`: the devices that `--backend opencl:N` selects.

use std::process::ExitCode;

use crate::arguments::Devices;
#[cfg(feature = "opencl")]
use crate::console::say;
use crate::error::Failure;

/// Lists the devices; without devices, explains how to install a driver.
#[cfg(feature = "opencl")]
pub(crate) fn run(options: &Devices) -> Result<ExitCode, Failure> {
    use coarsen::opencl::OpenCl;

    let devices = coarsen::opencl::devices().map_err(coarsen::Unavailable::from)?;
    for (index, device) in devices.iter().enumerate() {
        say(&format!("opencl:{index}  {device}\n"))?;
        if options.tune {
            let single = OpenCl::<f32>::new(device).map_err(coarsen::Unavailable::from)?.tune()?;
            say(&format!("          f32: work groups of {single}\n"))?;
        }
        if options.tune && device.double {
            let double = OpenCl::<f64>::new(device).map_err(coarsen::Unavailable::from)?.tune()?;
            say(&format!("          f64: work groups of {double}\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Without the feature `opencl`: an error.
#[cfg(not(feature = "opencl"))]
pub(crate) fn run(_: &Devices) -> Result<ExitCode, Failure> {
    Err(coarsen::Unavailable::NotBuilt.into())
}
