//! Numbers that carry a derivative.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use coarsen_core::Real;

/// The number a + b ε with ε² = 0: f(a + b ε) = f(a) + f′(a) b ε, exact to round-off.
///
/// *Use* to check a derivative more accurately than with finite differences. Write the energy for dual
/// numbers, with +, −, *, / and the functions below, and evaluate it at [`Dual::along`]. *Reference* Griewank
/// & Walther 2008, *Evaluating Derivatives*, §3.1.
///
/// ```
/// use coarsen_optimize::Dual;
/// let x = Dual { value: 2.0, slope: 1.0 };
/// assert_eq!((x * x * x).slope, 12.0);
/// assert_eq!((x * x).sqrt().slope, 1.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dual<T> {
    /// The value a.
    pub value: T,
    /// The derivative b.
    pub slope: T,
}

impl<T: Real> Dual<T> {
    /// A number with slope 0.
    pub fn constant(value: T) -> Self {
        Self { value, slope: T::zero() }
    }

    /// The vector x + d ε, to differentiate along d at x.
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
