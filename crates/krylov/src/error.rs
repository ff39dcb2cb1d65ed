//! What cannot be a null space.

/// Vectors that do not span a null space.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NullSpaceError {
    /// A vector in the span of those before it, or zero.
    #[error(
        "vector {vector} of the null space depends on those before it: {share:.1e} of its length is left; leave it out, or choose rotations about the centre of mass"
    )]
    Dependent {
        /// Which vector.
        vector: usize,
        /// The share of its length that is orthogonal to the others.
        share: f64,
    },
    /// A vector of another length than the first.
    #[error(
        "vector {vector} of the null space: expected size {expected}, found {found}; all vectors have one entry per unknown"
    )]
    Length {
        /// Which vector.
        vector: usize,
        /// The size of the first one.
        expected: usize,
        /// Its own.
        found: usize,
    },
    /// NaN or infinity.
    #[error("vector {vector} of the null space holds values that are not finite; look at what computed it")]
    NotFinite {
        /// Which vector.
        vector: usize,
    },
    /// Memory for the basis is not to be had.
    #[error(transparent)]
    Place(#[from] coarsen_core::Error),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for NullSpaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
