//! Conjugate gradients on a device, with the same generic code as on the host.
//!
//! The system is the five-point Laplacian on a square, with unknowns scaled by 1 to 7, so that Jacobi has an
//! effect.

use crate::common;
use coarsen_backend::Backend;
use coarsen_core::{LinearOperator, Outcome, Preconditioner, PreconditionerKind, Real, Report, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::OpenCl;
use coarsen_relax::Jacobi;
use coarsen_sparse::{Bsr, assembly};

/// The number of unknowns along an edge.
const EDGE: usize = 48;

fn poisson<T: Real>() -> Bsr<T> {
    let scale = |i: usize| (1 + i % 7) as f64;
    let entry = |i: usize, j: usize, v: f64| (i as u32, j as u32, T::from_f64(v * scale(i) * scale(j)));
    let mut entries = Vec::new();
    for i in 0..EDGE * EDGE {
        entries.push(entry(i, i, 4.0));
        let (row, column) = (i / EDGE, i % EDGE);
        for (j, inside) in [(i + 1, column + 1 < EDGE), (i + EDGE, row + 1 < EDGE)] {
            if inside {
                entries.extend([entry(i, j, -1.0), entry(j, i, -1.0)]);
            }
        }
    }
    assembly::from_triplets(EDGE * EDGE, EDGE * EDGE, &entries).unwrap()
}

fn load<T: Real>() -> Vec<T> {
    (0..EDGE * EDGE).map(|i| T::from_f64((i as f64 * 0.7).sin())).collect()
}

/// Jacobi on any backend, by vector operations.
struct Diagonal<V: Vector>(V);

impl<V: Vector> Preconditioner<V> for Diagonal<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        let (one, zero) = (r.scalar(V::Real::from_f64(1.0)), r.scalar(V::Real::from_f64(0.0)));
        z.hadamard(&one, &self.0, r, &zero);
    }

    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }

    fn size(&self) -> Option<usize> {
        Some(self.0.size())
    }
}

/// Solves with the same code for every backend.
fn solve<V: Vector>(
    cg: &mut Cg<V>,
    a: &dyn LinearOperator<V>,
    m: &mut dyn Preconditioner<V>,
    b: &V,
    x: &mut V,
) -> Report<V::Real> {
    x.fill(V::Real::from_f64(0.0));
    cg.solve(a, m, b, x).unwrap()
}

fn on_the_host<T: Real>(stop: Stop<T>) -> (Report<T>, Vec<T>) {
    let a = poisson();
    let mut m = Diagonal(a.diagonal().iter().map(|&d| T::from_f64(1.0) / d).collect());
    let mut x = vec![T::from_f64(0.0); EDGE * EDGE];
    let report = solve(&mut Cg::new(stop), &a, &mut m, &load(), &mut x);
    (report, x)
}

/// Runs two solves by one `Cg`, which reads the residual every `check_every` iterations.
fn on_the_device<T: Real>(backend: &OpenCl<T>, stop: Stop<T>) -> (Report<T>, Vec<T>) {
    let host = poisson::<T>();
    let (a, b, mut m) = (
        backend.matrix(&host).unwrap(),
        backend.vector(&load()).unwrap(),
        Jacobi::default().build(&host, backend).unwrap(),
    );
    let (mut x, mut cg) = (b.like().unwrap(), Cg::new(stop));
    let mut run = || {
        let before = backend.counters();
        let report = solve(&mut cg, &a, &mut m, &b, &mut x);
        let after = backend.counters();
        let checks = report.iterations.div_ceil(stop.check_every) as u64;
        // Each read costs one synchronisation, and the true residuals at the start and at the end cost one synchronisation each.
        assert_eq!(after.synchronisations - before.synchronisations, checks + 2, "{report}");
        (report, common::read(&x), after.allocations - before.allocations)
    };
    let (first, again) = (run(), run());
    assert_eq!(again.2, 0, "the second solve allocated device memory");
    assert_eq!((&first.0, &first.1), (&again.0, &again.1), "two runs differ in bits");
    (again.0, again.1)
}

/// Checks that the relative distance of the two solutions is at most `close`.
fn cg_agrees_with_the_host<T: Real>(tolerance: f64, close: f64) {
    let Some(backend) = common::backend::<T>() else { return };
    let stop = Stop::relative(T::from_f64(tolerance));
    let (host, x) = on_the_host(stop);
    let (device, y) = on_the_device(&backend, stop);
    println!("host: {host}\ndevice: {device}");
    assert_eq!((host.outcome, device.outcome), (Outcome::Converged, Outcome::Converged));
    assert!(host.iterations.abs_diff(device.iterations) <= 1);
    let largest = |v: &mut dyn Iterator<Item = f64>| v.fold(0.0, f64::max);
    let size = largest(&mut x.iter().map(|x| x.as_f64().abs()));
    let distance = largest(&mut x.iter().zip(&y).map(|(x, y)| (x.as_f64() - y.as_f64()).abs()));
    println!("distance {distance:.1e} at size {size:.1e}");
    assert!(distance <= close * size, "solutions differ by {distance:e} at size {size:e}");
}

#[test]
fn cg_in_f64_does_what_it_does_on_the_host() {
    cg_agrees_with_the_host::<f64>(1e-10, 1e-11);
}

#[test]
fn cg_in_f32_does_what_it_does_on_the_host() {
    cg_agrees_with_the_host::<f32>(1e-4, 1e-4);
}

/// An iteration is seven launches: A p with its sum, α, the step, M⁻¹ r, its sum, β, and p. The last check adds one for
/// ‖r‖, which the steps do not need.
#[test]
fn an_iteration_is_seven_launches() {
    for backend in [common::backend::<f64>(), common::posing::<f64>(common::gpu)].into_iter().flatten() {
        let host = poisson::<f64>();
        let (a, b) = (backend.matrix(&host).unwrap(), backend.vector(&load()).unwrap());
        let (mut m, mut x) = (Jacobi::default().build(&host, &backend).unwrap(), b.like().unwrap());
        let mut launches = |max_iterations| {
            let stop = Stop { check_every: 1000, max_iterations, ..Stop::relative(0.0) };
            let before = backend.counters().launches;
            let report = solve(&mut Cg::new(stop), &a, &mut m, &b, &mut x);
            assert_eq!(report.iterations, max_iterations);
            backend.counters().launches - before
        };
        assert_eq!(launches(40) - launches(10), 7 * 30);
    }
}

/// If the residual is read every tenth iteration, a hundred iterations synchronise twelve times.
#[test]
fn the_host_rarely_synchronises() {
    let Some(backend) = common::backend::<f64>() else { return };
    let stop = Stop { check_every: 10, max_iterations: 100, ..Stop::relative(0.0) };
    let before = backend.counters().synchronisations;
    let host = poisson::<f64>();
    let (a, b) = (backend.matrix(&host).unwrap(), backend.vector(&load()).unwrap());
    let (mut m, mut x) = (Jacobi::default().build(&host, &backend).unwrap(), b.like().unwrap());
    let report = solve(&mut Cg::new(stop), &a, &mut m, &b, &mut x);
    assert_eq!((report.outcome, report.iterations), (Outcome::IterationLimit, 100));
    assert_eq!(backend.counters().synchronisations - before, 12);
    let (report, _) = on_the_device(&backend, Stop { check_every: 10, ..Stop::relative(1e-8) });
    assert_eq!(report.outcome, Outcome::Converged);
}
