//! Every device vector operation compared with `Vec`, at lengths around the size of a work group.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::{self, read};
use coarsen_backend::{Backend, DenseBlocks};
use coarsen_core::{Error, Identity, Real, Scalar, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::{DeviceError, DeviceVector, OpenCl};
use coarsen_sparse::Bsr;

/// The lengths of vectors. For the last length a reduction uses several work groups, and each item adds
/// several entries.
const SIZES: [usize; 7] = [0, 1, 31, 32, 33, 1000, 100_003];

/// Returns entries with signs and sizes that differ from vector to vector.
fn entries<T: Real>(n: usize, seed: usize) -> Vec<T> {
    (0..n).map(|i| T::from_f64(((i * (seed + 3) + 7 * seed) as f64).sin() * (seed + 1) as f64)).collect()
}

/// Runs the same operations on the host and on the device, from the same four vectors. Afterwards the vectors
/// must agree bit for bit, and the returned numbers up to 16 (n + 1) ε.
fn agree<T: Real>(
    backend: &OpenCl<T>,
    host: impl Fn(&mut [Vec<T>; 4]) -> Vec<T>,
    device: impl Fn(&mut [DeviceVector<T>; 4]) -> Vec<T>,
) {
    for n in SIZES {
        let mut h: [Vec<T>; 4] = std::array::from_fn(|k| entries(n, k));
        let mut d = [0, 1, 2, 3].map(|k| backend.vector(&h[k]).unwrap());
        let (expected, found) = (host(&mut h), device(&mut d));
        for (h, d) in h.iter().zip(&d) {
            assert_eq!(*h, read(d), "n = {n}");
        }
        assert_eq!(expected.len(), found.len());
        for (e, f) in expected.iter().zip(&found) {
            let slack = 16.0 * T::EPSILON.as_f64() * (1 + n) as f64;
            assert!((e.as_f64() - f.as_f64()).abs() <= slack, "n = {n}: {e} on the host, {f} on the device");
        }
    }
}

/// Runs the same generic code on the host and on the device.
macro_rules! both {
    ($backend:expr, |$v:ident| $body:expr) => {
        agree($backend, |$v: &mut [Vec<_>; 4]| $body, |$v: &mut [DeviceVector<_>; 4]| $body)
    };
}

fn invariants<T: Real>() {
    for backend in [common::backend::<T>(), common::posing::<T>(common::gpu)].into_iter().flatten() {
        properties_on(&backend);
    }
}

fn properties_on<T: Real>(backend: &OpenCl<T>) {
    let t = T::from_f64;
    both!(backend, |v| {
        v[0].fill(t(2.5));
        v[1] = v[2].like().unwrap();
        let [_, _, x, y] = v;
        y.copy(x);
        vec![]
    });
    for (a, b) in [(0.3, 0.7), (0.3, 1.0), (-2.0, 0.0), (0.0, -1.0)] {
        both!(backend, |v| {
            let [x, y, z, d] = v;
            let (a, b) = (x.scalar(t(a)), x.scalar(t(b)));
            y.axpby(&a, x, &b);
            z.hadamard(&a, d, x, &b);
            d.scaled(&a, x);
            x.axpy(&b, z);
            vec![a.read(), b.read()]
        });
    }
    both!(backend, |v| {
        let [x, y, z, w] = v;
        let sums = x.dots([y, x, z, w, y]);
        let d = x.dot_magnitude(y);
        assert!(x.dots([]).is_empty());
        let mut found: Vec<T> = sums.iter().map(Scalar::read).collect();
        found.extend([d.value.read(), d.magnitude.read(), x.norm(), x.dot(w).read()]);
        found
    });
    both!(backend, |v| {
        let [x, y, z, w] = v;
        let pairs = Vector::dot_magnitudes([(&*x, &*y), (z, y), (x, x), (w, z)]);
        pairs.iter().flat_map(|d| [d.value.read(), d.magnitude.read()]).collect()
    });
    both!(backend, |v| {
        let [x, r, p, q] = v;
        let a = x.scalar(t(0.125));
        vec![Vector::cg_update(x, r, &a, p, q).read()]
    });
    for b in [0.0, 0.75] {
        both!(backend, |v| {
            let (u, w) = (v[2].like().unwrap(), v[3].like().unwrap());
            let [x, r, p, s] = v;
            let (mut u, mut w) = (u, w);
            u.copy(x);
            w.copy(r);
            let [a, b, c] = [1.5, b, -0.5].map(|f| x.scalar(t(f)));
            Vector::pipelined_update(x, r, [p, s], [&u, &w], [&a, &b, &c]);
            vec![]
        });
    }
}

/// Two or three pairs are reduced together in one launch, and each result has the same bits as a separate
/// reduction.
#[test]
fn pairs_share_a_reduction() {
    for backend in [common::backend::<f32>(), common::posing::<f32>(common::gpu)].into_iter().flatten() {
        for n in SIZES {
            let [x, y, z] = [0, 1, 2].map(|k| backend.vector(&entries(n, k)).unwrap());
            let pairs = [(&x, &y), (&z, &y), (&x, &x)];
            let before = backend.counters().launches;
            let two = DeviceVector::dot_magnitudes([pairs[1], pairs[0]]);
            assert_eq!(backend.counters().launches, before + 1);
            let three = DeviceVector::dot_magnitudes(pairs);
            assert_eq!(backend.counters().launches, before + 2);
            let alone = pairs.map(|(x, y)| x.dot_magnitude(y));
            let expected = alone.iter().chain([&alone[1], &alone[0]]);
            for (shared, alone) in three.iter().chain(&two).zip(expected) {
                assert_eq!(shared.value.read().to_bits(), alone.value.read().to_bits());
                assert_eq!(shared.magnitude.read().to_bits(), alone.magnitude.read().to_bits());
            }
        }
        assert!(DeviceVector::<f32>::dot_magnitudes([]).is_empty());
    }
}

/// A vector that is renewed keeps its buffer if it is large enough, and moves to the backend of the other vector.
#[test]
fn renewed_vectors_keep_their_buffers() {
    let (Some(backend), Some(there)) = (common::backend::<f64>(), common::backend::<f64>()) else { return };
    let [long, short] = [1000, 10].map(|n| backend.vector(&entries(n, n)).unwrap());
    let mut v = long.like().unwrap();
    let before = backend.counters().allocations;
    for like in [&short, &long, &short] {
        v.fill(f64::NAN);
        v.renew_like(like).unwrap();
        assert_eq!(read(&v), vec![0.0; like.size()]);
        v.copy(like);
        assert_eq!(v.dot(&v).read(), like.dot(like).read());
    }
    assert_eq!(backend.counters().allocations, before);
    v.renew_like(&backend.zeros(1001).unwrap()).unwrap();
    assert_eq!((read(&v), backend.counters().allocations), (vec![0.0; 1001], before + 2));
    v.renew_like(&there.vector(&[5.0]).unwrap()).unwrap();
    assert_eq!(read(&v), [0.0]);
    v.sync().unwrap();
}

#[test]
fn operations_agree_with_the_host_in_f64() {
    invariants::<f64>();
}

#[test]
fn operations_agree_with_the_host_in_f32() {
    invariants::<f32>();
}

/// Arithmetic with scalars does not synchronise, and seven results are read with one synchronisation.
#[test]
fn scalars_are_lazy() {
    let Some(backend) = common::backend::<f64>() else { return };
    let x = backend.vector(&[1.0, 2.0]).unwrap();
    let host =
        |a: f64, b: f64, c: f64| [a.over(&b, &c), -a, a + b, a * b, a / b, b.over(&a, &c), c.over(&b, &a)];
    for [a, b, c] in
        [[6.0, 2.0, 0.0], [1.0, -3.0, 0.5], [f64::NAN, 1.0, 0.0], [2.0, f64::NAN, 1.0], [0.0, -0.0, -1.0]]
    {
        let before = backend.counters().synchronisations;
        let [da, db, dc] = [a, b, c].map(|v| x.scalar(v));
        let (sum, product) = (da.clone() + db.clone(), da.clone() * db.clone());
        let (negative, quotient) = (-da.clone(), da.clone() / db.clone());
        let (over, under, frozen) = (da.over(&db, &dc), db.over(&da, &dc), dc.over(&db, &da));
        assert_eq!(backend.counters().synchronisations, before, "nothing has been read");
        let found = DeviceVector::wait_for([&over, &negative, &sum, &product, &quotient, &under, &frozen]);
        assert_eq!(backend.counters().synchronisations, before + 1);
        for (f, h) in found.into_iter().zip(host(a, b, c)) {
            assert!(f.to_bits() == h.to_bits() || f.is_nan() && h.is_nan(), "{f} for {h}");
        }
    }
}

/// The slots of dropped scalars are reused. If many scalars exist at the same time, slots are added and all
/// values are kept.
#[test]
fn scalars_are_reused() {
    let Some(backend) = common::backend::<f32>() else { return };
    let x = backend.vector(&[1.0]).unwrap();
    let before = backend.counters().allocations;
    let mut sum = x.scalar(0.0);
    for k in 0..2000 {
        sum = sum + x.scalar(k as f32);
    }
    assert_eq!((sum.read(), backend.counters().allocations), (1_999_000.0, before));
    let many: Vec<_> = (0..1000).map(|k| x.scalar(k as f32) + x.scalar(0.5)).collect();
    assert!(many.iter().enumerate().all(|(k, s)| s.read() == k as f32 + 0.5));
    assert!(backend.counters().allocations > before);
}

/// A number of the host takes a launch only if a kernel needs it, together with others; reading it takes none.
#[test]
fn numbers_of_the_host_are_set_together() {
    let Some(backend) = common::backend::<f64>() else { return };
    let (x, mut y) = (backend.vector(&[3.0]).unwrap(), backend.vector(&[5.0]).unwrap());
    let before = backend.counters();
    let [a, b, unused] = [2.5, -0.5, 7.0].map(|v| x.scalar(v));
    assert_eq!((unused.read(), backend.counters()), (7.0, before));
    y.axpby(&a, &x, &b);
    assert_eq!(backend.counters().launches, before.launches + 2);
    y.axpby(&x.scalar(0.0), &x, &x.scalar(1.0));
    assert_eq!(backend.counters().launches, before.launches + 3);
    assert_eq!(read(&y), [5.0]);
}

/// If a factor is zero, the old values are not read.
#[test]
fn zero_factor_ignores_old_entries() {
    let Some(backend) = common::backend::<f64>() else { return };
    let (x, mut y) = (backend.vector(&[3.0]).unwrap(), backend.vector(&[f64::NAN]).unwrap());
    y.axpby(&x.scalar(2.0), &x, &x.scalar(0.0));
    assert_eq!(read(&y), [6.0]);
    y.fill(f64::NAN);
    y.hadamard(&x.scalar(1.0), &x, &x, &x.scalar(0.0));
    assert_eq!(read(&y), [9.0]);
}

/// Sums of single-precision vectors do not lose digits with increasing length if the device has `f64`.
#[test]
fn single_precision_sums_in_double() {
    let Some(backend) = common::backend::<f32>().filter(|backend| backend.device().double) else { return };
    let n = 1 << 20;
    let x = backend.vector(&vec![0.1; n]).unwrap();
    let exact = f64::from(0.1_f32).powi(2) * n as f64;
    assert!((f64::from(x.dot(&x).read()) - exact).abs() < 1e-7 * exact);
}

/// Wrong lengths and requests for too much memory return an error, and the backend can still be used.
#[test]
fn failures_are_typed() {
    // A device of its own, whose memory no other test takes.
    let Some(backend) = common::posing::<f64>(|_| ()) else { return };
    let shape = |found| Err(Error::Shape { what: "host copy", expected: 2, found });
    let mut x = backend.vector(&[1.0, 2.0]).unwrap();
    assert_eq!(backend.read(&x, &mut [0.0; 3]), shape(3));
    assert_eq!(backend.write(&[], &mut x), shape(0));
    let (needed, memory) = (1_u64 << 58, backend.device().memory);
    let refused = backend.zeros(1 << 55).unwrap_err();
    assert!(matches!(refused, Error::Memory { needed: n, available } if n == needed && available < memory));
    assert_eq!(backend.check_memory(needed), Err(refused));
    let held = backend.counters().bytes;
    drop(backend.zeros(1000).unwrap());
    assert_eq!((backend.counters().bytes, backend.check_memory(8000)), (held, Ok(())));
    backend.write(&[5.0, 12.0], &mut x).unwrap();
    assert_eq!((x.norm(), x.sync()), (13.0, Ok(())));
}

/// Blocks with a row that overflows or becomes zero in f32 are refused, and the old blocks are kept.
#[test]
fn blocks_beyond_the_range_are_refused() {
    let Some(backend) = common::backend::<f32>() else { return };
    for size in [2, 33] {
        let blocks = |v: f64| {
            let mut values = vec![1.0; 3 * size * size];
            values[size * size..(size + 1) * size].fill(v); // the first row of the second block
            DenseBlocks::new(size, values).unwrap()
        };
        let mut kept = backend.blocks(&blocks(2.0)).unwrap();
        let applied = |kept: &<OpenCl<f32> as Backend>::Blocks| {
            let (r, mut z) =
                (backend.vector(&vec![1.0; 3 * size]).unwrap(), backend.zeros(3 * size).unwrap());
            OpenCl::<f32>::apply_blocks(kept, 1.0, &r, 0.0, &mut z);
            read(&z)
        };
        let before = applied(&kept);
        for v in [1e50, 1e-50] {
            let range = |found: Option<Error>| matches!(found, Some(Error::Range { storage: "f32", .. }));
            assert!(range(backend.blocks(&blocks(v)).err()), "{size}: {v:e}");
            assert!(range(OpenCl::<f32>::set_blocks(&mut kept, &blocks(v)).err()), "{size}: {v:e}");
        }
        assert_eq!(applied(&kept), before);
    }
}

/// The position of the first NaN or infinite entry is found.
#[test]
fn the_first_entry_that_is_not_finite_is_found() {
    for backend in [common::backend::<f64>(), common::posing::<f64>(common::gpu)].into_iter().flatten() {
        for n in SIZES {
            assert_eq!(backend.vector(&entries(n, 1)).unwrap().first_not_finite(), None, "n = {n}");
            for k in [0, n / 2, n.saturating_sub(1)].into_iter().filter(|&k| k < n) {
                for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    let mut host = entries(n, 1);
                    (host[n - 1], host[k]) = (f64::NAN, bad);
                    assert_eq!(backend.vector(&host).unwrap().first_not_finite(), Some(k), "n = {n}, {bad}");
                }
            }
        }
    }
}

