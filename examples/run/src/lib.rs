//! A run of an example: its command line, its frames from checkpoint to checkpoint, and its files.
//!
//! | module | what |
//! |---|---|
//! | [`arguments`] | numbers and backends on the command line, and the start of a program |
//! | [`frames`] | a run from checkpoint to checkpoint |
//! | [`files`] | checkpoints, the table of frames, surfaces |
//! | [`solver`] | preconditioners by name |
//! | [`scales`] | whether the numbers of a scene can be resolved |
//! | [`device`] | a device for tests |
//! | `device_step` | time steps on a device, with the feature `opencl` |

#![allow(clippy::missing_errors_doc)] // the errors of examples are read by people alone

pub mod arguments;
pub mod device;
#[cfg(feature = "opencl")]
pub mod device_step;
pub mod files;
#[cfg(test)]
#[path = "../../../tests/common/folder.rs"]
mod folder;
pub mod frames;
pub mod scales;
pub mod solver;

/// The error of a run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
