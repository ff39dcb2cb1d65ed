//! Descent methods with the same generic code on `Vec<f64>`, `Vec<f32>` and device vectors find the same
//! minimiser.

use crate::common;
use coarsen_backend::Backend;
use coarsen_core::{Dot, Identity, LinearOperator, Objective, Real, Scalar, Stop, Vector};
use coarsen_krylov::Cg;
use coarsen_opencl::DeviceVector;
use coarsen_optimize::{
    AcceleratedGradient, Backtracking, Beta, Constant, Descent, DescentError, Direction, Gradient, Lbfgs,
    Linearized, MoreThuente, Newton, NonlinearCg, OrElse, Proposal, Refresh,
};

/// Σ ½ aᵢ xᵢ² + ¼ xᵢ⁴ − bᵢ xᵢ for any type of vector.
struct Quartic<V> {
    a: V,
    b: V,
    square: V,
}

fn number<V: Vector>(v: &V, number: f64) -> V::Scalar {
    v.scalar(V::Real::from_f64(number))
}

impl<V: Vector> Objective<V> for Quartic<V> {
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        self.square.hadamard(&number(x, 1.0), x, x, &number(x, 0.0));
        let ([second, fourth], first) = (self.square.dots([&self.a, &self.square]), self.b.dot_magnitude(x));
        let even = number(x, 0.5) * second + number(x, 0.25) * fourth;
        Dot { value: even.clone() + -first.value, magnitude: even + first.magnitude }
    }

    fn gradient(&mut self, x: &V, g: &mut V) {
        self.square.hadamard(&number(x, 1.0), x, x, &number(x, 0.0));
        g.hadamard(&number(x, 1.0), &self.square, x, &number(x, 0.0));
        g.hadamard(&number(x, 1.0), &self.a, x, &number(x, 1.0));
        g.axpy(&number(x, -1.0), &self.b);
    }
}

/// An objective whose bound on steps, between 1 and 2, is computed with vectors.
struct Bounded<V>(Quartic<V>);

impl<V: Vector> Objective<V> for Bounded<V> {
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        self.0.value(x)
    }
    fn gradient(&mut self, x: &V, g: &mut V) {
        self.0.gradient(x, g);
    }
    fn max_step(&mut self, x: &V, d: &V) -> V::Scalar {
        (number(x, 1.0) + d.dot(d)).min(&number(x, 2.0))
    }
}

/// An objective whose bound on steps the host computes, and the number of bounds.
struct BoundedByHost<V>(Quartic<V>, usize);

impl<V: Vector> Objective<V> for BoundedByHost<V> {
    fn value(&mut self, x: &V) -> Dot<V::Scalar> {
        self.0.value(x)
    }
    fn gradient(&mut self, x: &V, g: &mut V) {
        self.0.gradient(x, g);
    }
    fn max_step(&mut self, x: &V, _: &V) -> V::Scalar {
        self.1 += 1;
        number(x, 2.0)
    }
}

/// The gradient, which ascends, as long as it has not been told to descend.
struct Ascent(bool);

impl<V: Vector, F: ?Sized> Direction<V, F> for Ascent {
    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        d.scaled(&number(x, if self.0 { -0.1 } else { 1.0 }), g);
        self.0 = !self.0;
        Ok(Proposal::Unit)
    }
    fn fall_back(&mut self) -> bool {
        true
    }
}

/// diag(d).
struct Diagonal<V>(V);

impl<V: Vector> LinearOperator<V> for Diagonal<V> {
    fn shape(&self) -> (usize, usize) {
        (self.0.size(), self.0.size())
    }
    fn apply(&self, x: &V, y: &mut V) {
        y.hadamard(&number(x, 1.0), &self.0, x, &number(x, 0.0));
    }
}

type Curved<V> = Linearized<
    Quartic<V>,
    Diagonal<V>,
    Identity,
    fn(&mut Quartic<V>, &V, &mut Diagonal<V>) -> Result<(), DescentError>,
    fn(&Diagonal<V>, &V, &mut Identity) -> Result<(), DescentError>,
>;

/// ∇²f = diag(a + 3 x²).
fn assemble<V: Vector>(f: &mut Quartic<V>, x: &V, hessian: &mut Diagonal<V>) -> Result<(), DescentError> {
    hessian.0.copy(&f.a);
    hessian.0.hadamard(&number(x, 3.0), x, x, &number(x, 1.0));
    Ok(())
}

/// Returns every direction, and whether it requires a tight line search.
fn drivers<V: Vector>(above: &dyn Fn() -> V) -> Vec<(&'static str, bool, Box<dyn Direction<V, Curved<V>>>)> {
    let inner = Cg::new(Stop::relative(V::Real::from_f64(1e-3)));
    vec![
        ("gradient", false, Box::new(Gradient::steepest())),
        ("ncg+", true, Box::new(NonlinearCg::new(Beta::PolakRibierePlus, Identity))),
        ("ncg", true, Box::new(NonlinearCg::new(Beta::DaiKou, Identity))),
        ("accelerated", false, Box::new(AcceleratedGradient::new(V::Real::from_f64(0.8), Identity))),
        ("l-bfgs", false, Box::new(Lbfgs::scaled(5))),
        ("l-bfgs, gathered", false, Box::new(Lbfgs::scaled(5).gathering())),
        ("newton", false, Box::new(Newton::exact())),
        ("newton, inexact", false, Box::new(Newton::inexact())),
        ("newton, 4 inner iterations", false, Box::new(Newton::fixed(4))),
        ("constant", false, Box::new(Constant::new(Diagonal(above()), Identity, inner))),
        ("chain", false, Box::new(OrElse::new(Newton::inexact(), Lbfgs::scaled(5)))),
    ]
}

