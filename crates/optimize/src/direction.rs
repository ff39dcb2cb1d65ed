//! The trait of directions.

use coarsen_core::{Error, Preconditioner, Real, Vector, vectors_like};
use num_traits::Float;

use crate::{DescentError, Refusal};

/// The result of a proposal of d.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Proposal<T> {
    /// The natural step along d is 1, because d comes from a model of f.
    Unit,
    /// The length of d is arbitrary. The driver predicts the first trial from the last step. If there is no
    /// last step, it tries this step.
    Scaled(T),
    /// No d is available.
    Refused(Refusal),
}

/// A rule that computes directions from gradients. It owns its data and its preconditioner.
///
/// `F` is the trait that the rule requires of the objective: none for first-order rules,
/// [`Linearize`](crate::Linearize) for Newton's method. The driver tests every d for descent, and calls
/// [`fall_back`](Self::fall_back) when d does not descend or its line search fails.
///
/// ```
/// use coarsen_optimize::{DescentError, Direction, Proposal};
/// struct Downhill;
/// impl<F: ?Sized> Direction<Vec<f64>, F> for Downhill {
///     fn propose(&mut self, _: &mut F, _: &Vec<f64>, g: &Vec<f64>, d: &mut Vec<f64>) -> Result<Proposal<f64>, DescentError> {
///         d.iter_mut().zip(g).for_each(|(d, g)| *d = -g);
///         Ok(Proposal::Scaled(1.0))
///     }
/// }
/// ```
pub trait Direction<V: Vector, F: ?Sized> {
    /// Computes d from x and g = ∇f(x).
    ///
    /// # Errors
    /// [`DescentError`] for failures of the machine, of the assembly of the Hessian or of the setup of the
    /// preconditioner. A direction that cannot be used is not an error but a [`Proposal::Refused`].
    fn propose(&mut self, f: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError>;

    /// Allocates vectors for steps from x, and undoes the fallbacks of the last descent. A descent calls this
    /// function before its first step.
    ///
    /// # Errors
    /// [`DescentError`] for parameters outside their range, a preconditioner of another size, and failed
    /// allocations.
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        let _ = x;
        Ok(())
    }

    /// Records that the step s = α d was taken along the last proposed d, and that it changed the gradient by
    /// y.
    fn learn(&mut self, s: &V, y: &V, alpha: V::Real) {
        let _ = (s, y, alpha);
    }

    /// Records that another direction took the step s, which changed the gradient by y.
    ///
    /// Data about the last proposal of this direction are then invalid. The default drops all data.
    fn learn_from_other(&mut self, s: &V, y: &V) {
        let _ = (s, y);
        self.forget();
    }

    /// Drops all data of earlier steps, because the objective has changed.
    fn forget(&mut self) {}

    /// Requests a safer direction for the next proposal at this x; returns false if none exists. After 32
    /// failures at the same x the driver stops calling this function.
    fn fall_back(&mut self) -> bool {
        false
    }

    /// The number of iterations of all linear solves so far, which never decreases.
    fn inner_iterations(&self) -> usize {
        0
    }

    /// Rebuilds the preconditioner from the curvature at x; returns false if it does not depend on x.
    ///
    /// # Errors
    /// As [`propose`](Self::propose). After an error the old preconditioner is still in use.
    fn refresh(&mut self, f: &mut F, x: &V) -> Result<bool, DescentError> {
        let _ = (f, x);
        Ok(false)
    }
}

impl<V: Vector, F: ?Sized, D: Direction<V, F> + ?Sized> Direction<V, F> for Box<D> {
    fn propose(&mut self, f: &mut F, x: &V, g: &V, d: &mut V) -> Result<Proposal<V::Real>, DescentError> {
        (**self).propose(f, x, g, d)
    }
    fn prepare(&mut self, x: &V) -> Result<(), DescentError> {
        (**self).prepare(x)
    }
    fn learn(&mut self, s: &V, y: &V, alpha: V::Real) {
        (**self).learn(s, y, alpha);
    }
    fn learn_from_other(&mut self, s: &V, y: &V) {
        (**self).learn_from_other(s, y);
    }
    fn forget(&mut self) {
        (**self).forget();
    }
    fn fall_back(&mut self) -> bool {
        (**self).fall_back()
    }
    fn inner_iterations(&self) -> usize {
        (**self).inner_iterations()
    }
    fn refresh(&mut self, f: &mut F, x: &V) -> Result<bool, DescentError> {
        (**self).refresh(f, x)
    }
}

/// Returns the first step along a gradient of unknown scale, which moves x by the smaller of 1 and ‖g‖.
pub(crate) fn cautious<V: Vector>(g: &V) -> V::Real {
    g.norm().max(V::Real::from_f64(1.0)).recip()
}

/// Returns an error if the size of a preconditioner differs from the size of x.
pub(crate) fn fits<V: Vector>(inverse: &(impl Preconditioner<V> + ?Sized), x: &V) -> Result<(), Error> {
    let (expected, found) = (x.size(), inverse.size().unwrap_or(x.size()));
    let what = "the preconditioner of a direction";
    if found == expected { Ok(()) } else { Err(Error::Shape { what, expected, found }) }
}

/// Returns N vectors like x. They are allocated at the first step; if the size or the layout changes, they become zero
/// vectors in the memory that they have.
pub(crate) fn vectors<'a, V: Vector, const N: usize>(
    kept: &'a mut Vec<V>,
    x: &V,
) -> Result<&'a mut [V; N], Error> {
    vectors_like(kept, N, x)?;
    Ok(kept.first_chunk_mut().expect("N vectors were made"))
}

/// Returns −1 as a scalar of the device of v.
pub(crate) fn minus<V: Vector>(v: &V) -> V::Scalar {
    v.scalar(-V::Real::from_f64(1.0))
}
