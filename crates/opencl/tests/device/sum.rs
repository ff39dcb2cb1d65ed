//! A matrix plus contact on a device compared with the host, in every precision and layout.

use std::sync::Arc;

use crate::common::{self, in_step, read};
use coarsen_backend::conformance::{self, noise, ring};
use coarsen_backend::{Backend, DenseBlocks, Matrix, RowSets, SetupError, SweepDirection};
use coarsen_core::{Dot, Error, LinearOperator, Preconditioner, Real, Stop};
use coarsen_krylov::Cg;
use coarsen_opencl::{
    DeviceBlocks, DeviceContacts, DeviceJacobi, DeviceMatrix, DeviceRows, DeviceScalar, DeviceSum,
    DeviceVector, Format, OpenCl,
};
use coarsen_sparse::{Bsr, Contacts, Pattern, Stencil, Sum, assembly};

/// A backend that stores about a third of the blocks of a square matrix as contact.
#[derive(Clone)]
struct Split<V, S>(OpenCl<V, S>);

/// A matrix on the device: its two parts and the whole matrix.
struct SplitMatrix<V: Real, S: Real> {
    whole: DeviceMatrix<V, S>,
    elastic: DeviceMatrix<V, S>,
    contact: DeviceContacts<V, S>,
}

/// Returns A and C with A + C = `host`.
fn split<T: Real>(host: &Bsr<T>) -> (Bsr<T>, Contacts<T>) {
    let (n, b) = (host.pattern().rows(), host.block().0);
    let mut parts = [(Vec::new(), Vec::new()), (Vec::new(), Vec::new())];
    for i in 0..n {
        for (j, block) in host.row(i) {
            let (places, values) = &mut parts[usize::from((i + j) % 3 == 1)];
            places.push((i as u32, j as u32));
            values.extend_from_slice(block);
        }
        // A diagonal block is stored in both parts.
        if let Some(k) = host.pattern().find(i, i).filter(|_| i % 2 == 0) {
            for (places, values) in &mut parts {
                if places.last() != Some(&(i as u32, i as u32)) && !places.contains(&(i as u32, i as u32)) {
                    places.push((i as u32, i as u32));
                    values.extend(host.value(k).iter().map(|_| T::zero()));
                }
            }
        }
    }
    let [(at, values), (pairs, contact)] = parts;
    let mut set = Contacts::new(n, b).unwrap();
    set.replace(&pairs, &contact).unwrap();
    (assembly::from_blocks((n, n), (b, b), &at, &values).unwrap(), set)
}

impl<V: Real, S: Real> Backend for Split<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = DeviceVector<V>;
    type Matrix = SplitMatrix<V, S>;
    type Blocks = DeviceBlocks<V, S>;
    type Rows = DeviceRows<V>;

    fn name(&self) -> &'static str {
        "split"
    }

    fn vector(&self, host: &[V]) -> Result<DeviceVector<V>, Error> {
        self.0.vector(host)
    }

    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<SplitMatrix<V, S>, Error> {
        let (elastic, set) = split(host);
        let mut contact = DeviceContacts::new(&self.0, set.nodes(), set.block(), set.len())?;
        contact.replace(&set)?;
        Ok(SplitMatrix { whole: self.0.matrix(host)?, elastic: self.0.matrix(&elastic)?, contact })
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<DeviceBlocks<V, S>, Error> {
        self.0.blocks(host)
    }

    fn apply_blocks(d: &DeviceBlocks<V, S>, a: V, r: &DeviceVector<V>, b: V, z: &mut DeviceVector<V>) {
        OpenCl::<V, S>::apply_blocks(d, a, r, b, z);
    }

    fn set_blocks<T: Real>(d: &mut DeviceBlocks<V, S>, host: &DenseBlocks<T>) -> Result<(), Error> {
        OpenCl::<V, S>::set_blocks(d, host)
    }

    fn rows(&self, sets: &RowSets) -> Result<DeviceRows<V>, Error> {
        self.0.rows(sets)
    }

    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        self.0.relaxation_order(pattern)
    }

    fn read(&self, v: &DeviceVector<V>, host: &mut [V]) -> Result<(), Error> {
        self.0.read(v, host)
    }

    fn write(&self, host: &[V], v: &mut DeviceVector<V>) -> Result<(), Error> {
        self.0.write(host, v)
    }
}

