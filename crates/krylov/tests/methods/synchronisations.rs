//! A vector with pending scalars, which counts every synchronisation.

use std::cell::Cell;
use std::ops::{Add, Div, Mul, Neg};

use coarsen_core::{Dot, Error, Identity, LinearOperator, Outcome, Scalar, Stop, Vector};
use coarsen_krylov::{
    BiCgStab, Cg, FixedCg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, PipelinedCg, Projected,
    SingleReductionCg,
};

use crate::common::{random, richardson_on, spread};

thread_local! {
    static SYNCHRONISATIONS: Cell<usize> = const { Cell::new(0) };
    static READS: Cell<usize> = const { Cell::new(0) };
}

fn count(of: &'static std::thread::LocalKey<Cell<usize>>) {
    of.with(|c| c.set(c.get() + 1));
}

/// A number that costs a synchronisation to read.
#[derive(Clone)]
struct Pending(f64);

macro_rules! arithmetic {
    ($($trait:ident $method:ident),+) => {
        $(impl $trait for Pending {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0))
            }
        })+
    };
}
arithmetic!(Add add, Mul mul, Div div);

impl Neg for Pending {
    type Output = Self;
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Scalar for Pending {
    type Real = f64;
    fn read(&self) -> f64 {
        count(&READS);
        self.0
    }
    fn min(&self, other: &Self) -> Self {
        Self(Scalar::min(&self.0, &other.0))
    }
    fn over(&self, den: &Self, bound: &Self) -> Self {
        Self(self.0.over(&den.0, &bound.0))
    }
}

/// A vector on one of several mock devices.
struct DeviceVector(Vec<f64>, usize);

impl DeviceVector {
    fn assert_same_device(&self, other: &Self) {
        assert!(self.same_layout(other), "operands are on different devices");
    }
}

impl Vector for DeviceVector {
    type Real = f64;
    type Scalar = Pending;
    fn size(&self) -> usize {
        self.0.len()
    }
    fn local_size(&self) -> usize {
        self.0.len()
    }
    fn like(&self) -> Result<Self, Error> {
        Ok(Self(self.0.like()?, self.1))
    }
    fn same_layout(&self, other: &Self) -> bool {
        self.0.same_layout(&other.0) && self.1 == other.1
    }
    fn scalar(&self, v: f64) -> Pending {
        Pending(v)
    }
    fn fill(&mut self, v: f64) {
        self.0.fill(v);
    }
    fn copy(&mut self, x: &Self) {
        self.assert_same_device(x);
        self.0.copy(&x.0);
    }
    fn axpby(&mut self, a: &Pending, x: &Self, b: &Pending) {
        self.assert_same_device(x);
        self.0.axpby(&a.0, &x.0, &b.0);
    }
    fn hadamard(&mut self, a: &Pending, d: &Self, x: &Self, b: &Pending) {
        self.0.hadamard(&a.0, &d.0, &x.0, &b.0);
    }
    fn dots<const N: usize>(&self, with: [&Self; N]) -> [Pending; N] {
        with.iter().for_each(|v| self.assert_same_device(v));
        self.0.dots(with.map(|v| &v.0)).map(Pending)
    }
    fn dot_magnitude(&self, y: &Self) -> Dot<Pending> {
        let Dot { value, magnitude } = self.0.dot_magnitude(&y.0);
        Dot { value: Pending(value), magnitude: Pending(magnitude) }
    }
    fn wait_for<const N: usize>(s: [&Pending; N]) -> [f64; N] {
        count(&SYNCHRONISATIONS);
        s.map(|s| s.0)
    }
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// A diagonal matrix on a mock device.
struct Diagonal(DeviceVector);

impl LinearOperator<DeviceVector> for Diagonal {
    fn shape(&self) -> (usize, usize) {
        (self.0.size(), self.0.size())
    }
    fn apply(&self, x: &DeviceVector, y: &mut DeviceVector) {
        y.hadamard(&Pending(1.0), &self.0, x, &Pending(0.0));
    }
}

/// The numbers of iterations, synchronisations and reads of a solve, and its solution.
fn solve(
    method: &mut dyn Krylov<DeviceVector>,
    d: &[f64],
    check_every: usize,
) -> (usize, usize, usize, Vec<f64>) {
    *method.stop_mut() = Stop { check_every, ..Stop::relative(1e-9) };
    let a = Diagonal(DeviceVector(d.to_vec(), 0));
    let (b, mut x) = (DeviceVector(random(d.len(), 1), 0), DeviceVector(vec![0.0; d.len()], 0));
    for counter in [&SYNCHRONISATIONS, &READS] {
        counter.with(|c| c.set(0));
    }
    let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged);
    (report.iterations, SYNCHRONISATIONS.with(Cell::get), READS.with(Cell::get), x.0)
}

#[test]
fn a_check_costs_one_synchronisation_and_no_other_read() {
    let d = spread(100, 1.0, 20.0);
    let methods: [Box<dyn Krylov<DeviceVector>>; 5] = [
        Box::new(Cg::default()),
        Box::new(SingleReductionCg::default()),
        Box::new(PipelinedCg::default()),
        Box::new(FlexibleCg::default()),
        Box::new(richardson_on(0.09)),
    ];
    for mut method in methods {
        let (iterations, synchronisations, reads, x) = solve(&mut *method, &d, 1);
        // One synchronisation at the start, one for the recomputed residual at the end.
        assert_eq!((synchronisations, reads), (iterations + 2, 0));
        let (rare, synchronisations, reads, y) = solve(&mut *method, &d, 10);
        assert!(rare >= iterations && rare < iterations + 10);
        assert_eq!((synchronisations, reads), (rare / 10 + 2, 0));
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-8));
    }
}

