//! Readers of mesh files. They read points, triangles and tetrahedra, and check them.
//!
//! The gallery, the command and the examples all use these readers. They accept valid files of any program.
//! For an invalid file they return the position, the problem and the remedy. Memory grows with the entries that are read,
//! not with the counts that a file declares.
//!
//! | file | format |
//! |---|---|
//! | `obj` | Wavefront OBJ |
//! | `texture` | texture coordinates of Wavefront OBJ |
//! | `ply` | Stanford PLY, ascii and binary |
//! | `stl` | STL, ascii and binary |
//! | `msh` | Gmsh MSH 2 and 4.1, ascii and binary |
//! | `medit` | Medit MESH, ascii |
//! | `tetgen` | TetGen NODE and ELE |
//! | `vtk` | VTK legacy, ascii and binary |
//! | `format` | detection of the format; reading of the bytes |
//! | `polygon` | triangles of polygons |
//! | `fields` | words, numbers and bytes of a file, with their positions |
//! | `surface` | boundary, welded and unused vertices, bounding box |
//! | `voxels` | meshes of cubes |
//! | `shape` | generated bars; scaled, oriented and refined meshes |
//! | [`vector`] | operations on 3D vectors |
//! | `error` | errors of files and meshes |

mod error;
mod fields;
mod format;
mod medit;
mod msh;
mod obj;
mod ply;
mod polygon;
mod shape;
mod stl;
mod surface;
mod tetgen;
mod texture;
pub mod vector;
mod voxels;
mod vtk;

pub use error::{Location, MeshError, Problem, ReadError};
use vector::{cross, dot, sub};

pub use format::{
    Format, parse, parse_tetgen, parse_texture, read, read_tetrahedra, read_texture, read_triangles,
};

/// A mesh of points, triangles and tetrahedra.
///
/// Either list of elements may be empty. A volume mesh may also contain triangles, for example of marked
/// surfaces. Indices start at 0.
///
/// ```
/// use coarsen_mesh::{Format, parse};
/// let mesh = parse(Format::Obj, b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")?;
/// assert_eq!(mesh.triangles, [[0, 1, 2]]);
/// # Ok::<(), coarsen_mesh::ReadError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// The vertices, in the unit of the file. z is 0 if the file has two coordinates.
    pub positions: Vec<[f64; 3]>,
    /// The corners of each triangle; larger polygons are divided into triangles.
    pub triangles: Vec<[u32; 3]>,
    /// The corners of each tetrahedron.
    pub tetrahedra: Vec<[u32; 4]>,
    /// The materials and marked surfaces of a Gmsh file, by dimension and number, without those of points and curves; what
    /// other formats have like them is skipped.
    pub groups: Vec<Group>,
    /// The number of each vertex in its file, also after others are removed. Empty if the vertices come from an STL file, or
    /// from no file.
    pub numbers: Vec<i64>,
}

/// A named set of elements, such as a material or a surface with a support: a physical group of Gmsh. An element may belong
/// to several groups, or to none.
///
/// ```
/// use coarsen_mesh::{Format, parse};
/// let text = b"$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 7 \"wall\"\n$EndPhysicalNames\n\
///     $Nodes\n3\n10 0 0 0\n20 1 0 0\n30 0 1 0\n$EndNodes\n$Elements\n1\n1 2 2 7 1 10 20 30\n$EndElements\n";
/// let mesh = parse(Format::Msh, text)?;
/// let wall = &mesh.groups[0];
/// assert_eq!((&wall.name[..], wall.dimension, &wall.elements[..]), ("wall", 2, &[0][..]));
/// assert_eq!(mesh.numbers, [10, 20, 30]);
/// # Ok::<(), coarsen_mesh::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name, or the number if the file does not name the group.
    pub name: String,
    /// 2: the elements are triangles; 3: tetrahedra.
    pub dimension: u8,
    /// The indices of the elements among all of their dimension, in ascending order.
    pub elements: Vec<u32>,
}

impl Mesh {
    /// Checks that positions are finite, and that the corners of each element exist and are distinct. Every
    /// reader calls this method.
    ///
    /// # Errors
    /// [`MeshError`] for the first invalid vertex or element.
    pub fn check(&self) -> Result<(), MeshError> {
        if let Some(vertex) = self.positions.iter().position(|x| x.iter().any(|x| !x.is_finite())) {
            return Err(MeshError::NotFinite { vertex });
        }
        let vertices = self.positions.len();
        check_elements("triangle", &self.triangles, vertices)?;
        check_elements("tetrahedron", &self.tetrahedra, vertices)
    }

    /// Checks that there is at least one tetrahedron and that no tetrahedron is flat, as in
    /// [`check_volumes`](Self::check_volumes).
    ///
    /// # Errors
    /// [`Problem::Missing`] gives the numbers of elements, [`MeshError::Flat`] the first flat tetrahedron.
    pub fn check_tetrahedra(&self) -> Result<(), Problem> {
        self.check_holds("tetrahedra", self.tetrahedra.len())?;
        Ok(self.check_volumes()?)
    }

    /// Numbers the vertices in the order of the file.
    fn numbered(mut self, first: i64) -> Self {
        self.numbers = (0..self.positions.len() as i64).map(|k| first + k).collect();
        self
    }

    fn check_holds(&self, needed: &'static str, count: usize) -> Result<(), Problem> {
        let [triangles, tetrahedra] = [self.triangles.len(), self.tetrahedra.len()];
        if count == 0 { Err(Problem::Missing { needed, triangles, tetrahedra }) } else { Ok(()) }
    }

    /// Checks that no tetrahedron is flat: its volume must exceed the round-off of its corners, so that its
    /// stiffness is finite.
    ///
    /// # Errors
    /// [`MeshError::Flat`] gives the first flat tetrahedron.
    pub fn check_volumes(&self) -> Result<(), MeshError> {
        let flat = |t: &[u32; 4]| {
            let [a, b, c, d] = t.map(|v| self.positions[v as usize]);
            let edges = [sub(b, a), sub(c, a), sub(d, a), sub(c, b), sub(d, b), sub(d, c)];
            let size = edges.as_flattened().iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            // Scaled to size 1 to avoid overflow.
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

/// The smallest six-fold volume of a tetrahedron of size 1 that does not count as flat. Four points in a
/// plane give 1e-16 if their coordinates have 16 digits. With 32-bit coordinates they give 1e-8, which cannot
/// be distinguished from a thin tetrahedron.
const FLAT: f64 = 1e-13;

/// Checks that corners exist and are distinct.
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
        if let Some(k) = repeated(corners) {
            return Err(MeshError::Repeated { kind, element, corner: corners[k] });
        }
    }
    Ok(())
}

/// The place of the first corner that is equal to an earlier one.
fn repeated<const N: usize>(corners: &[u32; N]) -> Option<usize> {
    (1..N).find(|&k| corners[..k].contains(&corners[k]))
}
