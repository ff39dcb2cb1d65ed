//! The state of a scene before a time step, and the frames before it.

use std::path::Path;

use coarsen::descent::Driver;
use examples_run::files;
use examples_scene::identity::fingerprint;
use mpm::collider::Obstacle;
use mpm::energy::{Given, Increment};
use mpm::state::State;
use mpm::step::Begun;

use crate::Outcome;
use crate::method::{Solved, solve};
use crate::rows::Row;
use crate::stage::Stage;

/// What a step does not change.
#[derive(Clone, Copy)]
pub(crate) struct Step<'a> {
    pub(crate) given: Given<'a>,
    pub(crate) obstacles: &'a [Obstacle],
    /// The time at which it begins, s.
    pub(crate) time: f64,
}

impl<'a> Step<'a> {
    pub(crate) fn new(stage: &'a Stage, begun: &'a Begun, state: &'a State) -> Self {
        let Stage { setting, bodies, obstacles, .. } = stage;
        let given = begun.given(&state.particles, bodies, setting.gravity);
        Self { given, obstacles, time: state.time }
    }

    pub(crate) fn objective(&self) -> Outcome<Increment<'a>> {
        Ok(Increment::new(self.given)?)
    }
}

impl Stage {
    /// The next frame by a driver. The row has the sums of its steps, and `steps` their number.
    pub(crate) fn animate(&mut self, driver: Driver) -> Outcome<(Row, usize)> {
        let mut state = self.state.clone();
        state.frame += 1;
        let end = state.frame as f64 / self.setting.rate;
        let (mut row, mut steps) = (Row { converged: true, ..Row::default() }, 0);
        while state.time < end {
            let Some(begun) = self.begin(&mut state, end)? else {
                state.time = end;
                break;
            };
            let step = Step::new(self, &begun, &state);
            let Solved { mut f, z, row: solved, .. } = solve(driver, step, None)?;
            let (work, pressures) = (f.work(&z), f.pressures(&z));
            let velocities = Increment::velocities_of(&step.given, &z);
            drop(f);
            (state.work, state.pressures) = (state.work + work, pressures);
            begun.advance(&velocities, &self.bodies, &mut state, end);
            let Row { nodes, converged, outer, inner, seconds, .. } = solved;
            steps += 1;
            row.nodes = row.nodes.max(nodes);
            row.converged &= converged;
            row.outer += outer;
            row.inner += inner;
            row.seconds += seconds;
        }
        self.state = state;
        Ok((row, steps))
    }
}

/// A time step before its solve.
pub(crate) struct Moment {
    pub(crate) stage: Stage,
    begun: Begun,
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
            let (row, _) = stage.animate(Driver::Hot)?;
            files::write(&file(frame), run, &stage.state)?;
            eprintln!("{name}: frame {frame} of {frames}, {} iterations", row.outer);
            if frame > 1 {
                let _ = std::fs::remove_file(file(frame - 1)); // only the last frame is kept
            }
        }
        let state = std::mem::take(&mut stage.state);
        Self::at(stage, state)
    }

    /// The first step after a state of a scene.
    pub(crate) fn at(stage: Stage, mut state: State) -> Outcome<Self> {
        let begun = stage.begin_next(&mut state)?;
        Ok(Self { stage: Stage { state, ..stage }, begun })
    }

    /// What the step does not change.
    pub(crate) fn step(&self) -> Step<'_> {
        Step::new(&self.stage, &self.begun, &self.stage.state)
    }

    /// The objective of the step.
    pub(crate) fn objective(&self) -> Outcome<Increment<'_>> {
        self.step().objective()
    }
}
