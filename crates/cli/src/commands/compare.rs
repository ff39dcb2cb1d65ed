//! `coarsen compare`: one system, solved with every suitable preconditioner.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use coarsen::auto::Auto;
use coarsen::parallel;

use crate::arguments::files::outputs;
use crate::arguments::{Compare, Method, NullSpace, Precision, Precond, threads};
use crate::console::report;
use crate::decision::backends::Backends;
use crate::decision::candidates::{candidates, check_words};
use crate::decision::choose::choose;
use crate::decision::decide::{check_solvable, leave_to_the_cpu};
use crate::error::Failure;
use crate::input::analysis::AnalysisTimes;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::memory::peak_of;
use crate::report::chart;
use crate::report::json::write_json;
use crate::report::table::{Row, Table, label};
use crate::run::progress::Progress;
use crate::run::refuse::ordered;
use crate::run::solution::Solution;
use crate::run::solve::{Run, solve};

/// `coarsen compare`.
pub(crate) fn run(options: &Compare) -> Result<ExitCode, Failure> {
    let outputs = outputs([("--report", &options.report), ("--plot", &options.plot)]);
    options.given.check_files(&outputs)?;
    options.given.check_symmetrize()?;
    let threads = threads(options.given.threads);
    let backends = options.backend.iter().map(|wanted| Backends::open(wanted.0, Precision::Auto));
    let backends = backends.collect::<Result<Vec<_>, _>>()?;
    let table = parallel::threads(threads, || compare(options, &backends, threads))??;
    if !options.talk.quiet {
        report(&table.to_string(), &outputs)?;
    }
    if let Some(file) = &options.plot {
        chart::write(file, &table)?;
    }
    if let Some(file) = &options.report {
        write_json(file, &table)?;
    }
    Ok(ExitCode::from(if table.any_converged() { 0 } else { 4 }))
}

fn compare(options: &Compare, backends: &[Backends], threads: usize) -> Result<Table, Failure> {
    let given = &options.given;
    given.domains.check()?;
    let progress = Progress::new(&options.talk);
    progress.phase("reading");
    let input = Input::load(given)?;
    if !input.others.is_empty() {
        return Err(Failure::usage(format!(
            "--rhs has {} columns, but `compare` takes one right-hand side; give a file with one column",
            1 + input.others.len()
        )));
    }
    progress.phase("analysing");
    let ready = Ready::new(given, &input, true)?;
    check_solvable(given, &ready)?;
    let pairs = candidates(&ready, options);
    check_words(&ready, options, backends, &pairs)?;
    let analysis_seconds = ready.parsed.elapsed().as_secs_f64();
    let limit = Duration::from_secs_f64(options.time_limit);
    let run = Run {
        ready: &ready,
        given,
        backends: &backends[0],
        precision: Precision::Auto,
        progress: &progress,
        begun: ready.parsed,
        deadline: None,
    };
    let mut rows = Vec::new();
    let runs = backends
        .iter()
        .enumerate()
        .flat_map(|(at, chosen)| pairs.iter().map(move |&pair| (at, chosen, pair)));
    // A direct method always runs on the CPU, even if the other methods run on a device.
    let fits = |(at, chosen, (method, precond)): &(usize, &Backends, (Method, Precond))| match method {
        Method::Direct => *at == 0,
        _ => chosen.builds(*precond),
    };
    let runs: Vec<_> = runs.filter(fits).collect();
    let count = runs.len() + 1;
    for (k, (_, chosen, (method, precond))) in runs.into_iter().enumerate() {
        progress
            .method(&label((method, precond), (backends.len() > 1).then(|| chosen.name())), (k + 1, count));
        progress.phase(if method == Method::Direct { "factorising" } else { "setting up" });
        let begun = Instant::now();
        let times = ready.analysis.replace(AnalysisTimes::default());
        let (solution, bytes) = peak_of(|| -> Result<Solution, Failure> {
            let iterate = method != Method::Direct;
            let asked = Auto { method: method.into(), precond: precond.into(), iterate, ..Auto::default() };
            let mut choice = choose(&ready, given, asked);
            let ordered = match method {
                Method::Direct => match ordered(ready.problem.matrix(), options.time_limit, given.memory()) {
                    Ok(ordered) => Some(ordered),
                    Err(Some(why)) => {
                        let mut refused = Solution::refused((method, precond), &ready, why);
                        refused.setup_seconds = begun.elapsed().as_secs_f64();
                        return Ok(refused);
                    }
                    Err(None) => None,
                },
                _ => None,
            };
            let ordering = begun.elapsed().as_secs_f64();
            let run = Run { deadline: Some(begun + limit), begun, backends: chosen, ..run };
            let mut solution = solve(run, &mut choice, ordered)?;
            if method == Method::Direct {
                solution.setup_seconds += ordering;
            }
            Ok(solution)
        });
        ready.analysis.replace(times);
        rows.push(Row::new((method, precond), &solution?, bytes, backends.len() > 1));
    }
    progress.method("auto", (count, count));
    let begun = Instant::now();
    let iterate = given.null_space != NullSpace::None || !matches!(backends[0], Backends::Cpu);
    let mut choice = choose(&ready, given, Auto { iterate, ..Auto::default() });
    leave_to_the_cpu(&backends[0], &mut choice)?;
    let run = Run { deadline: Some(begun + limit), begun, ..run };
    let auto = solve(run, &mut choice, None)?;
    let seconds = begun.elapsed().as_secs_f64();
    progress.clear();
    if let Some(row) =
        rows.iter_mut().find(|row| (row.numbers.method, row.numbers.precond) == (auto.method, auto.precond))
    {
        row.auto = true;
    }
    Ok(Table::new(options, threads, &ready, (&auto, &choice, seconds), analysis_seconds, rows))
}
