//! Scenes as TOML files: one format for the examples `cloth`, `softbody` and `mpm`.
//!
//! ```toml
//! version = 1                        # of the format; a file without it has version 1
//! gravity = [0.0, -9.81, 0.0]
//!
//! [[body]]
//! mesh = "bunny.msh"                 # a file beside the scene, or what the program generates, such as "bar:4"
//! size = 0.5                         # its longest side; without it the mesh keeps its size
//! rotate = [0.0, 30.0, 0.0]
//! centre = [0.0, 1.0, 0.0]           # without it the mesh stays where it is
//! material = { name = "neo-hookean", young = 1e5, density = 1000.0 }
//!
//! [[attachment]]
//! nodes = { top = 0.02 }             # or box, nearest, list, sides, band, boundary
//!
//! [[obstacle]]
//! shape = { sphere = { centre = [0.0, 0.3, 0.0], radius = 0.3 } }
//! kind = "slip"                      # of material points
//! friction = 0.3
//! motion = [{ until = 1.0, velocity = [0.1, 0.0, 0.0] }]
//!
//! [time]
//! dt = 0.01
//! frames = 48
//!
//! [solver]
//! tolerance = 1e-3
//!
//! [output]
//! format = "obj"
//! width = 320
//!
//! [view]
//! corners = [[-1.0, 0.0, -1.0], [1.0, 1.5, 1.0]]
//! ```
//!
//! Lengths are in m, times in s, angles in degrees; y points upwards. The keys of `time`, `grid`, `solver`, `contact`, `air`
//! and `output` are options of the command line, which override those of the file. Each program takes a part of the keys:
//! others are refused, with their line. [`options::parse`] reads a command line and its scene.
//!
//! | file | what |
//! |---|---|
//! | [`Scene`] | the tables of a scene (`schema`) |
//! | [`options`] | the command line, with defaults of a scene |
//! | [`file`](mod@file) | the text of a scene: lines, keys, faults |
//! | `check` | the ranges of numbers |
//! | [`shape`] | shapes by their signed distance, and how they move |
//! | [`closed`] | closed surfaces of files, and what is inside |
//! | [`identity`] | a hash of all that decides the bits of a run |

#![allow(clippy::missing_errors_doc)] // the errors of examples are read by people alone

mod check;
pub mod closed;
pub mod file;
pub mod identity;
pub mod options;
mod schema;
pub mod shape;

pub use file::SceneError;
pub use identity::{Field, Fingerprint};
pub use schema::{
    Attachment, Body, EARTH, Emitter, Kind, Material, Motion, Obstacle, Phase, Pick, Rest, Scene, Side, Turn,
    VERSION, View,
};
pub use shape::{Pose, Shape};
