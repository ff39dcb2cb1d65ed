//! Simulates cloth. Copy this example to start your own.
//!
//! A time step minimises the sum of inertia (`step.rs`), stretching and bending (`material.rs`) and contact (`world.rs`) by
//! Newton's method with any preconditioner. Scenes (`scene.rs`) place a sheet (`sheet.rs`) among obstacles; the
//! air moves it (`air.rs`), held vertices and solids move by a formula or a sequence of files (`motion.rs`). Obstacles are
//! energies, or constraints that let go, slide and stick (`supported.rs`, `block.rs`). After each frame an independent
//! test counts penetrations (`crossing.rs`).
//!
//! *Reference* Tamstorf, Jones & McCormick 2015, "Smoothed Aggregation Multigrid for Cloth Simulation", ACM TOG
//! 34(6):245, whose five scenes are built in.
//!
//! Sample runs:
//!
//! ```text
//! cargo run --release -p cloth                                                # a sheet droops from two sides
//! cargo run --release -p cloth -- --scene reentrant --vertices 10201 --tessellation irregular
//! cargo run --release -p cloth -- --scene sphere --solver sa --out sphere --frames 40
//! cargo run --release -p cloth -- --scene sphere --solver sa --out sphere --frames 60 --resume
//! cargo run --release -p cloth -- --scene sphere --solver sa --obstacles constraints
//! cargo run --release -p cloth -- --scene flag --wind 8 0 2 --frames 72
//! cargo run --release -p cloth -- --scene garment --material baraff-witkin --frames 48
//! cargo run --release -p cloth -- --scene dressed --mesh dress.obj --sewn --body walk_*.obj --frames 100
//! cargo run --release -p cloth --features opencl -- --backend opencl --solver mas --iterations 1 --fixed --inner 64
//! ```
//!
//! The fourth command continues the third; the fifth takes obstacles as constraints. A run writes `frames.csv`, `summary.txt`, `frame_0000.obj` and
//! `frame_0000.png` for each frame, `cloth.gif` and, every few frames, `checkpoint.bin`; with `--systems`, also linear
//! systems of the animation (`systems.rs`). `src/bin/drape.rs` is the program of a tutorial: a sheet without contact in
//! one file.
//!
//! From the summary of `--scene drop-vertical --vertices 2500 --dt 0.004 --frames 5`, whose energy is 1.863 J at the
//! start:
//!
//! ```text
//!                               mean       least      median        most
//! Newton per step             8.5600      2.5000      8.1818     16.8182
//! inner per step            634.6855     61.3000    716.0909   1254.6364
//! contacts                   82.2000      0.0000     33.0000    345.0000
//! penetrations                0.0000      0.0000      0.0000      0.0000
//! energy less work, J         1.8465      1.8202      1.8527      1.8616
//! 52 of 52 steps converged
//! ```

mod air;
mod block;
mod crossing;
mod fault;
mod material;
mod motion;
mod options;
mod ranks;
mod rows;
mod scene;
mod sheet;
mod state;
mod step;
mod supported;
mod systems;
#[cfg(test)]
mod tests;
mod world;

use std::process::ExitCode;

use clap::Parser;
use coarsen::elastic::Nodes;
use coarsen::{Waits, schwarz};
use examples_common::Failure;
use examples_common::arguments::{Program, launch};
use examples_common::files::{Surface, fingerprint};
use examples_common::frames::{Frames, Plan};
use examples_common::stage::Stage;

use fault::SceneError;
use motion::RATE;
use motion::{Motion, Played};
use options::{Obstacles, Options};
use rows::{Row, Summary};
use scene::{Scene, SceneChoice};
use sheet::Sheet;
use state::State;
use step::Stepper;
use world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    launch(options.threads.into(), options.method.backend, &options)
}

impl Program for &Options {
    fn run<B: schwarz::Place<Real = f64> + Waits>(self, on: B) -> Result<(), Failure> {
        if self.ranks > 0 { ranks::run(self).map(drop) } else { run(on, self).map(drop) }
    }
}

/// A scene, the solver of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::Place<Real = f64> + Waits> {
    on: B,
    options: &'a Options,
    sheet: Sheet,
    scene: Scene,
    surface: Surface,
    stage: Stage,
    nodes: Nodes,
    /// The positions of all nodes at the start.
    start: Vec<[f64; 3]>,
    stepper: Option<Stepper<B>>,
}

