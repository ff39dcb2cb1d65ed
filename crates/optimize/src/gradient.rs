//! Steepest descent, and the constant matrix of Projective Dynamics.

use coarsen_core::{Identity, Preconditioner, Vector};

use crate::direction::{cautious, fits, minus, vectors};
use crate::{DescentError, Direction, Proposal};

/// The direction d = −M⁻¹ ∇f(x).
///
/// With M = I this is steepest descent. With a factored constant matrix it is the global step of Projective
/// Dynamics. With a preconditioner of the Hessian it is Newton's method with one iteration per linear system.
/// *Use* `fixed` for an M that bounds the Hessian from above (Projective Dynamics), so that steps of 1
/// descend. Use `scaled` for a preconditioner whose scale differs from the scale of the Hessian (additive
/// Schwarz, undamped Jacobi). Otherwise use [`Lbfgs`](crate::Lbfgs), which costs little more. *Cost* of an
/// iteration: 1 apply of M⁻¹. *Memory*: 1 vector. *Reference* Nocedal & Wright 2006, §2.2; Xian, Tong & Liu
/// 2019, Eq. 3; Bouaziz et al. 2014.
///
/// ```
/// use coarsen_core::Stop;
/// use coarsen_optimize::{Backtracking, Descent, Gradient, Rosenbrock};
/// let mut x = vec![0.9, 0.8];
/// let mut descent = Descent::new(Backtracking::default(), Stop::absolute(0.1));
/// descent.minimize(&mut Rosenbrock, &mut Gradient::steepest(), &mut x)?.converged()?;
/// # Ok::<(), coarsen_optimize::DescentError>(())
/// ```
pub struct Gradient<V: Vector, P> {
    /// The preconditioner, applied as M⁻¹.
    pub inverse: P,
    first: First,
    z: Vec<V>,
}

/// The length of the first step.
enum First {
    Cautious,
    Scaled,
    Unit,
}

impl<V: Vector> Gradient<V, Identity> {
    /// Returns steepest descent: d = −∇f(x).
    pub fn steepest() -> Self {
        Self { inverse: Identity, first: First::Cautious, z: Vec::new() }
    }
}

impl<V: Vector, P: Preconditioner<V>> Gradient<V, P> {
    /// Returns d = −M⁻¹ ∇f(x) with a first trial of 1, for a constant or well-scaled M.
    pub fn fixed(inverse: P) -> Self {
        Self { inverse, first: First::Unit, z: Vec::new() }
    }

    /// Returns d = −M⁻¹ ∇f(x) with a first trial that is predicted from the last step.
    pub fn scaled(inverse: P) -> Self {
        Self { inverse, first: First::Scaled, z: Vec::new() }
    }
}

impl<V: Vector, F: ?Sized, P: Preconditioner<V>> Direction<V, F> for Gradient<V, P> {
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        fits(&self.inverse, x)?;
        vectors::<V, 1>(&mut self.z, x)?;
        Ok(())
    }

    fn propose(&mut self, _: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        let [z] = vectors(&mut self.z, x)?;
        self.inverse.apply(g, z);
        d.scaled(&minus(g), z);
        Ok(match self.first {
            First::Cautious => Proposal::Scaled(cautious(g)),
            First::Scaled => Proposal::Scaled(num_traits::one()),
            First::Unit => Proposal::Unit,
        })
    }
}
