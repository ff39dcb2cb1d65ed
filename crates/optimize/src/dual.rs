//! Numbers that carry a derivative.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use coarsen_core::{Error, LinearOperator, Objective, Real, Vector};

use crate::Disagreement;

/// a + b ε with ε² = 0: f(a + b ε) = f(a) + f′(a) b ε, exact to round-off.
///
/// *Use* to check a derivative where differences are too coarse: write the energy for any type with +, −, *, / and the few
/// functions here, and evaluate it at [`Dual::along`].
/// *Reference* Griewank & Walther 2008, *Evaluating Derivatives*, §3.1.
///
/// ```
/// use coarsen_optimize::Dual;
/// let x = Dual { value: 2.0, slope: 1.0 };
/// assert_eq!((x * x * x).slope, 12.0);
/// assert_eq!((x * x).sqrt().slope, 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual<T> {
    /// a.
    pub value: T,
    /// b.
    pub slope: T,
}

impl<T: Real> Dual<T> {
    /// A number that does not change.
    pub fn constant(value: T) -> Self {
        Self { value, slope: T::zero() }
    }

    /// x + d ε.
    pub fn along(x: &[T], d: &[T]) -> Vec<Self> {
        x.iter().zip(d).map(|(&value, &slope)| Self { value, slope }).collect()
    }

    /// √x.
    pub fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        Self { value: root, slope: self.slope / (root + root) }
    }

    /// The natural logarithm.
    pub fn ln(self) -> Self {
        Self { value: self.value.ln(), slope: self.slope / self.value }
    }

    /// eˣ.
    pub fn exp(self) -> Self {
        let value = self.value.exp();
        Self { value, slope: self.slope * value }
    }

    /// Sine and cosine.
    pub fn sin_cos(self) -> (Self, Self) {
        let (s, c) = self.value.sin_cos();
        (Self { value: s, slope: self.slope * c }, Self { value: c, slope: -self.slope * s })
    }
}

impl<T: Real> Add for Dual<T> {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { value: self.value + o.value, slope: self.slope + o.slope }
    }
}

impl<T: Real> AddAssign for Dual<T> {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}

impl<T: Real> Sub for Dual<T> {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self { value: self.value - o.value, slope: self.slope - o.slope }
    }
}

impl<T: Real> Mul for Dual<T> {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self { value: self.value * o.value, slope: self.slope * o.value + self.value * o.slope }
    }
}

impl<T: Real> Div for Dual<T> {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let value = self.value / o.value;
        Self { value, slope: (self.slope - value * o.slope) / o.value }
    }
}

impl<T: Real> Neg for Dual<T> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, slope: -self.slope }
    }
}

/// Compares ∇f(x)·d with the slope of `again`, the same function for dual numbers, along d: exact to round-off.
///
/// ```
/// use coarsen_optimize::{Dual, Rosenbrock, check_gradient_by_duals};
/// let again = |x: &[Dual<f64>]| {
///     let [one, hundred] = [1.0, 100.0].map(Dual::constant);
///     let (bend, rest) = (x[1] - x[0] * x[0], one - x[0]);
///     hundred * bend * bend + rest * rest
/// };
/// let found = check_gradient_by_duals(&mut Rosenbrock, again, &vec![-1.2, 1.0], &vec![0.3, -0.2])?;
/// assert!(found.error < 1e-14);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] when x and d differ in length.
pub fn check_gradient_by_duals<T, F>(
    f: &mut F,
    again: impl FnOnce(&[Dual<T>]) -> Dual<T>,
    x: &Vec<T>,
    d: &Vec<T>,
) -> Result<Disagreement<T>, Error>
where
    T: Real,
    F: Objective<Vec<T>> + ?Sized,
{
    check_length(x, d)?;
    let mut g = x.like()?;
    f.gradient(x, &mut g);
    Ok(Disagreement::exact(g.dot(d), again(&Dual::along(x, d)).slope))
}

/// Compares eᵀ H d with e · the slopes of `again`, which writes the gradient for dual numbers, along d: exact to round-off.
///
/// # Errors
/// [`Error::Shape`] when sizes differ.
pub fn check_hessian_by_duals<T: Real>(
    hessian: &dyn LinearOperator<Vec<T>>,
    again: impl FnOnce(&[Dual<T>], &mut [Dual<T>]),
    x: &Vec<T>,
    [d, e]: [&Vec<T>; 2],
) -> Result<Disagreement<T>, Error> {
    check_length(x, d)?;
    check_length(x, e)?;
    if hessian.shape() != (x.len(), x.len()) {
        return Err(Error::Shape { what: "the Hessian", expected: x.len(), found: hessian.shape().0 });
    }
    let mut hd = x.like()?;
    hessian.apply(d, &mut hd);
    let mut gradient = vec![Dual::default(); x.len()];
    again(&Dual::along(x, d), &mut gradient);
    let slopes: Vec<T> = gradient.iter().map(|g| g.slope).collect();
    Ok(Disagreement::exact(hd.dot(e), slopes.dot(e)))
}

fn check_length<T: Real>(x: &[T], d: &[T]) -> Result<(), Error> {
    if d.len() != x.len() {
        return Err(Error::Shape { what: "the direction of a check", expected: x.len(), found: d.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_their_derivatives() {
        let x = Dual { value: 0.7_f64, slope: 1.0 };
        let (s, c) = x.sin_cos();
        for (found, expected) in [
            ((s * s + c * c).slope, 0.0),
            (x.exp().ln().slope, 1.0),
            ((Dual::constant(1.0) / x).slope, -1.0 / 0.49),
            ((-x - x).slope, -2.0),
            (x.sqrt().slope, 0.5 / 0.7_f64.sqrt()),
        ] {
            assert!((found - expected).abs() < 1e-14, "{found} {expected}");
        }
    }
}
