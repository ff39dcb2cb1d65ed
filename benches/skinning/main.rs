//! The figures and tables of Xian, Tong & Liu 2019, and five preconditioners on bodies, sheets and cubes.
//!
//! - `errors`: Table 3 and Fig. 3. The factor by which an exact coarse solve reduces the error, for constant
//!   and smooth weights and for affine and constant coordinates; nonzeros of the coarse matrices.
//! - `growth`: Fig. 6 and 7, Table 1. The armadillo at sizes from 1.2K to 127K vertices: bytes, iterations,
//!   times. With a number: iterations with other settings, for bodies of up to this number of cubes along a side.
//! - `setups`: Table 1 and 2. Time of a frame and its parts for the eleven set-ups of the paper.
//! - `stiffness`: Fig. 9. The factor by which a cycle reduces the residual, for μ from 5e2 to 2.56e5.
//! - `curves`: Fig. 10 to 12. The error of a time step against time, for one cycle per iteration, Gauss-Seidel,
//!   the semi-iterative method of Wang 2015 and conjugate gradients; pictures for the book.
//! - `sheets`: Fig. 8. Projective Dynamics with a factor and with skinning, and Newton's method, on sheets
//!   of n x n vertices.
//! - `cut`: sampling after a cut through half of a sheet of n x n vertices.
//! - `update`: the time of an update of a hierarchy beside that of the product A x, the least of 5 or of a given number of
//!   runs.
//! - `which`: smoothed aggregation, multilevel Schwarz, skinning, block Jacobi and a factor on soft bodies,
//!   sheets and elasticity, at three time steps: setup, update, solve, memory. Rows are appended to a file,
//!   and rows that are already in the file are not run again.
//!
//! ```text
//! COARSEN_DATA=... cargo bench -p coarsen-benches --bench skinning -- errors 2.0   # the height
//! cargo bench -p coarsen-benches --bench skinning -- sheets 51 101 201              # n
//! COARSEN_DATA=... cargo bench -p coarsen-benches --bench skinning -- which ROWS.md
//! ```
//!
//! All runs use two threads. The material is that of Table 4: co-rotational with μ = 500, λ = 0, density 1,
//! attachments of stiffness 1, h = 1/30 s. The paper does not give the height of its mesh; here it is 2.

mod body;
mod curves;
mod cut;
mod errors;
mod growth;
#[path = "../lines.rs"]
mod lines;
mod setups;
mod stiffness;
mod update;
mod which;

use std::process::ExitCode;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let run = || match words.first().map(String::as_str) {
        Some("errors") => errors::run(words.get(1).map_or(Ok(2.0), |height| height.parse())?),
        Some("growth") if words.len() > 1 => growth::settings(words[1].parse()?),
        Some("growth") => growth::run(),
        Some("setups") => setups::run(),
        Some("stiffness") => stiffness::run(),
        Some("curves") => curves::run(),
        Some("sheets") if words.len() > 1 => {
            curves::sheets(&words[1..].iter().map(|n| n.parse()).collect::<Result<Vec<_>, _>>()?)
        }
        Some("sheets") => curves::sheets(&[51, 101, 201, 301]),
        Some("cut") => cut::run(&[101, 201, 317]),
        Some("update") => update::run(words.get(1).map_or(Ok(5), |repeats| repeats.parse())?),
        Some("which") => which::run(words.get(1).map_or("skinning-which.md", String::as_str)),
        _ => Err("choose errors, growth, setups, stiffness, curves, sheets, cut, update or which".into()),
    };
    match coarsen::parallel::threads(2, run).unwrap_or_else(|error| Err(error.into())) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}
