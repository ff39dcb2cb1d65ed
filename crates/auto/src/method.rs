//! The names of methods and preconditioners.

use std::fmt;

use coarsen_core::{Stop, Vector};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres};

/// A method for A x = b. `Display` gives its name in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Cholesky, L B Lᵀ or LU, without a preconditioner.
    #[default]
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

impl Method {
    /// All methods.
    pub const ALL: [Self; 6] =
        [Self::Direct, Self::Cg, Self::FlexibleCg, Self::Minres, Self::Gmres, Self::BiCgStab];

    /// The Krylov method; [`Direct`](Self::Direct) is none, and gives conjugate gradients.
    pub fn krylov<V: Vector>(self, stop: Stop<V::Real>) -> Box<dyn Krylov<V>> {
        match self {
            Self::Cg | Self::Direct => Box::new(Cg::new(stop)),
            Self::FlexibleCg => Box::new(FlexibleCg::new(stop)),
            Self::Minres => Box::new(Minres::new(stop)),
            Self::Gmres => Box::new(Gmres::new(stop)),
            Self::BiCgStab => Box::new(BiCgStab::new(stop)),
        }
    }

    /// Whether it needs a positive definite matrix.
    pub(crate) fn needs_definite(self) -> bool {
        matches!(self, Self::Cg | Self::FlexibleCg)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(["direct", "cg", "fcg", "minres", "gmres", "bicgstab"][*self as usize])
    }
}

/// A preconditioner. `Display` gives its name in reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precond {
    /// No preconditioner.
    #[default]
    None,
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
    /// A hierarchy by the method of Ruge and Stüben, for scalars.
    RugeStueben,
    /// A hierarchy in skinning space, for elastic bodies with positions.
    Skinning,
}

impl Precond {
    /// All preconditioners.
    pub const ALL: [Self; 15] = [
        Self::None,
        Self::Jacobi,
        Self::L1Jacobi,
        Self::BlockJacobi,
        Self::GaussSeidel,
        Self::Ssor,
        Self::Chebyshev,
        Self::Ic0,
        Self::Ilu0,
        Self::Schwarz,
        Self::OverlappingSchwarz,
        Self::RestrictedSchwarz,
        Self::SmoothedAggregation,
        Self::RugeStueben,
        Self::Skinning,
    ];

    /// Whether it is a hierarchy.
    pub(crate) fn is_hierarchy(self) -> bool {
        matches!(self, Self::SmoothedAggregation | Self::RugeStueben | Self::Skinning)
    }
}

impl fmt::Display for Precond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
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
            Self::RugeStueben => "rs",
            Self::Skinning => "skinning",
        })
    }
}
