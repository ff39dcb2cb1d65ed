//! Simulates cloth. Copy this example to start your own.
//!
//! A time step minimises the sum of inertia (`step.rs`), stretching and bending (`material.rs`) and contact (`world.rs`) by
//! Newton's method with any preconditioner. Scenes are files (`scenes/*.toml`, `scene.rs`): they place a sheet (`sheet.rs`)
//! among obstacles; the
//! air moves it (`air.rs`), held vertices and solids move by a formula or a sequence of files (`motion.rs`). Obstacles are
//! barriers (`solids.rs`), or constraints that let go, slide and stick (`ConstrainedDescent` of the library); pieces are sewn (`shirt.rs`, `seams.rs`);
//! a finer sheet continues a run (`subdivide.rs`); a closed mesh has a signed distance
//! (`statue.rs`). The thickness (`thickness.rs`) is where contact begins. After each frame an independent
//! test counts penetrations (`crossing.rs`). `simulation.rs` runs the frames of one host, `ranks` those of several ranks;
//! the program `cloth-mpi` of another package starts ranks as processes.
//!
//! *Reference* Tamstorf, Jones & McCormick 2015, "Smoothed Aggregation Multigrid for Cloth Simulation", ACM TOG
//! 34(6):245, whose five scenes are built in.
//!
//! Sample runs:
//!
//! ```text
//! cargo run --release -p cloth                                                # a sheet droops from two sides
//! cargo run --release -p cloth -- my.toml                                     # a scene of your own
//! cargo run --release -p cloth -- --scene reentrant --vertices 10201 --tessellation irregular
//! cargo run --release -p cloth -- --scene sphere --solver sa --out sphere --frames 40
//! cargo run --release -p cloth -- --scene sphere --solver sa --out sphere --frames 60 --resume
//! cargo run --release -p cloth -- --scene sphere --solver sa --obstacles constraints
//! cargo run --release -p cloth -- --scene statue --body bunny.msh
//! cargo run --release -p cloth -- --scene flag --wind 8 0 2 --frames 72
//! cargo run --release -p cloth -- --scene twist --ranks 2 --dt 5e-4         # two ranks, as threads (`ranks`)
//! cargo run --release -p cloth -- --scene sphere --ranks 2 --dt 5e-3 --solver mas
//! cargo run --release -p cloth -- --scene pushed --sheets 3 --ranks 2 --dt 5e-3
//! cargo run --release -p cloth -- --scene stitching --ranks 2 --dt 5e-3 --out sewn --frames 10
//! cargo run --release -p cloth -- --scene stitching --ranks 2 --dt 5e-3 --subdivide 1 --start sewn/checkpoint.bin
//! cargo run --release -p cloth -- --scene flag --material anisotropic --frames 48
//! cargo run --release -p cloth -- --scene garment --material baraff-witkin --frames 48
//! cargo run --release -p cloth -- --scene dressed --mesh dress.obj --sewn --body walk_*.obj --frames 100
//! cargo run --release -p cloth --features opencl -- --backend opencl --solver mas --iterations 1 --fixed --inner 64
//! cargo run --release -p cloth --features opencl -- --scene drop-horizontal --backend opencl --solver mas --air 0
//! ```
//!
//! The fifth command continues the fourth; the sixth takes obstacles as constraints. A run writes `frames.csv`,
//! `summary.txt`, `frame_0000.obj` and `frame_0000.png` for each frame, `cloth.gif` and, every few frames, `checkpoint.bin`; with `--systems`, also linear
//! systems of the animation (`systems.rs`). `src/bin/drape.rs` is the program of a tutorial: a sheet without contact in
//! one file.
//!
//! From the summary of `--scene drop-vertical --vertices 2500 --dt 0.004 --frames 5 --air 0`, whose energy is 1.863 J at the
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
mod crossing;
#[cfg(feature = "opencl")]
mod device_step;
mod drawing;
mod fault;
mod material;
mod motion;
mod options;
mod ranks;
mod scene;
mod seams;
mod sheet;
mod shirt;
mod simulation;
mod solids;
mod state;
mod statue;
mod step;
mod subdivide;
mod systems;
#[cfg(test)]
mod tests;
mod thickness;
mod world;

use std::process::ExitCode;

use coarsen::schwarz;
use examples_run::Failure;
use examples_run::arguments::{Program, Unconverged, launch};

pub use options::Options;
pub use ranks::{check, on_ranks};
use simulation::run;

/// Runs the program with its options and prints its error: on one host, or on ranks as threads.
pub fn start(options: &Options) -> ExitCode {
    launch(options.threads(), options.method.backend, options)
}

impl Program for &Options {
    fn run<B: schwarz::SchwarzBackend<Real = f64>>(self, backend: B) -> Result<(), Failure> {
        if self.ranks > 0 {
            return ranks::as_threads(self);
        }
        let rows = run(backend, self)?;
        let [count, converged] =
            rows.iter().fold([0; 2], |[all, good], row| [all + row.steps, good + row.converged]);
        let cure = "more --iterations or --inner, or a smaller --dt";
        let ended = Unconverged { failed: count - converged, count, what: "steps", cure };
        if self.method.is_converging() { Ok(ended.check()?) } else { Ok(()) }
    }
}
