//! What was decided is done: the fourth layer.

pub(crate) mod attempts;
#[cfg(feature = "opencl")]
mod device;
pub(crate) mod elastic;
pub(crate) mod ending;
pub(crate) mod factor;
pub(crate) mod follower;
pub(crate) mod iterate;
pub(crate) mod job;
pub(crate) mod progress;
pub(crate) mod stage;
