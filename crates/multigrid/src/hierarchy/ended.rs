//! Bounds that end the coarsening: the next level must be smaller, and all levels together not too dense.

use std::fmt;

/// The largest share of the unknowns of a level that the next one may have. A cycle over levels that shrink more slowly
/// costs more than twenty times its finest level. DUNE-ISTL ends at 5/6 (`minCoarsenRate` 1.2), but grids of a few hundred
/// particles shrink more slowly.
const SLOWEST: f64 = 0.95;

/// The largest operator complexity.
const DENSEST: f64 = 10.0;

/// Why coarsening ended, if it ended at a bound; without the level that would have exceeded it.
///
/// *Use* for levels that are built elsewhere, such as over ranks; [`Hierarchy`](crate::Hierarchy) does this itself. The numbers are
/// then sums over all ranks, so that all decide alike.
///
/// ```
/// use coarsen_multigrid::CoarseningEnd;
/// assert_eq!(CoarseningEnd::slow((100, 96)), Some(CoarseningEnd::Slow(100, 96)));
/// assert_eq!(CoarseningEnd::dense(999, 100), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum CoarseningEnd {
    /// The unknowns of the last level, and those that the next one would have.
    Slow(usize, usize),
    /// The operator complexity with the next level.
    Dense(f64),
}

impl CoarseningEnd {
    /// Tests the shape of P: the unknowns of a level, and of the next one.
    pub fn slow((fine, coarse): (usize, usize)) -> Option<Self> {
        (coarse as f64 > SLOWEST * fine as f64).then_some(Self::Slow(fine, coarse))
    }

    /// Tests the number of nonzeros of all levels, beside that of the finest.
    pub fn dense(all: usize, finest: usize) -> Option<Self> {
        let complexity = all as f64 / finest.max(1) as f64;
        (complexity > DENSEST).then_some(Self::Dense(complexity))
    }
}

impl fmt::Display for CoarseningEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slow(fine, coarse) => {
                write!(f, "the next level would have {coarse} unknowns, more than {SLOWEST} times {fine}")
            }
            Self::Dense(complexity) => {
                write!(
                    f,
                    "the next level would make the operator complexity {complexity:.1}, above {DENSEST}"
                )
            }
        }
    }
}
