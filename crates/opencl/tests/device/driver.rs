//! Tests of the properties of the driver that a backend requires.

use coarsen_core::Error;
use coarsen_device::{Device, conformance};

use crate::common;

/// The default device, treated as a processor and as an accelerator, with separate memory and with that of the host.
#[test]
fn the_driver_keeps_its_contract() {
    let Some(backend) = common::backend::<f32>() else { return };
    for (accelerator, shared) in [(false, false), (false, true), (true, false), (true, true)] {
        let first = conformance::check(&Device { accelerator, shared, ..backend.device().clone() });
        assert!(matches!(first, Error::Device { call: "clEnqueueNDRangeKernel", status: ..0 }), "{first}");
    }
}
