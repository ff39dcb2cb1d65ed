//! What is no problem of the gallery, and why.

use coarsen_constraints::ConstraintError;
use coarsen_sparse::SparseError;

use crate::names;

/// A problem that cannot be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// A name that the gallery does not hold.
    #[error("there is no problem `{name}`; the gallery holds {}, garment:FILE, softbody:FILE; sequences of systems are {}", names::SYSTEMS.join(", "), names::SEQUENCES.join(", "))]
    Unknown {
        /// The name found.
        name: String,
    },
    /// A single system where a sequence is asked for.
    #[error("`{name}` is a single system; sequences are {}", names::SEQUENCES.map(|name| format!("{name}:N")).join(" and "))]
    NotSequence {
        /// The problem.
        name: String,
    },
    /// A sequence where a single system is asked for.
    #[error(
        "`{name}` is a sequence of systems, and a single one is needed here; `coarsen solve` takes sequences"
    )]
    NotSystem {
        /// The sequence.
        name: String,
    },
    /// A text that is not NAME:SIZE.
    #[error(
        "expected NAME:SIZE with a whole number as SIZE, such as elasticity3d:31, or garment:FILE or softbody:FILE; found `{found}`"
    )]
    Spec {
        /// The text found.
        found: String,
    },
    /// A size that the problem does not come in.
    #[error("{problem}:{size}: the size must be at least {least} and a multiple of {multiple}")]
    Size {
        /// The problem.
        problem: &'static str,
        /// The size found.
        size: usize,
        /// The smallest size there is.
        least: usize,
        /// What it must be a multiple of.
        multiple: usize,
    },
    /// An option of another problem.
    #[error(
        "{problem} takes no option `{option}`; `dt` belongs to cloth, pinned, garment, softbody and the sequences, `jump` to elasticity3d, `share` to pinned"
    )]
    Option {
        /// The problem.
        problem: String,
        /// The option.
        option: &'static str,
    },
    /// An option with an impossible value.
    #[error("option `{option}` must be a positive, finite number; found {found}")]
    Value {
        /// The option.
        option: &'static str,
        /// The value found.
        found: f64,
    },
    /// A share that is none.
    #[error("share is {found}, but must lie in 0 to 1: the share of vertices with a constraint")]
    Share {
        /// The value found.
        found: f64,
    },
    /// Constraints that cannot be imposed.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// A ratio of stiffnesses that f64 cannot hold in one sum.
    #[error(
        "jump is {found:e}, beyond {limit:e} or its inverse: the softer elements are lost in the round-off of the harder ones; take a smaller contrast"
    )]
    Contrast {
        /// The ratio found.
        found: f64,
        /// The largest; the smallest is its inverse.
        limit: f64,
    },
    /// A sequence without a step.
    #[error("a sequence needs 1 step or more; found 0")]
    Steps,
    /// A file that holds no mesh, or not the one that the problem is made of.
    #[error(transparent)]
    Mesh(#[from] coarsen_mesh::ReadError),
    /// More unknowns than the gallery makes.
    #[error("{problem}:{size} has more than {limit} unknowns; take a smaller size")]
    TooLarge {
        /// The problem.
        problem: &'static str,
        /// The size found.
        size: usize,
        /// The most unknowns.
        limit: usize,
    },
    /// A body that cannot be made.
    #[error(transparent)]
    Body(#[from] coarsen_elastic::BodyError),
    /// The matrix could not be made.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The near-kernel could not be made.
    #[error(transparent)]
    Core(#[from] coarsen_core::Error),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for ProblemError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ProblemError {
    /// The most unknowns of a problem, so that a slip of the keyboard does not take all memory.
    pub(crate) const MOST: usize = 1 << 28;

    /// [`ProblemError::Size`] unless `size` is at least `least` and a multiple of `multiple`.
    pub(crate) fn check_size(
        problem: &'static str,
        size: usize,
        least: usize,
        multiple: usize,
    ) -> Result<(), Self> {
        if size < least || !size.is_multiple_of(multiple) {
            return Err(Self::Size { problem, size, least, multiple });
        }
        Ok(())
    }

    /// [`ProblemError::Value`] unless `found` is positive and finite.
    pub(crate) fn check_positive(option: &'static str, found: f64) -> Result<(), Self> {
        if !(found.is_finite() && found > 0.0) {
            return Err(Self::Value { option, found });
        }
        Ok(())
    }
}
