//! Parameters of the recipe that are one of a few choices, and the repairs that a build reports.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_direct::{Direct, Method};
use coarsen_sparse::{Bsr, Pattern};

/// How the coarsest level is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coarse {
    /// By one sparse factor, on the first level whose factor is small beside the inverses of the domains; in application and setup it then
    /// costs less than they do.
    Auto,
    /// By domains, as every level; with levels enough, by one domain.
    Domains,
    /// By one sparse factor, on the first level of at most so many unknowns.
    Exact {
        /// Unknowns at most.
        unknowns: usize,
    },
}

impl Coarse {
    /// Whether a level of this pattern is solved as one system, where the inverses of the domains below hold so many values.
    pub(crate) fn takes(self, pattern: &Arc<Pattern>, block: usize, values: usize) -> bool {
        let unknowns = pattern.rows() * block;
        match self {
            Self::Domains => false,
            Self::Exact { unknowns: most } => unknowns <= most,
            Self::Auto => unknowns <= QUICK || (unknowns <= LARGE && is_small(pattern, block, values)),
        }
    }
}

/// The precision of stored inverses, whatever the place stores matrices in: an inverse is an approximation, and memory traffic decides.
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
    /// `f32`: a little faster; domains whose pivots fall below 10⁻³ of their diagonal are repeated in `f64`.
    Single,
    /// `f64`.
    #[default]
    Double,
}

impl Arithmetic {
    /// The least pivot of a matrix with a unit diagonal whose elimination in `f32` is trusted: below it, a domain is repeated in `f64`.
    pub const LEAST_PIVOT_SINGLE: f64 = 1e-3;
}

/// The factors of the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// 1 for each (§4.1).
    #[default]
    Ones,
    /// Those that leave the least energy of one random residual, none below 0: a level that says what others say already counts less, or
    /// not at all.
    ///
    /// A patch keeps them. *Cost* an application and a product with A for each level, in a build and in an update.
    Energy,
}

/// What had to be done to a domain that is not positive definite to round-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// A share of its diagonal was added: it is semidefinite, or nearly so.
    Shifted,
    /// Its diagonal blocks stand for it: it is indefinite.
    BlockDiagonal,
}

/// Unknowns that are factored without a question.
const QUICK: usize = 500;

/// Unknowns above which not even the structure of a factor is looked at.
const LARGE: usize = 60_000;

/// Operations of a factorisation for each value of the inverses: about half of what their elimination takes.
const OPERATIONS: f64 = 40.0;

/// Whether the factor of a pattern is small beside `values` and costs less than their elimination.
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
