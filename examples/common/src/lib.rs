//! Shared by the examples: pictures drawn without a screen, and the frames of a run.
//!
//! A small rasteriser on the CPU computes the pixels of a [`Picture`]. Every run gives the same bytes, in a
//! terminal, a test or on a machine without a display. Meshes come from `coarsen-mesh`.
//!
//! | folder | what |
//! |---|---|
//! | [`picture`] | coloured meshes and fields, colour bars, captions; PNG and animated GIF |
//! | [`stage`] | obstacles, the ground, bodies and their shadows |
//! | [`frames`] | a run from checkpoint to checkpoint |
//! | [`files`] | checkpoints, the table of frames, surfaces |
//! | [`device`] | a device for tests |
//! | [`scales`] | whether the numbers of a scene can be resolved |
//! | [`solver`] | preconditioners by name |
//! | `factor_or` | a factor for as long as there is one |
//! | [`arguments`] | numbers and places on the command line |

pub mod arguments;
pub mod device;
mod factor_or;
pub mod files;
pub mod frames;
pub mod picture;
pub mod scales;
pub mod solver;
pub mod stage;

pub use picture::Picture;

/// The error of a run.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
