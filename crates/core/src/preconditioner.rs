//! Preconditioners: z = M⁻¹ r.

use crate::preconditioner_kind::PreconditionerKind;
use crate::{Dot, LinearOperator, Vector};

/// An approximation M⁻¹ of A⁻¹.
///
/// `apply` takes `&mut self`, so that a preconditioner can own scratch vectors and never allocates. A
/// preconditioner is not a [`LinearOperator`](crate::LinearOperator), so that A cannot be passed for M by
/// mistake.
///
/// ```
/// use coarsen_core::{Identity, Preconditioner};
/// let mut z = vec![0.0; 2];
/// Identity.apply(&vec![1.0, 2.0], &mut z);
/// assert_eq!(z, [1.0, 2.0]);
/// ```
///
/// Each implementation must define `kind` and `size`:
///
/// ```compile_fail,E0046
/// # use coarsen_core::Preconditioner;
/// struct Halves;
/// impl Preconditioner<Vec<f64>> for Halves {
///     fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
///         z.iter_mut().zip(r).for_each(|(z, r)| *z = r / 2.0);
///     }
///     fn size(&self) -> Option<usize> {
///         None
///     }
/// } // `kind` is missing
/// ```
///
/// ```compile_fail,E0046
/// # use coarsen_core::{PreconditionerKind, Preconditioner};
/// # struct Halves;
/// # impl Preconditioner<Vec<f64>> for Halves {
/// #     fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
/// #         z.iter_mut().zip(r).for_each(|(z, r)| *z = r / 2.0);
/// #     }
///     fn kind(&self) -> PreconditionerKind {
///         PreconditionerKind::Symmetric
///     }
/// } // `size` is missing
/// ```
pub trait Preconditioner<V: Vector> {
    /// Computes z = M⁻¹ r and overwrites z. *Panics* on a wrong length.
    fn apply(&mut self, r: &V, z: &mut V);

    /// z = M⁻¹ r; returns r·z and Σ|rᵢzᵢ|. The default makes a second pass; cheap preconditioners override
    /// it.
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        self.apply(r, z);
        r.dot_magnitude(z)
    }

    /// zⱼ = M⁻¹ rⱼ for all j, to round-off as separate applications. *Panics* if there are not as many z as r.
    ///
    /// The default applies M to one vector after the other; a preconditioner may override it with one pass over
    /// its matrices for several vectors.
    fn apply_many(&mut self, r: &[V], z: &mut [V]) {
        assert_eq!(r.len(), z.len(), "apply_many: vectors");
        r.iter().zip(z).for_each(|(r, z)| self.apply(r, z));
    }

    /// The matrix of the last build or update in fewer digits, where the preconditioner keeps one and products with it take less
    /// time: for a [`MixedPrecision`](crate::MixedPrecision). It shares the memory of the preconditioner until the next update.
    /// The default is `None`.
    fn rounded(&self) -> Option<Box<dyn LinearOperator<V>>> {
        None
    }

    /// The properties of this map that methods rely on. There is no default, so that an implementation cannot
    /// claim a property by accident.
    fn kind(&self) -> PreconditionerKind;

    /// The length of the vectors, which solvers check before the first iteration; `None` if the
    /// preconditioner accepts vectors of any length.
    fn size(&self) -> Option<usize>;
}

/// M = I: no preconditioning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<V: Vector> Preconditioner<V> for Identity {
    fn apply(&mut self, r: &V, z: &mut V) {
        z.copy(r);
    }
    fn kind(&self) -> PreconditionerKind {
        PreconditionerKind::Symmetric
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

/// A preconditioner that the caller keeps may be passed by reference, and one that is chosen at run time in a box.
macro_rules! forward {
    ($pointer:ty) => {
        impl<V: Vector, P: Preconditioner<V> + ?Sized> Preconditioner<V> for $pointer {
            fn apply(&mut self, r: &V, z: &mut V) {
                (**self).apply(r, z);
            }
            fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
                (**self).apply_dot(r, z)
            }
            fn apply_many(&mut self, r: &[V], z: &mut [V]) {
                (**self).apply_many(r, z);
            }
            fn rounded(&self) -> Option<Box<dyn LinearOperator<V>>> {
                (**self).rounded()
            }
            fn kind(&self) -> PreconditionerKind {
                (**self).kind()
            }
            fn size(&self) -> Option<usize> {
                (**self).size()
            }
        }
    };
}
forward!(&mut P);
forward!(Box<P>);
