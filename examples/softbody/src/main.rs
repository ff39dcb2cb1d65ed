//! Simulates soft bodies and cloth. Copy this example to start your own.
//!
//! A time step minimises the sum of inertia (`step.rs`), elastic energies (`material.rs`), pins (`timed_attachments.rs`),
//! obstacles and contact (`part.rs`). The minimiser is a descent method with any preconditioner
//! (`examples/run`). Scenes are files (`examples/scene`): five are built in (`scenes/*.toml`), others are read.
//!
//! *Reference* Xian, Tong & Liu 2019, "A Scalable Galerkin Multigrid Method for Real-time Simulation of
//! Deformable Objects", ACM TOG 38(6):162.
//!
//! Sample runs:
//!
//! ```text
//! cargo run --release -p softbody                                                  # a bar swings
//! cargo run --release -p softbody -- --mesh armadillo --young 3e4 --solver skinning --levels 1000,50
//! cargo run --release -p softbody -- --scene hang --mesh sheet:201 --iterations 4 --solver skinning
//! cargo run --release -p softbody -- --scene hang --mesh sheet:201 --integrator pd --solver direct
//! cargo run --release -p softbody -- my.toml                                       # a scene of your own
//! cargo run --release -p softbody -- --scene pile --mesh bunny --dt 0.0167 --out pile
//! cargo run --release -p softbody -- --scene pile --mesh bunny --dt 0.0167 --out pile --resume
//! ```
//!
//! The last command continues an interrupted run. A run writes `frames.csv`, `summary.txt`, `frame_0000.vtk`
//! and `frame_0000.png` for each frame, `softbody.gif` and, every few frames, `checkpoint.bin`. Output of the
//! first run, on two cores beside other work:
//!
//! ```text
//! 425 nodes, 1536 tetrahedra in 1 bodies, on cpu
//!                               mean       least      median        most
//! outer iterations            3.5083      3.0000      4.0000      4.0000
//! inner iterations           12.3917      9.0000     12.0000     19.0000
//! setup, s                    0.0050      0.0011      0.0013      0.0266
//! solve, s                    0.0383      0.0126      0.0379      0.0882
//! frames per second          24.3371     10.8185     23.5247     42.4514
//! energy, J                 723.7320    672.4696    706.5084    855.6033
//! inverted elements           0.0000      0.0000      0.0000      0.0000
//! in obstacles, mm            0.0000      0.0000      0.0000      0.0000
//! in bodies, mm           not tested
//! 120 of 120 frames converged
//! ```

mod bodies;
#[cfg(feature = "opencl")]
mod device_step;
mod material;
mod meshes;
mod options;
mod part;
mod projective;
mod rows;
mod scene;
mod state;
mod step;
#[cfg(test)]
mod tests;
mod timed_attachments;

use std::process::ExitCode;

use coarsen::mesh::Mesh;
use coarsen::schwarz;
use examples_render::{BODIES, Stage};
use examples_run::Failure;
use examples_run::arguments::{Program, Unconverged, launch, parse_scene, say};
use examples_run::files::{Group, Moment, Shown, Solid, Surface};
use examples_run::frames::{Frames, Plan};
use examples_run::scales;
use examples_scene::{EARTH, Fingerprint};

use meshes::MeshChoice;
use options::{Method, Options};
use part::Depths;
use rows::Row;
use scene::{Setting, World};
use state::State;
use step::Stepper;

fn main() -> ExitCode {
    let run = |options: Options| launch(options.threads, options.method.backend, &options);
    parse_scene().map_or_else(|code| code, run)
}

impl Program for &Options {
    fn run<B: schwarz::SchwarzBackend<Real = f64>>(self, backend: B) -> Result<(), Failure> {
        let rows = run(backend, self)?;
        let failed = rows.iter().filter(|row| row.frame > 0 && row.outcome != "converged").count();
        let cure = "more --iterations or --inner, or a smaller --dt";
        let ended = Unconverged { failed, count: rows.len() - 1, what: "frames", cure };
        // Without a tolerance, the number of iterations is what was asked for.
        if self.method.tolerance > 0.0 { Ok(ended.check()?) } else { Ok(()) }
    }
}

/// A scene, the solver of its steps, and how frames are drawn.
struct Simulation<'a, B: schwarz::SchwarzBackend<Real = f64>> {
    backend: B,
    options: &'a Options,
    setting: Setting,
    meshes: Vec<Mesh>,
    surface: Surface,
    stage: Stage,
    /// The scene at the start, until a solver takes it.
    world: Option<World>,
    stepper: Option<Stepper>,
}

