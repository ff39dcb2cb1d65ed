//! A device passes the conformance tests of a backend in each precision, as the CPU does.

use crate::common::{self, read};
use coarsen_backend::{Backend, DenseBlocks, Matrix, Reference, RowSets, SweepDirection, conformance};
use coarsen_core::Vector;
use coarsen_opencl::{Device, DeviceMatrix, Format, OpenCl};

/// Checks a backend, if there is one.
fn conforms<B: Backend>(backend: Option<B>, tolerance: f64) {
    if let Some(backend) = backend {
        conformance::check(&backend, tolerance);
    }
}

#[test]
fn double_conforms() {
    conforms(common::backend::<f64>(), 1e-14);
}

#[test]
fn mixed_conforms() {
    conforms(common::backend::<f64>().map(|backend| backend.mixed()), 1e-6);
}

#[test]
fn single_conforms() {
    conforms(common::backend::<f32>(), 1e-6);
}

/// The kernels of a GPU.
#[test]
fn gpu_conforms() {
    conforms(common::posing::<f64>(common::gpu), 1e-14);
}

#[test]
fn mixed_gpu_conforms() {
    conforms(common::posing::<f64>(common::gpu).map(|backend| backend.mixed()), 1e-6);
}

#[test]
fn gpu_without_f64_conforms() {
    let without_f64 = |device: &mut Device| {
        common::gpu(device);
        device.double = false;
    };
    conforms(common::posing::<f32>(without_f64), 1e-6);
}

fn close(found: &[f64], expected: &[f64], tolerance: f64, invariant: &str) {
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() <= tolerance, "{invariant}: {f}, expected {e}");
    }
}

/// Relaxation by colours of single rows, as on a GPU, agrees with the reference in every layout.
#[test]
fn colours_relax_as_the_reference_does() {
    let Some(backend) = common::backend::<f64>() else { return };
    for (n, b) in [(33, 1), (100, 3), (40, 6)] {
        let a = conformance::ring(n, b);
        let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
        let sets = RowSets::chunked(a.pattern(), 1);
        let [rhs, start] = [1, 2].map(|seed| conformance::noise(n * b, seed));
        let (oracle, oracle_d) =
            (Reference::default().matrix(&a).unwrap(), Reference::default().blocks(&d).unwrap());
        let mut expected = start.clone();
        for sweep in [SweepDirection::Forward, SweepDirection::Backward] {
            Matrix::<Reference>::relax(&oracle, &sets, sweep, &oracle_d, 0.9, &rhs, &mut expected);
        }
        for format in [Format::Rows, Format::Ell, Format::Sliced] {
            let matrix = DeviceMatrix::new(&backend, &a, format).unwrap();
            let (rows, d) = (backend.rows(&sets).unwrap(), backend.blocks(&d).unwrap());
            let (vb, mut x) = (backend.vector(&rhs).unwrap(), backend.vector(&start).unwrap());
            for sweep in [SweepDirection::Forward, SweepDirection::Backward] {
                matrix.relax(&rows, sweep, &d, 0.9, &vb, &mut x);
            }
            close(&read(&x), &expected, 1e-13, &format!("{format:?}"));
        }
    }
}

/// Blocks of a coarse solve that are too large for one item per block equal the reference.
#[test]
fn large_blocks_equal_the_reference() {
    let Some(backend) = common::backend::<f64>() else { return };
    for (size, count) in [(32, 3), (33, 2), (500, 1), (40, 0)] {
        let host = DenseBlocks::new(size, conformance::noise(size * size * count, 3)).unwrap();
        let [r, z] = [1, 2].map(|seed| conformance::noise(size * count, seed));
        let mut d = backend.blocks(&DenseBlocks::new(size, vec![0.0; size * size * count]).unwrap()).unwrap();
        OpenCl::<f64>::set_blocks(&mut d, &host).unwrap();
        let oracle = Reference::default().blocks(&host).unwrap();
        for (p, q) in [(1.0, 0.0), (-0.5, 2.0)] {
            let mut expected = z.clone();
            Reference::apply_blocks(&oracle, p, &r, q, &mut expected);
            let (vr, mut vz) = (backend.vector(&r).unwrap(), backend.vector(&z).unwrap());
            OpenCl::<f64>::apply_blocks(&d, p, &vr, q, &mut vz);
            close(&read(&vz), &expected, 1e-12, "large blocks");
        }
    }
}

/// New values are used in every layout.
#[test]
fn values_follow_in_every_layout() {
    let Some(backend) = common::backend::<f32>() else { return };
    let a = conformance::ring(70, 3);
    let mut changed = a.clone();
    changed.values_mut().iter_mut().for_each(|v| *v = 1.0 - *v);
    let x =
        backend.vector(&conformance::noise(210, 4).iter().map(|&v| v as f32).collect::<Vec<_>>()).unwrap();
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        let mut old = DeviceMatrix::new(&backend, &a, format).unwrap();
        Matrix::<OpenCl<f32>>::set_values(&mut old, &changed).unwrap();
        let new = DeviceMatrix::new(&backend, &changed, format).unwrap();
        let (mut y, mut z) = (x.like().unwrap(), x.like().unwrap());
        Matrix::<OpenCl<f32>>::apply_add(&old, 1.0, &x, 0.0, &mut y);
        Matrix::<OpenCl<f32>>::apply_add(&new, 1.0, &x, 0.0, &mut z);
        assert_eq!(read(&y), read(&z), "{format:?}");
    }
}
