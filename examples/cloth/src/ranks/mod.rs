//! Cloth on ranks: `--ranks 4`.
//!
//! Ranks are threads here; `step` takes any [`Communicator`].

mod step;
#[cfg(test)]
mod tests;

use std::time::Duration;

use coarsen_distributed::{Communicator, Counted, ThreadComm};
use examples_common::Failure;
use examples_common::files::Surface;

use crate::motion::RATE;
use crate::options::Options;
use crate::scene::Scene;
use crate::sheet::Sheet;
use crate::step::last;
use crate::{sheet, world};
use step::RankStepper;

/// No rank waits longer for another.
const DEADLINE: Duration = Duration::from_secs(600);

/// Sheets with fewer queries, which are vertices and edges, are searched by every rank alone.
const ALONE_BELOW: usize = 4096;

/// Frames on ranks; the surfaces of the frames are written, and a line is printed for each.
///
/// # Errors
/// The error of the first rank that has one, and errors of files.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let sheet = sheet(options)?;
    let scene = options.scene.scene(&sheet);
    std::fs::create_dir_all(&options.out)?;
    println!("{} vertices on {} ranks", sheet.rest.len(), options.ranks);
    println!(
        "frame  steps  CG per step  contacts  penetrations  least share  rank 0: bytes per step, waited s"
    );
    let all =
        ThreadComm::run(usize::from(options.ranks), DEADLINE, |comm| frames(comm, &scene, &sheet, options));
    all.into_iter().try_for_each(|rank| rank?)
}

/// The frames of a rank; rank 0 writes.
fn frames<C: Communicator>(comm: C, scene: &Scene, sheet: &Sheet, options: &Options) -> Result<(), Failure> {
    let comm = Counted::new(comm);
    let mut stepper = RankStepper::new(comm.clone(), ALONE_BELOW, scene, sheet, options)?;
    let surface = Surface::new(&[stepper.fixed.crossings.triangles().to_vec()]);
    let h = options.method.dt;
    for frame in 0..=options.frames {
        comm.restart();
        let (mut steps, mut iterations, mut contacts, mut least) = (0_u32, 0, 0, 1.0_f64);
        if frame > 0 {
            for _ in last(frame - 1, h)..last(frame, h) {
                let done = stepper.step()?;
                steps += 1;
                iterations += done.iterations;
                contacts = done.contacts;
                least = done.shares.into_iter().fold(least, f64::min);
            }
        }
        if comm.rank() > 0 {
            continue;
        }
        let at = world::all(&stepper.fixed.nodes, &stepper.x);
        let (bytes, waited) =
            comm.traffic().iter().fold((0, 0.0), |(bytes, waited), t| (bytes + t.bytes, waited + t.waited));
        println!(
            "{frame:>5} {steps:>6} {:>12.1} {contacts:>9} {:>13} {least:>12.3} {:>22} {waited:>9.3}",
            iterations as f64 / f64::from(steps.max(1)),
            stepper.fixed.crossings.count(&at),
            bytes / u64::from(steps.max(1))
        );
        surface.write(&options.out, frame, options.format, at.as_flattened())?;
    }
    if comm.rank() == 0 {
        println!("{} frames of 1/{RATE} s in {}", options.frames, options.out.display());
    }
    Ok(())
}
