//! The signature of an energy of nodes.

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

/// An energy of the positions of free nodes, three scalars a node, with its derivatives.
pub trait Potential {
    /// Free nodes.
    fn nodes(&self) -> usize;

    /// Which free nodes meet in an element: the block pattern of the Hessian, with the diagonal.
    fn pattern(&self) -> &Arc<Pattern>;

    /// E(x) in J. *Panics* on a wrong length, as the other two.
    fn value(&mut self, x: &[f64]) -> f64;

    /// g += ∇E(x), in N.
    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]);

    /// values += ∇²E(x) in N/m: the values of a matrix of this pattern in 3x3 blocks.
    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]);
}
