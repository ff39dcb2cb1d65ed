//! The interface of a backend.

use std::sync::Arc;

use coarsen_core::{Error, LinearOperator, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, Prolongation, TransposePlan};

use crate::{DenseBlocks, MatrixTransfer, RowSets, SetupError, Smoother, Transfer, Transfers};

/// A backend that stores vectors, matrices and small inverses and computes with them.
///
/// A backend has two precisions: `Real` for vectors and all sums, and `Stored` for matrices and blocks, which
/// are rounded once when they are copied to the backend. A backend is a value that is cheap to clone, such as a
/// device handle. Cargo features only decide which backend types exist.
///
/// ```
/// use coarsen_backend::{Backend, Cpu};
/// use coarsen_core::{LinearOperator, Vector};
/// use coarsen_sparse::Bsr;
/// let backend = Cpu::mixed(); // f64 vectors over f32 storage
/// let a = backend.matrix(&Bsr::<f64>::identity(2, 1)?)?;
/// let x = backend.vector(&[1.0, 2.0])?;
/// let mut y = x.like()?;
/// a.apply(&x, &mut y);
/// assert_eq!(y, x);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Backend: Clone + Send + 'static {
    /// The scalars of vectors.
    type Real: Real;
    /// The scalars of matrices and blocks.
    type Stored: Real;
    /// Vectors of this backend.
    type Vector: Vector<Real = Self::Real, Scalar: Send> + Send;
    /// Matrices of this backend.
    type Matrix: Matrix<Self>;
    /// Block-diagonal inverses of this backend: small dense matrices D_k.
    type Blocks: Send;
    /// Row sets of this backend.
    type Rows: Send;

    /// The number k of columns that one vector may interleave: entry i of column c is number k i + c. Products,
    /// residuals, [`relax_into`](Matrix::relax_into), blocks and transfers then also accept vectors of k times their
    /// length, and read a matrix once for all columns. 1 if vectors have one column.
    const COLUMNS: usize = 1;

    /// Interleaves at most [`COLUMNS`](Self::COLUMNS) vectors; the columns that are missing become zero. *Panics* on a
    /// wrong length or number.
    fn interleave(columns: &[Self::Vector], to: &mut Self::Vector) {
        assert_eq!(columns.len(), 1, "interleave: vectors of one column");
        to.copy(&columns[0]);
    }

    /// Computes the vectors of [`interleave`](Self::interleave) from their result. *Panics* on a wrong length or
    /// number.
    fn separate(from: &Self::Vector, columns: &mut [Self::Vector]) {
        assert_eq!(columns.len(), 1, "separate: vectors of one column");
        columns[0].copy(from);
    }

    /// Returns the name in reports: `cpu`, `opencl`.
    fn name(&self) -> &'static str;

    /// Whether the host must synchronise to read a vector. If so, methods prefer a dense product on the backend to a
    /// solve on the host, and smoothers whose result does not depend on an order of rows.
    fn is_remote(&self) -> bool {
        false
    }

    /// Returns the transfers between host and backend since the backend was made; none on the CPU. *Use* to see what a
    /// method costs on a device, where a synchronisation takes longer than a small kernel.
    fn transfers(&self) -> Transfers {
        Transfers::default()
    }

    /// Copies host entries to a new vector.
    ///
    /// # Errors
    /// [`Error::Device`] if memory is not available.
    fn vector(&self, host: &[Self::Real]) -> Result<Self::Vector, Error>;

    /// Copies a host matrix, rounded to `Stored`.
    ///
    /// # Errors
    /// As [`vector`](Self::vector).
    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<Self::Matrix, Error>;

    /// Copies host blocks, rounded to `Stored`.
    ///
    /// # Errors
    /// As [`vector`](Self::vector).
    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<Self::Blocks, Error>;

    /// Computes z_k = a D_k r_k + b z_k for every block k; if b = 0, the old z is not read.
    fn apply_blocks(d: &Self::Blocks, a: Self::Real, r: &Self::Vector, b: Self::Real, z: &mut Self::Vector);

    /// Replaces the values of the same number and size of blocks.
    ///
    /// # Errors
    /// [`Error::Shape`] otherwise; the old values are then kept.
    fn set_blocks<T: Real>(d: &mut Self::Blocks, host: &DenseBlocks<T>) -> Result<(), Error>;

    /// Copies row sets.
    ///
    /// # Errors
    /// As [`vector`](Self::vector).
    fn rows(&self, sets: &RowSets) -> Result<Self::Rows, Error>;

    /// Copies P and Pᵀ, rounded to `Stored`; `transpose` is the transpose plan of P's pattern. The default
    /// stores two matrices.
    ///
    /// # Errors
    /// The errors of [`matrix`](Self::matrix).
    fn transfer<T: Real>(
        &self,
        p: &Prolongation<T>,
        transpose: &TransposePlan,
    ) -> Result<Box<dyn Transfer<T, Self>>, SetupError> {
        Ok(Box::new(MatrixTransfer::new(self, p, transpose)?))
    }

    /// Returns the row sets that suit this backend: a few coloured chunks on a CPU, colours of single rows on a
    /// device.
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets;

    /// Returns a Gauss-Seidel smoother specific to this backend, with one sweep per step; `None` if A is not
    /// symmetric to round-off, or if sweeps over whole rows are better.
    ///
    /// The CPU returns a smoother that stores half of A. A [`NumericBackend`] returns `None`, because it writes
    /// A itself. The caller has checked that ω is between 0 and 2. With `symmetric` the caller knows that A and later
    /// values are symmetric to round-off, and neither the build nor [`prepare`](Smoother::prepare) checks it. The smoother
    /// stores its A and is never built again. *Cost* a pass over A for all checks, two passes over the pattern and one
    /// over half of A.
    ///
    /// # Errors
    /// Those of [`matrix`](Self::matrix) and of [`DenseBlocks::inverse_diagonal`]; a value that is not finite.
    fn gauss_seidel<T: Real>(
        &self,
        a: &Bsr<T>,
        omega: f64,
        symmetric: bool,
    ) -> Result<Option<Box<dyn Smoother<Self, T>>>, SetupError> {
        let _ = (a, omega, symmetric);
        Ok(None)
    }

    /// Copies a vector to the host and synchronises; `host` must have the same length.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::Device`] if earlier work on the backend failed.
    fn read(&self, v: &Self::Vector, host: &mut [Self::Real]) -> Result<(), Error>;

    /// Copies host entries into an existing vector of the same length.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read).
    fn write(&self, host: &[Self::Real], v: &mut Self::Vector) -> Result<(), Error>;
}

