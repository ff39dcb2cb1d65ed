//! Backends for tests, and common functions of the tests.

#![allow(dead_code)] // each test file uses a part

#[path = "../../../../tests/common/data.rs"]
pub(crate) mod data;

use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;

use coarsen_backend::Backend;
use coarsen_core::{Preconditioner, Real, Vector};
use coarsen_matrix_market as matrix_market;
use coarsen_opencl::{Device, DeviceError, DeviceVector, OpenCl, OpenClError, default_device};
use coarsen_problems::{Options, Problem};
use coarsen_sparse::{Bsr, Stencil, assembly};

/// Returns the default device; `None`, with the reason printed, if there is no OpenCL or no device for `T`.
///
/// If `COARSEN_REQUIRE_OPENCL` is set, a missing device is a failure.
pub(crate) fn backend<T: Real>() -> Option<OpenCl<T>> {
    match default_device() {
        Ok(backend) => Some(backend),
        Err(why @ (OpenClError::Absent(_) | OpenClError::Device(DeviceError::Precision { .. }))) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{why}");
            println!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// Runs the ignored test `name` of this program in a process with one environment variable set, and returns what it said.
pub(crate) fn child(name: &str, variable: &str, value: impl AsRef<OsStr>) -> String {
    let value = value.as_ref();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env(variable, value)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("1 passed"), "{variable}={}: {said}", value.display());
    said
}

/// Returns the default device with properties changed by `pose`, so that other kernels and transfers are
/// used.
pub(crate) fn posing<T: Real>(pose: impl Fn(&mut Device)) -> Option<OpenCl<T>> {
    let mut device = backend::<T>()?.device().clone();
    device.used = Arc::default(); // another device
    pose(&mut device);
    Some(OpenCl::new(&device).unwrap())
}

/// Makes a device look like a GPU with separate memory: items in lockstep, slices, staged
/// transfers.
pub(crate) fn gpu(device: &mut Device) {
    (device.accelerator, device.shared) = (true, false);
}

/// Returns real matrices by name; if there are none, the reason is printed.
pub(crate) fn real(names: &[&str]) -> Vec<(String, Bsr<f64>)> {
    let Some(folder) = data::data() else { return Vec::new() };
    let read = |name| matrix_market::read(folder.join(format!("matrices/{name}.mtx.gz"))).unwrap();
    names.iter().map(|&name| (name.to_owned(), read(name))).collect()
}

/// Returns a problem of the gallery.
pub(crate) fn problem(name: &str) -> Problem {
    Problem::parse(name, &Options::default()).unwrap()
}

/// Returns numbers with both signs.
pub(crate) fn wave<T: Real>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::from_f64((i as f64 * 1.3).sin())).collect()
}

/// Copies a vector to the host.
pub(crate) fn read<T: Real>(v: &DeviceVector<T>) -> Vec<T> {
    let mut host = vec![T::nan(); v.size()];
    v.backend().read(v, &mut host).unwrap();
    host
}

/// Returns M⁻¹ r, computed on a device.
pub(crate) fn applied<T: Real, S: Real>(
    backend: &OpenCl<T, S>,
    m: &mut (impl Preconditioner<<OpenCl<T, S> as Backend>::Vector> + ?Sized),
    r: &[T],
) -> Vec<T> {
    let (r, mut z) = (backend.vector(r).unwrap(), backend.vector(r).unwrap());
    m.apply(&r, &mut z);
    read(&z)
}

/// Returns ‖a − b‖ / ‖b‖.
pub(crate) fn difference<T: Real>(a: &[T], b: &[T]) -> f64 {
    let size = b.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>().sqrt();
    let gap = a.iter().zip(b).map(|(a, b)| (a.as_f64() - b.as_f64()).powi(2)).sum::<f64>().sqrt();
    if size > 0.0 { gap / size } else { gap }
}

/// Returns a chain of n nodes on a line, with 2 x 2 blocks and a fixed last node.
pub(crate) fn chain(n: usize) -> (Bsr<f64>, Vec<[f64; 3]>) {
    let mut places: Vec<(u32, u32)> = (0..n as u32).map(|i| (i, i)).collect();
    let mut values: Vec<f64> = (0..n).flat_map(|i| [2.1 + (i % 3) as f64 * 0.1, 0.3, 0.3, 2.2]).collect();
    for i in 1..n.saturating_sub(1) as u32 {
        places.extend([(i - 1, i), (i, i - 1)]);
        values.extend([-0.9, 0.1, 0.0, -0.8, -0.9, 0.0, 0.1, -0.8]);
    }
    let a = assembly::from_blocks((n, n), (2, 2), &places, &values).unwrap();
    (a, (0..n).map(|i| [i as f64, 0.0, 0.0]).collect())
}

/// Returns a chain of n scalars with the given diagonal, and a coupling of each to the next.
pub(crate) fn chain_of(n: u32, diagonal: f64, coupling: impl Fn(u32) -> f64) -> Bsr<f64> {
    let mut entries: Vec<(u32, u32, f64)> = (0..n).map(|i| (i, i, diagonal)).collect();
    entries.extend((1..n).flat_map(|i| [(i - 1, i, coupling(i - 1)), (i, i - 1, coupling(i - 1))]));
    assembly::from_triplets(n as usize, n as usize, &entries).unwrap()
}

/// Returns the same device, treated as if its items ran in lockstep.
pub(crate) fn in_step<T: Real>(backend: &OpenCl<T>) -> OpenCl<T> {
    let mut device = backend.device().clone();
    device.accelerator = true;
    OpenCl::new(&device).unwrap()
}

/// Returns contacts of every kind between n nodes, and a stiffness of b x b for each contact.
pub(crate) fn touching(n: u32, count: u32, b: usize, seed: u32) -> (Vec<Stencil>, Vec<f64>) {
    let node = |k: u32| (k.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 7) % n;
    let contacts = (0..count).map(|k| match (k % 3, node(5 * k)) {
        (0, i) => Stencil::point_point(i, (i + 1 + k % (n - 1)) % n),
        (1, i) => Stencil::vertex_face(i, [(i + 2) % n, (i + 5) % n, (i + 7) % n], [0.2, 0.3, 0.5]),
        (_, i) => Stencil::edge_edge([i, (i + 1) % n], 0.25, [(i + 9) % n, (i + 11) % n], 0.7),
    });
    let stiffness = (0..count)
        .flat_map(|k| (0..b * b).map(move |e| if e % (b + 1) == 0 { f64::from(1 + k % 4) } else { 0.1 }));
    (contacts.collect(), stiffness.collect())
}
