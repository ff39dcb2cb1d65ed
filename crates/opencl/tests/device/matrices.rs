//! Products of device matrices compared with the host, also for rectangular and empty matrices.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{self, read, wave};
use coarsen_backend::{Backend, Matrix, SetupError};
use coarsen_core::{Dot, Error, LinearOperator, Real, Scalar, Vector, parallel};
use coarsen_opencl::{DeviceMatrix, DeviceSymmetric, DeviceVector, Format, OpenCl};
use coarsen_sparse::{Bsr, assembly};

/// Returns a matrix with about five blocks per row at scattered positions; blocks at the same position are
/// summed.
fn scattered<T: Real>(rows: usize, columns: usize, block: (usize, usize)) -> Bsr<T> {
    let places: Vec<_> =
        (0..5 * rows).map(|k| ((k / 5) as u32, ((k * k + k / 5) % columns) as u32)).collect();
    assembly::from_blocks((rows, columns), block, &places, &wave(places.len() * block.0 * block.1)).unwrap()
}

fn close<T: Real>(host: &[T], device: &DeviceVector<T>) {
    let mut found = vec![T::nan(); host.len()];
    device.backend().read(device, &mut found).unwrap();
    for (h, f) in host.iter().zip(&found) {
        assert!(
            (h.as_f64() - f.as_f64()).abs() <= 50.0 * T::EPSILON.as_f64(),
            "{h} on the host, {f} on the device"
        );
    }
}

fn products_agree<T: Real>() {
    let Some(backend) = common::backend::<T>() else { return };
    for (rows, columns, block) in [
        (1, 1, (1, 1)),
        (300, 300, (1, 1)),
        (40, 40, (3, 3)),
        (20, 31, (3, 6)),
        (7, 5, (2, 4)),
        (0, 1, (1, 1)),
    ] {
        let host = scattered::<T>(rows, columns, block);
        for format in [Format::Rows, Format::Ell, Format::Sliced] {
            let device = DeviceMatrix::new(&backend, &host, format).unwrap();
            let (m, n) = host.shape();
            assert_eq!((device.shape(), device.block()), ((m, n), block));
            let (x, b, mut y) = (wave(n), wave(m), wave(m));
            let (dx, db, mut dy) =
                (backend.vector(&x).unwrap(), backend.vector(&b).unwrap(), backend.zeros(m).unwrap());
            host.apply(&x, &mut y);
            device.apply(&dx, &mut dy);
            close(&y, &dy);
            host.residual(&b, &x, &mut y);
            device.residual(&db, &dx, &mut dy);
            close(&y, &dy);
            if m == n {
                let Dot { value, magnitude } = host.apply_dot(&x, &mut y);
                let found = device.apply_dot(&dx, &mut dy);
                close(&y, &dy);
                let slack = 50.0 * T::EPSILON.as_f64() * magnitude.as_f64();
                assert!((found.value.read() - value).as_f64().abs() <= slack);
                assert!((found.magnitude.read() - magnitude).as_f64().abs() <= slack);
            }
        }
    }
}

#[test]
fn products_agree_with_the_host_in_f64() {
    products_agree::<f64>();
}

#[test]
fn products_agree_with_the_host_in_f32() {
    products_agree::<f32>();
}

/// Returns a symmetric matrix: the diagonal, its neighbours, and one more block in each of `far` rows.
fn symmetric<T: Real>(n: usize, block: usize, far: usize) -> Bsr<T> {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    let entry = |i: usize, j: usize| ((i * 7 + j * 13) as f64 * 0.3).sin();
    for i in 0..n {
        let farther = (i < far).then(|| (i * i + 1) % n);
        for j in [i, (i + 1).min(n - 1)].into_iter().chain(farther) {
            for (i, j) in [(i, j), (j, i)] {
                places.push((i as u32, j as u32));
                let scalars = (0..block * block).map(|e| (i * block + e / block, j * block + e % block));
                values.extend(scalars.map(|(p, q)| T::from_f64(entry(p.min(q), p.max(q)))));
            }
        }
    }
    assembly::from_blocks((n, n), (block, block), &places, &values).unwrap()
}

