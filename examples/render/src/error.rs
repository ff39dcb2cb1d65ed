//! Errors of drawing and writing pictures.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// A picture that cannot be drawn or written.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// A file that cannot be written.
    #[error("{}: cannot be written ({kind}); check the folder, its permissions and the free space", file.display())]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// A picture file that cannot be read.
    #[error("{}: cannot be read as a picture ({kind}); it may be damaged or of another program", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// The error of the operating system, or [`ErrorKind::InvalidData`].
        kind: ErrorKind,
    },
    /// An empty picture, or one that exceeds the limits of its format.
    #[error("the picture has {width} x {height} pixels, but each side must be 1 to {limit}")]
    Size {
        /// Width in pixels.
        width: usize,
        /// Height in pixels.
        height: usize,
        /// The largest side that the format allows.
        limit: u32,
    },
    /// Frames of different sizes, or none.
    #[error(
        "frame {frame} is missing or differs in size from the first; draw all frames with the same settings"
    )]
    Frame {
        /// The frame, numbered from 0.
        frame: usize,
    },
    /// The number of values differs from the number of vertices.
    #[error("{found} values for {expected} vertices; pass one value per vertex")]
    Values {
        /// The number of vertices.
        expected: usize,
        /// The number of values.
        found: usize,
    },
    /// A value that is not finite.
    #[error("value {index} is not finite; check the code that computed it")]
    NotFinite {
        /// The index of the value.
        index: usize,
    },
    /// A triangle with a corner that is not a vertex.
    #[error("triangle {triangle} has a corner that is not a vertex; check the mesh")]
    Corner {
        /// The index of the triangle.
        triangle: usize,
    },
}

impl PictureError {
    /// Adds the file name to an error.
    pub(crate) fn write(file: &Path) -> impl Fn(std::io::Error) -> Self {
        |error| Self::Write { file: file.into(), kind: error.kind() }
    }
}
