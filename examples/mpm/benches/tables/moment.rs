//! The state of a scene before a time step.

use std::path::Path;

use coarsen::follow::Driver;
use examples_common::files::{self, fingerprint};
use mpm::energy::Increment;
use mpm::rows::Row;
use mpm::state::State;
use mpm::step::Begun;

use crate::Outcome;
use crate::stage::Stage;

/// A time step before its solve.
pub(crate) struct Moment {
    pub(crate) stage: Stage,
    begun: Begun,
}

impl Stage {
    /// The next frames by a driver; their rows.
    pub(crate) fn animate(&mut self, driver: Driver, frames: usize) -> Outcome<Vec<Row>> {
        let mut state = std::mem::take(&mut self.state);
        let mut stepper = self.stepper(driver)?;
        let rows = (0..frames).map(|_| stepper.frame(&mut state)).collect();
        drop(stepper);
        self.state = state;
        rows
    }
}

impl Moment {
    /// The first step after some frames, which HOT computes. The state after each frame is stored in a folder, and a
    /// frame that is there is not computed again.
    pub(crate) fn new(name: &str, particles: usize, frames: usize, states: &Path) -> Outcome<Self> {
        let mut stage = Stage::new(name, Some(particles))?;
        let run = fingerprint(format!("{name},{particles},{}", stage.state.particles.len()).as_bytes());
        let file =
            |frame: usize| states.join(format!("{}_{particles}_{frame}.state", name.replace(':', "_")));
        std::fs::create_dir_all(states)?;
        if let Some(last) = (1..=frames).rev().find(|&frame| file(frame).exists()) {
            stage.state = files::read(&file(last), run)?;
        }
        for frame in stage.state.frame + 1..=frames {
            let row = stage.animate(Driver::Hot, 1)?;
            files::write(&file(frame), run, &stage.state)?;
            let iterations: usize = row.iter().map(|row| row.outer).sum();
            eprintln!("{name}: frame {frame} of {frames}, {iterations} iterations");
            if frame > 1 {
                let _ = std::fs::remove_file(file(frame - 1)); // only the last frame is kept
            }
        }
        let state = std::mem::take(&mut stage.state);
        Self::at(stage, state)
    }

    /// The first step after a state of a scene.
    pub(crate) fn at(stage: Stage, mut state: State) -> Outcome<Self> {
        let begun = stage.begin(&mut state)?;
        Ok(Self { stage: Stage { state, ..stage }, begun })
    }

    /// The objective of the step.
    pub(crate) fn objective(&self) -> Outcome<Increment<'_>> {
        let Stage { setting, bodies, state, .. } = &self.stage;
        Ok(Increment::new(self.begun.given(&state.particles, bodies, setting.gravity))?)
    }

    /// The time at which the step begins, s.
    pub(crate) fn time(&self) -> f64 {
        self.stage.state.time
    }
}
