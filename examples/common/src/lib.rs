//! What the examples share: meshes from files.
//!
//! A [`Mesh`] is points, triangles and tetrahedra, checked when it is read.
//!
//! | folder | what |
//! |---|---|
//! | [`mesh`] | OBJ, PLY, MSH, MESH, NODE/ELE and VTK files, plain or gzip-ed |

pub mod mesh;

pub use mesh::Mesh;