/// The direction of a relaxation sweep. A forward sweep followed by a backward sweep is symmetric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SweepDirection {
    /// Sets in order, and rows in order.
    Forward,
    /// Sets and rows in reverse order.
    Backward,
}

/// A matrix of a backend.
pub trait Matrix<B: Backend>: LinearOperator<B::Vector> + Send {
    /// Computes y = a A x + b y; if b = 0, the old y is not read.
    fn apply_add(&self, a: B::Real, x: &B::Vector, b: B::Real, y: &mut B::Vector);

    /// One sweep of x_i ← x_i + ω D_i (b − A x)_i in place, over all row sets in the direction of `sweep`.
    ///
    /// Rows of one chunk use each other's new values (Gauss-Seidel). Chunks of one set are not coupled, so
    /// that the result does not depend on their order. D holds the inverses of the diagonal blocks for
    /// Gauss-Seidel. *Cost* one pass over A, b, x and D. *Panics* if A is not square or the sets belong to
    /// another pattern.
    fn relax(
        &self,
        rows: &B::Rows,
        sweep: SweepDirection,
        d: &B::Blocks,
        omega: B::Real,
        b: &B::Vector,
        x: &mut B::Vector,
    );

    /// One step of a relaxation in which all rows are updated at the same time: s ← β s + ω D (b − A x), y ←
    /// x + s. If β = 0, the old s is not read.
    ///
    /// Jacobi and SPAI-0 use β = 0; Chebyshev and heavy-ball iterations keep their last step in s. *Cost* on
    /// a CPU: one pass that reads A, D, b, x and s and writes s and y. The default implementation makes four
    /// more passes over vectors. *Panics* if A is not square or D has another size.
    #[allow(clippy::too_many_arguments)] // the symbols of the formula
    fn relax_into(
        &self,
        d: &B::Blocks,
        omega: B::Real,
        beta: B::Real,
        b: &B::Vector,
        x: &B::Vector,
        s: &mut B::Vector,
        y: &mut B::Vector,
    ) {
        self.residual(b, x, y);
        B::apply_blocks(d, omega, y, beta, s);
        y.copy(x);
        y.axpy(&s.scalar(num_traits::one()), s);
    }

