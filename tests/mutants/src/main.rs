//! Mutation tests of a sample, in one build.
//!
//! `cargo mutants` changes one place of the source, builds, tests, and goes on to the next: eleven hours for the sample that this project judges.
//! Here its list of mutants is compiled at once, each behind a question to the environment (mutant schemata: Untch, Offutt, Harrold 1993), and a
//! test program is run once for each of them:
//!
//! ```text
//! a + b   →   (if crate::mutant_is(7) { (a) - (b) } else if crate::mutant_is(8) { (a) * (b) } else { a + b })
//! ```
//!
//! ```sh
//! cargo install cargo-mutants --locked
//! cargo run --release -p mutants                    # the sample, by the tests of its own crates, then by the workspace's
//! cargo run --release -p mutants -- krylov relax    # two crates
//! cargo run --release -p mutants -- --again 1203    # one of them, with what the tests say
//! ```
//!
//! | file | step |
//! |---|---|
//! | `sample` | the mutants of `cargo mutants --list`, every K-th of a crate |
//! | `place` | where in its file a mutant acts, and what stands there then |
//! | `schema` | the file with all its mutants in it |
//! | `build` | a worktree with those files; what does not compile is left out |
//! | `judge` | the test programs, once for each mutant |
//! | `report` | counts, and a line for each survivor |
//!
//! It works in `target/mutants` and goes on where it was stopped; a new commit or `--fresh` begins anew.

mod build;
mod judge;
mod place;
mod report;
mod sample;
mod schema;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

/// The crates that the sample is drawn from, in the order of their layers.
const CRATES: [&str; 8] = ["core", "krylov", "sparse", "optimize", "direct", "relax", "schwarz", "multigrid"];

/// Mutation tests of a sample, in one build.
#[derive(Parser)]
struct Arguments {
    /// Crates to judge, without `coarsen-`; all eight of the sample where none is named.
    crates: Vec<String>,
    /// Mutants wanted of each crate.
    #[arg(long, default_value_t = 200)]
    mutants: usize,
    /// Test programs that take longer than this without a mutant do not judge, in seconds.
    #[arg(long, default_value_t = 60.0)]
    limit: f64,
    /// Only the tests of a mutant's own crate.
    #[arg(long)]
    own: bool,
    /// Judge this mutant alone, and show what the tests print.
    #[arg(long, value_name = "NUMBER")]
    again: Option<u32>,
    /// Forget what an earlier run found.
    #[arg(long)]
    fresh: bool,
}

/// What went wrong, and where.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("`{0}` did not run: {1}")]
    Program(String, std::io::Error),
    #[error("`{command}` failed:\n{output}")]
    Failed { command: String, output: String },
    #[error("{0} is not what this program reads: {1}")]
    Json(String, serde_json::Error),
    #[error("{0} is no Rust source: {1}")]
    Source(String, syn::Error),
    #[error("no mutant is numbered {0}; the list is target/mutants/sample.json")]
    NoMutant(u32),
    #[error("{0} fails without a mutant; its tests must pass first")]
    Baseline(String),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Error> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mutants");
    let commit = build::checkout(&folder, arguments.fresh)?;
    let mutants = sample::draw(&folder, arguments.mutants)?;
    let programs = build::programs(&folder, &mutants)?;
    if let Some(number) = arguments.again {
        let mutant = mutants.iter().find(|m| m.number == number).ok_or(Error::NoMutant(number))?;
        return judge::show(&programs, mutant);
    }
    let of = |name: &str| arguments.crates.is_empty() || arguments.crates.iter().any(|c| c == name);
    let chosen: Vec<_> = mutants.iter().filter(|m| of(&m.package["coarsen-".len()..])).collect();
    let verdicts = judge::all(&folder, &programs, &chosen, arguments.limit, arguments.own)?;
    print!("{}", report::table(&commit, &chosen, &verdicts, &build::left_out(&folder)?));
    Ok(())
}
