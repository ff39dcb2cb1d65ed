//! A matrix that exceeds the largest single allocation of a device is stored as several ranges of rows. Every operation
//! equals the operation with one range; the order of sums is another one only in inner products and in a trace.

use coarsen_backend::conformance::noise;
use coarsen_backend::{Backend, DenseBlocks, Matrix, RowSets, SetupError, SweepDirection};
use coarsen_constraints::{Constraints, Projector};
use coarsen_core::{Error, LinearOperator, Preconditioner, Real, Scalar, Stop};
use coarsen_krylov::Cg;
use coarsen_multigrid::{Multigrid, Smoothing};
use coarsen_opencl::{
    Device, DeviceContacts, DeviceFilter, DeviceJacobi, DeviceMatrix, DeviceSchwarz, DeviceStream, DeviceSum,
    DeviceSymmetric, DeviceVector, Format, OpenCl, StructureSource,
};
use coarsen_relax::GaussSeidel;
use coarsen_schwarz::Schwarz;
use coarsen_smoothed_aggregation::tamstorf;
use coarsen_sparse::{Bsr, Contacts, assembly};

use crate::common::{self, applied, difference, problem, read};
use crate::items_per_row::long;

/// The largest single allocation of a device in bytes: little more than a slice of 32 rows of 27 blocks of 3x3 in `f64`.
const MOST: u64 = 80 << 10;

/// Two devices alike, the second with small buffers.
fn devices<V: Real>(pose: impl Fn(&mut Device)) -> Option<[OpenCl<V>; 2]> {
    let one = common::posing(&pose)?;
    let several = common::posing(|device| {
        pose(device);
        device.most = MOST;
    })?;
    Some([one, several])
}

/// The results of all operations with a matrix.
struct Results<V> {
    /// Those whose order of sums does not depend on the ranges.
    same: Vec<Vec<V>>,
    /// x·A x, |x|·|A x| and the values of a filtered matrix.
    close: [Vec<V>; 2],
    /// The launches of a product.
    ranges: u64,
}