impl<V: Real, S: Real> SplitMatrix<V, S> {
    fn sum(&self) -> DeviceSum<'_, V, S> {
        DeviceSum::new(&self.elastic, &self.contact).unwrap()
    }
}

impl<V: Real, S: Real> LinearOperator<DeviceVector<V>> for SplitMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        self.sum().shape()
    }

    fn apply(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) {
        self.sum().apply(x, y);
    }

    fn apply_dot(&self, x: &DeviceVector<V>, y: &mut DeviceVector<V>) -> Dot<DeviceScalar<V>> {
        self.sum().apply_dot(x, y)
    }

    fn residual(&self, b: &DeviceVector<V>, x: &DeviceVector<V>, r: &mut DeviceVector<V>) {
        self.sum().residual(b, x, r);
    }
}

impl<V: Real, S: Real> Matrix<Split<V, S>> for SplitMatrix<V, S> {
    fn apply_add(&self, a: V, x: &DeviceVector<V>, b: V, y: &mut DeviceVector<V>) {
        self.sum().apply_add(a, x, b, y);
    }

    /// The row sets are row sets of the merged pattern.
    fn relax(
        &self,
        rows: &DeviceRows<V>,
        sweep: SweepDirection,
        d: &DeviceBlocks<V, S>,
        omega: V,
        b: &DeviceVector<V>,
        x: &mut DeviceVector<V>,
    ) {
        self.whole.relax(rows, sweep, d, omega, b, x);
    }

    fn relax_into(
        &self,
        d: &DeviceBlocks<V, S>,
        omega: V,
        beta: V,
        b: &DeviceVector<V>,
        x: &DeviceVector<V>,
        s: &mut DeviceVector<V>,
        y: &mut DeviceVector<V>,
    ) {
        self.sum().relax_into(d, omega, beta, b, x, s, y);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        Matrix::<OpenCl<V, S>>::set_values(&mut self.whole, host)?;
        let (elastic, set) = split(host);
        Matrix::<OpenCl<V, S>>::set_values(&mut self.elastic, &elastic)?;
        self.contact.replace(&set)
    }
}

/// Products and relaxation of a sum equal products and relaxation of the merged matrix, by rows and in
/// slices.
macro_rules! conforms {
    ($name:ident, $real:ty, $kind:expr, $tolerance:expr) => {
        #[test]
        fn $name() {
            let Some(backend) = common::backend::<$real>() else { return };
            for backend in [in_step(&backend), backend].map($kind) {
                conformance::check(&Split(backend), $tolerance);
            }
        }
    };
}
conforms!(sums_conform_in_double, f64, |backend| backend, 1e-14);
conforms!(sums_conform_in_mixed, f64, |backend: OpenCl<f64>| backend.mixed(), 1e-6);
conforms!(sums_conform_in_single, f32, |backend| backend, 1e-6);

/// Contact sets are replaced in the same memory: products are correct, two runs agree bit for bit, and
/// nothing is allocated.
fn sets_are_replaced(backend: &OpenCl<f64>) {
    let (n, b) = (200, 3);
    let a = ring(n, b);
    let elastic = backend.matrix(&a).unwrap();
    let mut contact = DeviceContacts::new(backend, n, b, 1000).unwrap();
    let (x, mut y) = (noise(n * b, 1), vec![0.0; n * b]);
    let (vx, mut vy) = (backend.vector(&x).unwrap(), backend.zeros(n * b).unwrap());
    let mut host = Contacts::new(n, b).unwrap();
    let mut check = |count: u32, contact: &mut DeviceContacts<f64>| {
        let (contacts, stiffness) = common::touching(n as u32, count, b, count);
        host.assemble(&contacts, &stiffness).unwrap();
        contact.replace(&host).unwrap();
        let there = DeviceSum::new(&elastic, contact).unwrap();
        there.apply(&vx, &mut vy);
        let first = read(&vy);
        Sum { elastic: &a, contact: &host }.apply(&x, &mut y);
        let close = |f: &f64, e: &f64| (f - e).abs() <= 1e-12 * (1.0 + e.abs());
        assert!(first.iter().zip(&y).all(|(f, e)| close(f, e)), "{count}");
        there.apply(&vx, &mut vy);
        assert_eq!(first, read(&vy));
    };
    check(40, &mut contact);
    let allocations = backend.counters().allocations;
    for count in [0, 7, 50, 0, 40] {
        check(count, &mut contact);
    }
    assert_eq!(backend.counters().allocations, allocations);
}