fn run<B: schwarz::SchwarzBackend<Real = f64>>(backend: B, options: &Options) -> Result<Vec<Row>, Failure> {
    // 1. A scene: bodies, attachments, obstacles.
    options.method.solver.check(&options.method.levels)?;
    let setting = Setting::of(options)?;
    let meshes = setting.meshes()?;
    let world = World::new(&setting, &meshes, &options.method)?;
    let bodies: Vec<_> = world.shapes.iter().map(|shape| shape.triangles.clone()).collect();
    let group = |(k, triangles): (usize, &Vec<[u32; 3]>)| {
        let (mesh, first) = (&meshes[k], world.shapes[k].nodes.start as u32);
        let (lame, stress) = setting.body[k].law(mesh);
        let tetrahedra: Vec<_> = mesh.tetrahedra.iter().map(|t| t.map(|v| first + v)).collect();
        Group {
            name: format!("body{k}"),
            colour: BODIES[k % BODIES.len()],
            triangles: triangles.clone(),
            texture: setting.body[k].mesh.texture(triangles.len(), setting.weld),
            solid: (!tetrahedra.is_empty()).then_some(Solid { tetrahedra, lame, stress }),
        }
    };
    let surface = Surface::new(bodies.iter().enumerate().map(group).collect(), world.positions.clone());
    let width = usize::from(options.width);
    let stage = Stage::new(&setting.scene.view, &setting.obstacle, bodies, &world.positions, width);
    let (nodes, elements) = (world.positions.len(), meshes.iter().map(|m| m.tetrahedra.len()).sum::<usize>());
    say(format_args!(
        "{nodes} nodes, {elements} tetrahedra in {} bodies, on {}",
        meshes.len(),
        backend.name()
    ))?;
    let mut notes = setting.hollow(&meshes);
    notes.extend(world.apart.iter().map(|fault| format!("the body has no contact with itself: {fault}")));

    // 2. The frames from the start or the last checkpoint, the summary and the animation.
    let identity = identity(&setting, &options.method, &meshes, &world.positions, backend.name());
    let file = |mesh: &MeshChoice| if let MeshChoice::File(file) = mesh { Some(file.clone()) } else { None };
    let plan = Plan {
        folder: &options.out,
        inputs: setting.body.iter().filter_map(|body| file(&body.mesh)).collect(),
        identity,
        frames: options.frames,
        checkpoint: options.method.checkpoint,
        keep: false,
        resume: options.resume,
        shown: Shown::new(options.format, width > 0),
        picture: (width > 0).then(|| stage.size()),
        animation: "softbody.gif",
        delay: options.method.dt,
        notes,
    };
    let world = Some(world);
    plan.run(&mut Simulation { backend, options, setting, meshes, surface, stage, world, stepper: None })
}

impl<B: schwarz::SchwarzBackend<Real = f64>> Simulation<'_, B> {
    /// The scene at the start, which is built again once it was taken.
    fn world(&mut self) -> Result<World, Failure> {
        let built = self.world.take();
        Ok(built.map_or_else(|| World::new(&self.setting, &self.meshes, &self.options.method), Ok)?)
    }
}

impl<B: schwarz::SchwarzBackend<Real = f64>> Frames for Simulation<'_, B> {
    type State = State;
    type Row = Row;

    fn start(&mut self) -> Result<(State, Row), Failure> {
        let mut world = self.world()?;
        let state = State::start(&world);
        let weight = world.masses.iter().flat_map(|m| EARTH.map(|g| m * g)).collect();
        scales::check(&mut world.forces, &state.x, &weight, self.options.method.tolerance)?;
        let touching = Depths::of(&mut world.forces, world.inside.as_mut(), &state.x)?;
        let row =
            state.row(touching, &mut world.forces, &world.masses, world.gravity, self.options.method.dt);
        self.world = Some(world);
        Ok((state, row))
    }

    fn renew(&mut self, state: &State) -> Result<(), Failure> {
        let world = self.world()?;
        self.stepper = Some(Stepper::new(world, state, &self.options.method, &self.backend)?);
        Ok(())
    }

    fn step(&mut self, state: &mut State) -> Result<Row, Failure> {
        self.stepper.as_mut().expect("built by renew").step(state)
    }

    fn show(&self, state: &State) -> Result<(), Failure> {
        let folder = &self.options.out;
        let (frame, delay) = (state.frame, self.options.method.dt);
        let moment = Moment { frame, delay, x: &state.x, v: &state.v };
        self.surface.write(folder, self.options.format, &moment)?;
        if self.options.width > 0 {
            let caption = format!("t = {:.2} s", state.frame as f64 * self.options.method.dt);
            self.stage.write(folder, state.frame, &state.x, &caption)?;
        }
        Ok(())
    }

    fn finish(&self) -> Result<(), Failure> {
        Ok(self.surface.finish(&self.options.out, self.options.format, self.options.method.dt)?)
    }
}

/// The fingerprint of all that decides the bits of a run: the scene, the method, the meshes, and the backend
/// that was chosen.
fn identity(
    setting: &Setting,
    method: &Method,
    meshes: &[Mesh],
    positions: &[[f64; 3]],
    backend: &str,
) -> u64 {
    let mut all = Fingerprint::of("softbody", 1);
    all.field("scene", &setting.scene.source.identity())
        .field("bodies", &setting.body)
        .field("method", method)
        .field("meshes", meshes);
    all.field("positions", positions).field("backend", backend).value()
}
