//! Errors of null spaces.

/// The reason why vectors cannot span a null space.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NullSpaceError {
    /// A vector that is zero or in the span of the previous vectors.
    #[error(
        "vector {vector} of the null space depends on the previous vectors: only {share:.1e} of its length is orthogonal to them; remove it, or choose rotations about the centre of mass"
    )]
    Dependent {
        /// The index of the vector.
        vector: usize,
        /// The fraction of its length that is orthogonal to the previous vectors.
        share: f64,
    },
    /// A vector whose length differs from that of the first vector.
    #[error(
        "vector {vector} of the null space: found size {found}, expected {expected}; all vectors have one entry per unknown"
    )]
    Length {
        /// The index of the vector.
        vector: usize,
        /// The size of the first vector.
        expected: usize,
        /// The size of this vector.
        found: usize,
    },
    /// NaN or infinity.
    #[error("vector {vector} of the null space holds NaN or infinity; check the code that computed it")]
    NotFinite {
        /// The index of the vector.
        vector: usize,
    },
    /// Memory for the basis cannot be allocated.
    #[error(transparent)]
    Place(#[from] coarsen_core::Error),
}

/// The same text as [`Display`](std::fmt::Display), so that an error returned from `main` prints as a
/// sentence.
impl std::fmt::Debug for NullSpaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