#[test]
fn sets_are_replaced_in_place() {
    let Some(backend) = common::backend::<f64>() else { return };
    sets_are_replaced(&backend);
}

#[test]
fn sets_are_replaced_on_a_gpu() {
    let Some(backend) = common::posing::<f64>(common::gpu) else { return };
    sets_are_replaced(&backend);
}

/// A set that does not fit is an error that contains the required size, and the old set is kept.
#[test]
fn overflow_is_named_and_changes_nothing() {
    let Some(backend) = common::backend::<f32>() else { return };
    let mut contact = DeviceContacts::new(&backend, 30, 1, 10).unwrap();
    let mut host = Contacts::<f64>::new(30, 1).unwrap();
    host.assemble(&[Stencil::point_point(3, 20)], &[2.0]).unwrap();
    contact.replace(&host).unwrap();
    let before = contact.read().unwrap();
    assert_eq!(before, (host.places().to_vec(), vec![2.0, -2.0, -2.0, 2.0]));
    let (many, stiffness) = common::touching(30, 20, 1, 3);
    host.assemble(&many, &stiffness).unwrap();
    let refused = contact.replace(&host).unwrap_err();
    assert_eq!(refused, Error::Capacity { what: "contact blocks", count: host.len(), capacity: 10 });
    assert!(refused.to_string().contains("create it again with a capacity of"));
    host.assemble(&[Stencil::point_point(0, 1)], &[1e300]).unwrap();
    assert!(matches!(contact.replace(&host), Err(Error::Range { .. })));
    assert!(matches!(contact.replace(&Contacts::<f64>::new(31, 1).unwrap()), Err(Error::Shape { .. })));
    assert_eq!(contact.read().unwrap(), before);
    let elastic = backend.matrix(&ring(31, 1)).unwrap();
    assert!(matches!(DeviceSum::new(&elastic, &contact), Err(Error::Shape { .. })));
}

/// Inverses of diagonal blocks equal the inverses of the host, for a matrix in every layout and for a sum.
fn diagonals_are_the_hosts<V: Real>(tolerance: f64) {
    let Some(here) = common::backend::<V>() else { return };
    let gpu = common::posing::<V>(common::gpu).unwrap();
    for (backend, b) in [(&here, 1), (&here, 3), (&here, 6), (&gpu, 3)] {
        let n = 70;
        let a = ring(n, b);
        let (contacts, stiffness) = common::touching(n as u32, 30, b, 5);
        let mut host = Contacts::new(n, b).unwrap();
        host.assemble(&contacts, &stiffness).unwrap();
        let mut contact = DeviceContacts::new(backend, n, b, host.len()).unwrap();
        contact.replace(&host).unwrap();
        let r: Vec<V> = noise(n * b, 2).into_iter().map(V::from_f64).collect();
        let (vr, mut vz) = (backend.vector(&r).unwrap(), backend.zeros(n * b).unwrap());
        let mut close = |m: &mut DeviceJacobi<V>, host: &Bsr<f64>| {
            m.apply(&vr, &mut vz);
            let d = DenseBlocks::inverse_diagonal(host, "test").unwrap();
            let (mut z, r_f64) = (vec![0.0; n * b], r.iter().map(|v| v.as_f64()).collect::<Vec<_>>());
            d.multiply(&r_f64, &mut z);
            for (f, e) in read(&vz).iter().zip(&z) {
                assert!((f.as_f64() - e).abs() <= tolerance, "{b}: {f}, expected {e}");
            }
        };
        for format in [Format::Rows, Format::Ell, Format::Sliced] {
            let elastic = DeviceMatrix::new(backend, &a, format).unwrap();
            let mut m = DeviceJacobi::new(&elastic, 1.0).unwrap();
            close(&mut m, &a);
            let sum = DeviceSum::new(&elastic, &contact).unwrap();
            m.update_on_device(&sum).unwrap();
            m.check().unwrap();
            close(&mut m, &Sum { elastic: &a, contact: &host }.merge().unwrap());
        }
    }
}

