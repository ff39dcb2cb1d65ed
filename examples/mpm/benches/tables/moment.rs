//! The state of a scene before a time step.

use std::path::{Path, PathBuf};

use coarsen::backend::Cpu;
use coarsen::follow::Driver;
use examples_common::files::{self, fingerprint};
use mpm::collider::Obstacle;
use mpm::energy::Increment;
use mpm::options::Method;
use mpm::particles::Body;
use mpm::rows::Row;
use mpm::scene::{SceneChoice, Setting};
use mpm::seed::Seeds;
use mpm::solver::{Minimizer, Solver};
use mpm::state::State;
use mpm::step::{Begun, Stepper};

use crate::Outcome;

/// A scene with its particles.
pub(crate) struct Stage {
    pub(crate) setting: Setting,
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) bodies: Vec<Body>,
    dx: f64,
    pub(crate) state: State,
}

/// A time step before its solve.
pub(crate) struct Moment {
    pub(crate) stage: Stage,
    begun: Begun,
}

/// The options of a solver.
pub(crate) fn options(solver: Solver) -> Outcome<Method> {
    Ok(Method {
        solver,
        tolerance: 1e-7,
        iterations: 1000,
        inner: 10_000,
        checkpoint: 1,
        backend: "cpu".parse()?,
    })
}

impl Stage {
    /// Fills a scene. `name` may end with `:E`, the modulus of its stiff body.
    pub(crate) fn new(name: &str, particles: usize) -> Outcome<Self> {
        let (scene, stiff) = match name.split_once(':') {
            Some((scene, stiff)) => (scene, Some(stiff.parse()?)),
            None => (name, None),
        };
        let Ok(choice) = scene.parse::<SceneChoice>();
        let data = std::env::var_os("COARSEN_DATA").map(PathBuf::from);
        let setting = choice.setting(stiff, 2, data.as_deref())?;
        let seeds = Seeds::new(&setting)?;
        let dx = seeds.spacing_for(particles)?;
        let (particles, bodies) = seeds.fill(dx)?;
        let obstacles = Obstacle::all(&setting.collider, dx)?;
        let state = State { emitted: f64::NEG_INFINITY, particles, ..State::default() };
        Ok(Self { setting, obstacles, bodies, dx, state })
    }

    /// The next frames by a driver; their rows.
    pub(crate) fn animate(&mut self, driver: Driver, frames: usize) -> Outcome<Vec<Row>> {
        let Self { setting, obstacles, bodies, dx, state } = self;
        let minimizer = Minimizer::new(&options(Solver::Driver(driver))?, Cpu::new());
        let largest = setting.dt.min(1.0 / setting.rate);
        let mut stepper = Stepper { setting, obstacles, bodies, dx: *dx, largest, minimizer };
        (0..frames).map(|_| stepper.frame(state)).collect()
    }
}

impl Moment {
    /// The first step after some frames, which HOT computes. The state after each frame is stored in a folder, and a
    /// frame that is there is not computed again.
    pub(crate) fn new(name: &str, particles: usize, frames: usize, states: &Path) -> Outcome<Self> {
        let mut stage = Stage::new(name, particles)?;
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
        let Stage { setting, obstacles, bodies, dx, state } = &mut stage;
        let minimizer = Minimizer::new(&options(Solver::Driver(Driver::Hot))?, Cpu::new());
        let largest = setting.dt.min(1.0 / setting.rate);
        let end = (state.frame + 1) as f64 / setting.rate;
        let stepper = Stepper { setting, obstacles, bodies, dx: *dx, largest, minimizer };
        let begun = stepper.begin(state, end)?.ok_or("the scene has no particles yet; take more frames")?;
        Ok(Self { stage, begun })
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
