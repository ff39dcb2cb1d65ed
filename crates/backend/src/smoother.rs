//! The interface of a smoother.

use coarsen_core::{Error, LinearOperator, PreconditionerKind, Real, Vector};
use coarsen_sparse::Bsr;
use num_traits::zero;

use crate::{Backend, Cpu, DenseBlocks, NumericBackend, Reused, SetupError};

/// A smoother of A x = b for one level of a hierarchy: x ← x + N (b − A x) before the coarse correction, x ←
/// x + Nᵀ (b − A x) after it.
///
/// *Implement* [`smooth`](Self::smooth) and [`kind`](Self::kind). That is a complete smoother: the level stores A, an update
/// builds the smoother again with its parameters, and N is taken to be its own adjoint. Every other method improves on its
/// default: it saves a pass over A or the memory of a copy, updates in place, or gives data to the coarsening.
///
/// The cycle is symmetric because Nᵀ is applied after the correction. It is positive definite if N converges
/// in the energy norm (Tamstorf, Jones, McCormick 2015, §7). Gauss-Seidel sweeps forward before the
/// correction and backward after it. Polynomials in A are their own adjoints.
///
/// ```
/// use coarsen_backend::Smoother;
/// use coarsen_core::{LinearOperator, PreconditionerKind};
/// struct Richardson(Vec<f64>);
/// impl Smoother for Richardson {
///     fn smooth(&mut self, a: &dyn LinearOperator<Vec<f64>>, b: &Vec<f64>, x: &mut Vec<f64>) {
///         a.residual(b, x, &mut self.0);
///         x.iter_mut().zip(&self.0).for_each(|(x, r)| *x += 0.1 * r);
///     }
///     fn kind(&self) -> PreconditionerKind {
///         PreconditionerKind::Symmetric
///     }
/// }
/// ```
///
/// An update has two phases, so that either all levels change or none: [`prepare`](Self::prepare) makes every
/// check, [`commit`](Self::commit) replaces the numbers in use. Both receive the same matrix, with the
/// pattern and block size of the build. Until `commit` the smoother gives the same results as before, bit for
/// bit.
pub trait Smoother<B: Backend = Cpu, T: Real = f64>: Send {
    /// Computes x ← x + N (b − A x): one step from the given x. `a` is A, except for a smoother that stores A itself
    /// ([`operator`](Self::operator)), which ignores `a`.
    fn smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector);

    /// Returns the kind of the map from b to x = N b.
    fn kind(&self) -> PreconditionerKind;

    /// Computes x = N b: one step from x = 0. The old x is not read. *Override* if A need not be read.
    fn pre_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        x.fill(zero());
        self.smooth(a, b, x);
    }

    /// Runs [`pre_smooth`](Self::pre_smooth) and computes r = b − A x. *Override* if the residual is cheaper
    /// in the same pass.
    fn pre_smooth_residual(
        &mut self,
        a: &dyn LinearOperator<B::Vector>,
        b: &B::Vector,
        x: &mut B::Vector,
        r: &mut B::Vector,
    ) {
        self.pre_smooth(a, b, x);
        self.operator().unwrap_or(a).residual(b, x, r);
    }

    /// Computes x ← x + Nᵀ (b − A x), after the coarse correction. *Override* if N is not its own adjoint.
    fn post_smooth(&mut self, a: &dyn LinearOperator<B::Vector>, b: &B::Vector, x: &mut B::Vector) {
        self.smooth(a, b, x);
    }

    /// Whether all steps accept vectors that [interleave columns](Backend::COLUMNS) beside vectors of one column. *Override*
    /// for a smoother that only uses operations of its backend that accept them.
    fn interleaves(&self) -> bool {
        false
    }

    /// Returns A, if the smoother stores it as a matrix of the backend.
    fn matrix(&self) -> Option<&B::Matrix> {
        None
    }

    /// Returns A, if the smoother stores it; the level then stores no copy. *Override* for A in another form than
    /// [`matrix`](Self::matrix).
    fn operator(&self) -> Option<&dyn LinearOperator<B::Vector>> {
        self.matrix().map(|a| a as &dyn LinearOperator<B::Vector>)
    }

    /// Computes and checks everything that depends on the new A. The numbers in use stay unchanged. Returns
    /// [`Reused::Nothing`], as the default does, if the smoother must be built again; the level then replaces it, and calls
    /// no [`commit`](Self::commit).
    ///
    /// # Errors
    /// The errors of the build; also if an entry of A is not finite, which a hierarchy does not check again
    /// (see [`check_storable`](crate::check_storable)). [`SetupError::HostOnly`] if the smoother has no matrix.
    fn prepare(&mut self, a: &Bsr<T>) -> Result<Reused, SetupError> {
        let _ = a;
        Ok(Reused::Nothing)
    }

    /// Replaces the numbers in use by the results of [`prepare`](Self::prepare) for the same A.
    ///
    /// # Errors
    /// Only [`Error::Device`], after which the backend cannot be used any more.
    fn commit(&mut self, a: &Bsr<T>) -> Result<(), SetupError> {
        let _ = a;
        Ok(())
    }

    /// Returns by-products of the setup that a coarsening can use.
    fn facts(&self) -> SmootherFacts<'_, T> {
        SmootherFacts::default()
    }

    /// Returns the bytes of the numbers on the host and on the backend, including a copy of A. Patterns may
    /// be shared and do not count.
    fn bytes(&self) -> usize {
        0
    }

    /// Updates from a matrix on the backend: `fill` writes its values into the smoother's copy of A, and the
    /// smoother computes its other numbers on the backend.
    ///
    /// Symmetry is not checked: the kind of the last host matrix is kept, and the caller ensures that it
    /// holds for the new values.
    ///
    /// # Errors
    /// The errors of the build, and [`SetupError::HostOnly`] if the smoother can only be updated on the host.
    /// After an error the smoother must be updated again before use.
    fn update_on_device(
        &mut self,
        fill: &mut dyn FnMut(&mut B::Matrix) -> Result<(), Error>,
    ) -> Result<(), SetupError>
    where
        B: NumericBackend,
    {
        let _ = fill;
        Err(SetupError::HostOnly { method: "this smoother" })
    }
}

/// Stands for A in calls of a smoother that [stores](Smoother::operator) A itself. *Panics* if it is applied.
pub struct StoredBySmoother;

impl<V: Vector> LinearOperator<V> for StoredBySmoother {
    fn shape(&self) -> (usize, usize) {
        (0, 0)
    }

    fn apply(&self, _: &V, _: &mut V) {
        panic!("a smoother that stores A applied the A that it was given");
    }
}

/// By-products of a smoother's setup, for the matrix of its build or of its last
/// [`prepare`](Smoother::prepare).
pub struct SmootherFacts<'a, T> {
    /// An upper bound of ρ(D⁻¹A), where D is the block diagonal of A.
    pub radius: Option<f64>,
    /// D⁻¹, of the diagonal of A, or of A with a term added.
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
