//! Tests of the properties of the driver that a backend requires.

use coarsen_core::Error;
use coarsen_device::{Device, conformance};

use crate::common;

/// Returns the default device twice: treated as a device with separate memory, and as a device that shares
/// the memory of the host.
fn devices() -> Vec<Device> {
    let Some(on) = common::backend::<f32>() else { return Vec::new() };
    let posing = |shared| Device { shared, ..on.device().clone() };
    vec![posing(false), posing(true)]
}

#[test]
fn failures_are_kept() {
    for device in devices() {
        let first = conformance::the_first_failure_is_kept(&device);
        assert!(matches!(first, Error::Device { call: "clEnqueueNDRangeKernel", status: ..0 }), "{first}");
        conformance::counts_beyond_an_index_are_refused(&device);
        conformance::a_build_failure_has_a_log(&device);
        conformance::a_panic_gives_a_buffer_back(&device);
    }
}

#[test]
fn launches_and_lengths_are_checked() {
    for device in devices() {
        if !conformance::launches_of_other_types_panic(&device) {
            println!("skipped: the driver does not tell the types of parameters");
        }
        conformance::lengths_that_differ_are_refused(&device);
        conformance::short_lists_are_padded(&device);
    }
}

#[test]
fn groups_of_a_product_follow_its_values() {
    let Some(on) = common::backend::<f64>() else { return };
    for accelerator in [false, true] {
        conformance::groups_of_a_product_follow_its_values(&Device { accelerator, ..on.device().clone() });
    }
}