fn run<B: schwarz::Place<Real = f64> + Waits>(on: B, options: &Options) -> Result<Vec<Row>, Failure> {
    // 1. A sheet and a scene.
    options.method.solver.check(&options.method.levels)?;
    if options.systems > 0 && options.method.obstacles == Obstacles::Constraints {
        return Err(SceneError::Systems.into());
    }
    let sheet = sheet(options)?;
    let mut scene = options.scene.scene(&sheet);
    if !options.body.is_empty() {
        let (body, played) = Played::read(&options.body)?;
        (scene.still, scene.motion) = (body, Motion::Played(played));
    }
    let World { fixed, .. } = World::new(&scene, &sheet, options)?;
    let bodies = vec![fixed.crossings.triangles().to_vec()];
    let surface = Surface::new(&bodies);
    let width = usize::from(options.width);
    let layer = sheet.triangles.len() / sheet.layers;
    let mut drawn: Vec<_> = sheet.triangles.chunks(layer).map(<[_]>::to_vec).collect();
    let moving = matches!(scene.motion, Motion::Played(_));
    if moving {
        drawn.push(bodies[0][sheet.triangles.len()..].to_vec());
    }
    let mut stage = Stage::new(&scene.view, &scene.solids, drawn, &fixed.positions, width);
    if !moving {
        stage.add_still(&scene.still.positions, &scene.still.triangles);
    }
    println!(
        "{} vertices, {} of them held, {} triangles, on {}",
        sheet.rest.len(),
        scene.held.iter().filter(|held| **held).count(),
        sheet.triangles.len(),
        on.name()
    );

    let (nodes, start) = (fixed.nodes, fixed.positions);

    // 2. The frames from the start or the last checkpoint, the summary and the animation.
    let Options { cloth, method, .. } = options;
    let identity = format!("{sheet:?} {scene:?} {cloth:?} {method:?} {}", on.name());
    let picture = (width > 0).then(|| stage.size());
    let mut simulation =
        Simulation { on, options, sheet, scene, surface, stage, nodes, start, stepper: None };
    Plan {
        folder: &options.out,
        identity: fingerprint(identity.as_bytes()),
        frames: options.frames,
        checkpoint: options.method.checkpoint,
        resume: options.resume,
        picture,
        animation: "cloth.gif",
        delay: 1.0 / RATE,
    }
    .run(&mut simulation)
}

/// The number of strips that are twisted, and the gap between them in m.
const STRIPS: usize = 3;
const STRIP_GAP: f64 = 0.01;

/// The sheet of the command line.
fn sheet(options: &Options) -> Result<Sheet, SceneError> {
    let (cut, dressed) = (options.scene.cut(), options.scene == SceneChoice::Dressed);
    let garment = dressed || options.scene == SceneChoice::Garment;
    match &options.mesh {
        Some(_) if cut => Err(SceneError::Cut),
        Some(_) if options.scene == SceneChoice::Twist => Err(SceneError::Strips),
        file if (file.is_none() || options.body.is_empty()) && dressed => Err(SceneError::Dressed),
        _ if !options.body.is_empty() && !dressed => Err(SceneError::Dressed),
        Some(_) if options.sewn && !garment => Err(SceneError::Sewn),
        Some(file) if options.sewn => Ok(Sheet::sewn(file, !dressed)?),
        Some(file) if garment => Ok(Sheet::garment(file, !dressed)?),
        Some(file) => Ok(Sheet::read(file)?),
        None if options.scene == SceneChoice::Garment => Ok(Sheet::skirt(options.vertices as usize)),
        None if options.scene == SceneChoice::Twist => {
            Ok(Sheet::strips(f64::from(options.vertices).sqrt().round() as usize, STRIPS, STRIP_GAP))
        }
        None => {
            // A cut sheet has a quarter less, and an odd number of vertices along a side.
            let full = f64::from(options.vertices) * if cut { 4.0 / 3.0 } else { 1.0 };
            let side = full.sqrt().round() as usize;
            Ok(Sheet::square(if cut { side | 1 } else { side }, options.tessellation, cut))
        }
    }
}

impl<B: schwarz::Place<Real = f64> + Waits> Frames for Simulation<'_, B> {
    type State = State;
    type Row = Row;

    fn start(&mut self) -> Result<(State, Row), Failure> {
        let World { fixed, mut forces } = World::new(&self.scene, &self.sheet, self.options)?;
        let state = State::start(&fixed);
        let row = fixed.row(&mut forces, &state)?;
        Ok((state, row))
    }

    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let world = World::new(&self.scene, &self.sheet, self.options)?;
        self.stepper = Some(Stepper::new(world, state, &self.options.method, &self.on)?);
        Ok(())
    }

    fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        let stepper = self.stepper.as_mut().expect("built by renew");
        let row = stepper.frame(state)?;
        if systems::is_due(state.frame, self.options.frames, self.options.systems) {
            let (system, rhs) = stepper.system(state)?;
            systems::write(&self.options.out, state.frame, system, &rhs)?;
        }
        Ok(row)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        let folder = &self.options.out;
        let (motion, h) = (&self.scene.motion, self.options.method.dt);
        let time = step::last(state.frame, h) as f64 * h;
        let mut nodes = self.nodes.clone();
        if motion.moves() {
            nodes.hold(&motion.held(&self.start, time));
        }
        let x = &world::all(&nodes, &state.x);
        let x = x.as_flattened();
        self.surface.write(folder, state.frame, self.options.format, x)?;
        if self.options.width > 0 {
            let caption = format!("t = {:.2} s", state.frame as f64 / RATE);
            let solids = motion.solids(&self.scene.solids, time);
            self.stage.write_moved(folder, state.frame, x, &solids, &caption)?;
        }
        Ok(())
    }

    fn summary(rows: &[Row]) -> String {
        Summary(rows).to_string()
    }
}
