//! `coarsen solve`, from the input to the report.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use coarsen::matrix_market::{self, Dense};
use coarsen::parallel;

use crate::arguments::files::{check_folder, is_standard, outputs};
use crate::arguments::{Method, Solve, UpdatePolicy, threads};
use crate::console::{self, complain};
use crate::decision::backends::Backends;
use crate::decision::decide::decide;
use crate::error::Failure;
use crate::input::numpy;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::report::json::write_json;
use crate::report::summary::{Report, Setting};
use crate::report::{dump, plot};
use crate::run::progress::Progress;
use crate::run::refuse::ordered;
use crate::run::solution::Solution;
use crate::run::solve::{self, Run};

/// `coarsen solve`.
pub(crate) fn run(options: &Solve) -> Result<ExitCode, Failure> {
    let outputs =
        outputs([("--out", &options.out), ("--report", &options.report), ("--plot", &options.plot)]);
    options.given.check_files(&outputs)?;
    if let Some(folder) = &options.dump {
        check_folder("--dump", folder)?;
        dump::check(folder, &options.given, &outputs)?;
    }
    if options.update != UpdatePolicy::Policy {
        return Err(Failure::usage(
            "--update needs a sequence, --problem cloth-contact:N or stack:N; leave it out",
        ));
    }
    let threads = threads(options.given.threads);
    let begun = Instant::now();
    let backends = Backends::open(options.backend.0, options.precision)?;
    let report = parallel::threads(threads, || solve(options, &backends, threads, begun))??;
    if !options.talk.quiet {
        console::report(&report.to_string(), &outputs)?;
    }
    if report.numbers.converged() {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!("error: {}: {}\n", report.numbers.outcome, report.numbers.advice));
    Ok(ExitCode::from(4))
}

fn solve(options: &Solve, backends: &Backends, threads: usize, begun: Instant) -> Result<Report, Failure> {
    let progress = Progress::new(&options.talk);
    progress.phase("reading");
    let begin = Instant::now();
    let loaded = Input::load(&options.given);
    if let Some(folder) = &options.dump {
        progress.phase("dumping");
        dump::write(folder, options, (threads, backends), &loaded)?;
    }
    let mut input = loaded?;
    let mut filter = input.filter.take();
    let read_seconds = begin.elapsed().as_secs_f64();

    progress.phase("setting up");
    let symmetrise = options.method == Method::Auto || options.given.symmetrize;
    let ready = Ready::new(&options.given, &input, symmetrise)?;
    let mut choice = decide(options, backends, &ready)?;
    let run = Run {
        ready: &ready,
        given: &options.given,
        backends,
        precision: options.precision,
        progress: &progress,
        begun: ready.parsed,
        deadline: options.time_limit.map(|limit| ready.parsed + Duration::from_secs_f64(limit)),
    };
    let known = match (options.time_limit, choice.method()) {
        (Some(limit), Method::Direct) => ordered(ready.problem.matrix(), limit, usize::MAX),
        _ => Err(None),
    };
    let mut solution = match known {
        Err(Some(why)) => Solution::refused((choice.method(), choice.precond()), &ready, why),
        known => solve::solve(run, &mut choice, known.ok())?,
    };
    progress.clear();
    let n = input.b.len();
    if let Some(filter) = &mut filter {
        solution.x.chunks_mut(n.max(1)).try_for_each(|x| filter.recover(x))?;
        solution.notes.insert(0, format!("{}", filter.density()));
    }

    let setting = Setting { options, threads, begun, read_seconds, ready: &ready };
    let report = Report::new(&setting, &choice, &solution);
    if let Some(file) = &options.out {
        let x = std::mem::take(&mut solution.x);
        let (n, columns) = (n, 1 + input.others.len());
        let x = if input.is_complex { Dense::complex(n, columns, x) } else { Dense::new(n, columns, x) }?;
        match file {
            file if is_standard(file) => matrix_market::print_dense(&x)?,
            file if numpy::is_numpy(file) => numpy::write_dense(file, &x)?,
            file => matrix_market::write_dense(file, &x)?,
        }
    }
    if let Some(file) = &options.plot {
        plot::write(file, &report)?;
    }
    let folder = options.dump.as_ref().map(|folder| folder.join("report.json"));
    for file in options.report.iter().chain(&folder) {
        write_json(file, &report)?;
    }
    Ok(report)
}
