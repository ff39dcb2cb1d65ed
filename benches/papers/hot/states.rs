//! Whole runs by HOT, and the states before their hardest frames, those with the most iterations a step.
//!
//! The folder of a run is named as its scene, `armacat_1e6` with a modulus. It has `frames.csv` with the iterations of each
//! frame, `state_0000.bin` with the number of the frame of the state, and `checkpoint.bin`, from which a run that was cut off
//! goes on.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use coarsen::descent::Driver;
use examples_run::files::{self, read_state};
use examples_scene::identity::fingerprint;
use mpm::state::State;

use crate::stage::Stage;
use crate::{Asked, Outcome};

/// All scenes of Table 3 of the paper.
pub(crate) const ALL: [&str; 10] = [
    "twist",
    "boxes",
    "donut",
    "armacat:1e6",
    "armacat:1e9",
    "chain",
    "boards",
    "wheel",
    "faceless",
    "sauce",
];

/// The states that are kept of a run, if `most` does not tell.
const KEPT: usize = 8;

/// A frame of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) number: usize,
    pub(crate) steps: usize,
    pub(crate) iterations: usize,
}

/// Computes the missing frames of the runs.
pub(crate) fn run(asked: &Asked) -> Outcome<()> {
    let runs =
        asked.runs.as_ref().ok_or("`states` needs runs=DIR, where the folders of the runs are made")?;
    let all = || ALL.map(str::to_owned).into();
    for scene in asked.scenes.clone().unwrap_or_else(all) {
        let mut stage = Stage::new(&scene, asked.particles)?;
        let folder = folder(runs, &scene);
        std::fs::create_dir_all(&folder)?;
        let last = asked.frames.unwrap_or(stage.setting.frames);
        let count = if asked.most == usize::MAX { KEPT } else { asked.most };
        let identity = fingerprint(format!("{scene},{}", stage.state.particles.len()).as_bytes());
        let (checkpoint, mut frames) = (folder.join("checkpoint.bin"), Vec::new());
        if checkpoint.exists() {
            stage.state = files::read(&checkpoint, identity)?;
            frames = read(&folder)?;
            frames.truncate(stage.state.frame);
        }
        for number in stage.state.frame + 1..=last {
            let before = stage.state.clone();
            let (row, steps) = stage.animate(Driver::Hot)?;
            frames.push(Frame { number, steps, iterations: row.outer as usize });
            let hard = hardest(&frames, count);
            if hard.contains(&number) {
                files::write(&file(&folder, number - 1), identity, &before)?;
            }
            for (frame, path) in kept(&folder).into_iter().filter(|(frame, _)| !hard.contains(&(frame + 1))) {
                std::fs::remove_file(path).map_err(|error| format!("state {frame}: {error}"))?;
            }
            let mut text = String::new();
            for Frame { number, steps, iterations } in &frames {
                writeln!(text, "{number},{steps},{iterations}")?;
            }
            std::fs::write(folder.join("frames.csv"), text)?;
            files::write(&checkpoint, identity, &stage.state)?;
            eprintln!("{scene}: frame {number} of {last}, {steps} steps, {} iterations", row.outer);
        }
    }
    Ok(())
}

/// The folder of the run of a scene.
pub(crate) fn folder(runs: &Path, scene: &str) -> PathBuf {
    runs.join(scene.replace(':', "_"))
}

/// The states of a run, the hardest first.
pub(crate) fn states(folder: &Path) -> Outcome<Vec<(usize, State)>> {
    let frames = read(folder)?;
    let order = hardest(&frames, frames.len());
    let mut states = Vec::new();
    for (_, path) in kept(folder) {
        let state: State = read_state(&path)?;
        let rank = order.iter().position(|&frame| frame == state.frame + 1).unwrap_or(order.len());
        states.push((rank, state));
    }
    states.sort_by_key(|(rank, state)| (*rank, state.frame));
    Ok(states)
}

fn read(folder: &Path) -> Outcome<Vec<Frame>> {
    let file = folder.join("frames.csv");
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let frame = |line: &str| {
        let mut words = line.split(',').map(|word| word.parse().ok());
        let mut next = || words.next().flatten();
        Some(Frame { number: next()?, steps: next()?, iterations: next()? })
    };
    let frames: Option<Vec<Frame>> = text.lines().map(frame).collect();
    Ok(frames.ok_or_else(|| format!("{}: not the frames of a run by `states`", file.display()))?)
}

fn file(folder: &Path, frame: usize) -> PathBuf {
    folder.join(format!("state_{frame:04}.bin"))
}

/// The states in a folder: the numbers in the names of the files, and the files, in rising order.
pub(crate) fn kept(folder: &Path) -> Vec<(usize, PathBuf)> {
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
pub(crate) fn hardest(frames: &[Frame], count: usize) -> Vec<usize> {
    let mut all: Vec<&Frame> = frames.iter().filter(|frame| frame.steps > 0).collect();
    let of = |frame: &Frame| frame.iterations as f64 / frame.steps as f64;
    all.sort_by(|a, b| of(b).total_cmp(&of(a)).then(a.number.cmp(&b.number)));
    all.iter().take(count).map(|frame| frame.number).collect()
}
