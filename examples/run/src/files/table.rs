//! The table of frames: the file `frames.csv`, one line per frame.

use std::fmt::{self, Display, Write as _};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::{OutputError, failed};

/// The results of a frame: a line of the table, which is read back without rounding.
pub trait Record: Clone + Display + FromStr {
    /// The first line of the file.
    const HEADER: &'static str;

    /// The number of the frame; 0 is the start.
    fn frame(&self) -> usize;

    /// A few words for the progress bar.
    fn note(&self) -> String;
}

/// The table of frames, and its file, to which each frame adds a line.
pub struct Table<R> {
    path: PathBuf,
    file: File,
    /// The rows of the start and of all frames so far.
    pub rows: Vec<R>,
}

impl<R: Record> Table<R> {
    /// Reads the rows of the start and of the first `frames` frames from the folder of an earlier run.
    ///
    /// # Errors
    /// [`OutputError::Table`] if a frame is missing or its line cannot be read; nothing is changed.
    pub fn read(folder: &Path, frames: usize) -> Result<Vec<R>, OutputError> {
        let file = folder.join("frames.csv");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let mut lines = text.lines();
        if lines.next() != Some(R::HEADER) {
            return Err(OutputError::Table { file, line: 1 });
        }
        let row = |frame: usize| {
            let row = lines.next().and_then(|line| line.parse().ok()).filter(|row: &R| row.frame() == frame);
            row.ok_or_else(|| OutputError::Table { file: file.clone(), line: frame + 2 })
        };
        (0..=frames).map(row).collect()
    }

    /// Writes a new file with these rows; creates the folder if necessary.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn create(folder: &Path, rows: Vec<R>) -> Result<Self, OutputError> {
        let path = folder.join("frames.csv");
        let beside = folder.join("frames.part");
        let mut text = format!("{}\n", R::HEADER);
        rows.iter().for_each(|row| _ = writeln!(text, "{row}"));
        let open = || {
            std::fs::create_dir_all(folder)?;
            let mut part = File::create(&beside)?;
            part.write_all(text.as_bytes())?;
            part.sync_all()?;
            std::fs::rename(&beside, &path)?;
            OpenOptions::new().append(true).open(&path)
        };
        let file = open().map_err(failed(&path))?;
        Ok(Self { path, file, rows })
    }

    /// Adds a row.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn push(&mut self, row: R) -> Result<(), OutputError> {
        writeln!(self.file, "{row}").map_err(failed(&self.path))?;
        self.rows.push(row);
        Ok(())
    }

    /// Returns once all rows are on the disk.
    ///
    /// # Errors
    /// [`OutputError::Write`]
    pub fn sync(&self) -> Result<(), OutputError> {
        self.file.sync_data().map_err(failed(&self.path))
    }
}

/// The columns of [`statistics`].
///
/// # Errors
/// Those of the formatter.
pub fn columns(f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "{:<22}{:>12}{:>12}{:>12}{:>12}", "", "mean", "least", "median", "most")
}

/// A line of a summary: mean, least, median and largest value of all frames.
///
/// # Errors
/// Those of the formatter.
pub fn statistics(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    values: impl IntoIterator<Item = f64>,
) -> fmt::Result {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_unstable_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    let at = |share: f64| values.get((share * (values.len() as f64 - 1.0)) as usize).copied();
    let [low, middle, high] = [0.0, 0.5, 1.0].map(|share| at(share).unwrap_or(0.0));
    writeln!(f, "{name:<22}{mean:>12.4}{low:>12.4}{middle:>12.4}{high:>12.4}")
}
