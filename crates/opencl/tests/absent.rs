//! Machines without OpenCL and machines with two devices, simulated by environment variables of a child
//! process.

mod common;

use std::sync::Barrier;

use coarsen_backend::Backend;
use coarsen_core::Vector;
use coarsen_opencl::{Absent, OpenCl, OpenClError, default_device, devices};

/// If the library is missing, or has no drivers, an error is returned, without a panic.
#[test]
fn absence_is_an_error() {
    for (name, variable) in
        [("no_library_is_named", "COARSEN_OPENCL_LIB"), ("no_platform_is_named", "OCL_ICD_VENDORS")]
    {
        common::child(name, variable, "/nonexistent");
    }
}

#[test]
#[ignore = "run by absence_is_an_error"]
fn no_library_is_named() {
    assert_eq!(devices().unwrap_err(), OpenClError::Absent(Absent::Library));
    let why = default_device::<f64>().unwrap_err();
    assert!(why.to_string().contains("no OpenCL library"), "{why}");
    // Calls without `devices` also return a status.
    let mut platforms = 7;
    // SAFETY: only a count is requested.
    let status = unsafe { ocl::ffi::clGetPlatformIDs(0, std::ptr::null_mut(), &mut platforms) };
    assert_eq!((status, platforms), (-1001, 7));
    let mut status = 0;
    // SAFETY: no library receives the arguments, and the address of the status is valid.
    let context = unsafe {
        ocl::ffi::clCreateContext(
            std::ptr::null(),
            0,
            std::ptr::null(),
            None,
            std::ptr::null_mut(),
            &mut status,
        )
    };
    assert_eq!((context, status), (std::ptr::null_mut(), -1001));
}

#[test]
#[ignore = "run by absence_is_an_error"]
fn no_platform_is_named() {
    match devices() {
        Err(error) => {
            assert!(
                matches!(error, OpenClError::Absent(Absent::Platform { .. } | Absent::Library)),
                "{error}"
            );
        }
        // Some ICD loaders ignore the variable that hides their drivers. Then the devices can be used. Those of Linux hide them.
        Ok(found) => {
            let required = cfg!(target_os = "linux") && std::env::var_os("COARSEN_REQUIRE_OPENCL").is_some();
            assert!(!required, "OCL_ICD_VENDORS hides no driver: {found:?}");
            assert!(!found.is_empty());
            default_device::<f32>().unwrap();
        }
    }
}

/// All threads get the same list, even if they call while drivers are being loaded.
#[test]
fn threads_get_one_list() {
    common::child("threads_ask_at_once", "POCL_DEVICES", "pthread");
}

#[test]
#[ignore = "run by threads_get_one_list"]
fn threads_ask_at_once() {
    let together = Barrier::new(8);
    let answers = std::thread::scope(|scope| {
        let ask = || {
            together.wait();
            devices().map_or_else(|why| why.to_string(), |devices| format!("{devices:?}"))
        };
        [(); 8].map(|()| scope.spawn(ask)).map(|thread| thread.join().unwrap())
    });
    println!("{}", answers[0]);
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

/// PoCL can show the processor as two devices; each is a separate backend.
#[test]
fn each_device_is_a_backend_of_its_own() {
    if common::backend::<f32>()
        .is_some_and(|backend| backend.device().platform.contains("Portable Computing"))
    {
        common::child("both_devices_compute", "POCL_DEVICES", "pthread pthread");
    } else {
        println!("skipped: the first platform is not PoCL");
    }
}

#[test]
#[ignore = "run by each_device_is_a_backend_of_its_own"]
fn both_devices_compute() {
    let devices = devices().unwrap();
    assert!(devices.len() >= 2);
    for device in &devices[..2] {
        assert!(
            device.units > 0 && device.memory > 0 && !device.name.is_empty() && !device.driver.is_empty()
        );
        assert!(device.to_string().contains(&device.name));
        let backend = OpenCl::<f32>::new(device).unwrap();
        assert_eq!(backend.vector(&[3.0, 4.0]).unwrap().norm(), 5.0);
    }
}