fn results<V: Real, S: Real>(backend: &OpenCl<V, S>, host: &Bsr<f64>, format: Format) -> Results<V> {
    let (n, b) = (host.pattern().rows(), host.block().0);
    let mut a = DeviceMatrix::new(backend, host, format).unwrap();
    let mut new = host.clone();
    new.values_mut().iter_mut().for_each(|v| *v *= 1.25);
    a.set_values(&new).unwrap();
    let mut copy = DeviceMatrix::new(backend, host, format).unwrap();
    copy.copy_values(&a).unwrap();
    let mut back = Bsr::<V>::zeros(host.pattern().clone(), (b, b)).unwrap();
    copy.read_values(&mut back).unwrap();
    let mut same = vec![back.values().to_vec()];
    let keep = |same: &mut Vec<Vec<V>>, v: &DeviceVector<V>| {
        let found = read(v);
        assert!(found.iter().all(|v| v.is_finite()));
        same.push(found);
    };
    let vector =
        |seed| backend.vector(&noise(n * b, seed).into_iter().map(V::from_f64).collect::<Vec<_>>()).unwrap();
    let (x, rhs, mut y) = (vector(1), vector(2), vector(3));
    let before = backend.counters().launches;
    a.apply(&x, &mut y);
    let ranges = backend.counters().launches - before;
    keep(&mut same, &y);
    a.apply_add(V::from_f64(-0.5), &x, V::from_f64(2.0), &mut y);
    keep(&mut same, &y);
    a.residual(&rhs, &x, &mut y);
    keep(&mut same, &y);
    let dot = a.apply_dot(&x, &mut y);
    keep(&mut same, &y);
    let dot = vec![dot.value.read(), dot.magnitude.read()];

    let d = backend.blocks(&DenseBlocks::inverse_diagonal(&new, "test").unwrap()).unwrap();
    let [step, two] = [V::from_f64(0.7), V::from_f64(0.2)];
    let mut s = vector(4);
    a.relax_into(&d, step, two, &rhs, &x, &mut s, &mut y);
    [&s, &y].iter().for_each(|v| keep(&mut same, v));
    // Chunks of 50 rows reach over the ends of ranges.
    for sets in [backend.relaxation_order(host.pattern())]
        .into_iter()
        .chain([1, 50].map(|rows| RowSets::chunked(host.pattern(), rows)))
    {
        let rows = backend.rows(&sets).unwrap();
        for sweep in [SweepDirection::Forward, SweepDirection::Backward] {
            a.relax(&rows, sweep, &d, V::from_f64(0.9), &rhs, &mut y);
            keep(&mut same, &y);
        }
    }

    let mut pairs: Vec<(u32, u32)> = (0..n as u32).step_by(3).map(|i| (i, (7 * i + 3) % n as u32)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let mut touching = Contacts::new(n, b).unwrap();
    touching.replace(&pairs, &noise(pairs.len() * b * b, 5)).unwrap();
    let mut contact = DeviceContacts::new(backend, n, b, pairs.len()).unwrap();
    contact.replace(&touching).unwrap();
    let sum = DeviceSum::new(&a, &contact).unwrap();
    sum.residual(&rhs, &x, &mut y);
    keep(&mut same, &y);
    let mut jacobi = DeviceJacobi::new(&sum, 1.0).unwrap();
    jacobi.apply(&rhs, &mut y);
    keep(&mut same, &y);

    let mut constraints = Constraints::new(n, b).unwrap();
    (0..n).step_by(7).for_each(|node| constraints.point(node, &[0.0, 1.0, 2.0][..b]).unwrap());
    let mut filter = DeviceFilter::new(backend, n, b).unwrap();
    filter.replace(&Projector::new(&constraints, 1).unwrap()).unwrap();
    filter.matrix(&a, &mut copy).unwrap();
    copy.read_values(&mut back).unwrap();
    Results { same, close: [dot, back.values().to_vec()], ranges }
}

fn invariants<V: Real, S: Real>([one, several]: [&OpenCl<V, S>; 2], host: &Bsr<f64>, format: Format) {
    let [one, several] = [one, several].map(|backend| results(backend, host, format));
    assert!(one.ranges == 1 && several.ranges > 2, "{format:?}: {} ranges", several.ranges);
    for (k, (one, several)) in one.same.iter().zip(&several.same).enumerate() {
        assert_eq!(one, several, "{format:?}: result {k}");
    }
    let tolerance = if V::NAME == S::NAME { 10.0 * V::EPSILON.as_f64() } else { 1e-6 };
    for (one, several) in one.close.iter().zip(&several.close) {
        let gap = difference(several, one);
        assert!(gap <= tolerance, "{format:?}: {gap:e}");
    }
}

#[test]
fn several_ranges_equal_one() {
    let host = problem("elasticity3d:8").matrix;
    let Some([one, several]) = devices::<f64>(|_| ()) else { return };
    invariants([&one, &several], &host, Format::Rows);
    invariants([&one.mixed(), &several.mixed()], &host, Format::Rows);
    let [one, several] = devices::<f64>(common::gpu).unwrap();
    for format in [Format::Rows, Format::Ell, Format::Sliced] {
        invariants([&one, &several], &host, format);
    }
    invariants([&one, &several], &long(130, 3), Format::Rows); // by several items
    let [one, several] = devices::<f32>(common::gpu).unwrap();
    invariants([&one, &several], &host, Format::Sliced);
}

/// The inverse diagonal of a matrix of scalars and its row sums, and the first fault of all ranges.
#[test]
fn the_diagonal_of_all_ranges_is_checked() {
    let Some([one, several]) = devices::<f64>(|_| ()) else { return };
    let host = problem("poisson2d:60").matrix;
    let bound = |backend: &OpenCl<f64>| {
        let a = backend.matrix(&host).unwrap();
        let mut d = backend.blocks(&DenseBlocks::new(1, vec![0.0; 3600]).unwrap()).unwrap();
        coarsen_backend::NumericBackend::invert_diagonal(backend, &a, &mut d, "test").unwrap()
    };
    assert_eq!(bound(&one), bound(&several));
    assert!(bound(&one).unwrap() > 1.0);
    for row in [3, 3599] {
        let mut broken = host.clone();
        let at = broken.pattern().find(row, row).unwrap();
        broken.values_mut()[at] = 0.0;
        let refused = DeviceJacobi::new(&several.matrix(&broken).unwrap(), 1.0).err().unwrap();
        assert!(matches!(refused, SetupError::ZeroDiagonal { row: found, .. } if found == row), "{refused}");
    }
}

/// A hierarchy, its update and the solves with it.
#[test]
fn a_solve_with_several_ranges_equals_one_with_one() {
    for pose in [|_: &mut Device| (), common::gpu] {
        let Some(both) = devices::<f64>(pose) else { return };
        let host = problem("elasticity3d:9").matrix;
        let b = noise(host.shape().0, 1);
        for smoothing in [tamstorf().smoothing, Smoothing::GaussSeidel(GaussSeidel::default())] {
            let parameters = Multigrid { smoothing, coarse_size: 40, ..tamstorf() };
            let [one, several] = both.each_ref().map(|backend| {
                let (mut a, mut m) =
                    (backend.matrix(&host).unwrap(), parameters.build(&host, backend).unwrap());
                let mut new = host.clone();
                new.values_mut().iter_mut().for_each(|v| *v *= 0.5);
                [&host, &new].map(|host| {
                    a.set_values(host).unwrap();
                    m.update(host).unwrap();
                    let (b, mut x) = (backend.vector(&b).unwrap(), backend.zeros(b.len()).unwrap());
                    let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
                    (report.converged().unwrap().iterations, read(&x))
                })
            });
            for ((i, x), (j, y)) in one.iter().zip(&several) {
                let gap = difference(y, x);
                assert!(i == j && gap < 1e-12, "{i} and {j} iterations, {gap:e}");
            }
        }
    }
}

/// What needs one buffer is refused with its size, the limit and the cure; the device can still be used.
#[test]
fn buffers_beyond_the_device_limit_are_refused() {
    let Some([_, backend]) = devices::<f64>(|_| ()) else { return };
    // A vector, and a row.
    let refused = backend.zeros(20_000).unwrap_err();
    assert!(
        matches!(refused, Error::Allocation { row: None, needed: 160_000, limit: MOST, .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("160000 bytes in one buffer, but the device allocates at most 81920")
    );
    let entries: Vec<_> = (0..20_000).map(|j| (7, j, 1.0)).collect();
    let refused = backend.matrix(&assembly::from_triplets(20_000, 20_000, &entries).unwrap()).unwrap_err();
    assert!(
        matches!(refused, Error::Allocation { row: Some(7), needed: 160_000, limit: MOST, .. }),
        "{refused}"
    );
    assert!(refused.to_string().starts_with("row 7 takes"));

    // Setups on the device; those on the host serve.
    let p = problem("elasticity3d:8");
    let (n, mut a) = (p.matrix.pattern().rows(), backend.matrix(&p.matrix).unwrap());
    let mut refusals = vec![DeviceSymmetric::new(&backend, &p.matrix).err().unwrap()];
    for structure in [StructureSource::Host, StructureSource::Device] {
        let parameters = DeviceSchwarz { structure, ..DeviceSchwarz::default() };
        refusals.push(parameters.build(p.system(), &backend).err().unwrap());
    }
    let stream = DeviceStream::of_blocks(&backend, n, 1).unwrap();
    refusals.push(a.assemble(&stream, &backend.zeros(0).unwrap()).unwrap_err().into());
    let mut m = Multigrid { coarse_size: 40, ..tamstorf() }.build(p.system(), &backend).unwrap();
    refusals.push(m.numeric_plan().err().unwrap());
    for refused in refusals {
        assert!(
            matches!(refused, SetupError::Core(Error::Allocation { row: None, needed, limit: MOST, .. }) if needed > MOST),
            "{refused}"
        );
    }
    m.update(p.system()).unwrap();
    let r = noise(n * 3, 1);
    assert!(applied(&backend, &mut m, &r).iter().all(|v| v.is_finite()));
    let small = Schwarz { domain: 8, ..Schwarz::multilevel() };
    let host = long(130, 3);
    let (mut m, r) = (small.build(&host, &backend).unwrap(), noise(390, 1));
    assert!(applied(&backend, &mut m, &r).iter().all(|v| v.is_finite()));
}
