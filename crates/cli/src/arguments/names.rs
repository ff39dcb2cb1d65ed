//! What options choose between, by name.

use clap::ValueEnum;
use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Method {
    /// Decided from what the matrix shows
    Auto,
    /// Conjugate gradients: symmetric positive definite matrices
    Cg,
    /// Flexible conjugate gradients
    Fcg,
    /// MINRES: symmetric matrices
    Minres,
    /// Restarted GMRES: any matrix
    Gmres,
    /// BiCGStab: any matrix
    Bicgstab,
    /// Sparse Cholesky, LDL^T or LU
    Direct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precond {
    /// Decided from what the matrix shows
    Auto,
    /// No preconditioner
    None,
    /// The diagonal
    Jacobi,
    /// The diagonal blocks
    BlockJacobi,
    /// Symmetric Gauss-Seidel
    Gs,
    /// Symmetric successive over-relaxation with omega = 1.3
    Ssor,
    /// Incomplete Cholesky without fill
    Ic0,
    /// Incomplete LU without fill
    Ilu0,
    /// A Chebyshev polynomial of degree 4 in the block-diagonally scaled matrix
    Chebyshev,
    /// Multigrid by smoothed aggregation
    Sa,
    /// Multilevel additive Schwarz
    Mas,
    /// One level of additive Schwarz, with overlap
    As,
    /// The same, restricted: for unsymmetric matrices, under gmres or bicgstab
    Ras,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Precision {
    /// `mixed` under conjugate gradients where the values of the matrix fit, and `f64` where it fails and in sequences
    Auto,
    /// 64 bits throughout
    F64,
    /// 64-bit matrix and vectors, 32-bit preconditioner
    Mixed,
    /// 32 bits throughout
    F32,
}

/// What is done with a preconditioner before each solve of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Follow {
    /// Kept or patched until the iterations lost are worth a build, then updated, then built
    Policy,
    /// Built in every step
    Build,
    /// Updated in every step
    Update,
}

/// An order of rows and columns for a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Reorder {
    /// As it is
    Natural,
    /// Along a space-filling curve; needs coordinates
    Morton,
    /// Reverse Cuthill-McKee: a narrow band
    Rcm,
    /// Parts of the graph, one after the other
    Parts,
}

/// A value as it is typed.
pub(crate) fn name(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned())
}
