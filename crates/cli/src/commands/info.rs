//! `coarsen info`: diagnosis, block size, scale, memory estimates, and the choice of `solve`.

use std::process::ExitCode;

use coarsen::auto::Ending;
use coarsen::diagnose::{Diagnosis, Finding, diagnose};
use coarsen::direct::{Direct, DirectError, FactorStats, Method as Factorisation};
use coarsen::parallel;

use crate::arguments::{Info, NullSpace, Solve, threads};
use crate::console::{count, mib, say};
use crate::decision::backends::Backends;
use crate::decision::decide::decide;
use crate::error::Failure;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::words::{Rows, told};

/// `coarsen info`. If `solve` would reject the system, this command prints the diagnosis and ends with the
/// same error.
pub(crate) fn run(options: &Info) -> Result<ExitCode, Failure> {
    let given = &options.given;
    given.check_files(&[])?;
    given.check_symmetrize()?;
    given.check_unsolved()?;
    let threads = threads(given.threads);
    parallel::threads(threads, || inspect(&Solve::of(given), threads))?
}

fn inspect(options: &Solve, threads: usize) -> Result<ExitCode, Failure> {
    let (mut input, refused) = Input::inspected(&options.given.source)?;
    // The diagnosis of the matrix as it was read; the choice uses the diagnosis of its blocks.
    let mut diagnosis = diagnose(&input.matrix);
    if options.given.null_space != NullSpace::None {
        diagnosis.findings.retain(|finding| !matches!(finding, Finding::Unconstrained { .. }));
    }
    if let Some(why) = refused {
        say(&described(diagnosis))?;
        return Err(why);
    }
    input.read_beside(&options.given)?;
    let ready = Ready::new(&options.given, &input, true)?;
    let estimate = Direct::default().estimate(ready.problem.matrix());
    let bytes = estimate.as_ref().ok().map(|(_, stats)| stats.bytes);
    say(&format!("{}{}\n", described(diagnosis), factor(estimate)))?;
    for warning in &ready.warnings {
        say(&format!("warning: {warning}\n"))?;
    }
    let mut choice = decide(options, &Backends::Cpu, &ready)?;
    if let Some(bytes) = bytes.filter(|bytes| *bytes > options.given.memory()) {
        choice.exclude_factor(Ending::FactorTooLarge { bytes, allowed: options.given.memory() });
    }
    say(&format!("solve would use\n  {}\n  {}\n", choice.because[0], choice.because[1]))?;
    if choice.factor_follows() {
        say("  a factor follows if iterations cost as much\n")?;
    }
    for (option, value) in options.given.of_preconds.iter() {
        say(&format!("  {}\n", format!("{option} {value}").trim_end()))?;
    }
    say(&format!("  {}\n", count(threads, "thread")))?;
    Ok(ExitCode::SUCCESS)
}

fn described(mut diagnosis: Diagnosis) -> String {
    diagnosis.findings.iter_mut().for_each(|finding| finding.number(&|row| row + 1));
    let blocks = diagnosis.structure.blocking.map_or_else(
        || "block size 1".to_owned(),
        |best| format!("block size {}, {:.0} % of the blocks filled", best.size, 100.0 * best.fill),
    );
    format!("{diagnosis}{blocks}\n")
}

/// The cost of a direct solve, estimated from the structure.
fn factor(estimate: Result<(Factorisation, FactorStats), DirectError>) -> String {
    match estimate {
        Ok((method, stats)) => {
            let (mib, entries, flops) = (mib(stats.bytes), stats.nnz, stats.flops);
            // The structure bounds LU with any pivots.
            let most = if method == Factorisation::Lu { "at most " } else { "" };
            format!(
                "direct: {method:?}, {most}{mib:.1} MiB, {entries} entries in the factor, {flops:.1e} operations"
            )
        }
        Err(error) => format!("direct: {}", told(&error)),
    }
}