    /// Replaces the values; the pattern stays the same.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another pattern, [`Error::Shape`] for another block size, [`Error::Range`] for
    /// values that storage cannot hold. The old values are then kept.
    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error>;
}

/// A backend that computes the numeric phase of a setup itself: the matrix changes on the backend, and only
/// scalars and the coarsest matrix are copied to the host.
///
/// The host computes and keeps the structure. *Implement* if copying values costs more than computing with
/// them, as on a device.
pub trait NumericBackend: Backend {
    /// The plan of a product Pᵀ A P for given patterns: the blocks of A and P that contribute to each block.
    type Galerkin;

    /// Returns the plan for the patterns of A, P and A_c = Pᵀ A P; `without_basis` are scalar unknowns of A_c without
    /// a basis function, sorted.
    ///
    /// # Errors
    /// [`Error::Shape`] and [`Error::Pattern`] if the matrices do not match, and [`Error::Device`].
    fn galerkin(&self, matrices: [&Self::Matrix; 3], without_basis: &[u32]) -> Result<Self::Galerkin, Error>;

    /// Computes A_c = Pᵀ A P for the matrices of the plan. The diagonal entry of an unknown without a basis function becomes the
    /// largest diagonal entry of its node, or 1 if no unknown of the node has a basis function.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend has failed.
    fn product(
        &self,
        plan: &Self::Galerkin,
        a: &Self::Matrix,
        p: &Self::Matrix,
        coarse: &mut Self::Matrix,
    ) -> Result<(), Error>;

    /// Computes A_c ← A_c + D for a matrix D that was made at this backend and has the pattern of A_c.
    ///
    /// # Errors
    /// [`Error::Pattern`] for another matrix, [`Error::Device`] when the backend has failed.
    fn add(&self, plan: &Self::Galerkin, d: &Self::Matrix, coarse: &mut Self::Matrix) -> Result<(), Error>;

    /// Copies the values of one matrix to another of the same pattern.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for another matrix, [`Error::Device`] if the backend has failed.
    fn copy_values(&self, from: &Self::Matrix, to: &mut Self::Matrix) -> Result<(), Error>;

    /// Copies the values of a matrix to a host matrix of the same pattern.
    ///
    /// # Errors
    /// The errors of [`copy_values`](Self::copy_values).
    fn read_values<T: Real>(&self, from: &Self::Matrix, to: &mut Bsr<T>) -> Result<(), Error>;

    /// Computes D, the inverses of the diagonal blocks of A. For 1x1 blocks returns max Σⱼ |aᵢⱼ| / |aᵢᵢ| over
    /// the rows, which is an upper bound of ρ(D⁻¹A).
    ///
    /// # Errors
    /// The errors of [`DenseBlocks::invert_diagonal`](DenseBlocks::invert_diagonal) and
    /// [`check_positive`](DenseBlocks::check_positive). D may then hold new values.
    fn invert_diagonal(
        &self,
        a: &Self::Matrix,
        d: &mut Self::Blocks,
        method: &'static str,
    ) -> Result<Option<f64>, SetupError>;
}
