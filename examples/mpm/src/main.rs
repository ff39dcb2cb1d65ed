//! Solids by the implicit material point method: Wang et al. 2020 (HOT). The physics is the library of this package.
//!
//! A scene is filled with particles. A frame is one or more time steps, and a step has four parts
//! ([`Stepper::step`](mpm::step::Stepper::step)):
//!
//! 1. particles to grid: masses and velocities of the nodes (§3.1)
//! 2. forces: the incremental potential E(Δv) with its gradient and Hessian (eq. 1), and what colliders prescribe
//! 3. the implicit solve: Δv by L-BFGS around a V-cycle (Algorithms 2 and 3, §4, §5), or by another driver
//! 4. grid to particles: velocities, F = (I + Δt ∇v) Fⁿ, plastic flow, positions (§3.1)
//!
//! ```text
//! cargo run --release -p mpm -- --scene twist --particles 10000 --frames 72 --out twist
//! cargo run --release -p mpm -- --scene twist --particles 10000 --out twist --resume
//! cargo run --release -p mpm -- --scene jelly.toml --dx 0.02 --backend opencl    # needs --features opencl
//! ```
//!
//! The second command continues the first. A run writes `frames.csv`, `summary.txt`, `frame_0000.ply` and
//! `frame_0000.png` for each frame, `mpm.gif` and `checkpoint.bin`. From the summary of the first run after 49
//! frames, in which the pillars break (10,333 particles, up to 6,000 nodes):
//!
//! ```text
//!                               mean       least      median        most
//! steps                       3.4694      1.0000      1.0000     23.0000
//! outer per step             78.2931     10.0000     64.0000    348.0000
//! energy less work, J      1746.8802    796.6317   1879.4260   1962.5406
//! 170 of 170 steps converged
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use coarsen::schwarz;
use examples_run::Failure;
use examples_run::arguments::{Program, Unconverged, launch, parse_scene, say};
use examples_run::files::Shown;
use examples_run::frames::{Frames, Plan};
use examples_scene::Fingerprint;
use mpm::collider::Obstacle;
use mpm::energy::Memory;
use mpm::fault::{StateError, StepError};
use mpm::options::Options;
use mpm::output::Pictures;
use mpm::particles::Particle;
use mpm::rows::Row;
use mpm::scene::{Setting, check_options};
use mpm::seed::Seeds;
use mpm::solver::Minimizer;
use mpm::state::State;
use mpm::step::Stepper;

/// Scenes with more particles than this are said to take long, if the command line does not ask for as many.
const MANY: usize = 200_000;

fn main() -> ExitCode {
    let run = |options: Options| launch(options.threads, options.method.backend, Run(options));
    parse_scene().map_or_else(|code| code, run)
}

struct Run(Options);

impl Program for Run {
    fn run<B: schwarz::SchwarzBackend<Real = f64>>(self, backend: B) -> Result<(), Failure> {
        let rows = run(backend, &self.0)?;
        let sum = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
        let [count, converged] = [sum(|row| row.steps), sum(|row| row.converged)];
        let cure = "more --iterations, or a smaller --dt";
        Ok(Unconverged { failed: count - converged, count, what: "steps", cure }.check()?)
    }
}

