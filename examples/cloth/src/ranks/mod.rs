//! Cloth on ranks: as threads of one process (`--ranks 4`), or as the processes of the program `cloth-mpi`.
//!
//! | file | what |
//! |---|---|
//! | `step` | a time step over the ranks of any [`Communicator`] |
//! | `inverse` | the preconditioner of its linear system |
//!
//! At checkpoints, rows are divided again if the work of ranks differs by more than a tenth, such as by contact.
//! Frames, checkpoints and files are those of a run on one host. The results do not depend on the number of ranks, so a
//! run may be continued on another number.

mod inverse;
mod step;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use coarsen_distributed::{Communicator, Counted, Layout, Partition, ThreadComm, pack, unpack};
use examples_run::Failure;
use examples_run::arguments::{Unconverged, say};
use examples_run::files::Record;
use examples_run::frames::Frames;
use examples_scene::identity::fingerprint;

use crate::drawing::Drawing;
use crate::options::{Method, Options};
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::simulation::{check_scales, described, identity, plan, prepared, started};
use crate::state::State;
use crate::world::{Fixed, all, fabrics};
use step::{RankStepper, STAGES};

/// No rank waits longer for another.
const DEADLINE: Duration = Duration::from_secs(600);

/// Sheets with fewer queries, which are vertices and edges, are searched by every rank alone.
const ALONE_BELOW: usize = 4096;

/// Frames on ranks as threads. The error is that of the first rank that has one.
pub(crate) fn as_threads(options: &Options) -> Result<(), Failure> {
    let all = ThreadComm::run(options.ranks(), DEADLINE, |comm| on_ranks(comm, options));
    all.into_iter().try_for_each(|rank| rank?)
}

/// Runs the program on the ranks of a communicator; rank 0 writes all files and prints. All ranks call it with the same
/// options, inside a pool of threads, and see the same folder if a run is continued.
///
/// # Errors
/// Those of [`check`], of files, and of communication. Other ranks may wait for one that returns an error; then
/// [`Communicator::fail`] ends them. After the last frame, [`Unconverged`] on all ranks if a linear solve did not converge.
pub fn on_ranks<C: Communicator>(comm: C, options: &Options) -> Result<(), Failure> {
    let rows = run(comm, options)?;
    let [failed, count] = rows.iter().fold([0; 2], |[bad, all], row| [bad + row.unsolved, all + row.steps]);
    let cure = "another --solver, or a smaller --dt";
    Ok(Unconverged { failed, count, what: "steps", cure }.check()?)
}

/// Checks options, scene and sheet as ranks need them, without a message.
///
/// # Errors
/// The first fault.
pub fn check(options: &Options) -> Result<(), Failure> {
    step::supported(options)?;
    let (sheet, scene) = prepared(options)?;
    resolved(&scene, &sheet, options).map(drop)
}

/// What does not change during a run, if the numbers of its fabric can be resolved, as on one host.
fn resolved(scene: &Scene, sheet: &Sheet, options: &Options) -> Result<Fixed, Failure> {
    let fixed = Fixed::new(scene, sheet, options)?;
    check_scales(&fixed, &mut fabrics(&fixed, sheet, options)?, options)?;
    Ok(fixed)
}

/// The frames of a rank, and the row of each; rank 0 writes and prints.
fn run<C: Communicator>(comm: C, options: &Options) -> Result<Vec<RankRow>, Failure> {
    step::supported(options)?;
    let (sheet, scene) = prepared(options)?;
    let first = comm.rank() == 0;
    let drawing = if first {
        say(format_args!("{}, on {} ranks", described(&sheet, &scene), comm.size()))?;
        Some(Drawing::new(&scene, &sheet, Fixed::new(&scene, &sheet, options)?, options))
    } else {
        None
    };
    let picture = drawing.as_ref().and_then(|drawing| drawing.picture(options));
    let Method { dt, frame_steps, solver, levels, .. } = &options.method;
    let mut identity = identity(&sheet, &scene, options);
    identity.field("dt", dt).field("frame_steps", frame_steps);
    identity.field("solver", solver).field("levels", levels);
    let plan = plan(options, *identity.field("on ranks", &true), picture);
    let comm = Counted::new(comm);
    let mut frames = RankFrames { comm, options, sheet, scene, drawing, stepper: None };
    if first { plan.run(&mut frames) } else { plan.run_without_output(&mut frames) }
}

