//! A place to test on, or the reason why there is none.

#![allow(dead_code)] // each test file uses its share

use coarsen_core::Real;
use coarsen_opencl::{Device, OpenCl, OpenClError};

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

/// The same device, posing as another: kernels and transfers are those that `pose` asks for.
pub(crate) fn posing<T: Real>(pose: impl Fn(&mut Device)) -> Option<OpenCl<T>> {
    let mut device = place::<T>()?.device().clone();
    pose(&mut device);
    Some(OpenCl::on(&device).unwrap())
}

/// A graphics card of its own memory: items in step, slices, staged transfers.
pub(crate) fn card(device: &mut Device) {
    (device.accelerator, device.shared) = (true, false);
}