/// Simulates a scene on a backend, and returns the rows of all frames; row k is that of frame k.
///
/// # Errors
/// Those of `mpm::fault`, of files, of solvers and of the backend.
pub(crate) fn run<B: schwarz::SchwarzBackend<Real = f64>>(
    backend: B,
    options: &Options,
) -> Result<Vec<Row>, Failure> {
    // 1. A scene, filled with particles.
    let Options { choice, stiff, seed, data, method, .. } = options;
    method.check()?;
    check_options(&choice.name, [stiff.is_some(), seed.is_some(), data.is_some()])?;
    let (name, scene, data) = (&choice.name, choice.setting.clone(), data.as_deref());
    let setting = Setting::new(name, scene, *stiff, seed.unwrap_or(1), data)?;
    let frames = options.frames.unwrap_or(setting.frames);
    let seeds = Seeds::new(&setting)?;
    let dx = match options.particles {
        Some(particles) => seeds.spacing_for(particles)?,
        None => options.dx.unwrap_or(setting.dx),
    };
    seeds.check(dx, frames)?;
    let (start, bodies) = seeds.fill(dx)?;
    let (count, name) = (start.len(), backend.name());
    say(format_args!(
        "particles: {count}, bodies: {}, dx = {dx:.4e} m, on {name}; change them with --particles N or --dx",
        bodies.len()
    ))?;
    if count > MANY && options.particles.is_none() && options.dx.is_none() {
        eprintln!(
            "note: the spacing of the scene, {dx} m, makes {count} particles, with which a frame takes minutes; \
             --particles 20000 takes a wider spacing"
        );
    }

    // 2. Colliders, the longest time step, and all that decides the bits of the run.
    let obstacles = Obstacle::all(&setting.collider, dx)?;
    let largest = setting.largest_step(options.dt)?;
    let surfaces: Vec<_> = obstacles.iter().filter_map(|obstacle| obstacle.surface.as_ref()).collect();
    let surfaces: Vec<_> = surfaces.iter().map(|mesh| (&mesh.positions, &mesh.triangles)).collect();
    let mut identity = Fingerprint::of("mpm", 1);
    let numbers = (stiff, seed.unwrap_or(1));
    identity
        .field("scene", &setting.source.identity())
        .field("numbers", &numbers)
        .field("dx", &dx)
        .field("largest", &largest)
        .field("method", method);
    identity.field("particles", &start).field("surfaces", &surfaces).field("backend", name);

    // 3. The frames from the start or the last checkpoint: each is one or more time steps. Then the summary and the animation.
    let pictures = Pictures::new(&setting, &obstacles, &bodies, &start, usize::from(options.width));
    let filled = setting.body.iter().filter_map(|body| body.mesh.as_ref()).map(PathBuf::from);
    let inputs = setting.collider.iter().filter_map(|collider| collider.mesh.clone()).chain(filled).collect();
    let plan = Plan {
        folder: &options.out,
        inputs,
        identity: identity.value(),
        frames,
        checkpoint: method.checkpoint,
        keep: false,
        resume: options.resume,
        shown: Shown::new(options.format, options.width > 0),
        picture: (options.width > 0).then(|| pictures.size()),
        animation: "mpm.gif",
        delay: 1.0 / setting.rate,
        notes: Vec::new(),
    };
    let (minimizer, memory) = (Minimizer::new(method, backend), Memory::default());
    let (setting, obstacles, bodies) = (&setting, &obstacles[..], &bodies[..]);
    let stepper = Stepper { setting, obstacles, bodies, dx, largest, minimizer, memory };
    plan.run(&mut Simulation { options, pictures, start, stepper })
}

/// A scene, the method of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::SchwarzBackend<Real = f64>> {
    options: &'a Options,
    pictures: Pictures,
    start: Vec<Particle>,
    stepper: Stepper<'a, B>,
}

impl<B: schwarz::SchwarzBackend<Real = f64>> Frames for Simulation<'_, B> {
    type State = State;
    type Row = Row;

    fn start(&mut self) -> Result<(State, Row), Failure> {
        let particles = std::mem::take(&mut self.start);
        let state = State { emitted: f64::NEG_INFINITY, particles, ..State::default() };
        let row = self.stepper.row(&state);
        Ok((state, row))
    }

    /// Checks a state, which may be that of a file, and drops the vectors of the solver.
    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let bodies = self.stepper.bodies.len();
        if let Some(particle) = state.particles.iter().position(|p| p.body as usize >= bodies) {
            let why =
                format!("of the checkpoint belongs to a body that is not among the {bodies} of the scene");
            return Err(StepError::Particle { particle, why }.into());
        }
        let State { frame, time, emitted, .. } = *state;
        let [begins, ends] = [1.0, 0.0].map(|back| (frame as f64 - back) / self.stepper.setting.rate);
        if time != ends {
            let why = format!("the time is {time} s, but the frame ends at {ends} s");
            return Err(StateError { frame, why }.into());
        }
        if frame > 0 && !(begins..ends).contains(&emitted) {
            let why = format!(
                "emitters have emitted until {emitted} s, but the last step of the frame begins between {begins} and {ends} s"
            );
            return Err(StateError { frame, why }.into());
        }
        self.stepper.minimizer.forget();
        Ok(())
    }

    fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        self.stepper.frame(state)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        let folder = &self.options.out;
        let (delay, bodies) = (1.0 / self.stepper.setting.rate, self.stepper.bodies);
        self.options.format.write(folder, state.frame, delay, &state.particles, bodies)?;
        if self.options.width > 0 {
            self.pictures.write(folder, state.frame, state.time, &state.particles)?;
        }
        Ok(())
    }
}
