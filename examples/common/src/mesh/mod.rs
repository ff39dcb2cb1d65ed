//! Triangles and tetrahedra from files.
//!
//! | file | format |
//! |---|---|
//! | `obj` | Wavefront OBJ |
//! | `ply` | Stanford PLY, ascii and binary |
//! | `msh` | Gmsh MSH 2 and 4.1, ascii and binary |
//! | `medit` | Medit MESH, ascii |
//! | `tetgen` | TetGen NODE and ELE |
//! | `vtk` | VTK legacy, ascii and binary |
//! | `format` | which of them a file is, and its bytes |
//! | `fields` | words, numbers and bytes of a file, and where they stand |
//! | `surface` | boundary, unused vertices, extent |
//! | `error` | what is wrong with a file or a mesh |

mod error;
mod fields;
mod format;
mod medit;
mod msh;
mod obj;
mod ply;
pub(crate) mod surface;
mod tetgen;
mod vtk;

pub use error::{MeshError, Place, Problem, ReadError};
pub use format::{Format, parse, parse_tetgen, read};

/// Points with triangles and tetrahedra between them.
///
/// Either list may be empty; a volume mesh may also carry triangles, those of its marked surfaces. Indices count from 0.
///
/// ```
/// use examples_common::mesh::{Format, parse};
/// let mesh = parse(Format::Obj, b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")?;
/// assert_eq!(mesh.triangles, [[0, 1, 2]]);
/// # Ok::<(), examples_common::mesh::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Vertices, in the unit of the file; z is 0 where it stores two coordinates.
    pub positions: Vec<[f64; 3]>,
    /// Corners of each triangle; larger polygons arrive as fans.
    pub triangles: Vec<[u32; 3]>,
    /// Corners of each tetrahedron.
    pub tetrahedra: Vec<[u32; 4]>,
}

impl Mesh {
    /// Finite positions, and corners that exist and differ within each element.
    ///
    /// # Errors
    /// [`MeshError`] names the first vertex or element that is wrong.
    pub fn check(&self) -> Result<(), MeshError> {
        if let Some(vertex) = self.positions.iter().position(|x| x.iter().any(|x| !x.is_finite())) {
            return Err(MeshError::NotFinite { vertex });
        }
        let vertices = self.positions.len();
        check_elements("triangle", &self.triangles, vertices)?;
        check_elements("tetrahedron", &self.tetrahedra, vertices)
    }
}

/// Corners that exist and differ.
fn check_elements<const N: usize>(
    kind: &'static str,
    elements: &[[u32; N]],
    vertices: usize,
) -> Result<(), MeshError> {
    for (element, corners) in elements.iter().enumerate() {
        for (k, &corner) in corners.iter().enumerate() {
            if corner as usize >= vertices {
                return Err(MeshError::Corner { kind, element, corner, vertices });
            }
            if corners[..k].contains(&corner) {
                return Err(MeshError::Repeated { kind, element, corner });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_meshes_are_named() {
        let good = Mesh { positions: vec![[0.0; 3]; 3], triangles: vec![[0, 1, 2]], tetrahedra: Vec::new() };
        assert_eq!(good.check(), Ok(()));
        let mut infinite = good.clone();
        infinite.positions[1][2] = f64::INFINITY;
        assert_eq!(infinite.check(), Err(MeshError::NotFinite { vertex: 1 }));
        let outside = Mesh { tetrahedra: vec![[0, 1, 2, 3]], ..good.clone() };
        let expected = MeshError::Corner { kind: "tetrahedron", element: 0, corner: 3, vertices: 3 };
        assert_eq!(outside.check(), Err(expected));
        let flat = Mesh { triangles: vec![[0, 1, 2], [2, 1, 2]], ..good };
        assert_eq!(flat.check(), Err(MeshError::Repeated { kind: "triangle", element: 1, corner: 2 }));
    }
}
