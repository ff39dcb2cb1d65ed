//! The test programs, once for each mutant: those of its own crate first, then those of the workspace, the quick before the slow.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use crate::build::{self, Program};
use crate::sample::Mutant;
use crate::{CRATES, Error};

/// What the tests said of a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Verdict {
    /// A test of its own crate failed, or took five times as long as without it.
    Own,
    /// A test of another crate did.
    Workspace,
    /// None did.
    Survives,
}

/// Verdicts by number, kept in `verdicts.json`. A mutant that survived is judged again.
pub(crate) fn all(
    folder: &Path,
    programs: &[Program],
    mutants: &[&Mutant],
    limit: f64,
    own: bool,
) -> Result<BTreeMap<u32, Verdict>, Error> {
    let kept = folder.join("verdicts.json");
    let mut verdicts: BTreeMap<u32, Verdict> =
        if kept.exists() { build::read(&kept)? } else { BTreeMap::new() };
    let left_out = build::left_out(folder)?;
    let open: Vec<&&Mutant> = mutants
        .iter()
        .filter(|m| !left_out.unviable.contains(&m.number) && !left_out.by_hand.contains(&m.number))
        .filter(|m| verdicts.get(&m.number).is_none_or(|v| *v == Verdict::Survives))
        .collect();
    let mut timed = Vec::new();
    for program in programs {
        let seconds = run(program, None, Duration::from_secs(600))
            .ok_or_else(|| Error::Baseline(program.name.clone()))?;
        eprintln!("{:>8.2} s  {}, {}", seconds.as_secs_f64(), program.package, program.name);
        timed.push((program, seconds));
    }
    timed.retain(|(_, seconds)| seconds.as_secs_f64() <= limit);
    timed.sort_by_key(|(_, seconds)| *seconds);

    let style =
        ProgressStyle::with_template("{pos} of {len} mutants, {msg} caught, {eta} left").expect("a template");
    let bar = ProgressBar::new(open.len() as u64).with_style(style);
    let next = Mutex::new(open.into_iter());
    let found = Mutex::new(&mut verdicts);
    let work = || {
        loop {
            let Some(mutant) = next.lock().expect("no panic").next() else { return Ok(()) };
            let verdict = judge(&timed, mutant, own);
            let mut found = found.lock().expect("no panic");
            found.insert(mutant.number, verdict);
            bar.inc(1);
            bar.set_message(found.values().filter(|v| **v != Verdict::Survives).count().to_string());
            build::write(&kept, &**found)?;
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let handles: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        handles.into_iter().try_for_each(|h| h.join().expect("no panic"))
    })?;
    bar.finish();
    Ok(verdicts)
}

/// Its own crate's programs, then those of the crates above, then of those below.
fn judge(timed: &[(&Program, Duration)], mutant: &Mutant, own: bool) -> Verdict {
    let catches = |(program, seconds): &&(&Program, Duration)| {
        run(program, Some(mutant.number), *seconds * 5 + Duration::from_secs(10)).is_none()
    };
    let of = |program: &Program| program.package == mutant.package;
    if timed.iter().filter(|(p, _)| of(p)).any(|t| catches(&t)) {
        return Verdict::Own;
    }
    let mut others = timed.iter().filter(|(p, _)| !own && !of(p) && sees(p, mutant));
    if others.any(|t| catches(&t)) { Verdict::Workspace } else { Verdict::Survives }
}

/// Whether a program may contain a mutant's crate: `CRATES` is in the order of layers, and what is not in it stands above.
fn sees(program: &Program, mutant: &Mutant) -> bool {
    let layer =
        |package: &str| CRATES.iter().position(|c| package["coarsen-".len().min(package.len())..] == **c);
    match (layer(&program.package), layer(&mutant.package)) {
        (Some(a), Some(b)) => a > b,
        _ => true,
    }
}

/// Seconds that a program took, `None` where it failed or did not end.
fn run(program: &Program, mutant: Option<u32>, limit: Duration) -> Option<Duration> {
    let start = Instant::now();
    let mut command = command(program, mutant);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).stdin(Stdio::null()).spawn().ok()?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success().then(|| start.elapsed()),
            Ok(None) if start.elapsed() < limit => thread::sleep(Duration::from_millis(5)),
            _ => {
                _ = child.kill();
                _ = child.wait();
                return None;
            }
        }
    }
}

fn command(program: &Program, mutant: Option<u32>) -> Command {
    let mut command = Command::new(&program.path);
    // The first failure decides; two mutants are judged at a time, so one thread each.
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

/// One mutant by all programs, with what they print.
pub(crate) fn show(programs: &[Program], mutant: &Mutant) -> Result<(), Error> {
    println!("{}", mutant.name);
    for program in programs.iter().filter(|p| p.package == mutant.package || sees(p, mutant)) {
        let status = command(program, Some(mutant.number)).status();
        let status = status.map_err(|e| Error::Program(program.path.display().to_string(), e))?;
        println!("{}, {}: {status}", program.package, program.name);
    }
    Ok(())
}
