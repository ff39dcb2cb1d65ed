//! Products of device matrices against the host's: blocks, rectangular and empty ones too.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common;
use coarsen_backend::Backend;
use coarsen_core::{Dot, Error, LinearOperator, Real, Scalar};
use coarsen_opencl::{DeviceMatrix, DeviceVector, Format};
use coarsen_sparse::{Bsr, assembly};

fn wave<T: Real>(n: usize) -> Vec<T> {
    (0..n).map(|i| T::of((i as f64 * 1.3).sin())).collect()
}

/// About five blocks a row, at scattered places; duplicates are summed.
fn scattered<T: Real>(rows: usize, columns: usize, block: (usize, usize)) -> Bsr<T> {
    let places: Vec<_> =
        (0..5 * rows).map(|k| ((k / 5) as u32, ((k * k + k / 5) % columns) as u32)).collect();
    assembly::from_blocks(rows, columns, block, &places, &wave(places.len() * block.0 * block.1)).unwrap()
}

fn close<T: Real>(host: &[T], device: &DeviceVector<T>) {
    let mut found = vec![T::nan(); host.len()];
    device.on().read(device, &mut found).unwrap();
    for (h, f) in host.iter().zip(&found) {
        assert!(
            (h.wide() - f.wide()).abs() <= 50.0 * T::EPSILON.wide(),
            "{h} on the host, {f} on the device"
        );
    }
}

fn products_agree<T: Real>() {
    let Some(on) = common::place::<T>() else { return };
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
            let device = DeviceMatrix::new(&on, &host, format).unwrap();
            let (m, n) = host.shape();
            assert_eq!((device.shape(), device.block()), ((m, n), block));
            let (x, b, mut y) = (wave(n), wave(m), wave(m));
            let (dx, db, mut dy) = (on.vector(&x).unwrap(), on.vector(&b).unwrap(), on.zeros(m).unwrap());
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
                let slack = 50.0 * T::EPSILON.wide() * magnitude.wide();
                assert!((found.value.read() - value).wide().abs() <= slack);
                assert!((found.magnitude.read() - magnitude).wide().abs() <= slack);
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

#[test]
fn wrong_lengths_panic() {
    let Some(on) = common::place::<f32>() else { return };
    let a = on.matrix(&scattered::<f32>(1, 2, (1, 1))).unwrap();
    let (x, mut y) = (on.zeros(1).unwrap(), on.zeros(1).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| a.apply(&x, &mut y))).is_err());
}

/// A matrix that does not fit is refused before anything is allocated.
#[test]
fn memory_is_estimated() {
    let Some(on) = common::place::<f32>() else { return };
    let before = on.counters();
    let left = on.device().memory - before.bytes;
    assert!(matches!(on.check_room(left + 1), Err(Error::Memory { available, .. }) if available == left));
    // One long row makes every row of the even layout as long.
    let n = 1 << 17;
    let long =
        assembly::from_triplets(n, n, &(0..n as u32).map(|j| (7, j, 1.0_f32)).collect::<Vec<_>>()).unwrap();
    let refused = DeviceMatrix::new(&on, &long, Format::Ell).unwrap_err();
    assert!(matches!(refused, Error::TooLarge { .. } | Error::Memory { .. }), "{refused}");
    assert_eq!(on.counters().allocations, before.allocations);
    assert_eq!(on.matrix(&long).unwrap().format(), Format::Rows);
}
