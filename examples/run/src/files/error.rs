//! Errors of files.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A file of an earlier run that cannot be used, or a file that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// A file or folder that cannot be written.
    #[error(
        "{}: cannot be written ({kind}); check the folder, its permissions and the free space",
        file.display()
    )]
    Write {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// The standard output cannot be written.
    #[error("<stdout>: cannot be written ({kind})")]
    Standard {
        /// The error of the operating system.
        kind: ErrorKind,
    },
    /// A file that the run reads, in the folder of its files and with the name of one.
    #[error(
        "{}: the run reads this file and may replace it; give another --out, another name to the file, or --resume to continue \
         the run in the folder", file.display()
    )]
    Input {
        /// The file.
        file: PathBuf,
    },
    /// A picture of another width.
    #[error(
        "{}: the picture has {} x {} pixels, but this run draws {} x {}, and an animation needs one size; \
         continue with --width {}, or with --width 0",
        file.display(), found.0, found.1, expected.0, expected.1, found.0
    )]
    Width {
        /// The file.
        file: PathBuf,
        /// Its width and height.
        found: (usize, usize),
        /// Those of this run.
        expected: (usize, usize),
    },
    /// A picture of an earlier frame that is lost, damaged, or was never drawn.
    #[error(
        "{}: the picture of frame {frame}, before the checkpoint, cannot be read ({kind}), and an animation needs \
         all of them; continue with --width 0, which draws none, or run without --resume to start anew",
        file.display()
    )]
    Picture {
        /// The file.
        file: PathBuf,
        /// The number of its frame.
        frame: usize,
        /// The error of the operating system, or [`ErrorKind::InvalidData`].
        kind: ErrorKind,
    },
    /// A file that has the frames before one, and lacks some, is of another surface or run, or does not exist.
    #[error(
        "{}: the frames before frame {frame} are missing or belong to another surface or run, and an animation needs all of them; \
         continue with the --format of the earlier run, or run without --resume to start anew",
        file.display()
    )]
    Cache {
        /// The file.
        file: PathBuf,
        /// The number of the frame.
        frame: usize,
    },
    /// A file of a frame before the checkpoint that this run did not write.
    #[error(
        "{}: frame {frame} was not written by the run that is continued; continue with the --format and the --width of its \
         earlier frames, or take away such files", file.display()
    )]
    Stale {
        /// The file.
        file: PathBuf,
        /// The number of the frame.
        frame: usize,
    },
    /// An animation that is too large for its format.
    #[error(
        "{}: glTF has at most 4 GiB, and the animation of all frames is larger; run with --format pc2, whose file surface.pc2 \
         has them", file.display()
    )]
    Large {
        /// The file.
        file: PathBuf,
    },
    /// A table of frames that ends before the checkpoint, or is damaged.
    #[error(
        "{}: line {line} is missing, is not that of its frame, or has a number that cannot be read or is not finite; \
         nothing was changed; run without --resume to start anew",
        file.display()
    )]
    Table {
        /// The file.
        file: PathBuf,
        /// The number of the line, from 1; frame 0 is in line 2.
        line: usize,
    },
}

/// An error if a file with the frames before `frame` does not exist, as of an earlier run in another format.
pub(super) fn require(file: PathBuf, frame: usize) -> Result<(), OutputError> {
    if file.is_file() { Ok(()) } else { Err(OutputError::Cache { file, frame }) }
}

/// Adds the file name to an error.
pub fn failed(file: &Path) -> impl Fn(io::Error) -> OutputError {
    |error| OutputError::Write { file: file.into(), kind: error.kind() }
}
