//! Shared by the examples: pictures drawn without a screen.
//!
//! A small rasteriser on the CPU computes the pixels of a [`Picture`]. Every run gives the same bytes, in a
//! terminal, a test or on a machine without a display. Meshes come from `coarsen-mesh`.
//!
//! | folder | what |
//! |---|---|
//! | [`picture`] | coloured meshes and fields, colour bars, captions; PNG and animated GIF |

pub mod picture;

pub use picture::Picture;
