//! What an update keeps.

/// The part of a setup that an update has kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reused {
    /// The structure: only numbers were computed.
    Structure,
    /// Everything except some parts.
    Rest {
        /// The number of parts computed again.
        redone: usize,
        /// The number of all parts.
        of: usize,
    },
    /// Nothing: the pattern changed, and everything was built again.
    Nothing,
}