/// A product with one stored triangle equals a product with both triangles, bit for bit, on a processor and
/// on a device treated as a GPU, before and after new values.
fn one_triangle_is_enough<T: Real, S: Real>(backends: [Option<OpenCl<T, S>>; 2]) {
    for backend in backends.into_iter().flatten() {
        // Scattered rows, rows of a band, and rows of a mesh, which a GPU stores in slices.
        let scattered = [(0, 1), (1, 3), (33, 1), (100, 3), (40, 6)].map(|(n, b)| symmetric::<T>(n, b, n));
        let meshes = ["elasticity3d:8", "poisson2d:40"].map(|name| common::problem(name).matrix.to::<T>());
        let mut formats = Vec::new();
        for host in scattered.into_iter().chain([symmetric(1280, 3, 0)]).chain(meshes) {
            let (n, block) = (host.pattern().rows(), host.block().0);
            formats.push(backend.matrix(&host).unwrap().format());
            let (mut half, whole) =
                (DeviceSymmetric::<T, S>::new(&backend, &host).unwrap(), backend.matrix(&host).unwrap());
            let (x, b) =
                (backend.vector(&wave(n * block)).unwrap(), backend.vector(&wave(n * block)).unwrap());
            let (mut y, mut z) = (x.like().unwrap(), x.like().unwrap());
            let same = |y: &DeviceVector<T>, z: &DeviceVector<T>| {
                let found = read(y);
                assert_eq!(found, read(z), "{n} nodes of {block}");
                assert!(n == 0 || found.iter().any(|v| *v != T::zero()));
            };
            whole.apply(&x, &mut y);
            half.apply(&x, &mut z);
            same(&y, &z);
            whole.residual(&b, &x, &mut y);
            half.residual(&b, &x, &mut z);
            same(&y, &z);
            let (one, other) = (whole.apply_dot(&x, &mut y), half.apply_dot(&x, &mut z));
            same(&y, &z);
            assert_eq!(one.value.read(), other.value.read());
            let mut new = host.clone();
            new.values_mut().iter_mut().for_each(|v| *v *= T::from_f64(3.0));
            half.set_values(&new).unwrap();
            let whole = backend.matrix(&new).unwrap();
            whole.apply(&x, &mut y);
            half.apply(&x, &mut z);
            same(&y, &z);
            // The lower triangle is not read, not even in diagonal blocks.
            for i in 0..n {
                let first = new.pattern().range(i).start;
                for (k, j) in new.pattern().row(i).to_vec().into_iter().enumerate() {
                    for (r, c) in (0..block).flat_map(|r| (0..block).map(move |c| (r, c))) {
                        if (i, r) > (j as usize, c) {
                            let v = &mut new.values_mut()[(first + k) * block * block + r * block + c];
                            *v *= T::one() + T::EPSILON;
                        }
                    }
                }
            }
            half.set_values(&new).unwrap();
            half.apply(&x, &mut z);
            same(&y, &z);
        }
        if backend.device().accelerator {
            for format in [Format::Rows, Format::Ell, Format::Sliced] {
                assert!(formats.contains(&format), "{formats:?}");
            }
        }
    }
}

#[test]
fn one_triangle_gives_the_bits_of_both() {
    one_triangle_is_enough([common::backend::<f32>(), common::posing(common::gpu)]);
    let double = || [common::backend::<f64>(), common::posing(common::gpu)];
    one_triangle_is_enough(double());
    one_triangle_is_enough(double().map(|backend| backend.map(|backend| backend.mixed())));
}

