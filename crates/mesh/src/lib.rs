//! Meshes from files: points, triangles and tetrahedra, checked when they are read.
//!
//! The one reader of gallery, command and examples. A file that is good is read whatever wrote it; one that is not is refused with its
//! place, what is wrong there and what to do. Nothing is allocated for a count that a file merely declares.
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
//! | `shape` | generated bars; scaled, turned and divided meshes |
//! | [`vector`] | sums and products of vectors in space |
//! | `error` | what is wrong with a file or a mesh |

mod error;
mod fields;
mod format;
mod medit;
mod msh;
mod obj;
mod ply;
mod shape;
mod surface;
mod tetgen;
pub mod vector;
mod vtk;

pub use error::{MeshError, Place, Problem, ReadError};
use vector::{cross, dot, sub};

pub use format::{Format, parse, parse_tetgen, read, read_tetrahedra, read_triangles};

/// Points with triangles and tetrahedra between them.
///
/// Either list may be empty; a volume mesh may also carry triangles, those of its marked surfaces. Indices count from 0.
///
/// ```
/// use coarsen_mesh::{Format, parse};
/// let mesh = parse(Format::Obj, b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")?;
/// assert_eq!(mesh.triangles, [[0, 1, 2]]);
/// # Ok::<(), coarsen_mesh::ReadError>(())
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
    /// Finite positions, and corners that exist and differ within each element: what every mesh of a file has.
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

    /// At least one triangle.
    ///
    /// # Errors
    /// [`Problem::Missing`] says what there is instead.
    pub fn check_triangles(&self) -> Result<(), Problem> {
        self.check_holds("triangles", self.triangles.len())
    }

    /// At least one tetrahedron, and a volume for each as in [`check_volumes`](Self::check_volumes).
    ///
    /// # Errors
    /// [`Problem::Missing`] says what there is instead, [`MeshError::Flat`] names the first without volume.
    pub fn check_tetrahedra(&self) -> Result<(), Problem> {
        self.check_holds("tetrahedra", self.tetrahedra.len())?;
        Ok(self.check_volumes()?)
    }

    fn check_holds(&self, needed: &'static str, count: usize) -> Result<(), Problem> {
        let [triangles, tetrahedra] = [self.triangles.len(), self.tetrahedra.len()];
        if count == 0 { Err(Problem::Missing { needed, triangles, tetrahedra }) } else { Ok(()) }
    }

    /// Tetrahedra with a volume beyond the round-off of their corners, so that their stiffness is finite.
    ///
    /// # Errors
    /// [`MeshError::Flat`] names the first without.
    pub fn check_volumes(&self) -> Result<(), MeshError> {
        let flat = |t: &[u32; 4]| {
            let [a, b, c, d] = t.map(|v| self.positions[v as usize]);
            let edges = [sub(b, a), sub(c, a), sub(d, a), sub(c, b), sub(d, b), sub(d, c)];
            let size = edges.as_flattened().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            // Relative to its size, so that nothing overflows.
            let [p, q, r] = [0, 1, 2].map(|k| edges[k].map(|x| x / size));
            let volume = dot(cross(p, q), r).abs();
            !(size.is_finite() && volume > FLAT)
        };
        match self.tetrahedra.iter().position(flat) {
            Some(element) => Err(MeshError::Flat { kind: "tetrahedron", element, what: "volume" }),
            None => Ok(()),
        }
    }
}

/// Six times the volume of a tetrahedron of size 1 that is flat up to round-off: coordinates of 16 digits leave 1e-16 of a plane, those of a
/// file in 32 bits 1e-8, where nobody can tell.
const FLAT: f64 = 1e-13;

/// Corners that exist and differ.
fn check_elements<const N: usize>(
    kind: &'static str,
    elements: &[[u32; N]],
    vertices: usize,
) -> Result<(), MeshError> {
    for (element, corners) in elements.iter().enumerate() {
        for &corner in corners {
            if corner as usize >= vertices {
                return Err(MeshError::Corner { kind, element, corner, vertices });
            }
        }
        check_distinct(kind, element, corners)?;
    }
    Ok(())
}

/// Corners that differ.
fn check_distinct<const N: usize>(
    kind: &'static str,
    element: usize,
    corners: &[u32; N],
) -> Result<(), MeshError> {
    match (1..N).find(|&k| corners[..k].contains(&corners[k])) {
        Some(k) => Err(MeshError::Repeated { kind, element, corner: corners[k] }),
        None => Ok(()),
    }
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

    #[test]
    fn flat_tetrahedra_are_named_at_any_scale() {
        for scale in [1e-200, 1e-3, 1.0, 1e200] {
            let at = |p: [f64; 3]| p.map(|x| x * scale);
            let positions = vec![
                at([0.1; 3]),
                at([1.1, 0.1, 0.1]),
                at([0.1, 1.1, 0.1]),
                at([0.1, 0.1, 0.1001]),
                at([0.3, 0.3, 0.1]),
            ];
            let mut mesh =
                Mesh { positions, triangles: Vec::new(), tetrahedra: vec![[0, 1, 2, 3], [1, 0, 2, 3]] };
            assert_eq!(mesh.check_volumes(), Ok(()), "{scale}");
            mesh.tetrahedra.push([0, 1, 2, 4]);
            let flat = mesh.check_volumes().unwrap_err();
            assert!(matches!(flat, MeshError::Flat { element: 2, .. }), "{scale}: {flat}");
            assert!(
                flat.to_string()
                    .starts_with("tetrahedron 2 (from 0, in the order of the file) has no volume"),
                "{flat}"
            );
        }
    }
}
