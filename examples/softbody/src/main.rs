//! Simulates soft bodies and cloth. Copy this example to start your own.
//!
//! A time step minimises the sum of inertia (`step.rs`), elastic energies (`material.rs`), pins (`holds.rs`),
//! obstacles and contact (`part.rs`). The minimiser is a descent method with any preconditioner
//! (`solver.rs`). Scenes are data (`scene`): five scenes are built in, others are read from TOML files.
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
//! cargo run --release -p softbody -- --scene pile --mesh bunny --dt 0.0167 --out pile
//! cargo run --release -p softbody -- --scene pile --mesh bunny --dt 0.0167 --out pile --resume
//! ```
//!
//! The last command continues an interrupted run. A run writes `frames.csv`, `summary.txt`, `frame_0000.vtk`
//! and `frame_0000.png` for each frame, `softbody.gif` and, every few frames, `checkpoint.bin`. Output of the
//! first run, on two cores:
//!
//! ```text
//! 425 nodes, 1536 tetrahedra in 1 bodies, on cpu
//!                               mean       least      median        most
//! outer iterations            5.8417      3.0000      6.0000      8.0000
//! inner iterations           22.7833     13.0000     22.0000     37.0000
//! setup, s                    0.0018      0.0000      0.0015      0.0058
//! solve, s                    0.0215      0.0090      0.0208      0.0413
//! frames per second          45.5049     23.3011     44.4248     95.6195
//! energy, J                 723.7313    672.4687    706.5078    855.6033
//! penetration, mm             0.0000      0.0000      0.0000      0.0000
//! 120 of 120 frames converged
//! ```

mod bodies;
mod checkpoint;
mod holds;
mod material;
mod meshes;
mod options;
mod output;
mod part;
mod picture;
mod projective;
mod rows;
mod scene;
mod solids;
mod solver;
mod state;
mod step;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use coarsen::mesh::Mesh;
use coarsen::prelude::*;
use coarsen::schwarz;
use examples_common::Picture;
use examples_common::picture::gif_of_files;
use indicatif::{ProgressBar, ProgressStyle};

use checkpoint::fingerprint;
use options::{Method, Options, Place};
use output::{OutputError, Surface, Table, failed, name};
use picture::Stage;
use rows::{Row, Summary};
use scene::{Setting, World};
use state::State;
use step::{Failure, Stepper};

fn main() -> ExitCode {
    let options = Options::parse();
    // The library does not start threads: run everything inside one pool.
    let done = threads(options.threads, || match options.method.backend {
        Place::Cpu => run(Cpu::new(), &options),
        Place::Mixed => run(Cpu::mixed(), &options),
        Place::Named(choice) => {
            AnyBackend::choose(choice).map_err(Box::from).and_then(|on| run(on, &options))
        }
    });
    match done.map_err(Box::from).flatten() {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run<B: schwarz::Place<Real = f64>>(on: B, options: &Options) -> Result<Vec<Row>, Failure> {
    // 1. A scene: bodies, attachments, obstacles.
    options.method.check()?;
    let setting = Setting::of(options)?;
    let meshes = setting.meshes()?;
    let mut world = World::new(&setting, &meshes)?;
    let surface = Surface::new(&world.shapes);
    let width = usize::from(options.width);
    let stage = Stage::new(&setting.view, &setting.obstacle, &world.shapes, &world.positions, width);
    let (nodes, elements) = (world.positions.len(), meshes.iter().map(|m| m.tetrahedra.len()).sum::<usize>());
    println!("{nodes} nodes, {elements} tetrahedra in {} bodies, on {}", meshes.len(), on.name());

    // 2. The start, or the last checkpoint. Files of an earlier run are read before any file is written.
    let folder = &options.out;
    let file = folder.join("checkpoint.bin");
    let run = identity(&setting, &options.method, &meshes, &world.positions, on.name());
    let picture = |frame| folder.join(name(frame, "png"));
    let (mut state, rows) = if options.resume {
        let state = checkpoint::read(&file, run)?;
        let rows = Table::read(folder, state.frame)?;
        if width > 0 {
            (0..=state.frame).try_for_each(|frame| check_picture(picture(frame), stage.size()))?;
        }
        (state, rows)
    } else {
        let state = State::start(&world);
        let row = state.row(&mut world.forces, &world.masses, world.gravity, options.method.dt);
        (state, vec![row])
    };
    let mut table = Table::create(folder, rows)?;
    let show = |state: &State| -> Result<(), Failure> {
        surface.write(folder, state.frame, options.format, &state.x)?;
        if width > 0 {
            let caption = format!("t = {:.2} s", state.frame as f64 * options.method.dt);
            stage.frame(&state.x, &caption)?.write_png(picture(state.frame))?;
        }
        Ok(())
    };
    if !options.resume {
        show(&state)?;
    }

    // 3. Frames, from one checkpoint to the next. The solver is built again at each checkpoint, even if the
    //    run was not interrupted. So a continued run computes the same bits as an uninterrupted run.
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} frames, {per_sec}, {eta} left  {msg}")?;
    let bar = ProgressBar::new(options.frames as u64).with_style(style);
    bar.set_position(state.frame as u64);
    let mut world = Some(world);
    while state.frame < options.frames {
        let world = world.take().map_or_else(|| World::new(&setting, &meshes), Ok)?;
        let mut stepper = Stepper::new(world, &state, &options.method, &on)?;
        let next = (state.frame / options.method.checkpoint + 1) * options.method.checkpoint;
        while state.frame < options.frames.min(next) {
            let row = stepper.step(&mut state)?;
            bar.set_message(format!("{} + {} iterations", row.outer, row.inner));
            show(&state)?;
            table.push(row)?;
            bar.inc(1);
        }
        if state.frame == next {
            checkpoint::write(&file, run, &state)?;
        }
    }
    bar.finish_and_clear();

    // 4. The summary and the animation.
    let summary = Summary(&table.rows).to_string();
    let path = folder.join("summary.txt");
    std::fs::write(&path, &summary).map_err(failed(&path))?;
    if width > 0 {
        let delay = (100.0 * options.method.dt).round().clamp(2.0, 100.0) as u16;
        let pictures: Vec<PathBuf> = (0..=state.frame).map(picture).collect();
        gif_of_files(&pictures, delay, folder.join("softbody.gif"))?;
    }
    println!("{summary}files in {}", folder.display());
    Ok(table.rows)
}

/// The fingerprint of all that decides the bits of a run: the scene, the method, the meshes, and the place
/// that was chosen.
fn identity(setting: &Setting, method: &Method, meshes: &[Mesh], positions: &[[f64; 3]], place: &str) -> u64 {
    let elements: Vec<_> = meshes.iter().map(|mesh| (&mesh.tetrahedra, &mesh.triangles)).collect();
    fingerprint(format!("{setting:?} {method:?} {positions:?} {elements:?} {place}").as_bytes())
}

/// Checks that a picture of an earlier run can be read and has the size of those of this run.
fn check_picture(file: PathBuf, expected: (usize, usize)) -> Result<(), Failure> {
    let found = Picture::read_png(&file)?.size();
    if found == expected { Ok(()) } else { Err(OutputError::Width { file, found, expected }.into()) }
}