#[test]
fn one_triangle_takes_less_memory_and_symmetry_to_start_with() {
    let Some(backend) = common::backend::<f32>() else { return };
    let host = common::problem("elasticity3d:8").matrix.to::<f32>();
    let bytes = |of: &dyn Fn()| {
        let before = backend.counters().bytes;
        of();
        backend.counters().bytes - before
    };
    let taken = std::cell::RefCell::new((None, None));
    let whole = bytes(&|| taken.borrow_mut().0 = backend.matrix(&host).ok());
    let half = bytes(&|| taken.borrow_mut().1 = DeviceSymmetric::new(&backend, &host).ok());
    assert!(0 < half && half < whole * 7 / 10, "{half} bytes instead of {whole}");
    // Two symmetric entries that differ, and an entry without its transposed entry.
    let differs =
        assembly::from_triplets(2, 2, &[(0, 0, 1.0_f32), (0, 1, 2.0), (1, 0, 2.1), (1, 1, 1.0)]).unwrap();
    let alone = assembly::from_triplets(2, 2, &[(0, 0, 1.0_f32), (0, 1, 0.0), (1, 1, 1.0)]).unwrap();
    for a in [differs, alone] {
        let refused = DeviceSymmetric::new(&backend, &a).unwrap_err();
        assert!(matches!(refused, SetupError::Unsymmetric { row: 0, column: 1, .. }), "{refused}");
    }
    let mut kept = DeviceSymmetric::new(&backend, &symmetric::<f32>(20, 1, 20)).unwrap();
    let mut broken = symmetric::<f32>(20, 1, 20);
    let at = broken.pattern().find(3, 4).unwrap();
    broken.values_mut()[at] += 1.0;
    let (x, mut y, mut z) =
        (backend.vector(&wave(20)).unwrap(), backend.zeros(20).unwrap(), backend.zeros(20).unwrap());
    kept.apply(&x, &mut y);
    assert!(kept.set_values(&broken).is_err());
    kept.apply(&x, &mut z);
    assert_eq!(read(&y), read(&z));
}

/// A thread that waits for another thread may execute other work of the same pool, which may use the same
/// backend.
#[test]
fn threads_of_a_pool_share_a_backend() {
    let Some(backend) = common::backend::<f64>() else { return };
    let a = scattered::<f64>(8000, 8000, (3, 3)); // so large that a loop over its values is split
    let x = wave::<f64>(8000 * 3);
    let made = parallel::threads(2, || {
        let leaf = |range: std::ops::Range<usize>| {
            for _ in range {
                let mut there = backend.matrix(&a).unwrap();
                Matrix::set_values(&mut there, &a).unwrap();
                assert_eq!(read(&backend.vector(&x).unwrap()), x);
            }
        };
        parallel::each(0..16, 1, true, &leaf);
    });
    made.unwrap();
}

#[test]
fn wrong_lengths_panic() {
    let Some(backend) = common::backend::<f32>() else { return };
    let a = backend.matrix(&scattered::<f32>(1, 2, (1, 1))).unwrap();
    let (x, mut y) = (backend.zeros(1).unwrap(), backend.zeros(1).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| a.apply(&x, &mut y))).is_err());
}

/// A matrix that does not fit is refused before anything is allocated.
#[test]
fn memory_is_estimated() {
    // A device of its own, whose memory no other test takes.
    let Some(backend) = common::posing::<f32>(|_| ()) else { return };
    let before = backend.counters();
    let left = backend.device().memory - before.bytes;
    assert!(
        matches!(backend.check_memory(left + 1), Err(Error::Memory { available, .. }) if available == left)
    );
    // With one long row, all rows are padded to its length in the layout of even rows.
    let n = 1 << 17;
    let long =
        assembly::from_triplets(n, n, &(0..n as u32).map(|j| (7, j, 1.0_f32)).collect::<Vec<_>>()).unwrap();
    let refused = DeviceMatrix::new(&backend, &long, Format::Ell).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. } | Error::Memory { .. }), "{refused}");
    assert_eq!(backend.counters().allocations, before.allocations);
    assert_eq!(backend.matrix(&long).unwrap().format(), Format::Rows);
}
