//! When the machine, the input or a part of the objective failed.

use std::error::Error as Source;

/// What stops a descent outside the mathematics; see [`DescentOutcome`](crate::DescentOutcome) for the rest.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DescentError {
    /// A vector, a parameter or a device failed.
    #[error(transparent)]
    Core(#[from] coarsen_core::Error),
    /// A Hessian could not be assembled, or a preconditioner not be built from it.
    #[error("the curvature at the current x cannot be used; its own words follow")]
    Linearize(#[source] Box<dyn Source + Send + Sync>),
    /// A descent ended without convergence, and the caller asked for an error.
    #[error(transparent)]
    NotMinimized(#[from] crate::NotMinimized),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for DescentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl DescentError {
    /// The error of a Hessian's assembly or of a preconditioner's setup, to be used with `map_err`.
    pub fn linearize(source: impl Into<Box<dyn Source + Send + Sync>>) -> Self {
        Self::Linearize(source.into())
    }
}