/// A Krylov method reports an entry of b or of the initial x that is not finite, and leaves x unchanged.
#[test]
fn methods_name_what_is_not_finite() {
    let Some(backend) = common::backend::<f64>() else { return };
    let n = 1000;
    let a = backend.matrix(&Bsr::<f64>::identity(n, 1).unwrap()).unwrap();
    for k in [0, 33, n - 1] {
        for what in ["b", "x"] {
            let (mut b, mut x) = (vec![1.0; n], vec![0.5; n]);
            let wrong = if what == "b" { &mut b } else { &mut x };
            wrong[k] = f64::NAN;
            let (b, mut there) = (backend.vector(&b).unwrap(), backend.vector(&x).unwrap());
            let refused = Cg::default().solve(&a, &mut Identity, &b, &mut there);
            assert_eq!(refused, Err(Error::NotFinite { what, index: k }));
            let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&read(&there)), bits(&x), "{what}, {k}");
        }
    }
}

#[test]
fn operands_of_two_backends_panic() {
    let (Some(one), Some(two)) = (common::backend::<f32>(), common::backend::<f32>()) else { return };
    let (mut x, y) = (one.vector(&[1.0]).unwrap(), two.vector(&[2.0]).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| x.copy(&y))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| x.scalar(2.0) + y.scalar(2.0))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| x.copy(&one.zeros(2).unwrap()))).is_err(), "lengths differ");
    assert_eq!((read(&x), x.sync()), (vec![1.0], Ok(())));
}

