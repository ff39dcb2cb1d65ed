//! The run of a decision: the fourth layer.

#[cfg(feature = "opencl")]
mod device;
pub(crate) mod elastic;
pub(crate) mod follower;
pub(crate) mod progress;
mod refuse;
pub(crate) mod solution;
pub(crate) mod solve;
pub(crate) mod stage;
