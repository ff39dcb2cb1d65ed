//! Rosenbrock's test function.

use coarsen_core::{Dot, Objective, Real};

/// Rosenbrock's function of pairs of variables: Σ 100 (x₂ᵢ − x₂ᵢ₋₁²)² + (1 − x₂ᵢ₋₁)².
///
/// The minimum is 0 at x = (1, …, 1), at the end of a curved valley. The usual start is (−1.2, 1, −1.2, 1,
/// …). If the number of variables is odd, the last variable has no effect. *Use* to test a method.
/// *Reference* Rosenbrock 1960; Moré, Garbow & Hillstrom 1981, "Testing unconstrained optimization software",
/// ACM TOMS 7(1), problems 1 and 21.
///
/// ```
/// use coarsen_core::Objective;
/// assert_eq!(coarsen_optimize::Rosenbrock.value(&vec![0.0, 2.0]).value, 401.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Rosenbrock;

impl Rosenbrock {
    /// (−1.2, 1, −1.2, 1, …).
    pub fn start<T: Real>(n: usize) -> Vec<T> {
        (0..n).map(|i| T::from_f64(if i.is_multiple_of(2) { -1.2 } else { 1.0 })).collect()
    }
}

impl<T: Real> Objective<Vec<T>> for Rosenbrock {
    fn value(&mut self, x: &Vec<T>) -> Dot<T> {
        let term = |w: &[T]| T::from_f64(100.0) * (w[1] - w[0] * w[0]).powi(2) + (T::one() - w[0]).powi(2);
        x.chunks_exact(2).map(term).sum::<T>().into()
    }

    fn gradient(&mut self, x: &Vec<T>, g: &mut Vec<T>) {
        assert_eq!(x.len(), g.len(), "gradient: lengths differ");
        g.fill(T::zero());
        for (x, g) in x.chunks_exact(2).zip(g.chunks_exact_mut(2)) {
            let bend = x[1] - x[0] * x[0];
            g[0] = T::from_f64(-400.0) * x[0] * bend - T::from_f64(2.0) * (T::one() - x[0]);
            g[1] = T::from_f64(200.0) * bend;
        }
    }
}
