//! The run of a decision: the fourth layer.

pub(crate) mod backend;
#[cfg(feature = "opencl")]
mod device;
pub(crate) mod elastic;
pub(crate) mod progress;
pub(crate) mod refuse;
pub(crate) mod sequence_solver;
pub(crate) mod solution;
pub(crate) mod solve;
