//! Products of device matrices against the host's: blocks, rectangular and empty ones too.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use coarsen_core::{Dot, LinearOperator, Real, Scalar};
use coarsen_opencl::{DeviceJacobi, DeviceVector, OpenClError};
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
        let device = on.matrix(&host).unwrap();
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

#[test]
fn zero_diagonals_are_named() {
    let Some(on) = common::place::<f32>() else { return };
    let a = assembly::from_triplets(3, 3, &[(0, 0, 1.0), (1, 2, 1.0), (2, 2, 1.0)]).unwrap();
    assert_eq!(DeviceJacobi::new(&on, &a).err(), Some(OpenClError::ZeroDiagonal { row: 1 }));
}