/// A scene on a rank, and the solver of its steps.
struct RankFrames<'a, C: Communicator> {
    comm: Counted<C>,
    options: &'a Options,
    sheet: Sheet,
    scene: Scene,
    /// On rank 0.
    drawing: Option<Drawing>,
    stepper: Option<RankStepper<Counted<C>>>,
}

impl<C: Communicator> RankFrames<'_, C> {
    /// The most memory of any process so far, in MiB.
    fn memory(&self) -> Result<f64, Failure> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let own: u64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0);
        Ok(gathered(&self.comm, &[own])?.into_iter().max().unwrap_or(0) as f64 / 1024.0)
    }
}

/// The numbers of all ranks, one rank after the other. All ranks call it.
fn gathered<C: Communicator>(comm: &C, own: &[u64]) -> Result<Vec<u64>, Failure> {
    let mut bytes = Vec::with_capacity(8 * own.len());
    pack(own.iter().copied(), &mut bytes);
    Ok(comm.all_gather(&bytes)?.iter().flat_map(|part| unpack::<u64>(part)).collect())
}

/// The layout for later steps, by [`Layout::rebalanced`], and the imbalance before and after. `work` has the stored blocks of
/// each row of this rank, or nothing before the first step. All ranks call it.
fn divided<C: Communicator>(partition: &Partition<C>, work: &[u64]) -> Result<(Layout, [f64; 2]), Failure> {
    let (now, weights) = (partition.layout(), gathered(partition.comm(), work)?);
    if weights.len() as u64 != now.rows() {
        return Ok((now.clone(), [0.0; 2]));
    }
    let new = now.rebalanced(&weights)?.unwrap_or_else(|| now.clone());
    let imbalances = [now, &new].map(|layout| layout.imbalance(&weights));
    Ok((new, imbalances))
}

impl<C: Communicator> Frames for RankFrames<'_, C> {
    type State = State;
    type Row = RankRow;

    fn start(&mut self) -> Result<(State, RankRow), Failure> {
        let state = started(&resolved(&self.scene, &self.sheet, self.options)?, self.options)?;
        let row = RankRow { positions: bits(&state.x), least: 1.0, ..RankRow::default() };
        Ok((state, row))
    }

    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let layout = match &self.stepper {
            None => None,
            Some(stepper) => {
                let (layout, [before, after]) = divided(&stepper.partition, &stepper.work)?;
                if after < before && self.drawing.is_some() {
                    let frame = state.frame;
                    say(format_args!(
                        "after frame {frame} rows are divided again: imbalance {before:.2}, now {after:.2}"
                    ))?;
                }
                Some(layout)
            }
        };
        let (scene, sheet, comm) = (&self.scene, &self.sheet, self.comm.clone());
        self.stepper = Some(RankStepper::new(comm, ALONE_BELOW, scene, sheet, self.options, state, layout)?);
        Ok(())
    }

    fn step(&mut self, state: &mut State) -> Result<RankRow, Failure> {
        let stepper = self.stepper.as_mut().expect("built by renew");
        let (frame, pace) = (state.frame + 1, self.options.method.pace());
        self.comm.restart();
        stepper.seconds = Default::default();
        let mut row = RankRow { frame, least: 1.0, ..RankRow::default() };
        let begun = Instant::now();
        for _ in pace.last(state.frame)..pace.last(frame) {
            let done = stepper.step()?;
            row.steps += 1;
            row.inner += done.solve.iterations;
            row.unsolved += usize::from(!done.solve.converged);
            row.contacts = done.contacts;
            row.zones = row.zones.max(done.zones);
            row.least = done.shares.into_iter().fold(row.least, f64::min);
        }
        row.seconds = begun.elapsed().as_secs_f64();
        row.stages = stepper.seconds;
        for stage in self.comm.traffic() {
            row.bytes += stage.bytes;
            row.waited += stage.waited;
        }
        let v = stepper.velocities()?;
        *state = State { frame, x: stepper.x.clone(), v, ..*state };
        state.time = pace.time(state.begun, frame);
        row.positions = bits(&state.x);
        if self.drawing.is_some() {
            row.penetrations = stepper.fixed.crossings.count(&all(&stepper.fixed.nodes, &state.x));
        }
        row.memory = self.memory()?;
        Ok(row)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        match &self.drawing {
            Some(drawing) => drawing.show(&self.scene, state, self.options),
            None => Ok(()),
        }
    }

    fn finish(&self) -> Result<(), Failure> {
        self.drawing.as_ref().map_or(Ok(()), |drawing| drawing.finish(self.options))
    }
}

