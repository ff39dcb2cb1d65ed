//! `coarsen info`: diagnosis, block size, scale, memory estimates, and the choice of `solve`.

use std::process::ExitCode;
use std::thread::available_parallelism;

use coarsen::diagnose::{Diagnosis, diagnose};
use coarsen::direct::{Direct, Method as Factorisation};
use coarsen::parallel;
use coarsen::sparse::Bsr;

use crate::arguments::{Info, Solve};
use crate::console::say;
use crate::decision::decide::decide;
use crate::decision::places::Stages;
use crate::error::Failure;
use crate::input::ready::Ready;
use crate::input::system::Input;

/// `coarsen info`. If `solve` would reject the system, this command prints the diagnosis and ends with the
/// same error.
pub(crate) fn run(options: &Info) -> Result<ExitCode, Failure> {
    let given = &options.given;
    let threads =
        given.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize);
    parallel::threads(threads, || inspect(&Solve::of(given)))?
}

fn inspect(options: &Solve) -> Result<ExitCode, Failure> {
    let mut refused = None;
    let mut input = Input::matrix(&options.given.source, |source| {
        let (matrix, why) = source.matrix_and_refusal()?;
        refused = why;
        Ok(matrix)
    })?;
    if let Some(why) = refused {
        say(&described(&diagnose(&input.matrix)))?;
        return Err(why.into());
    }
    input.read_beside(&options.given)?;
    let ready = Ready::new(&options.given, &input, true, true)?;
    // The diagnosis of the matrix as it was read; the choice uses the diagnosis of its blocks.
    say(&format!("{}{}\n", described(&diagnose(&input.matrix)), factor(ready.matrix())))?;
    for warning in &ready.warnings {
        say(&format!("warning: {warning}\n"))?;
    }
    let choice = decide(options, &Stages::Cpu, &ready)?;
    say(&format!("solve would use\n  {}\n  {}\n", choice.because[0], choice.because[1]))?;
    if choice.factor_follows() {
        say("  a factor follows if iterations cost as much\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn described(diagnosis: &Diagnosis) -> String {
    let blocks = diagnosis.structure.blocking.map_or_else(
        || "block size 1".to_owned(),
        |best| format!("block size {}, {:.0} % of the blocks filled", best.size, 100.0 * best.fill),
    );
    format!("{diagnosis}{blocks}\n")
}

/// The cost of a direct solve, estimated from the structure.
fn factor(a: &Bsr<f64>) -> String {
    match Direct::default().estimate(a) {
        Ok((Factorisation::Lu, _)) => "direct: LU; its fill-in depends on the pivots".to_owned(),
        Ok((method, figures)) => {
            let mut text =
                format!("direct: {method:?}, {:.1} MiB", figures.bytes as f64 / f64::from(1 << 20));
            if let Some(nnz) = figures.nnz {
                text += &format!(", {nnz} entries in the factor");
            }
            if let Some(flops) = figures.flops {
                text += &format!(", {flops:.1e} operations");
            }
            text
        }
        Err(error) => format!("direct: {error}"),
    }
}