/// Also after convergence.
#[test]
fn fixed_iterations_have_the_bits_of_cg_without_synchronisation() {
    let (a, b) = (Diagonal(DeviceVector(spread(100, 1.0, 20.0), 0)), DeviceVector(random(100, 4), 0));
    for iterations in [1, 7, 150] {
        let stop = Stop { max_iterations: iterations, check_every: iterations, ..Stop::relative(0.0) };
        let [mut expected, mut x] = [0, 0].map(|device| DeviceVector(vec![0.0; 100], device));
        let _ = Cg::new(stop).solve(&a, &mut Identity, &b, &mut expected).unwrap();
        [&SYNCHRONISATIONS, &READS].into_iter().for_each(|of| of.with(|c| c.set(0)));
        let report = FixedCg::new(stop).solve(&a, &mut Identity, &b, &mut x).unwrap();
        assert_eq!([&SYNCHRONISATIONS, &READS].map(|of| of.with(Cell::get)), [0, 0]);
        assert_eq!((report.outcome, report.iterations), (Outcome::IterationLimit, iterations));
        assert!(report.true_residual.is_nan() && report.initial_residual.is_nan(), "{report}");
        assert_eq!(x.0, expected.0, "{iterations}");
    }
}

#[test]
fn rare_checks_still_find_the_curvature_that_froze_the_iterate() {
    let (mut d, n) = (spread(30, 1.0, 10.0), 30);
    d[7] = -2.0;
    let a = Diagonal(DeviceVector(d, 0));
    let methods: [Box<dyn Krylov<DeviceVector>>; 4] = [
        Box::new(Cg::default()),
        Box::new(SingleReductionCg::default()),
        Box::new(PipelinedCg::default()),
        Box::new(FlexibleCg::default()),
    ];
    for mut method in methods {
        let mut frozen = 0;
        for check_every in [1, 2, 10, 50] {
            method.stop_mut().check_every = check_every;
            let mut x = DeviceVector(vec![0.0; n], 0);
            let report = method.solve(&a, &mut Identity, &DeviceVector(random(n, 4), 0), &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::IndefiniteOperator, "{check_every}: {report}");
            assert!(report.true_residual <= report.initial_residual);
            if check_every == 1 {
                frozen = report.iterations;
            }
            assert_eq!(report.iterations, frozen.next_multiple_of(check_every));
        }
    }
}

fn all() -> [Box<dyn Krylov<DeviceVector>>; 8] {
    let mut fixed = richardson_on(0.3);
    fixed.stop = Stop::default();
    let mut gmres = Gmres::default();
    gmres.flexible = true;
    [
        Box::new(Cg::default()),
        Box::new(SingleReductionCg::default()),
        Box::new(PipelinedCg::default()),
        Box::new(FlexibleCg::default()),
        Box::new(Minres::default()),
        Box::new(gmres),
        Box::new(BiCgStab::default()),
        Box::new(fixed),
    ]
}

/// Vectors kept from a solve on one device are not used on another device, even if they have the same length.
#[test]
fn a_method_moves_to_the_device_of_its_system() {
    let n = 20;
    for (k, mut method) in all().into_iter().enumerate() {
        for (device, size) in [(0, 1.0), (1, 1.0), (1, 1e-200), (2, 1e-200), (0, 1.0)] {
            let a = Diagonal(DeviceVector(spread(n, 1.0, 5.0), device));
            let b = DeviceVector(random(n, 1).iter().map(|b| size * b).collect(), device);
            let mut x = DeviceVector(vec![0.0; n], device);
            let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{k} on device {device}: {report}");
        }
    }
}

/// If a device cannot find the index of an entry that is not finite, the outcome is `NotFinite` instead of an
/// error, and x is unchanged.
#[test]
fn entries_not_finite_are_an_outcome_if_no_index_is_found() {
    let n = 20;
    let a = Diagonal(DeviceVector(spread(n, 1.0, 5.0), 0));
    let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    for bad in [f64::NAN, f64::INFINITY] {
        for wrong in ["b", "x"] {
            for projected in [false, true] {
                for (k, mut method) in all().into_iter().enumerate() {
                    let (mut b, mut x) = (DeviceVector(random(n, 1), 0), DeviceVector(random(n, 2), 0));
                    let entries = if wrong == "b" { &mut b.0 } else { &mut x.0 };
                    entries[7] = bad;
                    assert_eq!(b.first_not_finite(), None);
                    if projected {
                        method = Box::new(Projected::new(method, NullSpace::constants(&b).unwrap()));
                    }
                    let before = bits(&x.0);
                    let report = method.solve(&a, &mut Identity, &b, &mut x).unwrap();
                    let told = format!("{k}, {bad} in {wrong}, projected {projected}: {report}");
                    assert_eq!((report.outcome, report.iterations), (Outcome::NotFinite, 0), "{told}");
                    assert_eq!(bits(&x.0), before, "{told}");
                }
            }
        }
    }
}
