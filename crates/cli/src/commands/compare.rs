//! `coarsen compare`: one system, solved with every suitable preconditioner.

use std::cell::RefCell;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use coarsen::parallel;

use crate::arguments::place::check_place;
use crate::arguments::{Compare, Method, Precision, Precond};
use crate::console::say;
use crate::decision::candidates::{candidates, check_words};
use crate::decision::decide::check_solvable;
use crate::decision::places::Stages;
use crate::error::Failure;
use crate::input::looks::Looks;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::memory::peak_of;
use crate::report::chart;
use crate::report::json::write_json;
use crate::report::table::{Row, Table, label};
use crate::run::attempt::attempt;
use crate::run::auto::Auto;
use crate::run::ending::Ending;
use crate::run::factor::order;
use crate::run::job::Job;
use crate::run::progress::Progress;
use crate::run::solution::Solution;

/// The number of operations per second of a sparse factorisation on one core.
const SPEED: f64 = 3e10;

/// `coarsen compare`.
pub(crate) fn run(options: &Compare) -> Result<ExitCode, Failure> {
    for file in [&options.report, &options.plot].into_iter().flatten() {
        check_place(file)?;
    }
    let threads =
        options.given.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize);
    let stages = options.backend.iter().map(|wanted| Stages::open(wanted.0, Precision::Auto));
    let stages = stages.collect::<Result<Vec<_>, _>>()?;
    let table = parallel::threads(threads, || compare(options, &stages, threads))??;
    if !options.quiet {
        say(&table.to_string());
    }
    if let Some(file) = &options.plot {
        chart::write(file, &table)?;
    }
    if let Some(file) = &options.report {
        write_json(file, &table)?;
    }
    Ok(ExitCode::from(if table.any_converged() { 0 } else { 4 }))
}

fn compare(options: &Compare, stages: &[Stages], threads: usize) -> Result<Table, Failure> {
    let given = &options.given;
    given.domains.check()?;
    let progress = Progress::new(options.quiet);
    progress.phase("reading");
    let input = Input::load(given)?;
    progress.phase("analysing");
    let ready = Ready::new(given, &input, true)?;
    check_solvable(given, &ready)?;
    let pairs = candidates(&ready, options);
    check_words(&ready, options, stages, &pairs)?;
    let looked = ready.parsed.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    let places = stages.iter().enumerate().flat_map(|(at, on)| pairs.iter().map(move |&pair| (at, on, pair)));
    // A direct method always runs on the CPU, even if the other methods run on a device.
    let fits = |(at, on, (method, precond)): &(usize, &Stages, (Method, Precond))| match method {
        Method::Direct => *at == 0,
        _ => on.builds(*precond),
    };
    for (_, on, (method, precond)) in places.filter(fits) {
        progress.method(&label((method, precond), (stages.len() > 1).then(|| on.name())));
        progress.phase(if method == Method::Direct { "factorising" } else { "setting up" });
        let begun = Instant::now();
        let (solution, bytes) = peak_of(|| -> Result<Solution, Failure> {
            let looks = RefCell::new(Looks::default());
            let mut job = Job::of(&ready, given, Precision::Auto, &progress);
            (job.method, job.preconds, job.begun, job.looks) = (method, vec![precond], begun, &looks);
            job.again();
            job.deadline = Some(begun + Duration::from_secs_f64(options.limit));
            if let Some(why) = left_out(&job, options.limit, given.memory()) {
                job.ordered.take(); // later runs compute and time their own ordering
                return Ok(Solution::new(&job, "cpu").fail(&job, why));
            }
            let mut solution = attempt(&job, on, Precision::Auto, &ready.diagnosis, None)?;
            solution.setup_seconds += looks.borrow().seconds(); // the table has no lines for the steps
            Ok(solution)
        });
        rows.push(Row::new((method, precond), &solution?, bytes, stages.len() > 1));
    }
    progress.method("auto");
    let auto = Auto::run(&ready, options, &stages[0], &progress)?;
    progress.clear();
    if let Some(row) = rows.iter_mut().find(|row| row.is(auto.choice.method, auto.precond)) {
        row.auto = true;
    }
    Ok(Table::new(options, threads, &ready, &auto, looked, rows))
}

/// Returns a reason not to start a factorisation: by its symbolic structure it would exceed the memory limit,
/// or take longer than `limit` seconds. A running factorisation cannot be interrupted.
fn left_out(job: &Job<'_>, limit: f64, allowed: usize) -> Option<Ending> {
    if job.method != Method::Direct {
        return None;
    }
    let figures = order(job.system.matrix, job.ordered).ok()?;
    let seconds = figures.flops.map_or(0.0, |flops| flops / SPEED);
    match figures.bytes {
        bytes if bytes > allowed => Some(Ending::TooLarge { bytes, allowed }),
        _ if seconds > limit => Some(Ending::TooLong { seconds }),
        _ => None,
    }
}
