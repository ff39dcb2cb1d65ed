//! What the examples share: meshes from files, and pictures without a screen.
//!
//! A [`Mesh`] is points, triangles and tetrahedra, checked when it is read. A [`Picture`] is made of pixels by a small
//! rasteriser on the CPU: the same bytes on every run, in a terminal, a test or a machine without a display.
//!
//! | folder | what |
//! |---|---|
//! | [`mesh`] | OBJ, PLY, MSH, MESH, NODE/ELE and VTK files, plain or gzip-ed |
//! | [`picture`] | coloured meshes and fields, colour bars, captions; PNG and animated GIF |

pub mod mesh;
pub mod picture;

pub use mesh::Mesh;
pub use picture::Picture;
