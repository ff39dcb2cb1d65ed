//! The signature of an energy of nodes.

use std::iter::Sum;
use std::ops::{Add, Mul};
use std::sync::Arc;

use coarsen_sparse::Pattern;

/// Which Hessian is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Curvature {
    /// Element by element, negative eigenvalues set to 0: positive semidefinite everywhere (Teran et al. 2005).
    #[default]
    Projected,
    /// The true one.
    Exact,
    /// A weighted Laplacian that does not depend on x and is above the true one at rest: the constant matrix of Projective
    /// Dynamics (Bouaziz et al. 2014; for other energies Liu, Bouaziz & Kavan 2017, "Quasi-Newton methods for real-time
    /// simulation of hyperelastic materials", ACM TOG 36(3)).
    Constant,
}

/// An energy in J, and what it is the sum of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// E.
    pub value: f64,
    /// Σ |t ∂E/∂t| over the terms t that E was made from: rounding moves E by a few ε times this, near E = 0 too.
    pub magnitude: f64,
}

impl Add for Energy {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { value: self.value + other.value, magnitude: self.magnitude + other.magnitude }
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::default(), Add::add)
    }
}

impl Mul<Energy> for f64 {
    type Output = Energy;

    /// For a weight of 0 or more.
    fn mul(self, Energy { value, magnitude }: Energy) -> Energy {
        Energy { value: self * value, magnitude: self * magnitude }
    }
}

/// An energy of the positions of free nodes, three scalars a node, with its derivatives.
pub trait Potential {
    /// Free nodes.
    fn nodes(&self) -> usize;

    /// Which free nodes meet in an element: the block pattern of the Hessian, with the diagonal.
    fn pattern(&self) -> &Arc<Pattern>;

    /// E(x). *Panics* on a wrong length, as the other two.
    fn energy(&mut self, x: &[f64]) -> Energy;

    /// g += ∇E(x), in N.
    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]);

    /// values += ∇²E(x) in N/m: the values of a matrix of this pattern in 3x3 blocks.
    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]);
}
