//! Simulates solids by the implicit material point method. Copy this example to start your own.
//!
//! A time step minimises an incremental potential over increments of velocity on a grid (`energy`), by any
//! descent method with any preconditioner (`solver`). Particles carry mass, velocity and deformation; they are
//! transferred to the grid and back (`grid`). Scenes are data (`scene`): twelve are built in, others are read from
//! TOML files.
//!
//! *Reference* Wang, Li, Fang, Zhang, Gao, Tang, Kaufman & Jiang 2020, "Hierarchical Optimization Time
//! Integration for CFL-rate MPM Stepping" (HOT), ACM TOG 39(3):21.
//!
//! | file | what |
//! |---|---|
//! | [`weights`] | quadratic B-splines |
//! | [`particles`] | particles and bodies; energy and momentum |
//! | [`grid`] | the sparse grid; transfers |
//! | [`shape`], `solids`, [`collider`], [`constraints`] | shapes; colliders; what they prescribe at nodes |
//! | [`energy`] | the incremental potential, its gradient and its Hessian |
//! | [`plasticity`] | von Mises, granular flow |
//! | [`solver`], [`tries`] | the solvers of a step by name; how `auto` chooses |
//! | [`step`] | time steps and frames |
//! | [`seed`] | particles of shapes and meshes |
//! | [`material`], [`scene`] | materials by name; scenes |
//! | [`state`], [`hardest`], [`rows`], [`points`], [`pictures`] | what is written |
//! | [`fault`], [`options`] | errors; the command line |

pub mod collider;
pub mod constraints;
pub mod energy;
pub mod fault;
pub mod grid;
pub mod hardest;
pub mod material;
pub mod options;
pub mod particles;
pub mod pictures;
pub mod plasticity;
pub mod points;
pub mod rows;
pub mod scene;
pub mod seed;
pub mod shape;
mod solids;
pub mod solver;
pub mod state;
pub mod step;
pub mod tries;
pub mod weights;

use coarsen::schwarz;
use examples_common::Failure;
use examples_common::files::Fingerprint;
use examples_common::frames::{Frames, Plan};

use collider::Obstacle;
use energy::Memory;
use hardest::Hardest;
use options::Options;
use particles::{Body, Particle};
use pictures::Pictures;
use rows::{Row, Summary};
use scene::Setting;
use seed::Seeds;
use solver::Minimizer;
use state::State;
use step::Stepper;

/// Scenes with more particles than this are said to take long, if the command line does not ask for as many.
const MANY: usize = 200_000;

/// A scene, the method of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::Place<Real = f64>> {
    options: &'a Options,
    pictures: Pictures,
    start: Vec<Particle>,
    bodies: &'a [Body],
    stepper: Stepper<'a, B>,
    hardest: Hardest<'a>,
}

/// Runs the program at a place, and returns the rows of all frames; row k is that of frame k.
///
/// # Errors
/// [`fault::SceneError`], [`fault::MethodError`], [`fault::StepError`], [`fault::StateError`], and the errors of files,
/// solvers and the place.
pub fn run<B: schwarz::Place<Real = f64>>(on: B, options: &Options) -> Result<Vec<Row>, Failure> {
    // 1. A scene, filled with particles.
    let Options { scene, stiff, seed, data, method, .. } = options;
    method.check()?;
    scene.check_options([stiff.is_some(), seed.is_some(), data.is_some()])?;
    let setting: Setting = scene.setting(*stiff, seed.unwrap_or(1), data.as_deref())?;
    let frames = options.frames.unwrap_or(setting.frames);
    let seeds = Seeds::new(&setting)?;
    let dx = match options.particles {
        Some(particles) => seeds.spacing_for(particles)?,
        None => options.dx.unwrap_or(setting.dx),
    };
    seeds.check(dx, frames)?;
    let (start, bodies) = seeds.fill(dx)?;
    let width = usize::from(options.width);
    let obstacles = Obstacle::all(&setting.collider, dx)?;
    let pictures = Pictures::new(&setting, &obstacles, &bodies, &start, width);
    println!(
        "particles: {}, bodies: {}, dx = {dx:.4e} m, on {}; change them with --particles N or --dx",
        start.len(),
        bodies.len(),
        on.name()
    );
    if start.len() > MANY && options.particles.is_none() && options.dx.is_none() {
        let count = start.len();
        eprintln!(
            "note: the spacing of the scene, {dx} m, makes {count} particles, with which a frame takes minutes; \
             --particles 20000 takes a wider spacing"
        );
    }

    // 2. The frames from the start or the last checkpoint, the summary and the animation.
    let largest = setting.largest_step(options.dt)?;
    let surfaces: Vec<_> = obstacles.iter().filter_map(|obstacle| obstacle.surface.as_ref()).collect();
    let surfaces: Vec<_> = surfaces.iter().map(|mesh| (&mesh.positions, &mesh.triangles)).collect();
    let place = on.name();
    let mut identity = Fingerprint::of("mpm", 1);
    identity.field("scene", &setting).field("dx", &dx).field("largest", &largest).field("method", method);
    identity.field("particles", &start).field("surfaces", &surfaces).field("backend", place);
    let picture = (width > 0).then(|| pictures.size());
    let minimizer = Minimizer::new(method, on);
    let stepper = Stepper {
        setting: &setting,
        obstacles: &obstacles,
        bodies: &bodies,
        dx,
        largest,
        minimizer,
        memory: Memory::default(),
    };
    let identity = identity.value();
    let hardest = Hardest::new(options.states, options.method.checkpoint, &options.out, identity)?;
    let mut simulation = Simulation { options, pictures, start, bodies: &bodies, stepper, hardest };
    let rows = Plan {
        folder: &options.out,
        identity,
        frames,
        checkpoint: options.method.checkpoint,
        resume: options.resume,
        picture,
        animation: "mpm.gif",
        delay: 1.0 / setting.rate,
    }
    .run(&mut simulation)?;
    simulation.hardest.prune();
    Ok(rows)
}

impl<B: schwarz::Place<Real = f64>> Frames for Simulation<'_, B> {
    type State = State;
    type Row = Row;

    fn start(&mut self) -> Result<(State, Row), Failure> {
        let particles = std::mem::take(&mut self.start);
        let state = State { emitted: f64::NEG_INFINITY, particles, ..State::default() };
        let row = self.stepper.row(&state);
        Ok((state, row))
    }

    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let bodies = self.bodies.len();
        if let Some(particle) = state.particles.iter().position(|p| p.body as usize >= bodies) {
            return Err(fault::StepError::Body { particle, bodies }.into());
        }
        let State { frame, time, emitted, .. } = *state;
        let [begins, ends] = [1.0, 0.0].map(|back| (frame as f64 - back) / self.stepper.setting.rate);
        if time != ends {
            return Err(fault::StateError::Time { frame, time, ends }.into());
        }
        // The last step begins within the frame, and emits there.
        if frame > 0 && !(begins..ends).contains(&emitted) {
            return Err(fault::StateError::Emitted { frame, emitted, begins, ends }.into());
        }
        self.stepper.minimizer.forget();
        self.hardest.renew(state)
    }

    fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        let row = self.stepper.frame(state)?;
        self.hardest.add(&row)?;
        Ok(row)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        let folder = &self.options.out;
        self.options.format.write(folder, state.frame, &state.particles)?;
        if self.options.width > 0 {
            self.pictures.write(folder, state.frame, state.time, &state.particles)?;
        }
        Ok(())
    }

    fn summary(rows: &[Row]) -> String {
        Summary(rows).to_string()
    }
}
