//! Several devices of one platform: each is a separate backend and passes the conformance tests.
//!
//! PoCL shows the processor as two devices if `POCL_DEVICES` says so, and reads this variable only once.
//! Tests with two devices therefore run in a separate process.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;

use coarsen_backend::{Backend, conformance};
use coarsen_core::{Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{Device, OpenCl, devices};
use coarsen_relax::BlockJacobi;

/// Runs the ignored tests of this file with two devices.
#[test]
fn two_devices_of_a_platform() {
    if common::backend::<f64>().is_none() {
        return;
    }
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--test-threads", "1"])
        .env("POCL_DEVICES", "pthread pthread")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("3 passed"), "{said}");
}

/// Returns two devices of one platform that compute in `f64` and have the same name, so that results agree to
/// the last bit. Otherwise returns `None`, with the reason printed if the platform is not PoCL.
fn two() -> Option<[&'static Device; 2]> {
    let able: Vec<&Device> = devices().unwrap().iter().filter(|device| device.computes::<f64>()).collect();
    let alike = |a: &Device, b: &Device| (&a.platform, &a.name) == (&b.platform, &b.name);
    let twin = |k: usize| able[k + 1..].iter().find(|other| alike(able[k], other));
    let found = (0..able.len()).find_map(|k| twin(k).map(|other| [able[k], *other]));
    if found.is_none() {
        let pocl = able.iter().find(|device| device.platform.contains("Portable"));
        assert!(pocl.is_none(), "PoCL shows {pocl:?} alone");
        println!("skipped: no two devices of one kind compute in f64");
    }
    found
}

#[test]
#[ignore = "run by two_devices_of_a_platform"]
fn each_device_passes_the_conformance_tests() {
    for device in two().into_iter().flatten() {
        let backend = OpenCl::<f64>::new(device).unwrap();
        conformance::check(&backend, 1e-14);
        conformance::check(&backend.mixed(), 1e-6);
    }
}

/// Two threads on two devices compute the same bits as one thread, and have separate counters.
#[test]
#[ignore = "run by two_devices_of_a_platform"]
fn both_solve_at_once() {
    let Some(devices) = two() else { return };
    let host = common::problem("cloth:30").matrix;
    let rhs = conformance::noise(host.shape().0, 4);
    let solve = |backend: &OpenCl<f64>| {
        let mut m = BlockJacobi::default().build(&host, backend).unwrap();
        let (a, b) = (backend.matrix(&host).unwrap(), backend.vector(&rhs).unwrap());
        let mut x = b.like().unwrap();
        let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
        report.converged().unwrap();
        let mut found = vec![0.0; rhs.len()];
        backend.read(&x, &mut found).unwrap();
        found
    };
    let backends = devices.map(|device| OpenCl::<f64>::new(device).unwrap());
    let alone = solve(&backends[0]);
    let before = backends[0].counters();
    assert_eq!(solve(&backends[1]), alone);
    assert_eq!(backends[0].counters(), before);
    let both = std::thread::scope(|scope| {
        let runs = backends.each_ref().map(|backend| scope.spawn(move || solve(backend)));
        runs.map(|run| run.join().unwrap())
    });
    assert_eq!(both, [alone.clone(), alone]);
}

#[test]
#[ignore = "run by two_devices_of_a_platform"]
fn vectors_of_two_devices_do_not_mix() {
    let Some(devices) = two() else { return };
    let [mut x, y] = devices.map(|device| OpenCl::<f64>::new(device).unwrap().vector(&[1.0, 2.0]).unwrap());
    let one = x.scalar(1.0);
    let met = catch_unwind(AssertUnwindSafe(|| x.axpby(&one, &y, &one)));
    assert!(met.is_err());
    assert_eq!((x.norm(), y.norm()), (5.0_f64.sqrt(), 5.0_f64.sqrt()));
}
