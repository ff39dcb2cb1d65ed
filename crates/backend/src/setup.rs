//! Builds of preconditioners from parameters, and updates.

use coarsen_core::{Identity, Preconditioner, Real, Vector};
use coarsen_sparse::System;

use crate::{Backend, Reused, SetupError};

/// A plain struct of parameters that turns a system into a preconditioner on a backend.
///
/// Setup runs on the host, in the precision of the matrix, and rounds once when it copies its results to
/// `backend`.
///
/// The parameters of this library also have an inherent `build`, and what they build an inherent `update` and `patch`: only
/// code that is generic over the method imports this trait and [`Update`].
pub trait Setup<T: Real, B: Backend> {
    /// The preconditioner that is built.
    type Built: Preconditioner<B::Vector> + Update<T>;

    /// Builds the preconditioner of a system.
    ///
    /// # Errors
    /// [`SetupError`], with the row or node at fault.
    fn build_from(&self, system: System<'_, T>, backend: &B) -> Result<Self::Built, SetupError>;

    /// Builds the preconditioner of a matrix, or of anything else that converts into a [`System`].
    ///
    /// # Errors
    /// As [`build_from`](Self::build_from).
    fn build<'a>(&self, system: impl Into<System<'a, T>>, backend: &B) -> Result<Self::Built, SetupError>
    where
        Self: Sized,
        T: 'a,
    {
        self.build_from(system.into(), backend)
    }
}

/// Updates of an object whose system changes.
pub trait Update<T: Real> {
    /// Updates to new values, and checks whether the structure is still the same.
    ///
    /// Every check that can fail runs before the first write: after an error the old state can still be used.
    /// Unchanged values change no bit. Another pattern causes a build. It uses the positions and the near-kernel of the
    /// last build where `system` has none and the nodes are as many; a method that prints a table says so there.
    ///
    /// # Errors
    /// The errors of the build.
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError>;

    /// Updates to new values of some rows: `touched` lists, in increasing order, the block rows whose entries
    /// or contact pairs changed since the last build, update or patch. Both nodes of a changed pair must be
    /// listed.
    ///
    /// Rows that are not listed are assumed unchanged and not checked. If such a row has changed, recomputed
    /// parts use its new values and other parts its old values. This is acceptable for the rotating stiffness
    /// of lasting pairs, at the cost of more iterations. NaN in such a row appears in the residual of the
    /// next solve. If an elastic matrix drifts as a whole, pass the matrix of the last build or update.
    ///
    /// Methods that consist of separate parts recompute only the affected parts; other methods update as a
    /// whole.
    ///
    /// # Errors
    /// The errors of the build.
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        let _ = touched;
        self.update_from(system)
    }

    /// Updates to new values of a matrix, or of anything else that converts into a [`System`].
    ///
    /// # Errors
    /// Those of [`update_from`](Self::update_from).
    fn update<'a>(&mut self, system: impl Into<System<'a, T>>) -> Result<Reused, SetupError>
    where
        Self: Sized,
        T: 'a,
    {
        self.update_from(system.into())
    }

    /// Updates to new values of some block rows of anything that converts into a [`System`].
    ///
    /// # Errors
    /// Those of [`patch_from`](Self::patch_from).
    fn patch<'a>(&mut self, system: impl Into<System<'a, T>>, touched: &[u32]) -> Result<Reused, SetupError>
    where
        Self: Sized,
        T: 'a,
    {
        self.patch_from(system.into(), touched)
    }
}

/// Updates the object in the box, which may be chosen at run time.
impl<T: Real, U: Update<T> + ?Sized> Update<T> for Box<U> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        (**self).update_from(system)
    }
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        (**self).patch_from(system, touched)
    }
}

/// Updates the borrowed object.
impl<T: Real, U: Update<T> + ?Sized> Update<T> for &mut U {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        (**self).update_from(system)
    }
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        (**self).patch_from(system, touched)
    }
}

