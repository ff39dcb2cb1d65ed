//! Simulates cloth. Copy this example to start your own.
//!
//! A time step minimises the sum of inertia (`step.rs`), stretching and bending (`material.rs`) and contact (`world.rs`) by
//! Newton's method with any preconditioner. Scenes (`scene.rs`) place a sheet (`sheet.rs`) among obstacles; the
//! air moves it (`air.rs`), held vertices and solids move by a formula (`motion.rs`). After each frame an independent test counts penetrations (`crossing.rs`).
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
//! cargo run --release -p cloth -- --scene flag --wind 8 0 2 --frames 72
//! cargo run --release -p cloth -- --scene garment --material baraff-witkin --frames 48
//! ```
//!
//! The fourth command continues the third. A run writes `frames.csv`, `summary.txt`, `frame_0000.obj` and
//! `frame_0000.png` for each frame, `cloth.gif` and, every few frames, `checkpoint.bin`.
//!
//! From the summary of `--scene drop-vertical --vertices 2500 --dt 0.004 --frames 5`, whose energy is 1.863 J at the
//! start:
//!
//! ```text
//!                               mean       least      median        most
//! Newton per step             8.9636      2.5000      7.4545     17.3636
//! inner per step            687.2800     61.3000    571.9091   1465.0909
//! contacts                   20.0000      0.0000     24.0000     46.0000
//! penetrations                0.0000      0.0000      0.0000      0.0000
//! energy less work, J         1.8448      1.8116      1.8538      1.8616
//! 52 of 52 steps converged
//! ```

mod air;
mod crossing;
mod fault;
mod material;
mod motion;
mod options;
mod rows;
mod scene;
mod sheet;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod world;

use std::process::ExitCode;

use clap::Parser;
use coarsen::elastic::Nodes;
use coarsen::schwarz;
use examples_common::Failure;
use examples_common::arguments::{Program, launch};
use examples_common::files::{Surface, fingerprint};
use examples_common::frames::{Frames, Plan};
use examples_common::stage::Stage;

use fault::SceneError;
use options::Options;
use rows::{Row, Summary};
use scene::{Scene, SceneChoice};
use sheet::Sheet;
use state::State;
use step::{RATE, Stepper};
use world::World;

fn main() -> ExitCode {
    let options = Options::parse();
    launch(options.threads, options.method.backend, &options)
}

impl Program for &Options {
    fn run<B: schwarz::Place<Real = f64>>(self, on: B) -> Result<(), Failure> {
        run(on, self).map(drop)
    }
}

/// A scene, the solver of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::Place<Real = f64>> {
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

fn run<B: schwarz::Place<Real = f64>>(on: B, options: &Options) -> Result<Vec<Row>, Failure> {
    // 1. A sheet and a scene.
    options.method.solver.check(&options.method.levels)?;
    let sheet = sheet(options)?;
    let scene = options.scene.scene(&sheet);
    let World { fixed, .. } = World::new(&scene, &sheet, options)?;
    let bodies = vec![fixed.crossings.triangles().to_vec()];
    let surface = Surface::new(&bodies);
    let width = usize::from(options.width);
    let layer = sheet.triangles.len() / sheet.layers;
    let cloths = sheet.triangles.chunks(layer).map(<[_]>::to_vec).collect();
    let mut stage = Stage::new(&scene.view, &scene.solids, cloths, &fixed.positions, width);
    stage.add_still(&scene.still.positions, &scene.still.triangles);
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
    let cut = options.scene.cut();
    match &options.mesh {
        Some(_) if cut => Err(SceneError::Cut),
        Some(_) if options.scene == SceneChoice::Twist => Err(SceneError::Strips),
        Some(file) if options.scene == SceneChoice::Garment => Ok(Sheet::garment(file)?),
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

impl<B: schwarz::Place<Real = f64>> Frames for Simulation<'_, B> {
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
        self.stepper.as_mut().expect("built by renew").frame(state)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        let folder = &self.options.out;
        let (motion, h) = (self.scene.motion, self.options.method.dt);
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