#[test]
fn diagonals_are_the_hosts_in_f64() {
    diagonals_are_the_hosts::<f64>(1e-14);
}

#[test]
fn diagonals_are_the_hosts_in_f32() {
    diagonals_are_the_hosts::<f32>(1e-6);
}

/// A block without an inverse is reported, and so is a block that cannot belong to a positive definite
/// matrix.
#[test]
fn faulty_diagonals_are_named() {
    let Some(backend) = common::backend::<f64>() else { return };
    let mut a = ring(50, 2);
    let block = |a: &Bsr<f64>, i: usize| 4 * a.pattern().find(i, i).unwrap();
    let (singular, negative) = (block(&a, 30), block(&a, 31));
    a.values_mut()[singular..singular + 4].copy_from_slice(&[1.0, 2.0, 2.0, 4.0]);
    a.values_mut()[negative..negative + 4].copy_from_slice(&[-3.0, 0.0, 0.0, 4.0]);
    let mut there = backend.matrix(&a).unwrap();
    let fault = DeviceJacobi::new(&there, 1.0).err().unwrap();
    assert_eq!(fault, SetupError::SingularBlock { node: 30, first_row: 60 });
    a.values_mut()[singular + 3] = 9.0;
    Matrix::<OpenCl<f64>>::set_values(&mut there, &a).unwrap();
    match DeviceJacobi::new(&there, 1.0).err().unwrap() {
        SetupError::NotPositive { row: 62, diagonal, .. } => assert!((diagonal + 3.0).abs() < 1e-14),
        other => panic!("{other}"),
    }
    assert!(DeviceJacobi::new(&there, 0.0).is_err());
}

/// Conjugate gradients on a sum, with block Jacobi of the sum, take the same number of iterations as on the
/// host with the merged matrix.
#[test]
fn solves_run_on_sums() {
    let Some(backend) = common::backend::<f64>() else { return };
    let n = 300;
    let entries = (0..n).flat_map(|i| {
        let next = (i + 1 < n).then_some([(i, i + 1, -1.0), (i + 1, i, -1.0)]);
        [(i, i, 2.05)].into_iter().chain(next.into_iter().flatten())
    });
    let chain = assembly::from_triplets(n as usize, n as usize, &entries.collect::<Vec<_>>()).unwrap();
    let (contacts, stiffness) = common::touching(n, 60, 1, 9);
    let mut set = Contacts::new(n as usize, 1).unwrap();
    set.assemble(&contacts, &stiffness).unwrap();
    let merged = Sum { elastic: &chain, contact: &set }.merge().unwrap();
    let b = noise(n as usize, 3);
    let mut x = vec![0.0; n as usize];
    let host = DenseBlocks::inverse_diagonal(&merged, "test").unwrap();
    let mut expected = Cg::new(Stop::relative(1e-8));
    let expected = expected.solve(&merged, &mut &host, &b, &mut x).unwrap().converged().unwrap();

    let elastic = backend.matrix(&chain).unwrap();
    let mut contact = DeviceContacts::new(&backend, n as usize, 1, set.len()).unwrap();
    contact.replace(&set).unwrap();
    let sum = DeviceSum::new(&elastic, &contact).unwrap();
    let mut m = DeviceJacobi::new(&sum, 1.0).unwrap();
    let (vb, mut vx) = (backend.vector(&b).unwrap(), backend.zeros(n as usize).unwrap());
    let report =
        Cg::new(Stop::relative(1e-8)).solve(&sum, &mut m, &vb, &mut vx).unwrap().converged().unwrap();
    assert!(report.iterations.abs_diff(expected.iterations) <= 1);
    assert!(read(&vx).iter().zip(&x).all(|(f, e)| (f - e).abs() < 1e-6));
}
