//! Values of options that are chosen by name.

use clap::ValueEnum;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Chosen from properties of the matrix
    Auto,
    /// Conjugate gradients, for symmetric positive definite matrices
    Cg,
    /// Flexible conjugate gradients, for a preconditioner that changes between iterations
    Fcg,
    /// MINRES, for symmetric matrices
    Minres,
    /// Restarted GMRES, for any matrix
    Gmres,
    /// BiCGStab, for any matrix
    Bicgstab,
    /// Sparse Cholesky, LDL^T or LU
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precond {
    /// Chosen from properties of the matrix
    Auto,
    /// No preconditioner
    None,
    /// The diagonal
    Jacobi,
    /// The row sums of absolute values, positive also where the diagonal is not
    L1Jacobi,
    /// The diagonal blocks
    BlockJacobi,
    /// Symmetric Gauss-Seidel
    Gs,
    /// Symmetric successive over-relaxation with omega = 1.3
    Ssor,
    /// Incomplete Cholesky without fill-in
    Ic0,
    /// Incomplete LU without fill-in
    Ilu0,
    /// A Chebyshev polynomial of degree 4 in the block-diagonally scaled matrix
    Chebyshev,
    /// Multigrid by smoothed aggregation
    Sa,
    /// Classical multigrid (Ruge, Stueben), for scalar matrices close to an M-matrix
    Rs,
    /// Multigrid in skinning space, for elastic bodies whose rest positions are known
    Skinning,
    /// Multilevel additive Schwarz
    Mas,
    /// One level of additive Schwarz, with overlap
    As,
    /// One level of restricted additive Schwarz, for unsymmetric matrices with gmres or bicgstab
    Ras,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precision {
    /// `mixed` with conjugate gradients if the values fit into f32; `f64` otherwise, after a failure, and in
    /// sequences with a given preconditioner
    Auto,
    /// 64 bits throughout, also in the inverses of domains unless --mas-precision is given
    F64,
    /// 64-bit matrix and vectors, 32-bit preconditioner; large matrices of blocks are multiplied in 32 bits, but residuals are of 64
    Mixed,
    /// 32 bits throughout
    F32,
}

/// When a preconditioner is rebuilt in a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UpdatePolicy {
    /// Keep or patch until the additional iterations cost more than an update, then update; build where updates lose as
    /// much as a build costs, or many rows changed
    Policy,
    /// Build in every step
    Build,
    /// Update in every step
    Update,
}

/// The format of generated files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Matrix Market: A.mtx and others
    Mtx,
    /// A.npz, as of SciPy's `save_npz`, and arrays such as b.npy
    Npz,
}

/// An order of rows and columns for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reorder {
    /// The given order
    Natural,
    /// Morton order; needs coordinates
    Morton,
    /// Reverse Cuthill-McKee order
    Rcm,
    /// Parts of a graph partition, one after the other
    Parts,
}

/// The name of a value on the command line.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}