fn every_driver<V: Vector>(make: impl Fn(&[f64]) -> V, read: impl Fn(&V) -> Vec<f64>) {
    let n = 2000;
    let a: Vec<f64> = (0..n).map(|i| 1.0 + (i % 7) as f64).collect();
    let b: Vec<f64> = (0..n).map(|i| 3.0 * (0.1 * i as f64).sin()).collect();
    let root = |(a, b): (&f64, &f64)| {
        (0..50).fold(0.0, |x: f64, _| x - (x * x * x + a * x - b) / (3.0 * x * x + a)) // x³ + a x = b
    };
    let expected: Vec<f64> = a.iter().zip(&b).map(root).collect();
    for (name, tight, mut direction) in drivers(&|| make(&vec![12.0; n])) {
        let quartic = Quartic { a: make(&a), b: make(&b), square: make(&a) };
        let hessian = Diagonal(make(&a));
        let mut f: Curved<V> = Linearized::new(quartic, hessian, Identity, assemble, |_, _, _| Ok(()));
        let mut x = make(&vec![0.0; n]);
        let stop = Stop::relative(V::Real::from_f64(1e-4));
        let report = if tight {
            let mut descent = Descent::new(MoreThuente::tight(), stop);
            descent.minimize(&mut f, &mut direction, &mut x)
        } else {
            let mut descent = Descent::new(Backtracking::default(), stop);
            descent.refresh = Refresh::Every(2);
            descent.minimize(&mut f, &mut direction, &mut x)
        };
        report.unwrap().converged().unwrap_or_else(|e| panic!("{name}: {e}"));
        let gap = read(&x).iter().zip(&expected).map(|(x, e)| (x - e).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-2, "{name}: {gap:e}");
    }
}

#[test]
fn every_driver_runs_on_the_host() {
    every_driver(|host| host.to_vec(), Vec::<f64>::clone);
    let as_f32 = |host: &[f64]| -> Vec<f32> { host.iter().map(|&v| v as f32).collect() };
    every_driver(as_f32, |x| x.iter().map(|&v| f64::from(v)).collect());
}

fn on_device<T: Real>() {
    let Some(backend) = common::backend::<T>() else { return };
    let make =
        |host: &[f64]| backend.vector(&host.iter().map(|&v| T::from_f64(v)).collect::<Vec<_>>()).unwrap();
    let read = |x: &DeviceVector<T>| common::read(x).iter().map(|v| v.as_f64()).collect();
    every_driver(make, read);
}

#[test]
fn every_driver_runs_on_the_device() {
    on_device::<f32>();
    on_device::<f64>();
}

/// An iteration synchronises twice if its first trial is accepted: for the direction with its bound, and for the
/// trial with its gradient. The host takes the same steps.
#[test]
fn an_iteration_synchronises_twice() {
    let Some(backend) = common::backend::<f64>() else { return };
    let n = 1000;
    let a: Vec<f64> = (0..n).map(|i| 0.1 + 0.05 * (i % 7) as f64).collect();
    let b: Vec<f64> = (0..n).map(|i| 0.1 * (0.1 * i as f64).sin()).collect();
    fn descend<V: Vector>(make: &dyn Fn(&[f64]) -> V, [a, b]: [&[f64]; 2], iterations: usize) -> V {
        let mut f = Bounded(Quartic { a: make(a), b: make(b), square: make(a) });
        let stop = Stop { max_iterations: iterations, ..Stop::relative(V::Real::from_f64(0.0)) };
        let mut x = make(&vec![0.0; a.len()]);
        let mut descent = Descent::new(Backtracking::default(), stop);
        let report = descent.minimize(&mut f, &mut Gradient::fixed(Identity), &mut x).unwrap();
        assert_eq!((report.iterations, report.values), (iterations, iterations + 1), "{report}");
        x
    }
    let synchronised = |iterations| {
        let before = backend.counters().synchronisations;
        let x = descend(&|host: &[f64]| backend.vector(host).unwrap(), [&a, &b], iterations);
        let synchronised = backend.counters().synchronisations - before;
        let (mut there, here) = (vec![0.0; n], descend(&|host: &[f64]| host.to_vec(), [&a, &b], iterations));
        backend.read(&x, &mut there).unwrap();
        assert!(there.iter().zip(&here).all(|(t, h)| (t - h).abs() < 1e-14), "{iterations} iterations");
        synchronised
    };
    assert_eq!(synchronised(9) - synchronised(3), 2 * 6);
}

/// A bound that the host computes is asked for only in directions that descend, after the first.
#[test]
fn directions_that_ascend_need_no_bound_of_the_host() {
    let Some(backend) = common::backend::<f64>() else { return };
    let make = |v: f64| backend.vector(&[v; 100]).unwrap();
    let mut f = BoundedByHost(Quartic { a: make(1.0), b: make(1.0), square: make(0.0) }, 0);
    let stop = Stop { max_iterations: 5, ..Stop::relative(0.0) };
    let mut descent = Descent::new(Backtracking::default(), stop);
    let report = descent.minimize(&mut f, &mut Ascent(false), &mut make(0.0)).unwrap();
    assert_eq!((report.iterations, report.fallbacks), (5, 5), "{report}");
    assert_eq!(f.1, 1 + 5);
}
