//! The interface of a smoother.

use coarsen_core::{Error, LinearOperator, Preconditioner, Real};
use coarsen_sparse::Bsr;

use crate::{Backend, DenseBlocks, NumericPlace, SetupError};

/// A smoother of A x = b for one level of a hierarchy: x ← x + N (b − A x) before the coarse correction, x ←
/// x + Nᵀ (b − A x) after it.
///
/// The cycle is symmetric because Nᵀ is applied after the correction. It is positive definite if N converges
/// in the energy norm (Tamstorf, Jones, McCormick 2015, §7). Gauss-Seidel sweeps forward before the
/// correction and backward after it. Polynomials in A are their own adjoints. A smoother is also a
/// [`Preconditioner`]: it is then used alone, from a zero guess.
///
/// *Implement* the six required methods; `crates/relax/src/damped_jacobi.rs` is an example. The provided
/// methods are optional: they save a pass over A, or give data to the coarsening. A hierarchy stores a
/// `Box<dyn Smoother<T, B>>`.
///
/// An update has two phases, so that either all levels change or none: [`prepare`](Self::prepare) makes every
/// check, [`commit`](Self::commit) replaces the numbers in use. Both receive the same matrix, with the
/// pattern and block size of the build. Until `commit` the smoother gives the same results as before, bit for
/// bit.
pub trait Smoother<T: Real, B: Backend>: Preconditioner<B::Vector> + Send {
    /// Returns A, with which the cycle computes residuals.
    fn operator(&self) -> &dyn LinearOperator<B::Vector>;

    /// Computes x = N b: one step from x = 0. The old x is not read.
    fn pre_smooth(&mut self, b: &B::Vector, x: &mut B::Vector);

    /// Computes x ← x + N (b − A x): one step from the given x.
    fn smooth(&mut self, b: &B::Vector, x: &mut B::Vector);

    /// Computes and checks everything that depends on the new A. The numbers in use stay unchanged.
    ///
    /// # Errors
    /// The errors of the build; also if an entry of A is not finite, which a hierarchy does not check again
    /// (see [`check_storable`](crate::check_storable)). [`SetupError::NotHere`] if the smoother has no matrix.
    fn prepare(&mut self, a: &Bsr<T>) -> Result<(), SetupError>;

    /// Replaces the numbers in use by the results of [`prepare`](Self::prepare) for the same A.
    ///
    /// # Errors
    /// Only [`Error::Device`], after which the place cannot be used any more.
    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError>;

    /// Returns the bytes of the numbers on the host and on the backend, including the copy of A. Patterns may
    /// be shared and do not count.
    fn bytes(&self) -> usize;

    /// Runs [`pre_smooth`](Self::pre_smooth) and computes r = b − A x. *Override* if the residual is cheaper
    /// in the same pass.
    fn pre_smooth_residual(&mut self, b: &B::Vector, x: &mut B::Vector, r: &mut B::Vector) {
        self.pre_smooth(b, x);
        self.operator().residual(b, x, r);
    }

    /// Computes x ← x + Nᵀ (b − A x), after the coarse correction. *Override* if N is not its own adjoint.
    fn post_smooth(&mut self, b: &B::Vector, x: &mut B::Vector) {
        self.smooth(b, x);
    }

    /// Returns A, if it is stored as a matrix of the place.
    fn matrix(&self) -> Option<&B::Matrix> {
        None
    }

    /// Returns by-products of the setup that a coarsening can use.
    fn facts(&self) -> SmootherFacts<'_, T> {
        SmootherFacts::default()
    }

    /// Updates from a matrix on the backend: `fill` writes its values into the smoother's copy of A, and the
    /// smoother computes its other numbers on the backend.
    ///
    /// Symmetry is not checked: the kind of the last host matrix is kept, and the caller ensures that it
    /// holds for the new values.
    ///
    /// # Errors
    /// The errors of the build, and [`SetupError::NotHere`] if the smoother can only be updated on the host.
    /// After an error the smoother must be updated again before use.
    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericPlace,
    {
        let _ = fill;
        Err(SetupError::NotHere { method: "this smoother" })
    }
}

/// By-products of a smoother's setup, for the matrix of its build or of its last
/// [`prepare`](Smoother::prepare).
pub struct SmootherFacts<'a, T> {
    /// An upper bound of ρ(D⁻¹A), where D is the block diagonal of A.
    pub radius: Option<f64>,
    /// D⁻¹.
    pub inverses: Option<&'a DenseBlocks<T>>,
    /// The set of each node, numbered from 0, for smoothers that solve sets of coupled nodes exactly;
    /// `u32::MAX` for nodes in no set.
    pub sets: Option<&'a [u32]>,
    /// The largest absolute value of A up to round-off, if the smoother has found, or was told, that A is
    /// symmetric to round-off.
    pub largest: Option<T>,
}

impl<T> Default for SmootherFacts<'_, T> {
    /// Returns facts whose fields are all `None`.
    fn default() -> Self {
        Self { radius: None, inverses: None, sets: None, largest: None }
    }
}
