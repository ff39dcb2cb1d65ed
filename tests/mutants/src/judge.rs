//! Runs the test programs for each mutant: first the programs of its crate, then the programs of the
//! workspace, fast programs before slow programs.

use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::build::Program;
use crate::error::Error;
use crate::mutant::{CRATES, Mutant};
use crate::verdicts::{Asked, Verdict, Verdicts};

/// A program and its time without a mutant.
pub(crate) type Timed = (Program, Duration);

/// Returns the programs that take no longer than the limit, fast programs first. All of them must pass
/// without a mutant.
pub(crate) fn timed(programs: &[Program], limit: u64) -> Result<Vec<Timed>, Error> {
    let mut timed = Vec::new();
    for program in programs {
        match run(&mut quiet(program, None), Duration::from_secs(limit))? {
            Ended::Passed(seconds) => {
                eprintln!("{:>8.2} s  {}, {}", seconds.as_secs_f64(), program.package, program.name);
                timed.push((program.clone(), seconds));
            }
            Ended::TooLong => {
                eprintln!("> {limit:>6} s  {}, {}, which does not judge", program.package, program.name);
            }
            Ended::Failed => return Err(Error::Baseline(program.name.clone())),
        }
    }
    timed.sort_by_key(|(_, seconds)| *seconds);
    Ok(timed)
}

/// Judges the mutants in the programs.
pub(crate) fn all(
    timed: &[Timed],
    mutants: &[&Mutant],
    verdicts: &mut Verdicts,
    asked: &Asked,
) -> Result<(), Error> {
    let style =
        ProgressStyle::with_template("{pos} of {len} mutants, {msg} caught, {eta} left").expect("a template");
    let bar = ProgressBar::new(mutants.len() as u64).with_style(style);
    let next = Mutex::new(mutants.iter());
    let found = Mutex::new((verdicts, 0));
    let work = || {
        loop {
            let Some(mutant) = next.lock().expect("no panic").next() else { return Ok(()) };
            let before = found.lock().expect("no panic").0.get(mutant.number);
            let verdict = judge(timed, mutant, before, asked.own)?;
            let (verdicts, caught) = &mut *found.lock().expect("no panic");
            *caught += u32::from(verdict != Verdict::Survives);
            bar.inc(1);
            bar.set_message(caught.to_string());
            verdicts.insert(mutant.number, verdict, asked)?;
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|h| h.join().expect("no panic"))
    })?;
    bar.finish();
    Ok(())
}

/// Runs the programs of the mutant's crate, then all other programs that may contain the crate. The other
/// programs are skipped if they caught the mutant in an earlier run.
fn judge(timed: &[Timed], mutant: &Mutant, before: Option<Verdict>, own: bool) -> Result<Verdict, Error> {
    let of = |program: &Program| program.is_of(mutant);
    if caught(timed.iter().filter(|(p, _)| of(p)), Some(mutant.number))? {
        return Ok(Verdict::Own);
    }
    let others = timed.iter().filter(|(p, _)| !of(p) && sees(p, mutant));
    if before == Some(Verdict::Workspace) || !own && caught(others, Some(mutant.number))? {
        return Ok(Verdict::Workspace);
    }
    Ok(Verdict::Survives)
}

/// Whether a program may contain the mutant's crate. `CRATES` is ordered by layer; other packages are above
/// all crates of the list.
fn sees(program: &Program, mutant: &Mutant) -> bool {
    let layer =
        |package: &str| CRATES.iter().position(|c| package["coarsen-".len().min(package.len())..] == **c);
    match (layer(&program.package), layer(&mutant.package)) {
        (Some(a), Some(b)) => a > b,
        _ => true,
    }
}

/// Whether one of the programs fails or takes too long.
pub(crate) fn caught<'a>(
    programs: impl IntoIterator<Item = &'a Timed>,
    mutant: Option<u32>,
) -> Result<bool, Error> {
    for (program, seconds) in programs {
        if !matches!(run(&mut quiet(program, mutant), allowed(*seconds))?, Ended::Passed(_)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The time limit of a program with a mutant, from its time without a mutant.
fn allowed(seconds: Duration) -> Duration {
    seconds * 5 + Duration::from_secs(10)
}

/// The result of a program.
#[derive(Debug)]
enum Ended {
    Passed(Duration),
    Failed,
    TooLong,
}

fn run(command: &mut Command, limit: Duration) -> Result<Ended, Error> {
    let error = |command: &Command, e| Error::Program(command.get_program().display().to_string(), e);
    let start = Instant::now();
    let mut child = command.spawn().map_err(|e| error(command, e))?;
    loop {
        match child.try_wait().map_err(|e| error(command, e))? {
            Some(status) if status.success() => return Ok(Ended::Passed(start.elapsed())),
            Some(_) => return Ok(Ended::Failed),
            None if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            None => {
                _ = child.kill();
                _ = child.wait();
                return Ok(Ended::TooLong);
            }
        }
    }
}

fn command(program: &Program, mutant: Option<u32>) -> Command {
    let mut command = Command::new(&program.path);
    // A run ends at the first failure. Two mutants are judged at a time, so each program uses one thread.
    command.args(["-Z", "unstable-options", "--fail-fast", "--test-threads=1"]).env("RUSTC_BOOTSTRAP", "1");
    command
        .current_dir(&program.folder)
        .env("CARGO_MANIFEST_DIR", &program.folder)
        .env("PROPTEST_CASES", "64");
    if let Some(number) = mutant {
        command.env("MUTANT", number.to_string());
    }
    command
}

fn quiet(program: &Program, mutant: Option<u32>) -> Command {
    let mut command = command(program, mutant);
    command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null());
    command
}

/// Runs all programs with one mutant and prints their output. The time limit of each program is that of the
/// slowest program that `timed` accepts.
pub(crate) fn show(programs: &[Program], mutant: &Mutant, limit: u64) -> Result<(), Error> {
    println!("{}", mutant.name);
    let limit = allowed(Duration::from_secs(limit));
    for program in programs.iter().filter(|p| p.is_of(mutant) || sees(p, mutant)) {
        let ended = match run(&mut command(program, Some(mutant.number)), limit)? {
            Ended::Passed(_) => "passes".to_string(),
            Ended::Failed => "fails".to_string(),
            Ended::TooLong => format!("does not end in {} s", limit.as_secs()),
        };
        println!("{}, {}: {ended}", program.package, program.name);
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_not_a_time_out() {
        let sh = |script| run(Command::new("sh").args(["-c", script]), Duration::from_millis(500));
        assert!(matches!(sh("exit 0"), Ok(Ended::Passed(_))));
        assert!(matches!(sh("exit 1"), Ok(Ended::Failed)));
        assert!(matches!(sh("exec sleep 60"), Ok(Ended::TooLong)));
        let none = run(&mut Command::new("/no/such/program"), Duration::from_secs(1));
        assert!(matches!(none, Err(Error::Program(..))));
    }
}
