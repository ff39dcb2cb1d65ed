//! `coarsen solve`, from the input to the report.

use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use coarsen::matrix_market;
use coarsen::parallel;

use crate::arguments::files::{check_files, check_folder, is_standard, outputs};
use crate::arguments::{Method, Solve, UpdatePolicy};
use crate::console::{self, complain};
use crate::decision::backends::Backends;
use crate::decision::decide::decide;
use crate::error::Failure;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::report::summary::{Report, Setting};
use crate::report::{dump, plot};
use crate::run::progress::Progress;
use crate::run::solve::{self, Run};

/// `coarsen solve`.
pub(crate) fn run(options: &Solve) -> Result<ExitCode, Failure> {
    let outputs =
        outputs([("--out", &options.out), ("--report", &options.report), ("--plot", &options.plot)]);
    check_files(&options.given.inputs(), &outputs)?;
    if let Some(folder) = &options.dump {
        check_folder("--dump", folder)?;
        dump::check(folder, &options.given, &outputs)?;
    }
    if options.update != UpdatePolicy::Policy {
        return Err(Failure::NotSequence { option: "--update" });
    }
    let threads =
        options.given.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize);
    let begun = Instant::now();
    let backends = Backends::open(options.backend.0, options.precision)?;
    let report = parallel::threads(threads, || solve(options, &backends, threads, begun))??;
    if !options.quiet {
        console::report(&report.to_string(), &outputs)?;
    }
    if report.converged() {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!("error: {}: {}\n", report.outcome, report.advice));
    Ok(ExitCode::from(4))
}

fn solve(options: &Solve, backends: &Backends, threads: usize, begun: Instant) -> Result<Report, Failure> {
    let progress = Progress::new(options.quiet);
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
        deadline: None,
    };
    let mut solution = solve::solve(run, &mut choice, None)?;
    progress.clear();
    if let Some(filter) = &mut filter {
        filter.recover(&mut solution.x)?;
        solution.notes.insert(0, format!("{}", filter.density()));
    }

    let setting = Setting { options, threads, begun, read_seconds, ready: &ready };
    let report = Report::new(&setting, &choice, &solution);
    if let Some(file) = &options.out {
        match is_standard(file) {
            true => matrix_market::print_vector(&solution.x)?,
            false => matrix_market::write_vector(file, &solution.x)?,
        }
    }
    if let Some(file) = &options.plot {
        plot::write(file, &report)?;
    }
    let folder = options.dump.as_ref().map(|folder| folder.join("report.json"));
    for file in options.report.iter().chain(&folder) {
        report.write(file)?;
    }
    Ok(report)
}
