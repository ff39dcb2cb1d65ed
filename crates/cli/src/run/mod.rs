//! The run of a decision: the fourth layer.

pub(crate) mod attempt;
pub(crate) mod attempts;
pub(crate) mod auto;
#[cfg(feature = "opencl")]
mod device;
pub(crate) mod elastic;
pub(crate) mod ending;
pub(crate) mod factor;
pub(crate) mod follower;
pub(crate) mod iterate;
pub(crate) mod job;
pub(crate) mod progress;
mod refuse;
pub(crate) mod solution;
pub(crate) mod stage;
