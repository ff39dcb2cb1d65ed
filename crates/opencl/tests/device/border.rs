//! Entries at the border of a rank: transfers beside kernels.

use crate::common::{self, read};
use coarsen_backend::Backend;
use coarsen_core::{Error, Vector};
use coarsen_opencl::{DeviceBorder, DeviceVector, OpenCl};

fn vector(backend: &OpenCl<f32>, host: &[f32]) -> DeviceVector<f32> {
    backend.vector(host).expect("a vector")
}

/// Runs tests on a device with separate memory, and on one that shares the memory of the host.
#[test]
fn borders_are_exchanged_beside_kernels() {
    for shared in [false, true] {
        let Some(backend) = common::posing::<f32>(|device| device.shared = shared) else { return };
        transfers_run_beside_kernels(&backend);
        borders_of_a_backend_do_not_mix(&backend);
    }
}

/// Borders of clones of a backend have reads under way at once, in one thread and in several, and a record begins meanwhile:
/// each border has the entries of its own vector.
fn borders_of_a_backend_do_not_mix(backend: &OpenCl<f32>) {
    let of =
        |backend: &OpenCl<f32>| DeviceBorder::new(backend, [1; 2], [3; 2], [&[2, 0], &[]]).expect("a border");
    let mut borders = [0, 1, 2].map(|k| (k as f32, of(&backend.clone())));
    for order in [[0, 1, 2], [2, 0, 1]] {
        for (v, border) in &mut borders {
            border.begin(&vector(backend, &[*v, 0.0, 10.0 + *v])).expect("a read");
        }
        backend.record(false).expect("a record");
        for k in order {
            let (v, border) = &mut borders[k];
            let mut sent = [0.0; 2];
            border.end(&mut sent).expect("the entries");
            assert_eq!(sent, [10.0 + *v, *v]);
        }
    }
    std::thread::scope(|scope| {
        for (v, border) in &mut borders {
            let backend = backend.clone();
            scope.spawn(move || {
                for round in 0..200 {
                    let v = *v + 3.0 * round as f32;
                    border.begin(&vector(&backend, &[v, 0.0, -v])).expect("a read");
                    let mut sent = [0.0; 2];
                    border.end(&mut sent).expect("the entries");
                    assert_eq!(sent, [-v, v]);
                }
            });
        }
    });
}

/// Entries at a border go to the host and come from it beside other kernels, also if a read is not waited for; records
/// have what ran, in order.
fn transfers_run_beside_kernels(backend: &OpenCl<f32>) {
    let mut border = DeviceBorder::new(backend, [2; 2], [3; 2], [&[2, 0, 2], &[1]]).expect("a border");
    let mut ghosts = backend.zeros(4).expect("a vector");
    for round in 0..6 {
        let (r, recorded) = (round as f32, round > 3);
        backend.record(recorded).expect("a record");
        let x = vector(backend, &[r, 1.0, 2.0, 3.0, 4.0, 5.0 + r]);
        border.begin(&x).expect("a read");
        let mut y = vector(backend, &[0.0; 6]);
        y.axpby(&x.scalar(1.0), &x, &x.scalar(0.0));
        if round == 2 {
            continue;
        }
        let mut sent = [0.0; 6];
        border.end(&mut sent).expect("the entries");
        assert_eq!(sent, [4.0, 5.0 + r, r, 1.0, 4.0, 5.0 + r]);
        border.receive(&mut ghosts, 2, &[r, 7.0]).expect("it fits");
        assert_eq!(read(&ghosts)[2..], [r, 7.0]);
        border.add(&vector(backend, &[10.0, 20.0]), &mut y);
        assert_eq!(read(&y), [r, 1.0, 12.0, 23.0, 4.0, 5.0 + r]);
        let commands = backend.recorded().expect("a record");
        let names: Vec<&str> = commands.iter().map(|command| &*command.name).collect();
        let all = ["coarsen_gather", "read", "coarsen_axpby", "write", "coarsen_scatter_add"];
        assert_eq!(names, if recorded { &all[..] } else { &[] });
        assert!(commands.iter().all(|c| c.queued <= c.start && c.start <= c.end), "{commands:?}");
    }
    let refused = |done: Result<(), Error>| assert!(matches!(done, Err(Error::Shape { .. })), "{done:?}");
    refused(border.receive(&mut ghosts, 3, &[1.0, 2.0]));
    refused(border.end(&mut [0.0; 5]));
    for (sent, rows) in [(&[3][..], &[][..]), (&[], &[3]), (&[], &[1, 1]), (&[], &[2, 0])] {
        refused(DeviceBorder::new(backend, [2; 2], [3; 2], [sent, rows]).map(drop));
    }
    let mut empty = DeviceBorder::new(backend, [1; 2], [2; 2], [&[], &[]]).expect("a border");
    let (mut x, nothing) = (vector(backend, &[3.0, 4.0]), backend.zeros(0).expect("a vector"));
    empty.begin(&x).expect("no read");
    backend.start();
    empty.end(&mut []).expect("no entries");
    empty.add(&nothing, &mut x);
    assert_eq!(x.norm(), 5.0);
    // Vectors of different sizes; entries that stay on the backend.
    let mut border = DeviceBorder::new(backend, [1, 2], [2, 3], [&[1], &[0, 2]]).expect("a border");
    border.begin(&x).expect("a read");
    let mut sent = [0.0];
    border.end(&mut sent).expect("the entries");
    let (t, mut y) = (vector(backend, &[1.0, 2.0, 3.0, 4.0]), vector(backend, &[1.0; 6]));
    border.add(&t, &mut y);
    assert_eq!((sent[0], read(&y)), (4.0, vec![2.0, 3.0, 1.0, 1.0, 4.0, 5.0]));
    let border = DeviceBorder::new(backend, [2; 2], [2, 3], [&[], &[]]).expect("a border");
    border.shift(&t, 1..2, &mut y, 2);
    border.shift(&t, 2..2, &mut y, 3);
    assert_eq!(read(&y), [2.0, 3.0, 1.0, 1.0, 3.0, 4.0]);
}
