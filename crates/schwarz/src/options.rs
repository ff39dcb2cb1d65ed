//! The parameters of the recipe that are enumerations, and the repairs that a build reports.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_direct::{Direct, Method};
use coarsen_sparse::{Bsr, Pattern};

/// How the coarsest level is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coarse {
    /// By one sparse factor, on the first level whose factor is small compared with the inverses of the
    /// domains. Its application and setup then cost less than those of the domains.
    Auto,
    /// By domains, as on every other level; with enough levels there is one domain.
    Domains,
    /// By one sparse factor, on the first level that is small enough.
    Exact {
        /// Maximal number of unknowns of that level.
        unknowns: usize,
    },
}

impl Coarse {
    /// Whether a level of this pattern is solved as one system, if the inverses of the finer levels hold
    /// `values` values.
    pub(crate) fn takes(self, pattern: &Arc<Pattern>, block: usize, values: usize) -> bool {
        let unknowns = pattern.rows() * block;
        match self {
            Self::Domains => false,
            Self::Exact { unknowns: most } => unknowns <= most,
            Self::Auto => unknowns <= QUICK || (unknowns <= LARGE && is_small(pattern, block, values)),
        }
    }
}

/// The precision of the stored inverses, independent of the precision of matrices: `f32` halves the memory
/// traffic of an approximate inverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Storage {
    /// The least pivot of a matrix with a unit diagonal whose elimination in `f64` is trusted.
    ///
    /// An inverse that is stored in `f32` stays positive definite above 10⁻⁶.
    pub fn least_pivot(self) -> f64 {
        match self {
            Self::Single => 1e-6,
            Self::Double => 1e-13,
        }
    }

    /// The choice that stores values of `S`.
    pub(crate) fn of<S: Real>() -> Self {
        if S::NAME == f32::NAME { Self::Single } else { Self::Double }
    }
}

/// The arithmetic of an elimination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// `f32`: slightly faster; a domain with a pivot below 10⁻³ of its diagonal is computed again in `f64`.
    Single,
    /// `f64`.
    #[default]
    Double,
}

impl Arithmetic {
    /// The least pivot of a matrix with a unit diagonal whose elimination in `f32` is trusted: below it, a
    /// domain is repeated in `f64`.
    pub const LEAST_PIVOT_SINGLE: f64 = 1e-3;
}

/// The factors of the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// 1 for each (§4.1).
    #[default]
    Ones,
    /// The non-negative factors that minimise the energy of the error for one random residual. Levels overlap
    /// and correct some errors twice; such a level gets a smaller factor, or 0.
    ///
    /// A patch keeps the factors. *Cost* an application and a product with A for each level, per build and
    /// per update.
    Energy,
}

/// The repair of a domain matrix that is not positive definite to round-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A fraction of the diagonal was added to it: the matrix is semidefinite, or nearly so.
    Shifted,
    /// Its diagonal blocks replaced it: the matrix is indefinite.
    BlockDiagonal,
}

/// A level of at most this many unknowns is always factored.
const QUICK: usize = 500;

/// A level of more unknowns is never factored, and the structure of its factor is not computed.
const LARGE: usize = 60_000;

/// Maximal operations of a factorisation per value of the inverses: about half of those of their
/// elimination.
const OPERATIONS: f64 = 40.0;

/// Whether the factor of a pattern has at most a quarter of `values` entries and costs less than their
/// elimination.
fn is_small(pattern: &Arc<Pattern>, block: usize, values: usize) -> bool {
    let ones = vec![1.0_f32; pattern.len() * block * block];
    let figures = Bsr::new(pattern.clone(), (block, block), ones).ok().and_then(|a| {
        let direct = Direct { method: Method::Cholesky, ..Direct::default() };
        direct.estimate(&a).ok()
    });
    let Some((_, figures)) = figures else { return false };
    figures.nnz.is_some_and(|nnz| 4 * nnz <= values)
        && figures.flops.is_some_and(|f| f <= OPERATIONS * values as f64)
}
