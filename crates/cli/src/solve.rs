//! From the input to the report.

use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use coarsen::backend::Cpu;
use coarsen::sparse::diagnose::{Diagnosis, diagnose};
use coarsen::sparse::{Bsr, NearKernel, System, Zeros, matrix_market};
use coarsen::{Outcome, parallel};

use crate::args::{Method, NullSpace, Precision, Precond, Solve};
use crate::choose::{Choice, Wish, refuse};
use crate::ending::Ending;
use crate::error::Failure;
use crate::factor::factor;
use crate::input::Input;
use crate::iterate::iterate;
use crate::job::{Job, Solution};
use crate::progress::Progress;
use crate::report::{Report, Setting};
use crate::{complain, dump, plot, say};

/// ‖A v‖ of a null vector, relative to what it is without cancellation: files round to 6 digits or more.
const NULL: f64 = 1e-6;

/// `coarsen solve`.
pub(crate) fn run(options: &Solve) -> Result<ExitCode, Failure> {
    for file in [&options.out, &options.report, &options.plot].into_iter().flatten() {
        check_place(file)?;
    }
    let threads =
        options.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize);
    let report = parallel::threads(threads, || solve(options, threads))??;
    if !options.quiet {
        say(&report.to_string());
    }
    if report.converged() {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!("error: {}: {}\n", report.outcome, report.advice));
    Ok(ExitCode::from(4))
}

