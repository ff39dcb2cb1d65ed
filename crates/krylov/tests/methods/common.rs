//! Small dense systems, and a simple solver for comparison.

use coarsen_core::{LinearOperator, Preconditioner, PreconditionerKind, Real, SplitMix64, Stop, Vector};
use coarsen_krylov::{
    BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, Richardson, SingleReductionCg,
};

/// A dense matrix by rows.
#[derive(Clone)]
pub(crate) struct Dense<T> {
    pub(crate) n: usize,
    pub(crate) entries: Vec<T>,
}

impl<T: Real> Dense<T> {
    pub(crate) fn from_fn(n: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        Self { n, entries: (0..n * n).map(|k| T::from_f64(f(k / n, k % n))).collect() }
    }

    pub(crate) fn diagonal(d: &[f64]) -> Self {
        Self::from_fn(d.len(), |i, j| if i == j { d[i] } else { 0.0 })
    }

    /// Q diag(d) Qᵀ, where Q is a product of random reflections.
    pub(crate) fn with_spectrum(d: &[f64], seed: u64) -> Self {
        let n = d.len();
        let mut q: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
        for k in 0..3 {
            let v = random(n, seed + k);
            let vv: f64 = v.iter().map(|v| v * v).sum();
            for row in q.chunks_exact_mut(n) {
                let s: f64 = 2.0 / vv * row.iter().zip(&v).map(|(a, b)| a * b).sum::<f64>();
                row.iter_mut().zip(&v).for_each(|(a, b)| *a -= s * b);
            }
        }
        Self::from_fn(n, |i, j| (0..n).map(|k| q[i * n + k] * d[k] * q[j * n + k]).sum())
    }

    /// A⁻¹ b by Gaussian elimination with partial pivoting, in f64.
    pub(crate) fn solve(&self, b: &[T]) -> Vec<f64> {
        let n = self.n;
        let mut a: Vec<f64> = self.entries.iter().map(|v| v.as_f64()).collect();
        let mut x: Vec<f64> = b.iter().map(|v| v.as_f64()).collect();
        for k in 0..n {
            let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap();
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
            x.swap(k, pivot);
            for i in k + 1..n {
                let f = a[i * n + k] / a[k * n + k];
                (k..n).for_each(|j| a[i * n + j] -= f * a[k * n + j]);
                x[i] -= f * x[k];
            }
        }
        for i in (0..n).rev() {
            let s: f64 = (i + 1..n).map(|j| a[i * n + j] * x[j]).sum();
            x[i] = (x[i] - s) / a[i * n + i];
        }
        x
    }
}

impl<T: Real> LinearOperator<Vec<T>> for Dense<T> {
    fn shape(&self) -> (usize, usize) {
        (self.n, self.entries.len() / self.n)
    }

    fn apply(&self, x: &Vec<T>, y: &mut Vec<T>) {
        for (y, row) in y.iter_mut().zip(self.entries.chunks_exact(self.n)) {
            *y = row.iter().zip(x).map(|(&a, &x)| a * x).sum();
        }
    }
}

/// Second differences without boundary conditions. The null space consists of the constant vectors.
pub(crate) fn neumann(n: usize) -> Dense<f64> {
    Dense::from_fn(n, |i, j| match i.abs_diff(j) {
        0 => f64::from(u8::from(i > 0)) + f64::from(u8::from(i + 1 < n)),
        1 => -1.0,
        _ => 0.0,
    })
}

/// M⁻¹ as a diagonal matrix, declared as any kind.
pub(crate) struct Scaling<V> {
    pub(crate) d: V,
    pub(crate) kind: PreconditionerKind,
}

impl<V: Vector> Preconditioner<V> for Scaling<V> {
    fn apply(&mut self, r: &V, z: &mut V) {
        let one = num_traits::one;
        z.hadamard(&r.scalar(one()), &self.d, r, &r.scalar(num_traits::zero()));
    }

    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.d.size())
    }
}

/// n numbers between −1 and 1.
pub(crate) fn random(n: usize, seed: u64) -> Vec<f64> {
    SplitMix64::new(seed.wrapping_mul(SplitMix64::GAMMA)).numbers(n)
}

/// n eigenvalues between low and high, evenly spaced in the logarithm.
pub(crate) fn spread(n: usize, low: f64, high: f64) -> Vec<f64> {
    (0..n).map(|i| low * (high / low).powf(i as f64 / (n - 1) as f64)).collect()
}

/// The largest difference between two vectors, divided by the largest entry of y.
pub(crate) fn distance<T: Real>(x: &[T], y: &[f64]) -> f64 {
    let size = y.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
    x.iter().zip(y).fold(0.0_f64, |s, (x, y)| s.max((x.as_f64() - y).abs())) / size
}

pub(crate) type Method<T> = Box<dyn Krylov<Vec<T>>>;

/// Every method, with its name; Richardson iteration uses the given ω.
pub(crate) fn methods<T: Real>(stop: Stop<T>, omega: f64) -> Vec<(&'static str, Method<T>)> {
    vec![
        ("Cg", Box::new(Cg::new(stop))),
        ("SingleReductionCg", Box::new(SingleReductionCg::new(stop))),
        ("PipelinedCg", Box::new(PipelinedCg::new(stop))),
        ("FlexibleCg", Box::new(FlexibleCg::new(stop))),
        ("Minres", Box::new(Minres::new(stop))),
        ("Gmres", Box::new(Gmres::new(stop))),
        ("Gmres, flexible", Box::new(gmres(stop, 30, true))),
        ("BiCgStab", Box::new(BiCgStab::new(stop))),
        ("Richardson", Box::new(richardson(stop, omega))),
    ]
}

/// ‖b − A x‖ / ‖b‖ by plain loops, in f64.
pub(crate) fn residual<T: Real>(a: &Dense<T>, b: &[T], x: &[T]) -> f64 {
    let n = b.len();
    let r =
        |i: usize| b[i].as_f64() - (0..n).map(|j| a.entries[i * n + j].as_f64() * x[j].as_f64()).sum::<f64>();
    let norm = (0..n).map(|i| r(i).powi(2)).sum::<f64>().sqrt();
    norm / b.iter().map(|b| b.as_f64().powi(2)).sum::<f64>().sqrt()
}

/// GMRES with the given fields.
pub(crate) fn gmres<T: Real>(stop: Stop<T>, restart: usize, flexible: bool) -> Gmres<Vec<T>> {
    let mut method = Gmres::new(stop);
    (method.restart, method.flexible) = (restart, flexible);
    method
}

/// Richardson iteration with the given fields.
pub(crate) fn richardson<T: Real>(stop: Stop<T>, omega: f64) -> Richardson<Vec<T>> {
    let mut method = richardson_on(omega);
    method.stop = stop;
    method
}

/// Richardson iteration for any vector type.
pub(crate) fn richardson_on<V: Vector>(omega: f64) -> Richardson<V> {
    let mut method = Richardson::default();
    method.omega = V::Real::from_f64(omega);
    method
}
