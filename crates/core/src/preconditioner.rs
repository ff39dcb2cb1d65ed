//! Preconditioners: z = M⁻¹ r.

use crate::{Dot, Vector};

/// Properties of a preconditioner that a Krylov method may rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The same symmetric positive (semi-)definite linear map at every application: required by `Cg` and
    /// `Minres`.
    Symmetric,
    /// The same linear map at every application: required by `Gmres` and `BiCgStab`.
    Linear,
    /// Anything else (K-cycles, inner iterations): only `FlexibleCg`, flexible `Gmres` and `Lbfgs` accept it.
    Variable,
}

impl Class {
    /// The end of an error message if the class `needed` is required: the property of a preconditioner of
    /// this class, and methods that accept it.
    pub(crate) fn instead_of(self, needed: Class) -> &'static str {
        match (self, needed) {
            (Self::Variable, Self::Symmetric) => {
                "may change from one application to the next; take FlexibleCg for symmetric positive definite A or flexible Gmres for any A, or a fixed preconditioner"
            }
            (Self::Variable, _) => {
                "may change from one application to the next; take Gmres with its field flexible set, or a fixed preconditioner"
            }
            (Self::Linear, Self::Symmetric) => {
                "is not known to be symmetric positive definite (an unsymmetric or indefinite matrix, or one-sided sweeps); take Gmres or BiCgStab with it, or a symmetric preconditioner where A is symmetric positive definite"
            }
            _ => "is one",
        }
    }
}

/// An approximation M⁻¹ of A⁻¹.
///
/// `apply` takes `&mut self` because the object owns its scratch vectors: no allocation, no interior
/// mutability. The trait is not [`LinearOperator`](crate::LinearOperator), so that A cannot be passed for M.
///
/// ```
/// use coarsen_core::{Identity, Preconditioner};
/// let mut z = vec![0.0; 2];
/// Identity.apply(&vec![1.0, 2.0], &mut z);
/// assert_eq!(z, [1.0, 2.0]);
/// ```
///
/// Each implementation must give its class and its size:
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
/// } // no class
/// ```
///
/// ```compile_fail,E0046
/// # use coarsen_core::{Class, Preconditioner};
/// # struct Halves;
/// # impl Preconditioner<Vec<f64>> for Halves {
/// #     fn apply(&mut self, r: &Vec<f64>, z: &mut Vec<f64>) {
/// #         z.iter_mut().zip(r).for_each(|(z, r)| *z = r / 2.0);
/// #     }
///     fn class(&self) -> Class {
///         Class::Symmetric
///     }
/// } // no size
/// ```
pub trait Preconditioner<V: Vector> {
    /// z = M⁻¹ r, overwriting z. *Panics* on a wrong length.
    fn apply(&mut self, r: &V, z: &mut V);

    /// z = M⁻¹ r, and r·z with Σ|rᵢzᵢ|. The default makes a second pass; cheap preconditioners override it.
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        self.apply(r, z);
        r.dot_magnitude(z)
    }

    /// The properties of this map that methods rely on. There is no default, so that no implementation claims
    /// a property by accident.
    fn class(&self) -> Class;

    /// The length of its vectors, which solvers check before the first iteration; `None` for a map of vectors
    /// of any length.
    fn size(&self) -> Option<usize>;
}

/// M = I: no preconditioning.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl<V: Vector> Preconditioner<V> for Identity {
    fn apply(&mut self, r: &V, z: &mut V) {
        z.copy(r);
    }
    fn class(&self) -> Class {
        Class::Symmetric
    }
    fn size(&self) -> Option<usize> {
        None
    }
}

/// A preconditioner that the caller keeps may be passed by reference.
impl<V: Vector, P: Preconditioner<V> + ?Sized> Preconditioner<V> for &mut P {
    fn apply(&mut self, r: &V, z: &mut V) {
        (**self).apply(r, z);
    }
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        (**self).apply_dot(r, z)
    }
    fn class(&self) -> Class {
        (**self).class()
    }
    fn size(&self) -> Option<usize> {
        (**self).size()
    }
}

impl<V: Vector, P: Preconditioner<V> + ?Sized> Preconditioner<V> for Box<P> {
    fn apply(&mut self, r: &V, z: &mut V) {
        (**self).apply(r, z);
    }
    fn apply_dot(&mut self, r: &V, z: &mut V) -> Dot<V::Scalar> {
        (**self).apply_dot(r, z)
    }
    fn class(&self) -> Class {
        (**self).class()
    }
    fn size(&self) -> Option<usize> {
        (**self).size()
    }
}
