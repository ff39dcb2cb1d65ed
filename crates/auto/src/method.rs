//! The names of methods and preconditioners.

use std::fmt;

use coarsen_core::{Stop, Vector};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres};

/// Defines an enum with the names of its values in reports.
macro_rules! named {
    ($(#[$about:meta])* pub enum $Type:ident { $($(#[$of:meta])* $value:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $Type { $($(#[$of])* $value,)+ }

        impl $Type {
            /// All values.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value),+];
        }

        impl fmt::Display for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$value => $name,)+ })
            }
        }
    };
}

named! {
    /// A method for A x = b. `Display` gives its name in reports.
    pub enum Method {
        /// Cholesky, L B Lᵀ or LU, without a preconditioner.
        #[default]
        Direct = "direct",
        /// Conjugate gradients.
        Cg = "cg",
        /// Flexible conjugate gradients.
        FlexibleCg = "fcg",
        /// MINRES.
        Minres = "minres",
        /// Restarted GMRES.
        Gmres = "gmres",
        /// BiCGStab.
        BiCgStab = "bicgstab",
    }
}

impl Method {
    /// The Krylov method; [`Direct`](Self::Direct) is none, and gives conjugate gradients.
    pub fn krylov<V: Vector<Scalar: Send> + Send>(self, stop: Stop<V::Real>) -> Box<dyn Krylov<V> + Send> {
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

named! {
    /// A preconditioner. `Display` gives its name in reports.
    pub enum Precond {
        /// No preconditioner.
        #[default]
        None = "none",
        /// The diagonal.
        Jacobi = "jacobi",
        /// The row sums of absolute values, which are positive also where the diagonal is not.
        L1Jacobi = "l1-jacobi",
        /// The diagonal blocks.
        BlockJacobi = "block-jacobi",
        /// Symmetric Gauss-Seidel.
        GaussSeidel = "gs",
        /// Symmetric successive over-relaxation.
        Ssor = "ssor",
        /// A Chebyshev polynomial.
        Chebyshev = "chebyshev",
        /// Incomplete Cholesky without fill-in.
        Ic0 = "ic0",
        /// Incomplete LU without fill-in.
        Ilu0 = "ilu0",
        /// Multilevel additive Schwarz.
        Schwarz = "mas",
        /// Additive Schwarz with overlapping domains.
        OverlappingSchwarz = "as",
        /// Restricted additive Schwarz: factors of overlapping domains.
        RestrictedSchwarz = "ras",
        /// A hierarchy by smoothed aggregation.
        SmoothedAggregation = "sa",
        /// A hierarchy by the method of Ruge and Stüben, for scalars.
        RugeStueben = "rs",
        /// A hierarchy in skinning space, for elastic bodies with positions.
        Skinning = "skinning",
    }
}

impl Precond {
    /// Whether it is a hierarchy.
    pub(crate) fn is_hierarchy(self) -> bool {
        matches!(self, Self::SmoothedAggregation | Self::RugeStueben | Self::Skinning)
    }
}
