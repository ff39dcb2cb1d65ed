//! Invariants of the material point method and of the program.

mod auto;
mod bad_files;
mod bad_input;
mod bad_meshes;
mod bad_scenes;
mod constraints;
#[path = "../../../../tests/common/data.rs"]
mod data;
mod device;
mod duals;
mod energy;
#[allow(dead_code, reason = "`main` itself")]
#[path = "../../src/main.rs"]
mod example;
mod flow;
#[path = "../../../../tests/common/folder.rs"]
mod folder;
mod jelly;
#[path = "../../../../tests/common/energy.rs"]
mod kept_energy;
mod program;
mod runs;
mod scenes;
mod seeds;
mod transfers;

use coarsen::elastic::Lame;
use coarsen::prelude::*;
use coarsen_core::SplitMix64;
use examples_run::Failure;
use examples_scene::options::parse;
use mpm::material::Plasticity;
use mpm::options::Options;
use mpm::particles::{Body, IDENTITY, Particle};
use mpm::rows::Row;

use folder::Folder;

/// The spacing of test grids.
const DX: f64 = 0.1;

/// Two bodies whose moduli differ by a factor of a hundred.
fn bodies() -> Vec<Body> {
    let volume = DX * DX * DX / 8.0;
    let of = |young| Body {
        mass: 1e3 * volume,
        volume,
        lame: Lame::new(young, 0.3),
        plasticity: Plasticity::Elastic,
    };
    vec![of(1e4), of(1e6)]
}

/// Particles at random places around the origin, with random velocities and with F up to `size` from I.
fn cloud(count: usize, size: f64, seed: u64) -> Vec<Particle> {
    let mut random = SplitMix64::new(seed);
    let mut particle = |k: usize| {
        let mut triple = |scale: f64| [0; 3].map(|_| scale * random.number());
        let (x, v) = (triple(2.3 * DX), triple(1.0));
        let c = [0; 3].map(|_| triple(3.0));
        let mut f = [0; 3].map(|_| triple(size));
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            f[i][j] += IDENTITY[i][j];
        }
        Particle { x, v, c, f, body: (k % 2) as u32 }
    };
    (0..count).map(&mut particle).collect()
}

impl Folder {
    /// Runs the program with this folder for its output; row k is that of frame k.
    fn run(&self, arguments: &[&str]) -> Result<Vec<Row>, Failure> {
        let mut all = vec!["mpm", "--out", self.path()];
        for default in [["--width", "0"], ["--format", "none"]] {
            if !arguments.contains(&default[0]) {
                all.extend(default);
            }
        }
        let options: Options = parse(all.iter().chain(arguments))?;
        example::run(Cpu::new(), &options)
    }
}
