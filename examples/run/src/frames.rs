//! The frames of a run, from one checkpoint to the next.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use coarsen::StepFault;
use examples_render::{Picture, PictureError, gif_of_files, name};
use indicatif::{ProgressBar, ProgressStyle};

use crate::Failure;
use crate::arguments::say;
use crate::files::{
    OutputError, Record, Saved, Shown, Table, check_shown, failed, read, read_run, summary, write_run,
};

/// A step that failed. The state is that before its frame. The advice is that of the fault.
#[derive(Debug, thiserror::Error)]
#[error("frame {frame}, step {step}: {}; the last frame on disk is good", options(fault))]
pub struct Failed {
    /// The number of its frame.
    pub frame: usize,
    /// Its own number, from the start of the run.
    pub step: usize,
    /// Why it failed.
    #[source]
    pub fault: StepFault,
}

/// The message of a fault, with the options that its advice means.
fn options(fault: &StepFault) -> String {
    let thickness = "thickness of contact";
    fault
        .to_string()
        .replace("a smaller time step", "a smaller --dt")
        .replace(thickness, &format!("{thickness} (--thickness, or contact.thickness of a scene)"))
}

/// A simulation that computes frames.
pub trait Frames {
    /// What it passes from frame to frame.
    type State: Saved;
    /// The results of a frame.
    type Row: Record;

    /// The state at the start and its row.
    fn start(&mut self) -> Result<(Self::State, Self::Row), Failure>;

    /// Builds the solver for the frames after `state`. Nothing of an earlier solver may be used, so that a
    /// run continued from a checkpoint computes the same bits.
    fn renew(&mut self, state: &Self::State) -> Result<(), Failure>;

    /// Computes the next frame.
    ///
    /// # Errors
    /// Whatever fails; the state is then that before the frame.
    fn step(&mut self, state: &mut Self::State) -> Result<Self::Row, Failure>;

    /// Writes the surface and, if the run draws, the picture of a state.
    fn show(&self, state: &Self::State) -> Result<(), Failure>;

    /// Writes what is made of all frames at the end of a run.
    fn finish(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// How a run is carried out.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The folder of all files.
    pub folder: &'a Path,
    /// The files that the run reads, without the scene.
    pub inputs: Vec<PathBuf>,
    /// The fingerprint of all that decides the bits of the run.
    pub identity: u64,
    /// The number of the last frame.
    pub frames: usize,
    /// The number of frames between two checkpoints.
    pub checkpoint: usize,
    /// Whether the state of each checkpoint is kept in a file of its own, such as `checkpoint_0012.bin`.
    pub keep: bool,
    /// Whether to continue from the last checkpoint.
    pub resume: bool,
    /// What is written of each frame.
    pub shown: Shown,
    /// The width and height of the pictures; `None` if none are drawn.
    pub picture: Option<(usize, usize)>,
    /// The name of the animation.
    pub animation: &'a str,
    /// The time between frames in s.
    pub delay: f64,
    /// What the run does not do though a user may expect it; said before the frames, and after the summary.
    pub notes: Vec<String>,
}

impl Plan<'_> {
    /// Runs a simulation and returns the rows of all frames; row k is that of frame k.
    ///
    /// The solver is built again at each checkpoint, even if the run was not interrupted. So a continued run
    /// computes the same bits as an uninterrupted run. Files of an earlier run are read before any file is
    /// written. The last files are the summary and the animation.
    ///
    /// # Errors
    /// Those of the simulation and of files, and [`OutputError::Input`].
    pub fn run<S: Frames>(&self, simulation: &mut S) -> Result<Vec<S::Row>, Failure> {
        self.check_inputs()?;
        let notes: String = self.notes.iter().map(|note| format!("note: {note}\n")).collect();
        eprint!("{notes}");
        let file = self.folder.join("checkpoint.bin");
        let picture = |frame| self.folder.join(name(frame, "png"));
        let (mut state, rows, mut shown) = if self.resume {
            let (state, shown): (S::State, _) = read_run(&file, self.identity)?;
            let rows = Table::<S::Row>::read(self.folder, state.frame())?;
            check_shown(&shown, self.shown, self.folder)?;
            if let Some(size) = self.picture {
                (0..=state.frame()).try_for_each(|frame| check_picture(frame, picture(frame), size))?;
            }
            (state, rows, shown)
        } else {
            let (state, row) = simulation.start()?;
            (state, vec![row], vec![self.shown])
        };
        // A run that cannot go on changes no file.
        let mut is_ready = self.resume && state.frame() < self.frames;
        if is_ready {
            simulation.renew(&state)?;
        }
        let mut table = Table::create(self.folder, rows)?;
        if !self.resume {
            // It is of another run, whose rows and frames this run replaces.
            let removed = std::fs::remove_file(&file);
            removed.or_else(|error| {
                if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(failed(&file)(error)) }
            })?;
            simulation.show(&state)?;
        }

        let style =
            ProgressStyle::with_template("{bar:40} {pos}/{len} frames, {per_sec}, {eta} left  {msg}")?;
        let bar = ProgressBar::new(self.frames as u64).with_style(style);
        bar.set_position(state.frame() as u64);
        while state.frame() < self.frames {
            if !std::mem::take(&mut is_ready) {
                simulation.renew(&state)?;
            }
            let next = (state.frame() / self.checkpoint + 1) * self.checkpoint;
            while state.frame() < self.frames.min(next) {
                let row = simulation.step(&mut state)?;
                if bar.is_hidden() {
                    eprintln!("frame {} of {}: {}", row.frame(), self.frames, row.note());
                }
                bar.set_message(row.note());
                simulation.show(&state)?;
                shown.push(self.shown);
                table.push(row)?;
                bar.inc(1);
            }
            if state.frame() == next {
                table.sync()?; // no checkpoint without the rows before it
                write_run(&file, self.identity, &state, &shown)?;
                if self.keep {
                    let own = self.folder.join(format!("checkpoint_{next:04}.bin"));
                    write_run(&own, self.identity, &state, &shown)?;
                }
            }
        }
        bar.finish_and_clear();
        simulation.finish()?;

