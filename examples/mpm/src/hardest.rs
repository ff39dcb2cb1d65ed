//! The states before the frames with the most iterations a step, for benchmarks: `state_0000.bin`.
//!
//! A state is a checkpoint under another name: a hard link, or a copy where the file system has no links. It is kept as
//! soon as its frame is computed, and states that are not among the hardest any more go when the next checkpoint is
//! written. So a run that is cut off and continued keeps the same states as one that was not.

use std::path::{Path, PathBuf};

use examples_common::Failure;
use examples_common::files::{CheckpointError, Table, read, write};

use crate::fault::StateError;
use crate::rows::Row;
use crate::state::State;

/// The states before the hardest frames of a run.
pub struct Hardest<'a> {
    count: usize,
    folder: &'a Path,
    identity: u64,
    /// Row k is that of frame k; empty before the first call of [`renew`](Self::renew).
    rows: Vec<Row>,
}

/// The file of the state after a frame.
pub fn file(folder: &Path, frame: usize) -> PathBuf {
    folder.join(format!("state_{frame:04}.bin"))
}

/// The states in a folder: the numbers in the names of the files, and the files, in rising order.
pub fn kept(folder: &Path) -> Vec<(usize, PathBuf)> {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let numbered = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("state_")?.strip_suffix(".bin")?;
        let frame = name.parse().ok()?;
        (file(folder, frame) == path).then_some((frame, path)) // `state_7.bin` is not one of ours
    };
    let mut files: Vec<_> = files.filter_map(numbered).collect();
    files.sort();
    files
}

/// The frames with the most iterations a step, the hardest first; the earlier one of two equal ones.
pub fn frames(rows: &[Row], count: usize) -> Vec<usize> {
    let mut all: Vec<&Row> = rows.iter().filter(|row| row.frame > 0 && row.steps > 0).collect();
    // a / b < c / d as a d < c b, without rounding or overflow.
    let product = |a: usize, b: usize| a as u128 * b as u128;
    let order = |a: &&Row, b: &&Row| product(b.outer, a.steps).cmp(&product(a.outer, b.steps));
    all.sort_by(|a, b| order(a, b).then(a.frame.cmp(&b.frame)));
    all.iter().take(count).map(|row| row.frame).collect()
}

impl<'a> Hardest<'a> {
    /// Keeps `count` states of a run with a folder and a fingerprint, or none. `every` is the number of frames between
    /// two checkpoints.
    ///
    /// # Errors
    /// [`StateError::Checkpoint`].
    pub fn new(count: usize, every: usize, folder: &'a Path, identity: u64) -> Result<Self, StateError> {
        if count > 0 && every > 1 {
            return Err(StateError::Checkpoint { every });
        }
        Ok(Self { count, folder, identity, rows: Vec::new() })
    }

    /// Begins a frame from a state, whose checkpoint is written unless it is the start. Removes states that are not
    /// among the hardest.
    ///
    /// # Errors
    /// [`StateError::Missing`], and those of files, also of a state that is damaged or of another run.
    pub fn renew(&mut self, state: &State) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        if state.frame == 0 {
            self.rows = vec![Row::default()];
            self.prune();
            return Ok(write(&file(self.folder, 0), self.identity, state)?);
        }
        if self.rows.is_empty() {
            self.rows = Table::read(self.folder, state.frame)?;
            for frame in frames(&self.rows, self.count) {
                let file = file(self.folder, frame - 1);
                if !file.exists() {
                    return Err(StateError::Missing { file, frame }.into());
                }
                read::<State>(&file, self.identity)?;
            }
        }
        self.prune();
        Ok(())
    }

    /// Keeps the last checkpoint if the frame after it, which has this row, is one of the hardest so far.
    ///
    /// # Errors
    /// [`CheckpointError::Write`].
    pub fn add(&mut self, row: &Row) -> Result<(), CheckpointError> {
        if self.count == 0 {
            return Ok(());
        }
        self.rows.push(row.clone());
        // The start has no checkpoint; its state is written by `renew`.
        if row.frame < 2 || !frames(&self.rows, self.count).contains(&row.frame) {
            return Ok(());
        }
        let (from, to) = (self.folder.join("checkpoint.bin"), file(self.folder, row.frame - 1));
        let beside = to.with_extension("part");
        let keep = || {
            let _ = std::fs::remove_file(&beside); // of a run that was cut off
            std::fs::hard_link(&from, &beside).or_else(|_| std::fs::copy(&from, &beside).map(drop))?;
            std::fs::rename(&beside, &to)?;
            let _ = std::fs::remove_file(&beside); // it stays if both were the same file
            Ok(())
        };
        keep()
            .map_err(|error: std::io::Error| CheckpointError::Write { file: to.clone(), kind: error.kind() })
    }

    /// Removes the states that are not before one of the hardest frames so far.
    pub fn prune(&self) {
        if self.count > 0 && !self.rows.is_empty() {
            let frames = frames(&self.rows, self.count);
            let spare = |(frame, _): &(usize, PathBuf)| !frames.contains(&(frame + 1));
            kept(self.folder).into_iter().filter(spare).for_each(|(_, path)| _ = std::fs::remove_file(path));
        }
    }
}
