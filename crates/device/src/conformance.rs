//! Tests that every driver must pass, in addition to the tests of a backend
//! ([`conformance`](mod@coarsen_backend::conformance)).
//!
//! [`check`] is the test.

use std::panic::{AssertUnwindSafe, catch_unwind};

use coarsen_backend::Backend;
use coarsen_core::{Error, LinearOperator, Real, Scalar, Vector};
use coarsen_sparse::Bsr;

use crate::driver::Type;
use crate::program::{Kernel, Module};
use crate::queue::{Arg, Items};
use crate::sort::Sorting;
use crate::{Device, DeviceBackend};

/// Makes backends on a device that supports `f32`, and panics if the contract of [`Driver`](crate::Driver) is violated.
/// Returns the error of a launch that the driver rejects.
pub fn check(device: &Device) -> Error {
    counts_beyond_an_index_are_refused(device);
    a_build_failure_has_a_log(device);
    a_panic_gives_a_buffer_back(device);
    launches_of_other_types_panic(device);
    lengths_that_differ_are_refused(device);
    short_lists_are_padded(device);
    prefix_sums_saturate(device);
    if device.double {
        groups_of_a_product_follow_its_values(device);
    }
    the_first_failure_is_kept(device)
}

fn backend<T: Real>(device: &Device) -> DeviceBackend<T> {
    DeviceBackend::new(device).expect("a backend on the device")
}

fn vector(backend: &DeviceBackend<f32>, host: &[f32]) -> crate::DeviceVector<f32> {
    backend.vector(host).expect("a vector")
}

/// Checks that a backend can still be used.
fn goes_on(backend: &DeviceBackend<f32>) {
    assert_eq!(vector(backend, &[3.0, 4.0]).norm(), 5.0);
}

/// After a launch that the driver rejects, numbers read are NaN, and every method with a `Result` returns the
/// error of that launch. This function returns it too.
fn the_first_failure_is_kept(device: &Device) -> Error {
    let backend = backend::<f32>(device);
    let (mut x, y) = (vector(&backend, &[3.0]), vector(&backend, &[4.0]));
    let bad = vector(&backend, &[f32::NAN]);
    assert_eq!(bad.first_not_finite(), Some(0));
    let fill = [Arg::Length(1), Arg::Memory(&x.memory), Arg::Number(1.0)];
    backend.queue().launch(Kernel::Fill, Items::Shaped(1, 1 << 30), &fill); // larger than any group
    let first = backend.sync().expect_err("a group of 2^30 items");
    assert!(matches!(first, Error::Device { .. }), "{first}");
    let launches = backend.counters().launches;
    x.axpy(&y.scalar(2.0), &y);
    assert!(x.norm().is_nan() && (y.scalar(0.0) + y.scalar(1.0)).read().is_nan());
    assert_eq!(backend.counters().launches, launches);
    assert_eq!(bad.first_not_finite(), None); // the failure hides the NaN
    let found = [
        x.sync(),
        x.like().map(drop),
        backend.vector(&[1.0]).map(drop),
        backend.read(&y, &mut [0.0]),
        backend.write(&[1.0], &mut x),
    ];
    assert_eq!(found, [(); 5].map(|()| Err(first.clone())));
    first
}

/// A count that does not fit an index is an error; it is not truncated.
fn counts_beyond_an_index_are_refused(device: &Device) {
    let backend = backend::<f32>(device);
    let x = vector(&backend, &[3.0]);
    let y = Arg::Memory(&x.memory);
    let add = |count| [Arg::Length(1), Arg::Slots, Arg::Count(count), y, Arg::Count(0), y];
    backend.queue().launch(Kernel::Axpby, Items::One, &add(1));
    backend.sync().expect("slot 1");
    let count = u32::MAX as usize + 1;
    backend.queue().launch(Kernel::Axpby, Items::One, &add(count));
    let found = backend.sync();
    assert!(matches!(found, Err(Error::TooLarge { count: c, .. }) if c == count), "{found:?}");
}

