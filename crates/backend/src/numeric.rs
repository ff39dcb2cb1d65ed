//! What follows from a matrix where that matrix is.

use coarsen_core::{Error, Real};
use coarsen_sparse::Bsr;

use crate::{Backend, SetupError};

/// A place that computes the numeric phase of a setup itself: the matrix changes there, and nothing but small numbers and the coarsest matrix travels.
///
/// Structure stays with the host, which made it. *Implement* where moving values costs more than computing with them: on a device.
pub trait NumericPlace: Backend {
    /// Which blocks of A and P each block of Pᵀ A P is the sum of, for one pattern of each.
    type Galerkin;

    /// The plan for the patterns of A, P and A_c = Pᵀ A P; `dead` are scalar unknowns of A_c without a basis function, sorted.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Pattern`] where they do not belong together, and those of a device.
    fn galerkin(&self, matrices: [&Self::Matrix; 3], dead: &[u32]) -> Result<Self::Galerkin, Error>;

    /// A_c = Pᵀ A P for the matrices that the plan was made for; dead unknowns get a diagonal of the size of their node's.
    ///
    /// # Errors
    /// [`Error::Device`] when the place has failed.
    fn product(
        &self,
        plan: &Self::Galerkin,
        a: &Self::Matrix,
        p: &Self::Matrix,
        coarse: &mut Self::Matrix,
    ) -> Result<(), Error>;

    /// Values of one matrix for another of the same pattern.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for another matrix, [`Error::Device`] when the place has failed.
    fn copy_values(&self, from: &Self::Matrix, to: &mut Self::Matrix) -> Result<(), Error>;

    /// Values of a matrix for one of the host of the same pattern.
    ///
    /// # Errors
    /// As [`copy_values`](Self::copy_values).
    fn read_values<T: Real>(&self, from: &Self::Matrix, to: &mut Bsr<T>) -> Result<(), Error>;

    /// D = the inverses of the diagonal blocks of A; returns max Σⱼ |aᵢⱼ| / |aᵢᵢ| over the rows of a matrix of scalars, a bound of its ρ(D⁻¹A).
    ///
    /// # Errors
    /// As [`DenseBlocks::invert_diagonal`](crate::DenseBlocks::invert_diagonal) and
    /// [`check_positive`](crate::DenseBlocks::check_positive); D may hold new values then.
    fn invert_diagonal(
        &self,
        a: &Self::Matrix,
        d: &mut Self::Blocks,
        method: &'static str,
    ) -> Result<Option<f64>, SetupError>;
}
