//! Errors of mesh files, with the location, the problem and the remedy.

use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// A line of a text file, numbered from 1.
    Line(usize),
    /// A byte of a binary file, numbered from 0.
    Byte(usize),
}

/// An error in a mesh file, printed as `file:location: the problem, what was expected, and the remedy`.
///
/// ```
/// use coarsen_mesh::{Format, Location, Problem, parse};
/// let error = parse(Format::Obj, b"v 0 0 0\nv 1 zero 0\n").unwrap_err();
/// assert_eq!(error.location, Some(Location::Line(2)));
/// assert_eq!(error.problem, Problem::Number { what: "a coordinate", found: "zero".into() });
/// ```
#[derive(Clone, PartialEq)]
pub struct ReadError {
    /// The given path; `<bytes>`, `<node>` or `<ele>` if the file was given as bytes.
    pub file: PathBuf,
    /// The location; `None` if the file could not be opened, or if the error concerns the whole mesh.
    pub location: Option<Location>,
    /// The problem.
    pub problem: Problem,
}

/// Prints the same text as [`Display`](std::fmt::Display), because `main` prints errors with `Debug`.
impl std::fmt::Debug for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl ReadError {
    /// An error that concerns the whole mesh and has no location.
    pub fn of_whole(file: impl Into<PathBuf>, problem: impl Into<Problem>) -> Self {
        Self { file: file.into(), location: None, problem: problem.into() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        match self.location {
            Some(Location::Line(line)) => write!(f, "{line}:")?,
            Some(Location::Byte(byte)) => write!(f, "byte {byte}:")?,
            None => {}
        }
        write!(f, " {}", self.problem)
    }
}

impl std::error::Error for ReadError {}

/// A problem in a file. `found` is a quotation from the file, shortened if necessary.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The file could not be opened or read.
    #[error("cannot be read ({kind}); check the path and its permissions")]
    Open {
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// The file has a gzip header but cannot be decompressed.
    #[error(
        "the gzip stream is damaged, cut short or followed by other bytes ({kind}); download or compress the file again"
    )]
    Gzip {
        /// The error of the decompressor.
        kind: ErrorKind,
    },
    /// The file exceeds the size limit.
    #[error("the file has more than {limit} bytes; divide the mesh into smaller files")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// The extension is unknown.
    #[error(
        "unknown extension `{found}`, expected obj, ply, stl, msh, mesh, node, ele or vtk, with or without \
         .gz; rename or convert the file"
    )]
    Extension {
        /// The extension.
        found: String,
    },
    /// The file ends too early.
    #[error("the file ends, but {what} is expected; it may have been cut short")]
    End {
        /// The item expected.
        what: &'static str,
    },
    /// An unexpected word.
    #[error("expected {expected}, found `{found}`; the file has a different format, or is damaged")]
    Word {
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// A word that is not a number or is out of range.
    #[error("expected a number for {what}, found `{found}`; correct the line, or export the mesh again")]
    Number {
        /// The meaning of the number.
        what: &'static str,
        /// The content found.
        found: String,
    },
    /// A coordinate that is NaN or infinite.
    #[error("a coordinate is not finite; check the program that wrote it")]
    NotFinite,
    /// A corner that is not a vertex.
    #[error(
        "corner {index} is not one of the {vertices} vertices; the file is damaged, or its numbering \
         starts at a different number"
    )]
    Index {
        /// The index as in the file.
        index: i64,
        /// The number of vertices in the file.
        vertices: usize,
    },
    /// A corner without texture coordinates.
    #[error(
        "a corner has no texture coordinates, expected v/vt or v/vt/vn; export the mesh again with its texture \
         coordinates"
    )]
    NoTexture,
    /// A line of a list with another number of values than declared.
    #[error(
        "the line `{found}` has {amount} values than are declared for it; correct the line or the declaration, or \
         export the mesh again"
    )]
    Values {
        /// "more" or "fewer".
        amount: &'static str,
        /// The line.
        found: String,
    },
    /// A tetrahedron with a corner that occurs twice.
    #[error(
        "a tetrahedron has corner {corner} twice; remove this degenerate element, or mesh the body again"
    )]
    Repeated {
        /// The number of the corner as in the file.
        corner: i64,
    },
    /// A vertex number that occurs twice.
    #[error("vertex number {tag} occurs twice; renumber the vertices in the program that wrote the mesh")]
    Twice {
        /// The number.
        tag: i64,
    },
    /// A polygon with fewer than three corners.
    #[error("a face has {corners} corners, but needs 3 or more; remove it, or export the mesh again")]
    Corners {
        /// The number of corners found.
        corners: usize,
    },
    /// An element that is not a triangle, polygon or tetrahedron.
    #[error(
        "element type {kind} is not supported; export triangles or tetrahedra (curved ones are reduced \
         to their corners)"
    )]
    Element {
        /// The number of the element type in the format.
        kind: i64,
    },
    /// A version or an encoding of the format that is not supported.
    #[error("{what} `{found}` is not supported, expected {expected}; export the mesh again")]
    Version {
        /// The quantity that has a version.
        what: &'static str,
        /// The version found.
        found: String,
        /// The supported versions.
        expected: &'static str,
    },
    /// Lists of inconsistent lengths.
    #[error("{what}: expected {expected}, found {found}; the file is damaged")]
    Count {
        /// The quantity.
        what: &'static str,
        /// The number declared.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A mesh without the required elements.
    #[error(
        "no {needed} in the file: triangles {triangles}, tetrahedra {tetrahedra}; mesh the body again \
         with {needed}, or choose another file"
    )]
    Missing {
        /// The required elements: triangles or tetrahedra.
        needed: &'static str,
        /// The number of triangles found.
        triangles: usize,
        /// The number of tetrahedra found.
        tetrahedra: usize,
    },
    /// A mesh that cannot be used in a computation.
    #[error(transparent)]
    Mesh(#[from] MeshError),
}

/// Prints the same text as [`Display`](std::fmt::Display), because `main` prints errors with `Debug`.
impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// A mesh that cannot be used in a computation.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// A position that is NaN or infinite.
    #[error("vertex {vertex} has a position that is not finite; check the program that computed it")]
    NotFinite {
        /// The vertex.
        vertex: usize,
    },
    /// A corner that is not a vertex.
    #[error("{kind} {element} has corner {corner} (both from 0), but there are {vertices} vertices")]
    Corner {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// The index of the element.
        element: usize,
        /// The corner.
        corner: u32,
        /// The number of vertices.
        vertices: usize,
    },
    /// A vertex that occurs twice in one element.
    #[error("{kind} {element} has corner {corner} twice (both from 0); remove this degenerate element")]
    Repeated {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// The index of the element.
        element: usize,
        /// The corner.
        corner: u32,
    },
    /// An element whose corners lie in a plane or on a line.
    #[error(
        "{kind} {element} (from 0, in the order of the file) has no {what}; remove it, or mesh the body again"
    )]
    Flat {
        /// Triangle or tetrahedron.
        kind: &'static str,
        /// The index of the element.
        element: usize,
        /// Area or volume.
        what: &'static str,
    },
}

/// Prints the same text as [`Display`](std::fmt::Display), because `main` prints errors with `Debug`.
impl std::fmt::Debug for MeshError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}
