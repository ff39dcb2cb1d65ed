//! What is wrong with a mesh file, where, and what to do about it.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Where in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text file, counted from 1.
    Line(usize),
    /// A byte of a binary file, counted from 0.
    Byte(usize),
}

/// A mesh file that cannot be read: `file:place: what is wrong, what was expected, and the cure`.
///
/// ```
/// use coarsen_mesh::{Format, Place, Problem, parse};
/// let error = parse(Format::Obj, b"v 0 0 0\nv 1 zero 0\n").unwrap_err();
/// assert_eq!(error.place, Some(Place::Line(2)));
/// assert_eq!(error.problem, Problem::Number { what: "coordinate", found: "zero".into() });
/// ```
#[derive(Clone, PartialEq)]
pub struct ReadError {
    /// The path as given, or `<bytes>`.
    pub file: PathBuf,
    /// Where; none where the file could not be opened, or the mesh as a whole is wrong.
    pub place: Option<Place>,
    /// What is wrong there.
    pub problem: Problem,
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ReadError {
    /// An error of the mesh as a whole.
    pub fn of_whole(file: impl Into<PathBuf>, problem: impl Into<Problem>) -> Self {
        Self { file: file.into(), place: None, problem: problem.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        match self.place {
            Some(Place::Line(line)) => write!(f, "{line}:")?,
            Some(Place::Byte(byte)) => write!(f, "byte {byte}:")?,
            None => {}
        }
        write!(f, " {}", self.problem)
    }
}

impl std::error::Error for ReadError {}

/// What is wrong in a file; `found` quotes it, shortened.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be opened or read.
    #[error("cannot be read ({kind}); check the path and its permissions")]
    Open {
        /// What the system said.
        kind: ErrorKind,
    },
    /// The file starts like gzip but does not decompress.
    #[error("the gzip stream is damaged or cut short ({kind}); fetch or compress the file again")]
    Gzip {
        /// What the decompressor said.
        kind: ErrorKind,
    },
    /// More bytes than a mesh is read from.
    #[error("the file holds more than {limit} bytes; cut the mesh, or raise the limit where it is read")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// An extension that no reader knows.
    #[error(
        "unknown extension `{found}`, expected obj, ply, msh, mesh, node, ele or vtk, with or without .gz; rename or convert the file"
    )]
    Extension {
        /// The extension.
        found: String,
    },
    /// The file ends too early.
    #[error("the file ends where {what} is expected; it may have been cut short")]
    End {
        /// What should follow.
        what: &'static str,
    },
    /// Another word than the format has there.
    #[error("expected {expected}, found `{found}`; the file is another format, or damaged")]
    Word {
        /// What the format has there.
        expected: &'static str,
        /// What the file has.
        found: String,
    },
    /// Not a number, or not one that fits.
    #[error("expected a number for {what}, found `{found}`; correct the line, or export the mesh again")]
    Number {
        /// What the number is for.
        what: &'static str,
        /// What the file has.
        found: String,
    },
    /// A coordinate that is NaN or infinite.
    #[error("a coordinate is not finite; look at what computed it")]
    NotFinite,
    /// A corner that names no vertex.
    #[error(
        "corner {index} names no vertex, there are {vertices}; the file is damaged or counts from another base"
    )]
    Index {
        /// The index, as in the file.
        index: i64,
        /// Vertices in the file.
        vertices: usize,
    },
    /// One number for two vertices.
    #[error("vertex number {tag} is given twice; renumber the mesh where it was made")]
    Twice {
        /// The number.
        tag: i64,
    },
    /// A polygon with fewer than three corners.
    #[error("a face has {corners} corners, but needs 3 or more; remove it, or export the mesh again")]
    Corners {
        /// Corners found.
        corners: usize,
    },
    /// An element that is neither a triangle, a polygon nor a tetrahedron.
    #[error(
        "element type {kind} is not read; export triangles or tetrahedra, of which curved ones are read by their corners"
    )]
    Element {
        /// The number of the type in the format.
        kind: i64,
    },
    /// A version or an encoding of the format that is not read.
    #[error("{what} `{found}` is not read, expected {expected}; export the mesh again")]
    Version {
        /// What has a version.
        what: &'static str,
        /// The version found.
        found: String,
        /// The versions read.
        expected: &'static str,
    },
    /// Lists that belong together and differ in length.
    #[error("{what}: expected {expected}, found {found}; the file is damaged")]
    Count {
        /// What is counted.
        what: &'static str,
        /// The number declared.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A mesh of other elements than those needed.
    #[error(
        "no {needed} in the file: triangles {triangles}, tetrahedra {tetrahedra}; mesh the body anew with {needed}, or name another file"
    )]
    Missing {
        /// Triangles or tetrahedra.
        needed: &'static str,
        /// Triangles found.
        triangles: usize,
        /// Tetrahedra found.
        tetrahedra: usize,
    },
    /// A mesh that cannot be computed with.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A mesh that cannot be computed with.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// A position that is NaN or infinite.
    #[error("vertex {vertex} has a position that is not finite; look at what computed it")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// A corner that names no vertex.
    #[error("{kind} {element} has corner {corner}, but there are {vertices} vertices")]
    Corner {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// Its number.
        element: usize,
        /// The corner.
        corner: u32,
        /// Vertices there are.
        vertices: usize,
    },
    /// The same vertex twice in one element.
    #[error("{kind} {element} has corner {corner} twice; remove it, it has no extent")]
    Repeated {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// Its number.
        element: usize,
        /// The corner.
        corner: u32,
    },
    /// An element whose corners lie in a plane, or on a line.
    #[error(
        "{kind} {element} (from 0, in the order of the file) has no {what}; remove it, or mesh the body anew"
    )]
    Flat {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// Its number.
        element: usize,
        /// Area or volume.
        what: &'static str,
    },
}

/// The same sentence as [`Display`](std::fmt::Display): what `main` prints of an error.
impl std::fmt::Debug for MeshError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