        let summary = summary(&table.rows) + &notes;
        let path = self.folder.join("summary.txt");
        std::fs::write(&path, &summary).map_err(failed(&path))?;
        if self.picture.is_some() {
            let delay = (100.0 * self.delay).round().clamp(2.0, 100.0) as u16;
            let pictures: Vec<PathBuf> = (0..=state.frame()).map(picture).collect();
            gif_of_files(&pictures, delay, self.folder.join(self.animation))?;
        }
        say(format_args!("{summary}files in {}", self.folder.display()))?;
        Ok(table.rows)
    }

    /// Runs a simulation beside [`run`](Self::run) on another rank of a group: the same frames from the same checkpoint.
    /// Nothing is written; the rows of a run that is continued begin after the checkpoint.
    ///
    /// # Errors
    /// Those of the simulation and of the checkpoint, and [`OutputError::Input`].
    pub fn run_without_output<S: Frames>(&self, simulation: &mut S) -> Result<Vec<S::Row>, Failure> {
        self.check_inputs()?;
        let mut rows = Vec::new();
        let mut state = if self.resume {
            read(&self.folder.join("checkpoint.bin"), self.identity)?
        } else {
            let (state, row) = simulation.start()?;
            rows.push(row);
            state
        };
        while state.frame() < self.frames {
            simulation.renew(&state)?;
            let next = (state.frame() / self.checkpoint + 1) * self.checkpoint;
            while state.frame() < self.frames.min(next) {
                rows.push(simulation.step(&mut state)?);
            }
        }
        Ok(rows)
    }

    /// Checks that a run from the start replaces no file that it reads.
    fn check_inputs(&self) -> Result<(), OutputError> {
        let Ok(own) = self.folder.canonicalize() else { return Ok(()) }; // to be created
        let is_own = |file: &Path| {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            is_output(file) && folder.is_ok_and(|folder| folder == own)
        };
        // The name and the file, which differ for links.
        let replaced = |file: &&PathBuf| is_own(file) || file.canonicalize().is_ok_and(|file| is_own(&file));
        match self.inputs.iter().find(replaced) {
            Some(file) if !self.resume => Err(OutputError::Input { file: file.clone() }),
            _ => Ok(()),
        }
    }
}

/// Whether a run may write a state or a surface by this name, such as `frame_0012.obj`.
fn is_output(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let numbered = stem.rsplit_once('_').filter(|(_, frame)| frame.bytes().all(|c| c.is_ascii_digit()));
    ["checkpoint", "frame", "frames", "surface"].contains(&numbered.map_or(stem, |(name, _)| name))
}

/// Checks that a picture of an earlier run can be read and has the size of those of this run.
fn check_picture(frame: usize, file: PathBuf, expected: (usize, usize)) -> Result<(), Failure> {
    let found = match Picture::read_png(&file) {
        Ok(picture) => picture.size(),
        Err(PictureError::Read { kind, .. }) => return Err(OutputError::Picture { file, frame, kind }.into()),
        Err(error) => return Err(error.into()),
    };
    if found == expected { Ok(()) } else { Err(OutputError::Width { file, found, expected }.into()) }
}

#[cfg(test)]
#[path = "../../../tests/common/outputs.rs"]
mod outputs;

#[cfg(test)]
mod tests {
    use std::error::Error;

    use coarsen::contact::Pair;

    use super::*;

    #[test]
    fn names_of_outputs_are_known() {
        for name in
            ["checkpoint.bin", "o/checkpoint_0012.bin", "frame_12345.vtu", "surface.obj", "frames.mtl"]
        {
            assert!(is_output(Path::new(name)), "{name}");
        }
        for name in ["sheet.obj", "frame_of_bed.obj", "surfaces.obj", "bunny.msh.gz", "frames/sheet.obj", ""]
        {
            assert!(!is_output(Path::new(name)), "{name}");
        }
    }

    /// A step that failed names its place, the fault and its options once, and is caused by the fault.
    #[test]
    fn failed_steps_name_their_options() {
        let pair = Pair::VertexFace { vertex: 3, face: [0, 1, 2] };
        for (fault, named) in [(StepFault::Blocked(pair), "--thickness"), (StepFault::NotFinite, "finite")] {
            let (cause, failed) = (fault.to_string(), Failed { frame: 2, step: 7, fault });
            assert_eq!(failed.source().expect("a cause").to_string(), cause);
            let text = failed.to_string();
            assert!(text.starts_with("frame 2, step 7: ") && text.contains(named), "{text}");
            assert!(text.matches("--dt").count() == 1 && !text.contains("time step"), "{text}");
        }
        let page = include_str!("../../../book/src/tutorials/simulation.md");
        let pair = Pair::VertexFace { vertex: 5, face: [40, 41, 57] };
        let failed = Failed { frame: 16, step: 16, fault: StepFault::Blocked(pair) }.to_string();
        assert!(outputs::words(page).contains(&failed), "{failed}");
    }
}
