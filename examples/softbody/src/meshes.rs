//! The meshes of bodies: generated, from a file, or from the folder of test data.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use coarsen::mesh::{self, Mesh, MeshError, ReadError};
use examples_scene::file::is_file;
use examples_scene::shape::cells;
use examples_scene::{Field, Fingerprint};

use crate::material::volume;

/// The environment variable that names the folder of test data.
const DATA: &str = "COARSEN_DATA";

/// The maximum number of cells across a bar, and of vertices along a side of a sheet.
const MOST: [usize; 2] = [100, 2000];

/// A mesh by name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MeshChoice {
    /// The armadillo of the test data.
    Armadillo,
    /// The bunny of the test data.
    Bunny,
    /// A bar of 4 N x N x N cells.
    Bar(usize),
    /// A sheet of N x N vertices.
    Sheet(usize),
    /// A file of tetrahedra or triangles.
    File(PathBuf),
}

/// Positions and elements are fields of their own; the springs of a sheet follow from its side.
impl Field for MeshChoice {
    fn add(&self, to: &mut Fingerprint) {
        to.field("side", &self.side());
    }
}

/// A mesh that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MeshFault {
    #[error(
        "`{name}`: expected bar:N with N from 1 to {}, sheet:N with N from 2 to {}, armadillo, bunny or \
         a file",
        MOST[0],
        MOST[1]
    )]
    Name { name: String },
    #[error(
        "the mesh {name} is in the folder of test data; set {DATA} to that folder, or use --mesh bar:8 \
         or a file"
    )]
    NoData { name: MeshChoice },
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error("{name}: {source}")]
    Element { name: MeshChoice, source: MeshError },
    #[error(
        "{name}: tetrahedron {element} (from 0, in the order of the file) is inverted: its volume is \
         {volume:.3e}; swap two of its corners, or repair the mesh"
    )]
    Inverted { name: MeshChoice, element: usize, volume: f64 },
    #[error(
        "{name}: no element uses vertex {vertex} (from 0), so it would have no mass; remove it with \
         Mesh::without_unused"
    )]
    Unused { name: MeshChoice, vertex: usize },
    #[error("{name}: has neither tetrahedra nor triangles")]
    Empty { name: MeshChoice },
}

impl MeshChoice {
    /// Reads the mesh, or generates it with a longest side of 1. The mesh has tetrahedra of positive volume or, without
    /// tetrahedra, triangles. Every vertex belongs to an element.
    ///
    /// If all tetrahedra of a file have negative volume, the file uses the opposite orientation, which is
    /// reversed.
    pub(crate) fn load(&self) -> Result<Mesh, MeshFault> {
        let mesh = match self {
            Self::Bar(n) => Mesh::bar([4 * n, *n, *n], 1.0).scaled(1.0),
            Self::Sheet(n) => sheet(*n).scaled(1.0),
            Self::File(file) => mesh::read(file)?,
            Self::Armadillo => {
                let mut mesh = self.data("ipc_Armadillo13K.msh.gz")?;
                mesh.positions.iter_mut().for_each(|p| *p = [-p[0], p[1], -p[2]]); // now it faces +z
                mesh
            }
            Self::Bunny => self.data("gpuipc_bunny.msh.gz")?,
        };
        self.checked(mesh)
    }

    /// The texture coordinates of the triangles of a surface of a file, of those that welding leaves if `weld`; `None` unless
    /// all `count` of them have some.
    pub(crate) fn texture(&self, count: usize, weld: bool) -> Option<Vec<[[f64; 2]; 3]>> {
        let Self::File(file) = self else { return None };
        let all = mesh::read_texture(file).ok()?;
        let texture = if weld {
            let (_, kept) = self.load().ok()?.welded();
            kept.iter().map(|&t| all.get(t as usize).copied()).collect::<Option<_>>()?
        } else {
            all
        };
        Some(texture).filter(|texture: &Vec<_>| texture.len() == count)
    }

    /// Whether the mesh has a size of its own.
    pub(crate) fn is_file(&self) -> bool {
        !matches!(self, Self::Bar(_) | Self::Sheet(_))
    }

    /// The number of vertices along a side of a sheet.
    pub(crate) fn side(&self) -> Option<usize> {
        if let Self::Sheet(n) = self { Some(*n) } else { None }
    }

    fn data(&self, file: &str) -> Result<Mesh, MeshFault> {
        let folder = std::env::var_os(DATA).ok_or_else(|| MeshFault::NoData { name: self.clone() })?;
        Ok(mesh::read(PathBuf::from(folder).join("meshes").join(file))?)
    }

    fn checked(&self, mut mesh: Mesh) -> Result<Mesh, MeshFault> {
        let name = || self.clone();
        mesh.check_volumes().map_err(|source| MeshFault::Element { name: name(), source })?;
        let at = |v: u32| mesh.positions[v as usize];
        let volumes: Vec<f64> = mesh.tetrahedra.iter().map(|t| volume(t.map(at))).collect();
        let turned = volumes.iter().all(|v| *v < 0.0);
        if let Some(element) = volumes.iter().position(|v| *v < 0.0).filter(|_| !turned) {
            return Err(MeshFault::Inverted { name: name(), element, volume: volumes[element] });
        }
        if mesh.tetrahedra.is_empty() {
            if mesh.triangles.is_empty() {
                return Err(MeshFault::Empty { name: name() });
            }
        } else {
            mesh.triangles = Vec::new();
            mesh.groups.retain(|group| group.dimension == 3);
            mesh = mesh.oriented();
        }
        let mut used = vec![false; mesh.positions.len()];
        let corners = mesh.tetrahedra.as_flattened().iter().chain(mesh.triangles.as_flattened());
        corners.for_each(|&v| used[v as usize] = true);
        match used.iter().position(|used| !used) {
            Some(vertex) => Err(MeshFault::Unused { name: name(), vertex }),
            None => Ok(mesh),
        }
    }
}

/// The unit square in the plane y = 0 with n x n vertices, x varying fastest; the diagonals of the cells
/// alternate.
fn sheet(n: usize) -> Mesh {
    let at = |k: usize| k as f64 / (n - 1) as f64;
    let positions = (0..n * n).map(|v| [at(v % n), 0.0, at(v / n)]).collect();
    let triangles = cells([n - 1; 2], |i, j| (j * n + i) as u32);
    Mesh { positions, triangles, ..Mesh::default() }
}

impl FromStr for MeshChoice {
    type Err = MeshFault;

    fn from_str(text: &str) -> Result<Self, MeshFault> {
        let wrong = || MeshFault::Name { name: text.to_owned() };
        let count = |digits: &str, least, most| {
            digits.parse().ok().filter(|n| (least..=most).contains(n)).ok_or_else(wrong)
        };
        match (text, text.split_once(':')) {
            ("armadillo", _) => Ok(Self::Armadillo),
            ("bunny", _) => Ok(Self::Bunny),
            (_, Some(("bar", n))) => Ok(Self::Bar(count(n, 1, MOST[0])?)),
            (_, Some(("sheet", n))) => Ok(Self::Sheet(count(n, 2, MOST[1])?)),
            _ if is_file(text) => Ok(Self::File(text.into())),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for MeshChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Armadillo => f.write_str("armadillo"),
            Self::Bunny => f.write_str("bunny"),
            Self::Bar(n) => write!(f, "bar:{n}"),
            Self::Sheet(n) => write!(f, "sheet:{n}"),
            Self::File(file) => file.display().fmt(f),
        }
    }
}