/// On a device without `f64`, a backend in `f64` is refused before anything is compiled, and a backend in
/// `f32` works.
#[test]
fn a_device_without_double_is_refused() {
    let Some(backend) = common::backend::<f32>() else { return };
    let mut device = backend.device().clone();
    device.double = false;
    let refused = OpenCl::<f64>::new(&device).unwrap_err();
    assert_eq!(refused, DeviceError::Precision { precision: "f64", found: 1 });
    let backend = OpenCl::<f32>::new(&device).unwrap();
    assert_eq!(backend.vector(&[3.0, 4.0]).unwrap().norm(), 5.0);
}

/// A device that is nearly full refuses objects that do not fit, and existing objects stay valid.
#[test]
fn a_full_device_says_what_is_left() {
    let Some(backend) = common::posing::<f64>(|device| device.memory = 1 << 20) else { return };
    let kept = backend.vector(&[2.0; 1000]).unwrap();
    let left = (1 << 20) - backend.counters().bytes;
    let refused = backend.zeros(1 << 17).unwrap_err();
    assert_eq!(refused, Error::Memory { needed: 1 << 20, available: left });
    let a = Bsr::<f64>::identity(80_000, 1).unwrap();
    let before = backend.counters();
    assert!(matches!(backend.matrix(&a), Err(Error::Memory { available, .. }) if available == left));
    assert_eq!(backend.counters().bytes, before.bytes);
    assert_eq!((read(&kept), backend.sync()), (vec![2.0; 1000], Ok(())));
}
