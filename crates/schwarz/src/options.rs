//! The parameters that are enumerations, and the repairs of domain matrices.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_direct::{Direct, Method};
use coarsen_sparse::{Bsr, Pattern};

/// The solver of the coarsest level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Coarse {
    /// By one sparse factor, on the first level whose factor is small compared with the inverses of the
    /// domains of finer levels. Applying and computing the factor then cost less than the domains do. By domains on a device.
    Auto,
    /// By domains, as on every other level; with enough levels there is one domain.
    Domains,
    /// By one sparse factor, on the first level that is small enough.
    Exact {
        /// The maximal number of unknowns of this level.
        unknowns: usize,
    },
}

impl Coarse {
    /// Whether a level of this pattern is solved as one system, if the inverses of the finer levels have
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
#[non_exhaustive]
pub enum Storage {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Storage {
    /// Returns the smallest trusted pivot of the elimination in `f64` of a matrix with a unit diagonal. The trace of a
    /// trusted inverse is at most ten times its reciprocal.
    ///
    /// An inverse then stays positive definite when it is rounded: its diagonal is raised where round-off could exceed
    /// its smallest eigenvalue.
    pub fn least_pivot(self) -> f64 {
        match self {
            Self::Single => 1e-6,
            Self::Double => 1e-13,
        }
    }

    /// Returns the choice that stores values of `S`.
    pub(crate) fn of<S: Real>() -> Self {
        if S::NAME == f32::NAME { Self::Single } else { Self::Double }
    }
}

/// The arithmetic of an elimination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arithmetic {
    /// `f32`: slightly faster. A domain with a pivot below 10⁻³ of its diagonal, or an inverse whose trace is above 10⁴ for
    /// a unit diagonal, is computed again in `f64`. The diagonals of inverses are raised by round-off of `f32`, which grows
    /// with the square of the number of unknowns of a domain.
    Single,
    /// `f64`.
    #[default]
    Double,
}

impl Arithmetic {
    /// The smallest trusted pivot of the elimination in `f32` of a matrix with a unit diagonal. With a
    /// smaller pivot the domain is computed again in `f64`.
    pub const LEAST_PIVOT_SINGLE: f64 = 1e-3;
}

/// The weights of the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Weights {
    /// 1 for each level (§4.1).
    #[default]
    Ones,
    /// The non-negative weights that minimise the energy of the error for one random residual. If two levels
    /// correct the same error, one of them gets a smaller weight, or 0.
    ///
    /// A patch keeps the weights. *Cost* an application and a product with A for each level, per build and
    /// per update.
    Energy,
}

/// The repair of a domain matrix that is not positive definite to round-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A fraction of the diagonal was added to the matrix, which is semidefinite or nearly semidefinite.
    Shifted,
    /// The matrix was replaced by its diagonal blocks, because it is indefinite.
    BlockDiagonal,
}

/// A level of at most this many unknowns is always factored.
const QUICK: usize = 500;

/// A level of more unknowns is never factored, and the structure of its factor is not computed.
const LARGE: usize = 60_000;

/// The largest number of operations of the factorisation per value of the inverses. This is about half of the
/// operations of their elimination.
const OPERATIONS: f64 = 40.0;

/// Whether the factor of a pattern has at most a quarter of `values` entries and costs less than the
/// elimination of the inverses.
fn is_small(pattern: &Arc<Pattern>, block: usize, values: usize) -> bool {
    let ones = vec![1.0_f32; pattern.len() * block * block];
    let stats = Bsr::new(pattern.clone(), (block, block), ones).ok().and_then(|a| {
        let direct = Direct { method: Method::Cholesky, ..Direct::default() };
        direct.estimate(&a).ok()
    });
    let Some((_, stats)) = stats else { return false };
    4 * stats.nnz <= values && stats.flops <= OPERATIONS * values as f64
}
