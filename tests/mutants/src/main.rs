//! Mutation tests of a sample, in one build.
//!
//! `cargo mutants` changes one position in the source, builds and tests, and repeats this for each mutant:
//! eleven hours for the sample of this project. This program compiles all mutants into one build. A query of
//! the environment selects the active mutant (mutant schemata: Untch, Offutt, Harrold 1993), and each test
//! program is run once per mutant:
//!
//! ```text
//! a + b   →   (if crate::mutant_is(7) { (a) - (b) } else if crate::mutant_is(8) { (a) * (b) } else { (a + b) })
//! ```
//!
//! ```sh
//! cargo install cargo-mutants --locked
//! cargo run --release -p mutants                    # the sample, by the tests of its own crates, then by the workspace's
//! cargo run --release -p mutants -- krylov relax    # two crates
//! cargo run --release -p mutants -- --again 1203    # one of them, with the output of the tests
//! ```
//!
//! | file | step |
//! |---|---|
//! | `sample` | the sample: every K-th mutant of `cargo mutants --list` for each crate |
//! | `found`, `place` | the bytes that a mutant replaces, and their replacement |
//! | `schema` | a source file that contains all its mutants |
//! | `build` | a copy of the tree with these files |
//! | `refuse` | mutants that do not compile, which are left out |
//! | `judge` | runs the test programs for each mutant |
//! | `alone` | mutants that cannot be selected at run time: one build each |
//! | `verdicts` | the results, and the tests that were run |
//! | `mutant`, `error` | mutants; errors |
//! | `report` | counts, and a line per survivor |
//!
//! The program works in `target/mutants` on the committed sources, and resumes if it was interrupted. It
//! starts again if a commit changes the sources of these crates, or with `--fresh` or a different
//! `--mutants`. After any other commit the tests are built again, and run on the mutants that no test of
//! their own crate has caught.

mod alone;
mod build;
mod edit;
mod error;
mod files;
mod found;
mod judge;
mod lines;
mod mutant;
mod refuse;
mod report;
mod sample;
mod schema;
mod verdicts;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use error::Error;
use mutant::{CRATES, Mutant};
use verdicts::{Asked, Verdicts};

/// Mutation tests of a sample, in one build.
#[derive(Parser)]
struct Arguments {
    /// Crates to judge, without `coarsen-`; by default all of the sample.
    #[arg(value_parser = CRATES)]
    crates: Vec<String>,
    /// Number of mutants per crate, 200 by default; a different number than before draws a new sample.
    #[arg(long)]
    mutants: Option<usize>,
    /// Time limit in seconds; test programs that take longer without a mutant do not judge.
    #[arg(long, default_value_t = 60)]
    limit: u64,
    /// Only use the tests of a mutant's own crate.
    #[arg(long)]
    own: bool,
    /// Judge only this mutant, and print the output of the tests.
    #[arg(long, value_name = "NUMBER")]
    again: Option<u32>,
    /// Discard the results of earlier runs.
    #[arg(long)]
    fresh: bool,
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
    let kept = build::checkout(&folder, arguments.fresh, arguments.mutants)?;
    let mutants = sample::draw(&folder, kept.wanted)?;
    let mut left_out = build::LeftOut::read(&folder)?;
    let programs = build::programs(&folder, &mutants, &mut left_out)?;
    if let Some(number) = arguments.again {
        let mutant = mutants.iter().find(|m| m.number == number).ok_or(Error::NoMutant(number))?;
        if left_out.unviable.contains(&number) {
            return Err(Error::LeftOut(number, "does not compile"));
        }
        if left_out.alone.contains(&number) {
            return Err(Error::LeftOut(number, "cannot be part of a schema, and is built alone"));
        }
        return judge::show(&programs, mutant, arguments.limit);
    }
    let of = |name: &str| arguments.crates.is_empty() || arguments.crates.iter().any(|c| c == name);
    let chosen: Vec<_> = mutants.iter().filter(|m| of(&m.package["coarsen-".len()..])).collect();
    let asked = Asked { commit: kept.commit, limit: arguments.limit, own: arguments.own };
    let mut verdicts = Verdicts::read(&folder)?;
    let open = |m: &&Mutant| !left_out.unviable.contains(&m.number) && verdicts.is_open(m.number, &asked);
    let (alone, together): (Vec<&Mutant>, Vec<&Mutant>) =
        chosen.iter().copied().filter(open).partition(|m| left_out.alone.contains(&m.number));
    if !(alone.is_empty() && together.is_empty()) {
        let timed = judge::timed(&programs, arguments.limit)?;
        judge::all(&timed, &together, &mut verdicts, &asked)?;
        alone::all(&folder, &timed, &alone, &mut left_out, &mut verdicts, &asked)?;
    }
    print!("{}", report::table(&asked, &chosen, &verdicts, &left_out));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_outside_the_sample_is_an_error() {
        assert!(Arguments::try_parse_from(["mutants", "krylov", "relax"]).is_ok());
        assert!(Arguments::try_parse_from(["mutants", "relaxx"]).is_err());
    }
}
