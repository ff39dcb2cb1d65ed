//! The command line of the example; see the library of this package.
//!
//! ```text
//! cargo run --release -p mpm -- --scene twist --particles 10000 --frames 72 --out twist
//! cargo run --release -p mpm -- --scene twist --particles 10000 --out twist --resume
//! cargo run --release -p mpm -- --scene chain --particles 40000 --solver auto --states 8
//! cargo run --release -p mpm -- --scene jelly.toml --dx 0.02 --backend opencl    # needs --features opencl
//! ```
//!
//! The second command continues the first. A run writes `frames.csv`, `summary.txt`, `frame_0000.ply` and
//! `frame_0000.png` for each frame, `mpm.gif` and `checkpoint.bin`; the third also keeps the states before its eight hardest
//! frames. From the summary of the first run after 49
//! frames, in which the pillars break (10,333 particles, up to 6,000 nodes):
//!
//! ```text
//!                               mean       least      median        most
//! steps                       3.4694      1.0000      1.0000     23.0000
//! outer per step             78.2931     10.0000     64.0000    348.0000
//! energy less work, J      1746.8802    796.6317   1879.4260   1962.5406
//! 170 of 170 steps converged
//! ```

use std::process::ExitCode;

use coarsen::schwarz;
use examples_common::Failure;
use examples_common::arguments::{Program, Unconverged, launch, parse};
use mpm::options::Options;
use mpm::rows::Row;

struct Run(Options);

impl Program for Run {
    fn run<B: schwarz::Place<Real = f64>>(self, on: B) -> Result<(), Failure> {
        let rows = mpm::run(on, &self.0)?;
        let sum = |of: fn(&Row) -> usize| rows.iter().map(of).sum::<usize>();
        let [count, converged] = [sum(|row| row.steps), sum(|row| row.converged)];
        let cure = "more --iterations, or a smaller --dt";
        Ok(Unconverged { failed: count - converged, count, what: "steps", cure }.check()?)
    }
}

fn main() -> ExitCode {
    let run = |options: Options| launch(options.threads, options.method.backend, Run(options));
    parse().map_or_else(|code| code, run)
}
