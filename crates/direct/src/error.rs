//! Errors of factorisations and direct solves.

/// The reason why a direct method rejects a matrix or cannot solve a system.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DirectError {
    /// A parameter is out of its range.
    #[error("{name} is {value:e}, but must be {range}")]
    Parameter {
        /// The field.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The range allowed.
        range: &'static str,
    },
    /// A square matrix is needed.
    #[error(
        "the matrix is {rows} x {columns}, but a square one is needed; for least squares form AᵀA or add rows"
    )]
    NotSquare {
        /// The number of rows found.
        rows: usize,
        /// The number of columns found.
        columns: usize,
    },
    /// Square blocks are needed.
    #[error("the blocks are {rows} x {columns}, but square ones are needed; convert the matrix to them")]
    Blocks {
        /// The number of rows of a block.
        rows: usize,
        /// The number of columns of a block.
        columns: usize,
    },
    /// A vector of the wrong length.
    #[error("{what}: expected length {expected}, found {found}; the vector belongs to another system")]
    Shape {
        /// The vector.
        what: &'static str,
        /// The size of the system.
        expected: usize,
        /// The length found.
        found: usize,
    },
    /// NaN or infinity in the matrix.
    #[error("the matrix is not finite at row {row}, column {column}; look at what computed it")]
    NotFinite {
        /// The scalar row.
        row: usize,
        /// The scalar column.
        column: usize,
    },
    /// NaN or infinity in a right-hand side.
    #[error("the right-hand side is not finite at index {index}; look at what computed it")]
    RightHandSide {
        /// The index, in scalars.
        index: usize,
    },
    /// A solution outside the range of its vector.
    #[error("the solution overflows {storage} at index {index}; scale the system, or solve in f64")]
    Overflow {
        /// The index, in scalars.
        index: usize,
        /// The precision of the vector.
        storage: &'static str,
    },
    /// A row without a nonzero.
    #[error(
        "row {row} holds no nonzero, so the matrix is singular; an unknown without an equation: remove or fix it"
    )]
    EmptyRow {
        /// The scalar row.
        row: usize,
    },
    /// A column without a nonzero.
    #[error(
        "column {column} holds no nonzero, so the matrix is singular; an unknown in no equation: remove or fix it"
    )]
    EmptyColumn {
        /// The scalar column.
        column: usize,
    },
    /// A factorisation for symmetric matrices was given an unsymmetric matrix.
    #[error(
        "the matrix is not symmetric: ({row}, {column}) is {here:e}, ({column}, {row}) is {there:e}; \
         eliminate Dirichlet rows and columns alike, or factor by LU"
    )]
    NotSymmetric {
        /// The scalar row.
        row: usize,
        /// The scalar column.
        column: usize,
        /// The value at (row, column).
        here: f64,
        /// The value at (column, row).
        there: f64,
    },
    /// Cholesky met a pivot that is not positive.
    #[error(
        "the matrix is not positive definite: the pivot of row {row} is not positive; a constraint or support is missing, \
         or an element is inverted; factor an indefinite matrix by L B L^T"
    )]
    NotPositiveDefinite {
        /// The scalar row, in the numbering of the matrix.
        row: usize,
    },
    /// The LDLᵀ of [`Engine::Own`](crate::Engine::Own), which does not exchange rows of large matrices, met a
    /// pivot that is too small.
    #[error(
        "the pivot of row {row} is {ratio:.1e} of the row's largest entry, too small for an LDLᵀ without row exchanges; \
         factor by LU, which exchanges rows"
    )]
    SmallPivot {
        /// The scalar row, in the numbering of the matrix.
        row: usize,
        /// |pivot| / max |aᵢⱼ| of that row.
        ratio: f64,
    },
    /// The matrix is singular to working precision.
    #[error(
        "the matrix is singular to working precision, seen at row {row} (residual {residual:.1e}): a component is \
         unconstrained, or a constraint is missing; fix an unknown, or give the null space to a Krylov method"
    )]
    Singular {
        /// A scalar row that depends on other rows.
        row: usize,
        /// ‖b − A x‖ / ‖b‖ of a test solve along the near-kernel; infinite if a pivot was exactly 0, or if the
        /// test solve failed to give a finite vector.
        residual: f64,
    },
    /// Refinement could not reduce the residual enough.
    #[error(
        "the relative residual stays at {residual:.1e}, above {accepted:.1e}; the system is too ill-conditioned for f64: \
         scale its rows, or accept a larger residual"
    )]
    Inaccurate {
        /// ‖b − A x‖ / ‖b‖ reached.
        residual: f64,
        /// The largest value that [`Direct::accept`](crate::Direct::accept) allows.
        accepted: f64,
    },
    /// An update with another sparsity pattern or block size.
    #[error("the matrix has another sparsity pattern than the factored one; build anew")]
    Pattern,
    /// The factor does not fit into memory.
    #[error("{bytes} bytes for the factor are not to be had; take an iterative method, or a smaller system")]
    Memory {
        /// The number of bytes requested. If the engine does not report it, this is an estimate from the
        /// bytes of A, which is too small for a factor with much fill.
        bytes: usize,
    },
    /// The eigenvalue or singular value iteration did not converge.
    #[error(
        "the spectral decomposition of a {size} x {size} matrix did not converge; its values may overflow: scale it"
    )]
    Spectrum {
        /// The size of the matrix.
        size: usize,
    },
}

coarsen_core::debug_as_display!(DirectError);
