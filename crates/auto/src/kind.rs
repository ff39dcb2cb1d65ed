//! The methods and preconditioners that `auto` uses.

use std::fmt;

/// A method for A x = b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Cholesky, LDLᵀ or LU.
    Direct,
    /// Conjugate gradients.
    Cg,
    /// Flexible conjugate gradients.
    FlexibleCg,
    /// MINRES.
    Minres,
    /// Restarted GMRES.
    Gmres,
    /// BiCGStab.
    BiCgStab,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Direct => "direct",
            Self::Cg => "cg",
            Self::FlexibleCg => "fcg",
            Self::Minres => "minres",
            Self::Gmres => "gmres",
            Self::BiCgStab => "bicgstab",
        })
    }
}

/// A kind of preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No preconditioner.
    Identity,
    /// The diagonal.
    Jacobi,
    /// The row sums of absolute values, which are positive also where the diagonal is not.
    L1Jacobi,
    /// The diagonal blocks.
    BlockJacobi,
    /// Symmetric Gauss-Seidel.
    GaussSeidel,
    /// Symmetric successive over-relaxation.
    Ssor,
    /// A Chebyshev polynomial.
    Chebyshev,
    /// Incomplete Cholesky without fill-in.
    Ic0,
    /// Incomplete LU without fill-in.
    Ilu0,
    /// Multilevel additive Schwarz.
    Schwarz,
    /// Additive Schwarz with overlapping domains.
    OverlappingSchwarz,
    /// Restricted additive Schwarz: factors of overlapping domains.
    RestrictedSchwarz,
    /// A hierarchy by smoothed aggregation.
    SmoothedAggregation,
    /// A hierarchy in skinning space, for elastic bodies with positions.
    Skinning,
}

impl Kind {
    /// Whether it is a hierarchy.
    pub fn is_hierarchy(self) -> bool {
        matches!(self, Self::SmoothedAggregation | Self::Skinning)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Identity => "none",
            Self::Jacobi => "jacobi",
            Self::L1Jacobi => "l1-jacobi",
            Self::BlockJacobi => "block-jacobi",
            Self::GaussSeidel => "gs",
            Self::Ssor => "ssor",
            Self::Chebyshev => "chebyshev",
            Self::Ic0 => "ic0",
            Self::Ilu0 => "ilu0",
            Self::Schwarz => "mas",
            Self::OverlappingSchwarz => "as",
            Self::RestrictedSchwarz => "ras",
            Self::SmoothedAggregation => "sa",
            Self::Skinning => "skinning",
        })
    }
}
