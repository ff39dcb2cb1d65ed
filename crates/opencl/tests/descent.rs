//! Descent methods on device vectors: the text that runs on the host, and the same minimiser.

mod common;

use coarsen_backend::Backend;
use coarsen_core::{Identity, LinearOperator, Objective, Real, Stop, Vector};
use coarsen_opencl::{DeviceVector, OpenCl};
use coarsen_optimize::{
    AcceleratedGradient, Backtracking, Beta, Descent, Direction, Gradient, Lbfgs, Linearized, MoreThuente,
    Newton, NonlinearCg,
};

/// ½ Σ aᵢ xᵢ² − b·x over any vector.
struct Quadratic<V> {
    a: V,
    b: V,
    scratch: V,
}

impl<V: Vector> Objective<V> for Quadratic<V> {
    fn value(&mut self, x: &V) -> V::Real {
        let [one, zero] = [1.0, 0.0].map(|v| x.scalar(V::Real::of(v)));
        self.scratch.hadamard(&one, &self.a, x, &zero);
        let [ax, bx] = [self.scratch.dot(x), self.b.dot(x)];
        let [ax, bx] = V::wait_for([&ax, &bx]);
        V::Real::of(0.5) * ax - bx
    }

    fn gradient(&mut self, x: &V, g: &mut V) {
        let [one, zero] = [1.0, 0.0].map(|v| x.scalar(V::Real::of(v)));
        g.hadamard(&one, &self.a, x, &zero);
        g.axpy(&x.scalar(V::Real::of(-1.0)), &self.b);
    }
}

/// diag(a).
struct Diagonal<V>(V);

impl<V: Vector> LinearOperator<V> for Diagonal<V> {
    fn shape(&self) -> (usize, usize) {
        (self.0.size(), self.0.size())
    }
    fn apply(&self, x: &V, y: &mut V) {
        let [one, zero] = [1.0, 0.0].map(|v| x.scalar(V::Real::of(v)));
        y.hadamard(&one, &self.0, x, &zero);
    }
}

fn every_driver<T: Real>() {
    let Some(on) = common::place::<T>() else { return };
    let n = 2000;
    let a: Vec<T> = (0..n).map(|i| T::of(1.0 + (i % 7) as f64)).collect();
    let b: Vec<T> = (0..n).map(|i| T::of((0.1 * i as f64).sin())).collect();
    let vector = |host: &[T]| on.vector(host).unwrap();
    let newton = || {
        Linearized::new(
            Quadratic { a: vector(&a), b: vector(&b), scratch: vector(&a) },
            Diagonal(vector(&a)),
            Identity,
            |_: &mut Quadratic<DeviceVector<T>>, _: &DeviceVector<T>, _: &mut Diagonal<DeviceVector<T>>| {
                Ok(())
            },
            |_: &Diagonal<DeviceVector<T>>, _: &DeviceVector<T>, _: &mut Identity| Ok(()),
        )
    };
    fn run<T: Real, F: Objective<DeviceVector<T>>>(
        on: &OpenCl<T>,
        f: &mut F,
        name: &str,
        direction: &mut dyn Direction<DeviceVector<T>, F>,
        expected: &[T],
    ) {
        let mut x = on.vector(&vec![T::zero(); expected.len()]).unwrap();
        let stop = Stop::relative(T::of(1e-4));
        let report = if name == "ncg" {
            Descent::new(MoreThuente::tight(), stop).minimize(f, direction, &mut x, &mut ())
        } else {
            Descent::new(Backtracking::default(), stop).minimize(f, direction, &mut x, &mut ())
        };
        report.unwrap().converged().unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut found = vec![T::nan(); expected.len()];
        on.read(&x, &mut found).unwrap();
        let gap = found.iter().zip(expected).map(|(f, e)| (f.wide() - e.wide()).abs()).fold(0.0, f64::max);
        assert!(gap < 1e-2, "{name}: {gap:e}");
    }
    let expected: Vec<T> = b.iter().zip(&a).map(|(&b, &a)| b / a).collect();
    run(&on, &mut newton(), "gradient", &mut Gradient::steepest(), &expected);
    run(&on, &mut newton(), "ncg", &mut NonlinearCg::new(Beta::DaiKou, Identity), &expected);
    run(&on, &mut newton(), "accelerated", &mut AcceleratedGradient::new(T::of(0.8), Identity), &expected);
    run(&on, &mut newton(), "l-bfgs", &mut Lbfgs::scaled(5), &expected);
    run(&on, &mut newton(), "newton", &mut Newton::inexact(), &expected);
}

#[test]
fn every_driver_runs_on_the_device() {
    every_driver::<f32>();
    every_driver::<f64>();
}
