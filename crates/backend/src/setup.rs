//! Recipes and what they build.

use coarsen_core::{Identity, Preconditioner, Real, Vector};
use coarsen_sparse::System;

use crate::{Backend, SetupError};

/// A recipe: a plain struct of parameters that turns a system into a preconditioner at a place.
///
/// Setup runs on the host, in the scalar of the matrix, and rounds once when it moves its results to `on`.
///
/// *Errors* name the row or node; see [`SetupError`].
pub trait Setup<T: Real, B: Backend> {
    /// What is built.
    type Built: Preconditioner<B::Vector> + Update<T>;

    /// Builds from all that is known of a system.
    fn build_from(&self, system: System<'_, T>, on: &B) -> Result<Self::Built, SetupError>;

    /// Builds from a matrix, or from whatever else converts into a [`System`].
    fn build<'a>(&self, system: impl Into<System<'a, T>>, on: &B) -> Result<Self::Built, SetupError>
    where
        Self: Sized,
        T: 'a,
    {
        self.build_from(system.into(), on)
    }
}

/// Following a system that changes.
pub trait Update<T: Real> {
    /// Takes new values, and finds out itself whether the structure is still the same.
    ///
    /// Every check that can fail runs before the first write: after an error the old state is still usable.
    /// With unchanged values no bit changes.
    ///
    /// # Errors
    /// As the build.
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError>;

    /// Takes new values of some rows: `touched` names, in increasing order, the block rows whose entries or
    /// contact pairs changed since the last build, update or patch. Both ends of a pair are touched.
    ///
    /// Rows that are not named are taken to be as they were, and not checked. Where they are not, parts that
    /// are redone see them as they are and others as they were: the stiffness of pairs that last may turn so,
    /// at the price of iterations, and NaN shows in the residual of the next solve. Of an elastic matrix that
    /// drifts as a whole, give the one of the last build or update.
    ///
    /// Methods that keep parts apart redo those parts alone; the others update as a whole.
    ///
    /// # Errors
    /// As the build.
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        let _ = touched;
        self.update_from(system)
    }
}

/// [`Update::update_from`] for whatever converts into a [`System`].
pub trait UpdateExt<T: Real>: Update<T> {
    /// Takes new values of a matrix, or of whatever else converts into a [`System`].
    ///
    /// # Errors
    /// As the build.
    fn update<'a>(&mut self, system: impl Into<System<'a, T>>) -> Result<Reused, SetupError>
    where
        T: 'a,
    {
        self.update_from(system.into())
    }

    /// Takes new values of some block rows; see [`Update::patch_from`].
    ///
    /// # Errors
    /// As the build.
    fn patch<'a>(&mut self, system: impl Into<System<'a, T>>, touched: &[u32]) -> Result<Reused, SetupError>
    where
        T: 'a,
    {
        self.patch_from(system.into(), touched)
    }
}

impl<T: Real, U: Update<T> + ?Sized> UpdateExt<T> for U {}

/// What is chosen at run time follows as what it is.
impl<T: Real, U: Update<T> + ?Sized> Update<T> for Box<U> {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        (**self).update_from(system)
    }
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        (**self).patch_from(system, touched)
    }
}

/// What somebody else keeps may be updated by whoever borrows it.
impl<T: Real, U: Update<T> + ?Sized> Update<T> for &mut U {
    fn update_from(&mut self, system: System<'_, T>) -> Result<Reused, SetupError> {
        (**self).update_from(system)
    }
    fn patch_from(&mut self, system: System<'_, T>, touched: &[u32]) -> Result<Reused, SetupError> {
        (**self).patch_from(system, touched)
    }
}

/// No preconditioning follows every system.
impl<T: Real> Update<T> for Identity {
    fn update_from(&mut self, _: System<'_, T>) -> Result<Reused, SetupError> {
        Ok(Reused::Structure)
    }
}

/// How much of a setup an update could keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reused {
    /// The structure: only numbers were computed.
    Structure,
    /// All but some parts.
    Rest {
        /// Parts computed anew.
        redone: usize,
        /// Parts there are.
        of: usize,
    },
    /// Nothing: the pattern is another one, and everything was built anew.
    Nothing,
}

/// A preconditioner that can follow its system: what a program holds when it does not know the method, as
/// `Box<dyn Prepared<V, T>>`, which is one itself, and so is a `&mut` to one.
///
/// ```
/// use coarsen_backend::{Prepared, UpdateExt};
/// use coarsen_core::{Identity, Preconditioner};
/// use coarsen_sparse::Bsr;
/// fn follow(mut m: impl Prepared<Vec<f64>, f64>, a: &Bsr<f64>) -> Result<(), coarsen_backend::SetupError> {
///     m.update(a)?;
///     m.apply(&vec![1.0; 2], &mut vec![0.0; 2]);
///     Ok(())
/// }
/// let (a, mut m): (_, Box<dyn Prepared<Vec<f64>, f64> + Send>) = (Bsr::identity(2, 1)?, Box::new(Identity));
/// m.update(&a)?;
/// follow(&mut m, &a)?;
/// follow(m, &a)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Prepared<V: Vector, T: Real>: Preconditioner<V> + Update<T> {}

impl<V: Vector, T: Real, P: Preconditioner<V> + Update<T>> Prepared<V, T> for P {}
