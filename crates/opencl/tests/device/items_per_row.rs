//! Long rows, which a GPU computes by several items, equal the reference.

use crate::common::{self, read};
use coarsen_backend::{Backend, DenseBlocks, Matrix, Reference, RowSets, SweepDirection, conformance};
use coarsen_core::{LinearOperator, Real, Scalar, Vector};
use coarsen_opencl::{
    DeviceContacts, DeviceMatrix, DeviceSum, DeviceSymmetric, DeviceVector, Format, OpenCl,
};
use coarsen_sparse::{Bsr, Contacts, assembly};

/// The number of nodes on each side to which a node is coupled.
const REACH: usize = 24;

/// A symmetric, diagonally dominant matrix with 25 to 49 blocks in each row.
pub(crate) fn long(n: usize, b: usize) -> Bsr<f64> {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for i in 0..n {
        for j in i.saturating_sub(REACH)..n.min(i + REACH + 1) {
            places.push((i as u32, j as u32));
            let entry = |r: usize, c: usize| {
                let (p, q) = (b * i + r, b * j + c);
                if p == q { 50.0 } else { (0.3 * (p * q + p + q) as f64).sin() / 3.0 }
            };
            values.extend((0..b * b).map(|e| entry(e / b, e % b)));
        }
    }
    assembly::from_blocks((n, n), (b, b), &places, &values).unwrap()
}

fn close<V: Real>(v: &DeviceVector<V>, expected: &[f64], invariant: &str) {
    let tolerance = if V::EPSILON.as_f64() > 1e-10 { 2e-4 } else { 1e-12 };
    for (k, (f, e)) in read(v).iter().map(|f| f.as_f64()).zip(expected).enumerate() {
        assert!((f - e).abs() <= tolerance, "{invariant}, entry {k}: {f}, expected {e}");
    }
}

fn invariants<V: Real>(backend: &OpenCl<V>, n: usize, b: usize) {
    let a = long(n, b);
    let there = backend.matrix(&a).unwrap();
    assert_eq!(there.format(), Format::Rows);
    let oracle = <Reference as Backend>::matrix(&Reference::default(), &a).unwrap();
    let [x, rhs, old] = [1, 2, 3].map(|seed| conformance::noise(n * b, seed));
    let upload = |v: &[f64]| backend.vector(&v.iter().map(|&v| V::from_f64(v)).collect::<Vec<_>>()).unwrap();
    let (vx, vb) = (upload(&x), upload(&rhs));
    let (mut expected, mut y) = (old.clone(), upload(&old));

    let dot = LinearOperator::<Vec<f64>>::apply_dot(&oracle, &x, &mut expected);
    let before = backend.counters().launches;
    let found = there.apply_dot(&vx, &mut y);
    // A product and its sums, one after the other. The totals are added later.
    assert_eq!(backend.counters().launches - before, 2);
    close(&y, &expected, "A x");
    assert!((found.value.read().as_f64() - dot.value).abs() <= 1e-4 * dot.magnitude, "x·A x");
    assert!((found.magnitude.read().as_f64() - dot.magnitude).abs() <= 1e-4 * dot.magnitude, "|x·A x|");
    oracle.apply_add(-0.5, &x, 2.0, &mut expected);
    there.apply_add(V::from_f64(-0.5), &vx, V::from_f64(2.0), &mut y);
    close(&y, &expected, "a A x + b y");
    oracle.residual(&rhs, &x, &mut expected);
    there.residual(&vb, &vx, &mut y);
    close(&y, &expected, "b - A x");

    let d = DenseBlocks::inverse_diagonal(&a, "test").unwrap();
    let (oracle_d, device_d) = (Reference::default().blocks(&d).unwrap(), backend.blocks(&d).unwrap());
    let (mut s, mut vs) = (rhs.clone(), upload(&rhs));
    oracle.relax_into(&oracle_d, 0.7, 0.2, &rhs, &x, &mut s, &mut expected);
    there.relax_into(&device_d, V::from_f64(0.7), V::from_f64(0.2), &vb, &vx, &mut vs, &mut y);
    close(&vs, &s, "the step of a relaxation");
    close(&y, &expected, "a relaxation of all rows");
    // Chunks of one row, as on a GPU, and of several, which the items of one row relax in turn.
    for rows in [1, 5] {
        let sets = RowSets::chunked(a.pattern(), rows);
        let order = backend.rows(&sets).unwrap();
        let (mut expected, mut y) = (x.clone(), upload(&x));
        for sweep in [SweepDirection::Forward, SweepDirection::Backward] {
            Matrix::<Reference>::relax(&oracle, &sets, sweep, &oracle_d, 0.9, &rhs, &mut expected);
            there.relax(&order, sweep, &device_d, V::from_f64(0.9), &vb, &mut y);
        }
        close(&y, &expected, &format!("a sweep in chunks of {rows}"));
    }

    // Up to 40 contact blocks in a row, more than a row has items.
    let mut pairs: Vec<(u32, u32)> = (0..n as u32).map(|i| (i, (7 * i + 3) % n as u32)).collect();
    pairs.extend((0..40).map(|k| (5, k)));
    pairs.sort_unstable();
    pairs.dedup();
    let mut host = Contacts::new(n, b).unwrap();
    host.replace(&pairs, &conformance::noise(pairs.len() * b * b, 5)).unwrap();
    let mut set = DeviceContacts::new(backend, n, b, pairs.len()).unwrap();
    set.replace(&host).unwrap();
    let sum = DeviceSum::new(&there, &set).unwrap();
    let (mut alone, mut both) = (vx.like().unwrap(), vx.like().unwrap());
    let short = DeviceMatrix::new(backend, &a, Format::Sliced).unwrap();
    DeviceSum::new(&short, &set).unwrap().apply(&vx, &mut alone);
    sum.apply(&vx, &mut both);
    let expected: Vec<f64> = read(&alone).iter().map(|v| v.as_f64()).collect();
    close(&both, &expected, "contact beside long rows, against slices");

    let half = DeviceSymmetric::<V>::new(backend, &a).unwrap();
    there.apply(&vx, &mut both);
    half.apply(&vx, &mut alone);
    assert_eq!(read(&alone), read(&both), "one triangle");
}

#[test]
fn a_gpu_equals_the_reference() {
    let (Some(double), Some(single)) =
        (common::posing::<f64>(common::gpu), common::posing::<f32>(common::gpu))
    else {
        return;
    };
    invariants(&double, 130, 3);
    invariants(&single, 64, 2);
}

/// On a device whose groups are too small for several items a row, an item computes a row, in slices.
#[test]
fn small_groups_compute_a_row_by_one_item() {
    let pose = |device: &mut coarsen_opencl::Device| (device.accelerator, device.width) = (true, 8);
    let Some(backend) = common::posing::<f64>(pose) else { return };
    assert_ne!(backend.matrix(&long(130, 3)).unwrap().format(), Format::Rows);
}
