//! Failures of the machine, of the input or of a part of the objective.

use std::error::Error as Source;

/// A failure of the machine or of the input. How a descent ended is a
/// [`DescentOutcome`](crate::DescentOutcome) instead.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum DescentError {
    /// A vector, a parameter or a device failed.
    #[error(transparent)]
    Core(#[from] coarsen_core::Error),
    /// A Hessian could not be assembled, or its preconditioner could not be built.
    #[error("the Hessian or the preconditioner at the current x could not be built: {0}")]
    Linearize(#[source] Box<dyn Source + Send + Sync>),
    /// A descent ended without convergence, and the caller requested an error.
    #[error(transparent)]
    NotMinimized(#[from] crate::NotMinimized),
}

coarsen_core::debug_as_display!(DescentError);

impl DescentError {
    /// Wraps an error of the assembly of a Hessian or of the setup of a preconditioner, for use with
    /// `map_err`.
    pub fn linearize(source: impl Into<Box<dyn Source + Send + Sync>>) -> Self {
        Self::Linearize(source.into())
    }
}
