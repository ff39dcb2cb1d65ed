//! The command line of the example; see the library of this package.
//!
//! ```text
//! cargo run --release -p mpm -- --scene twist --particles 10000 --frames 72 --out twist
//! cargo run --release -p mpm -- --scene twist --particles 10000 --out twist --resume
//! cargo run --release -p mpm -- --scene chain --particles 40000 --solver lbfgs-sa
//! cargo run --release -p mpm -- --scene jelly.toml --dx 0.02 --backend opencl    # needs --features opencl
//! ```
//!
//! The second command continues the first. A run writes `frames.csv`, `summary.txt`, `frame_0000.ply` and
//! `frame_0000.png` for each frame, `mpm.gif` and `checkpoint.bin`.

use std::process::ExitCode;

use clap::Parser;
use coarsen::schwarz;
use examples_common::Failure;
use examples_common::arguments::{Program, launch};
use mpm::options::Options;

struct Run(Options);

impl Program for Run {
    fn run<B: schwarz::Place<Real = f64>>(self, on: B) -> Result<(), Failure> {
        mpm::run(on, &self.0).map(drop)
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    launch(options.threads, options.method.backend, Run(options))
}
