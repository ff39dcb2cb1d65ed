//! The stage of pictures: obstacles, the ground, a view, and the bodies between them.
//!
//! | file | what |
//! |---|---|
//! | `patches` | triangles of obstacles, to be drawn |
//! | `drawn` | [`Stage`]: draws a frame |

mod drawn;
mod patches;

pub use drawn::{BODIES, OBSTACLE, Stage};
pub use patches::Patch;