/// Does nothing: the identity does not depend on the system.
impl<T: Real> Update<T> for Identity {
    fn update_from(&mut self, _: System<'_, T>) -> Result<Reused, SetupError> {
        Ok(Reused::Structure)
    }
}

/// A preconditioner that can be updated when its system changes. A program that chooses the method at run
/// time holds a `Box<dyn Prepared<V, T>>`. The box and a `&mut` to it implement the trait too.
///
/// ```
/// use coarsen_backend::{Prepared, Update};
/// use coarsen_core::{Identity, Preconditioner};
/// use coarsen_sparse::Bsr;
/// fn refresh(mut m: impl Prepared<Vec<f64>, f64>, a: &Bsr<f64>) -> Result<(), coarsen_backend::SetupError> {
///     m.update(a)?;
///     m.apply(&vec![1.0; 2], &mut vec![0.0; 2]);
///     Ok(())
/// }
/// let (a, mut m): (_, Box<dyn Prepared<Vec<f64>, f64> + Send>) = (Bsr::identity(2, 1)?, Box::new(Identity));
/// m.update(&a)?;
/// refresh(&mut m, &a)?;
/// refresh(m, &a)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Prepared<V: Vector, T: Real>: Preconditioner<V> + Update<T> {}

impl<V: Vector, T: Real, P: Preconditioner<V> + Update<T>> Prepared<V, T> for P {}

/// `build` of a type with [`Setup`], so that a program imports no trait.
#[doc(hidden)]
#[macro_export]
macro_rules! inherent_build {
    ($method:ident $(<$($p:ident),+>)?) => {
        impl$(<$($p),+>)? $method$(<$($p),+>)? {
            /// Builds the preconditioner of a matrix, or of anything else that converts into a [`System`], on a backend:
            /// [`Setup::build_from`] without an import of the trait.
            ///
            /// # Errors
            /// As [`Setup::build_from`].
            pub fn build<'a, T: coarsen_core::Real + 'a, B: $crate::Backend>(
                &self,
                system: impl Into<coarsen_sparse::System<'a, T>>,
                backend: &B,
            ) -> Result<<Self as $crate::Setup<T, B>>::Built, $crate::SetupError>
            where
                Self: $crate::Setup<T, B>,
            {
                <Self as $crate::Setup<T, B>>::build_from(self, system.into(), backend)
            }
        }
    };
}

/// `update` and `patch` of a type with [`Update`], so that a program imports no trait.
#[doc(hidden)]
#[macro_export]
macro_rules! inherent_update {
    ($built:ident $(<$($life:lifetime,)? $($p:ident $(: $bound:path)?),+>)?) => {
        impl$(<$($life,)? $($p $(: $bound)?),+>)? $built$(<$($life,)? $($p),+>)? {
            /// Updates to new values of a matrix, or of anything else that converts into a [`System`]:
            /// [`Update::update_from`] without an import of the trait.
            ///
            /// # Errors
            /// As [`Update::update_from`].
            pub fn update<'s, N: coarsen_core::Real + 's>(
                &mut self,
                system: impl Into<coarsen_sparse::System<'s, N>>,
            ) -> Result<$crate::Reused, $crate::SetupError>
            where
                Self: $crate::Update<N>,
            {
                <Self as $crate::Update<N>>::update_from(self, system.into())
            }

            /// Updates to new values of the block rows `touched`, in increasing order: [`Update::patch_from`] without an
            /// import of the trait.
            ///
            /// # Errors
            /// As [`Update::patch_from`].
            pub fn patch<'s, N: coarsen_core::Real + 's>(
                &mut self,
                system: impl Into<coarsen_sparse::System<'s, N>>,
                touched: &[u32],
            ) -> Result<$crate::Reused, $crate::SetupError>
            where
                Self: $crate::Update<N>,
            {
                <Self as $crate::Update<N>>::patch_from(self, system.into(), touched)
            }
        }
    };
}