fn solve(options: &Solve, threads: usize) -> Result<Report, Failure> {
    let progress = Progress::new(options.quiet);
    progress.phase("reading");
    let begin = Instant::now();
    let loaded = Input::load(options);
    if let Some(folder) = &options.dump {
        progress.phase("dumping");
        dump::write(folder, options, threads, &loaded)?;
    }
    let input = loaded?;
    let read_seconds = begin.elapsed().as_secs_f64();

    progress.phase("setting up");
    let parsed = Instant::now();
    let diagnosis = diagnose(&input.matrix);
    let block = block_size(options, &input, &diagnosis)?;
    let blocked; // unless it is in these blocks already
    let matrix = if input.matrix.block() == (block, block) {
        &input.matrix
    } else {
        blocked = input
            .matrix
            .reblock((block, block), Zeros::Keep)
            .map_err(|_| Failure::BlockSize { size: block, n: input.matrix.shape().0 })?;
        &blocked
    };
    let wish = Wish {
        method: options.method,
        precond: options.precond,
        iterate: options.precond != Precond::Auto
            || options.precision != Precision::F64
            || options.null_space != NullSpace::None,
    };
    let choice = Choice::new(wish, input.b.len(), &diagnosis);
    check_direct(options, &choice)?;
    let positions = input.positions.as_deref().filter(|points| points.len() * block == input.b.len());
    let job = Job {
        system: System { positions, near_kernel: input.near_kernel.as_ref(), ..matrix.into() },
        original: &input.matrix,
        b: &input.b,
        x0: input.x0.as_deref(),
        method: choice.method,
        preconds: choice.preconds.clone(),
        null_space: null_space(options, &input, matrix)?,
        floats: diagnosis.values.as_ref().is_some_and(|values| values.floating > 0),
        tolerance: options.tol,
        max_iterations: options.max_iterations,
        progress: &progress,
        parsed,
    };
    let solution = attempt(&job, options.precision, &diagnosis)?;
    progress.clear();

    let setting = Setting { options, threads, read_seconds, input: &input, block, diagnosis: &diagnosis };
    let report = Report::new(&setting, &choice, &solution);
    if let Some(file) = &options.out {
        matrix_market::write_vector(file, &solution.x)?;
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

/// Solves, unless there is nothing to solve or the matrix itself speaks against it.
fn attempt(job: &Job<'_>, precision: Precision, diagnosis: &Diagnosis) -> Result<Solution, Failure> {
    if job.b.iter().all(|&v| v == 0.0) {
        let mut nothing = Solution::new(job, "cpu");
        nothing.take(job, vec![0.0; job.b.len()], Outcome::Converged);
        nothing.history.push(0.0);
        nothing.begin();
        return Ok(nothing);
    }
    if let Some(ending) = refuse(job.method, diagnosis).or_else(|| wrong_null_space(job)) {
        return Ok(Solution::new(job, "cpu").fail(ending));
    }
    Ok(match (job.method, precision) {
        (Method::Direct, _) => factor(job),
        (_, Precision::F64) => iterate(job, &Cpu::new())?,
        (_, Precision::Mixed) => iterate(job, &Cpu::mixed())?,
        (_, Precision::F32) => iterate(job, &Cpu::single())?,
    })
}

/// What is asked for, else what the coordinates say, else the natural blocks, else what the pattern shows.
fn block_size(options: &Solve, input: &Input, diagnosis: &Diagnosis) -> Result<usize, Failure> {
    let n = input.b.len();
    let natural = input.matrix.block().0;
    let nodes = input.positions.as_ref().filter(|_| options.coordinates.is_some()).map(Vec::len);
    let asked = options.block_size.map(|size| size as usize);
    let size = match (asked, nodes) {
        (Some(size), _) => size,
        (None, Some(nodes)) => n.checked_div(nodes).unwrap_or(1),
        (None, None) if natural > 1 => natural,
        (None, None) => diagnosis.structure.best_blocking().map_or(1, |blocking| blocking.size),
    };
    if !n.is_multiple_of(size) {
        return Err(Failure::BlockSize { size, n });
    }
    match (nodes, &options.coordinates) {
        (Some(nodes), Some(file)) if nodes * size != n => Err(Failure::Rows {
            file: file.clone(),
            what: "one per node of --block-size unknowns",
            expected: n / size,
            found: nodes,
        }),
        _ => Ok(size),
    }
}

/// The vectors that A does not see: those of the file, or constants, one for each unknown of a node where A does
/// not see these either.
fn null_space(options: &Solve, input: &Input, a: &Bsr<f64>) -> Result<Option<NearKernel>, Failure> {
    Ok(match options.null_space {
        NullSpace::None => None,
        NullSpace::File(_) => input.null_space.clone(),
        NullSpace::Constants => {
            let n = input.b.len();
            let each = NearKernel::constants(n, a.block().0)?;
            let unseen = each.quality(a)?.iter().all(|q| q.all <= NULL);
            Some(if unseen { each } else { NearKernel::constants(n, 1)? })
        }
    })
}

/// The first vector that A does see.
fn wrong_null_space(job: &Job<'_>) -> Option<Ending> {
    match job.null_space.as_ref()?.quality(job.system.matrix) {
        Ok(quality) => {
            let vector = quality.iter().position(|q| q.all > NULL)?;
            Some(Ending::NotNull { vector, share: quality[vector].all })
        }
        Err(error) => Some(Ending::Unsuitable(error)),
    }
}

/// Refuses options that a direct solve would ignore.
fn check_direct(options: &Solve, choice: &Choice) -> Result<(), Failure> {
    if choice.method != Method::Direct {
        return Ok(());
    }
    let ignored = [
        (!matches!(options.precond, Precond::Auto | Precond::None), "--precond"),
        (options.null_space != NullSpace::None, "--null-space"),
        (options.precision != Precision::F64, "--precision: it works in f64"),
    ];
    match ignored.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::Direct { option }),
        None => Ok(()),
    }
}

/// Refuses a file in a folder that does not exist before hours are spent on what it is to hold.
fn check_place(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let kind = match folder {
        _ if file.is_dir() => std::io::ErrorKind::IsADirectory,
        Some(folder) if !folder.is_dir() => std::io::ErrorKind::NotFound,
        _ => return Ok(()),
    };
    Err(Failure::File { file: file.into(), kind })
}
