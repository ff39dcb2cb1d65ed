//! A scene with its particles.

use std::path::PathBuf;

use coarsen::backend::Cpu;
use coarsen::descent::Driver;
use mpm::collider::Obstacle;
use mpm::energy::Memory;
use mpm::options::Method;
use mpm::particles::Body;
use mpm::scene::Setting;
use mpm::seed::Seeds;
use mpm::solver::{Minimizer, Solver};
use mpm::state::State;
use mpm::step::{Begun, Stepper};

use crate::Outcome;

/// The seed of the stretches.
const SEED: u64 = 2;

/// A scene with its particles.
pub(crate) struct Stage {
    pub(crate) setting: Setting,
    pub(crate) obstacles: Vec<Obstacle>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) dx: f64,
    pub(crate) state: State,
}

pub(crate) fn options(driver: Driver) -> Outcome<Method> {
    let (tolerance, iterations, backend) = (1e-7, 1000, "cpu".parse()?);
    Ok(Method { solver: Solver::Driver(driver), tolerance, iterations, inner: None, checkpoint: 1, backend })
}

impl Stage {
    /// Fills a scene with about a number of particles, or with its own. `name` may end with `:E`, the modulus of its
    /// stiff body, or for `stretched` with `:SEED`, by default 2.
    pub(crate) fn new(name: &str, particles: Option<usize>) -> Outcome<Self> {
        let (scene, stiff, seed) = match name.split_once(':') {
            Some((scene @ "stretched", seed)) => (scene, None, seed.parse()?),
            Some((scene, stiff)) => (scene, Some(stiff.parse()?), SEED),
            None => (name, None, SEED),
        };
        let data = std::env::var_os("COARSEN_DATA").map(PathBuf::from);
        let setting = Setting::read(scene, stiff, seed, data.as_deref())?;
        let seeds = Seeds::new(&setting)?;
        let dx = particles.map_or(Ok(setting.dx), |particles| seeds.spacing_for(particles))?;
        let (particles, bodies) = seeds.fill(dx)?;
        let obstacles = Obstacle::all(&setting.collider, dx)?;
        let state = State { emitted: f64::NEG_INFINITY, particles, ..State::default() };
        Ok(Self { setting, obstacles, bodies, dx, state })
    }

    /// Begins the next time step of a state, up to `end` at most; its particles are sorted. `None` without particles.
    pub(crate) fn begin(&self, state: &mut State, end: f64) -> Outcome<Option<Begun>> {
        let Self { setting, obstacles, bodies, dx, .. } = self;
        let (minimizer, memory) = (Minimizer::new(&options(Driver::Hot)?, Cpu::new()), Memory::default());
        let largest = setting.largest_step(None)?;
        let stepper = Stepper { setting, obstacles, bodies, dx: *dx, largest, minimizer, memory };
        Ok(stepper.begin(state, end)?)
    }

    /// Begins the first step after a state.
    pub(crate) fn begin_next(&self, state: &mut State) -> Outcome<Begun> {
        let end = (state.frame + 1) as f64 / self.setting.rate;
        Ok(self.begin(state, end)?.ok_or("the scene has no particles yet; take more frames")?)
    }
}
