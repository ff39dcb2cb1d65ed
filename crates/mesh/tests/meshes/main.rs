//! Readers of mesh files, format by format and on damaged and real files; checks and shapes of meshes.

mod cases;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod files;
mod medit;
mod msh;
mod obj;
mod ply;
mod shapes;
mod stl;
mod vtk;
