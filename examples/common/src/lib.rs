//! What the examples share: pictures without a screen.
//!
//! A [`Picture`] is made of pixels by a small rasteriser on the CPU: the same bytes on every run, in a terminal, a test or a machine
//! without a display. Meshes come from `coarsen-mesh`.
//!
//! | folder | what |
//! |---|---|
//! | [`picture`] | coloured meshes and fields, colour bars, captions; PNG and animated GIF |

pub mod picture;

pub use picture::Picture;