/// A hash of the bits of the positions.
fn bits(x: &[f64]) -> u64 {
    let bytes: Vec<u8> = x.iter().flat_map(|x| x.to_le_bytes()).collect();
    fingerprint(&bytes)
}

examples_run::record! {
    /// The results of a frame: the columns of `frames.csv`. Times are those of rank 0.
    struct RankRow {
        frame: usize = "frame",
        steps: usize = "steps",
        /// Iterations of conjugate gradients.
        inner: usize = "inner",
        /// The pairs that touch in the last step.
        contacts: usize = "contacts",
        /// Edges that cross a triangle or a solid.
        penetrations: usize = "penetrations",
        /// The most nodes in impact zones in a step.
        zones: usize = "zones",
        /// The linear solves that did not reach the tolerance.
        unsolved: usize = "unsolved",
        /// Bytes that rank 0 sent.
        bytes: u64 = "bytes",
        /// A hash of the bits of the positions.
        positions: u64 = "positions",
        /// The least share of the displacement that contact left in a step.
        least: f64 = "least_share",
        /// The seconds of all steps, of their stages, and those in which rank 0 waited for messages.
        seconds: f64 = "seconds",
        stages: [f64; STAGES.len()] = "detection_s" "assembly_s" "setup_s" "solve_s" "exchange_s",
        waited: f64 = "waited_s",
        /// The most memory of a process so far, in MiB.
        memory: f64 = "memory_mib",
    }
}

impl Record for RankRow {
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)] = &[
        ("iterations per step", |row| Some(row.inner as f64 / row.steps.max(1) as f64)),
        ("solves beyond the tolerance", |row| Some(row.unsolved as f64)),
        ("contacts", |row| Some(row.contacts as f64)),
        ("penetrations", |row| Some(row.penetrations as f64)),
        ("nodes in impact zones", |row| Some(row.zones as f64)),
        ("least share of a step", |row| Some(row.least)),
        ("KiB per step, rank 0", |row| Some(row.bytes as f64 / 1024.0 / row.steps.max(1) as f64)),
        ("memory of a rank, MiB", |row| Some(row.memory)),
    ];

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} iterations, {} contacts", self.inner, self.contacts)
    }

    fn ending(rows: &[Self]) -> String {
        let sum = |of: &dyn Fn(&Self) -> f64| rows.iter().skip(1).map(of).sum::<f64>();
        let (steps, seconds) = (sum(&|row| row.steps as f64), sum(&|row| row.seconds).max(f64::MIN_POSITIVE));
        let share =
            |(k, stage): (usize, &&str)| format!(" {stage} {:.3},", sum(&|row| row.stages[k]) / seconds);
        let stages: String = STAGES.iter().enumerate().map(share).collect();
        format!(
            "{steps} steps, {:.3} steps per second; shares of the time of rank 0:{stages} waiting in any of them {:.3}\n",
            steps / seconds,
            sum(&|row| row.waited) / seconds
        )
    }
}