/// If the types or the number of arguments differ from the declaration of a kernel, the launch panics before
/// the driver is called, and the backend still works.
/// Nothing is tested if the driver does not report the types of parameters.
fn launches_of_other_types_panic(device: &Device) {
    let backend = backend::<f32>(device);
    let types = backend.queue().program.kernel(Kernel::Fill.into()).parameters.clone();
    if types != [Type::Length, Type::Single, Type::Single].map(Some) {
        return println!("skipped: the driver does not tell the types of parameters");
    }
    let list = backend.queue().allocate(Type::Index, 64, None).expect("a list");
    let (length, number) = (Arg::Length(1), Arg::Number(1.0));
    let wrong: [&[Arg<'_, f32>]; 6] = [
        &[length, Arg::Slots],
        &[length, Arg::Slots, number, number],
        &[number, Arg::Slots, number],
        &[Arg::Index(1), Arg::Slots, number],
        &[length, Arg::Slots, length],
        &[length, Arg::Memory(&list), number],
    ];
    let launches = backend.counters().launches;
    for (k, args) in wrong.into_iter().enumerate() {
        let launch = AssertUnwindSafe(|| backend.queue().launch(Kernel::Fill, Items::One, args));
        assert!(catch_unwind(launch).is_err(), "arguments {k}");
    }
    assert_eq!(backend.counters().launches, launches);
    goes_on(&backend);
}

/// A compiler error is returned with its log, and the backend still works.
fn a_build_failure_has_a_log(device: &Device) {
    let backend = backend::<f32>(device);
    let broken = Module {
        sources: &["__kernel void broken(__global float *x) { x[0] = nobody_knows; }"],
        kernels: &["broken"],
        options: String::new(),
    };
    match backend.queue().module(&broken) {
        Err(Error::Build { device, log }) => {
            assert!(device == backend.device().name && log.contains("nobody_knows"), "{log}");
        }
        other => panic!("{other:?}"),
    }
    goes_on(&backend);
}

/// After a panic in a closure that fills a buffer, the backend can still be used.
fn a_panic_gives_a_buffer_back(device: &Device) {
    let backend = backend::<f32>(device);
    let mut x = vector(&backend, &[3.0, 4.0]);
    let panics = |_: &mut [f32]| panic!("of the closure");
    let caught = catch_unwind(AssertUnwindSafe(|| backend.queue().put(&x.memory, 2, panics)));
    assert!(caught.is_err());
    backend.sync().expect("the backend works");
    backend.write(&[5.0, 12.0], &mut x).expect("the buffer is the device's again");
    assert_eq!(x.norm(), 13.0);
}

/// Lengths are checked in release builds too, before the driver is called.
fn lengths_that_differ_are_refused(device: &Device) {
    let refused = |found: Result<(), Error>, expected, length| match found {
        Err(Error::Shape { expected: e, found: f, .. }) => assert_eq!((e, f), (expected, length)),
        other => panic!("{other:?}"),
    };
    // A failed backend cannot be used again, so each case needs a new backend.
    for case in 0..6 {
        let backend = backend::<f32>(device);
        let [x, y] = [4, 8].map(|n| vector(&backend, &vec![1.0; n]));
        let mut queue = backend.queue();
        match case {
            0 => refused(queue.allocate(Type::Single, 64, Some(&[0; 60])).map(drop), 64, 60),
            1 => refused(queue.read(&x.memory, &mut [0.0_f32; 5]), 16, 20),
            2 => refused(queue.write(&x.memory, &[0.0_f32; 5]), 16, 20),
            3 => refused(queue.put(&x.memory, 5, |_: &mut [f32]| panic!("is not called")), 16, 20),
            4 => refused(queue.write_list(&x.memory, &[0; 6]), 16, 24),
            _ => {
                queue.copy(&y.memory, &x.memory, 32);
                refused(queue.finish(), 16, 32);
            }
        }
    }
}

/// A list of one entry is padded with 0, not with the entry that follows on the host.
fn short_lists_are_padded(device: &Device) {
    let backend = backend::<f32>(device);
    let (host, mut found) = ([3, 4], [7; 2]);
    let mut queue = backend.queue();
    let there = queue.list(&host[..1]).expect("a list");
    queue.read_list(&there, &mut found).expect("a list");
    assert_eq!(found, [3, 0]);
}

/// The number of groups of a product depends on the number of values of the matrix, not on its block rows.
/// Requires a device with `f64`.
fn groups_of_a_product_follow_its_values(device: &Device) {
    let backend = backend::<f64>(device);
    for (block, groups) in if device.accelerator { [(1, 102), (3, 915)] } else { [(1, 26), (3, 229)] } {
        let a = backend.matrix(&Bsr::<f64>::identity(52_000, block).expect("a matrix")).expect("a matrix");
        assert_eq!(backend.queue().program.groups(a.operand().work()), groups);
        let x = backend.vector(&vec![0.5; 52_000 * block]).expect("a vector");
        let mut y = x.like().expect("a vector");
        let dot = a.apply_dot(&x, &mut y);
        let expected = 13_000.0 * block as f64;
        assert_eq!([dot.value.read(), dot.magnitude.read(), x.dot(&y).read()], [expected; 3]);
    }
}

/// Prefix sums above the largest index are the largest index, wherever in a list they exceed it.
fn prefix_sums_saturate(device: &Device) {
    let backend = backend::<f32>(device);
    for (count, at) in [(3, 1), (70, 40), (5000, 0), (5000, 4998)] {
        let mut list = vec![1; count + 1];
        (list[at], list[at + 1]) = (u32::MAX - 5, u32::MAX - 7);
        let before = |k: usize| list[..k].iter().fold(0, |sum: u32, n| sum.saturating_add(*n));
        let expected: Vec<u32> = (0..=count).map(before).collect();
        let sorting = Sorting::new(&backend, 1, 1, count).expect("a scan");
        let (mut queue, mut found) = (backend.queue(), vec![0; count + 1]);
        let memory = queue.list(&list).expect("a list");
        sorting.scan(&mut queue, &memory, count);
        queue.read_list(&memory, &mut found).expect("the sums");
        assert_eq!(found, expected, "{count} entries, large from {at} on");
    }
}
