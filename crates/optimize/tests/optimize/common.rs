//! Objectives whose minimisers and Hessians are known.

#![allow(dead_code)] // no test program uses all of these

use coarsen_core::{
    Dot, Identity, LinearOperator, Objective, Preconditioner, PreconditionerKind, Real, Vector,
};
use coarsen_optimize::{DescentError, Linearized, Rosenbrock};

/// The function ½ xᵀ A x − bᵀ x with a diagonal A, and the operator A.
#[derive(Clone)]
pub(crate) struct Quadratic {
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
}

impl Quadratic {
    /// Returns a function with eigenvalues from 1 to `condition`, equally spaced in the logarithm, and A as
    /// preconditioner.
    pub(crate) fn spread(n: usize, condition: f64) -> (Self, Inverse) {
        let a: Vec<f64> = (0..n).map(|i| condition.powf(i as f64 / (n - 1) as f64)).collect();
        (Self { a: a.clone(), b: noise(n, 9) }, Inverse(a))
    }
}

impl Objective<Vec<f64>> for Quadratic {
    fn value(&mut self, x: &Vec<f64>) -> Dot<f64> {
        x.iter().zip(&self.a).zip(&self.b).map(|((x, a), b)| x * (0.5 * a * x - b)).sum::<f64>().into()
    }
    fn gradient(&mut self, x: &Vec<f64>, g: &mut Vec<f64>) {
        for i in 0..x.len() {
            g[i] = self.a[i] * x[i] - self.b[i];
        }
    }
}

impl LinearOperator<Vec<f64>> for Quadratic {
    fn shape(&self) -> (usize, usize) {
        (self.a.len(), self.a.len())
    }
    fn apply(&self, x: &Vec<f64>, y: &mut Vec<f64>) {
        y.hadamard(&1.0, &self.a, x, &0.0);
    }
}

/// A diagonal M.
#[derive(Clone)]
pub(crate) struct Inverse(pub(crate) Vec<f64>);

impl Preconditioner<Vec<f64>> for Inverse {
    fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
        for i in 0..r.len() {
            z[i] = r[i] / self.0[i];
        }
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
    fn size(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

/// Rosenbrock's function with its Hessian.
#[derive(Clone)]
pub(crate) struct Valley<T> {
    pub(crate) hessian: Tridiagonal<T>,
}

#[derive(Clone)]
pub(crate) struct Tridiagonal<T> {
    pub(crate) diagonal: Vec<T>,
    pub(crate) lower: Vec<T>,
}

impl<T: Real> Valley<T> {
    pub(crate) fn new(n: usize) -> Self {
        let zero = T::zero();
        Self { hessian: Tridiagonal { diagonal: vec![zero; n], lower: vec![zero; n - 1] } }
    }

    /// Computes the Hessian at x.
    pub(crate) fn assemble(&mut self, x: &[T]) {
        let Tridiagonal { diagonal, lower } = &mut self.hessian;
        diagonal.fill(T::zero());
        lower.fill(T::zero());
        for i in (0..lower.len()).step_by(2) {
            diagonal[i] =
                T::from_f64(1200.0) * x[i] * x[i] - T::from_f64(400.0) * x[i + 1] + T::from_f64(2.0);
            diagonal[i + 1] = T::from_f64(200.0);
            lower[i] = T::from_f64(-400.0) * x[i];
        }
    }

    /// Returns the function with its Hessian and without a preconditioner.
    pub(crate) fn linearized(
        self,
    ) -> Linearized<
        Self,
        Tridiagonal<T>,
        Identity,
        impl FnMut(&mut Self, &Vec<T>, &mut Tridiagonal<T>) -> Result<(), DescentError>,
        impl FnMut(&Tridiagonal<T>, &Vec<T>, &mut Identity) -> Result<(), DescentError>,
    > {
        let hessian = self.hessian.clone();
        let assemble = |f: &mut Self, x: &Vec<T>, a: &mut Tridiagonal<T>| {
            f.assemble(x);
            a.diagonal.copy(&f.hessian.diagonal);
            a.lower.copy(&f.hessian.lower);
            Ok(())
        };
        Linearized::new(
            self,
            hessian,
            Identity,
            assemble,
            |_: &Tridiagonal<T>, _: &Vec<T>, _: &mut Identity| Ok(()),
        )
    }
}

impl<T: Real> Objective<Vec<T>> for Valley<T> {
    fn value(&mut self, x: &Vec<T>) -> Dot<T> {
        Rosenbrock.value(x)
    }
    fn gradient(&mut self, x: &Vec<T>, g: &mut Vec<T>) {
        Rosenbrock.gradient(x, g);
    }
}

impl<T: Real> LinearOperator<Vec<T>> for Tridiagonal<T> {
    fn shape(&self) -> (usize, usize) {
        (self.diagonal.len(), self.diagonal.len())
    }
    fn apply(&self, x: &Vec<T>, y: &mut Vec<T>) {
        y.hadamard(&T::one(), &self.diagonal, x, &T::zero());
        for (i, &a) in self.lower.iter().enumerate() {
            y[i] += a * x[i + 1];
            y[i + 1] += a * x[i];
        }
    }
}

/// Reproducible numbers between −1 and 1.
pub(crate) fn noise(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..n).map(|_| next()).collect()
}
