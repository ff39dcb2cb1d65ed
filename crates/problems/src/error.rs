//! Errors of the gallery.

use coarsen_constraints::ConstraintError;
use coarsen_sparse::SparseError;

use crate::names;

/// The reason why a problem cannot be generated.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// The name is not in the gallery.
    #[error("there is no problem `{name}`; problems are {}, garment:FILE, softbody:FILE; sequences of systems are {}", names::SYSTEMS.join(", "), names::SEQUENCES.join(", "))]
    Unknown {
        /// The name found.
        name: String,
    },
    /// A single system where a sequence is required.
    #[error("`{name}` is a single system, but a sequence is required; sequences are {}", names::SEQUENCES.map(|name| format!("{name}:N")).join(" and "))]
    NotSequence {
        /// The problem.
        name: String,
    },
    /// A sequence where a single system is required.
    #[error(
        "`{name}` is a sequence of systems, but a single system is required; `coarsen solve` accepts sequences"
    )]
    NotSystem {
        /// The sequence.
        name: String,
    },
    /// A text that does not have the form NAME:SIZE.
    #[error(
        "found `{found}`; expected NAME:SIZE with a whole number as SIZE, such as elasticity3d:31, or garment:FILE or softbody:FILE"
    )]
    Spec {
        /// The text found.
        found: String,
    },
    /// A size that the problem does not support.
    #[error(
        "{problem}:{size}: the size must be at least {least}{}",
        if *multiple > 1 { format!(" and a multiple of {multiple}") } else { String::new() }
    )]
    Size {
        /// The problem.
        problem: &'static str,
        /// The size found.
        size: usize,
        /// The smallest size.
        least: usize,
        /// The number of which the size must be a multiple.
        multiple: usize,
    },
    /// An option that the problem does not have.
    #[error(
        "{problem} takes no option `{option}`; `dt` belongs to cloth, pinned, garment, softbody and the sequences, `jump` to elasticity3d, `share` to pinned"
    )]
    Option {
        /// The problem.
        problem: String,
        /// The option.
        option: &'static str,
    },
    /// An option with an invalid value.
    #[error("option `{option}` is {found}, but must be {range}")]
    Value {
        /// The option.
        option: &'static str,
        /// The value found.
        found: f64,
        /// The values allowed.
        range: &'static str,
    },
    /// A node that a problem does not have.
    #[error("node {found} of a part does not exist: the problem has {nodes} nodes, numbered from 0")]
    Node {
        /// The node found.
        found: u32,
        /// The number of nodes.
        nodes: usize,
    },
    /// A share outside of 0 to 1.
    #[error("share is {found}, but must be between 0 and 1: it is the share of vertices with a constraint")]
    Share {
        /// The value found.
        found: f64,
    },
    /// Constraints that cannot be imposed.
    #[error(transparent)]
    Constraints(#[from] ConstraintError),
    /// A ratio of stiffnesses that is too large or too small for the precision of f64.
    #[error(
        "jump is {found:e}, but must be between 1 / {limit:e} and {limit:e}: beyond, the stiffness of soft elements is lost in the round-off of hard ones; use a smaller contrast"
    )]
    Contrast {
        /// The ratio found.
        found: f64,
        /// The largest ratio; its inverse is the smallest.
        limit: f64,
    },
    /// A sequence without steps.
    #[error("a sequence needs 1 step or more; found 0")]
    Steps,
    /// A file without a mesh, or with a mesh of the wrong kind.
    #[error(transparent)]
    Mesh(#[from] coarsen_mesh::ReadError),
    /// More unknowns than the limit of the gallery.
    #[error("{spec} has more than {limit} unknowns; use a smaller size")]
    TooLarge {
        /// The problem with its size, as given.
        spec: String,
        /// The largest number of unknowns.
        limit: usize,
    },
    /// A body that cannot be created.
    #[error(transparent)]
    Body(#[from] coarsen_elastic::BodyError),
    /// The matrix could not be assembled.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The near-kernel could not be computed.
    #[error(transparent)]
    Core(#[from] coarsen_core::Error),
}

coarsen_core::debug_as_display!(ProblemError);

impl ProblemError {
    /// The limit on unknowns, so that a mistyped size does not use all memory.
    pub(crate) const MOST: usize = 1 << 28;

    /// Returns [`ProblemError::Size`] unless `size` is at least `least` and a multiple of `multiple`.
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

    /// Returns [`ProblemError::Value`] unless `found` is positive and finite.
    pub(crate) fn check_positive(option: &'static str, found: f64) -> Result<(), Self> {
        if !(found.is_finite() && found > 0.0) {
            return Err(Self::Value { option, found, range: "positive and finite" });
        }
        Ok(())
    }
}
