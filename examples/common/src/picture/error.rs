//! What keeps a picture from being made.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A picture that cannot be drawn or written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A file that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the space left", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// What the system said.
        kind: ErrorKind,
    },
    /// A picture without pixels, or with more than its format can hold.
    #[error("a picture of {width} x {height} pixels, but each side must be 1 to {limit}")]
    Size {
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
        /// The largest side of the format.
        limit: u32,
    },
    /// Frames of different sizes, or none.
    #[error("frame {frame} is missing or has another size than the first; draw all frames with one drawing")]
    Frame {
        /// The frame, counted from 0.
        frame: usize,
    },
    /// Another number of values than vertices.
    #[error("{found} values for {expected} vertices; give one value to each vertex")]
    Values {
        /// Vertices.
        expected: usize,
        /// Values.
        found: usize,
    },
    /// A value that cannot be drawn.
    #[error("value {index} is not finite; look at what computed it")]
    NotFinite {
        /// Its number.
        index: usize,
    },
    /// A triangle that names no vertex.
    #[error("triangle {triangle} names a vertex that is not there; check the mesh")]
    Corner {
        /// The triangle.
        triangle: usize,
    },
}

impl PictureError {
    /// Blames a file.
    pub(super) fn write(file: &Path) -> impl Fn(std::io::Error) -> Self {
        |error| Self::Write { file: file.into(), kind: error.kind() }
    }
}
