//! `coarsen solve --problem cloth-contact:200 --steps 20`: a system that changes from step to step, and a
//! preconditioner that is updated.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | the loop over the steps |
//! | `table` | one line for each step, as text and as JSON |
//! | `picture` | iterations, decisions and seconds over the steps |

mod picture;
mod table;

use std::process::ExitCode;
use std::time::Instant;

use coarsen::auto::MEMORY;
use coarsen::krylov::Cg;
use coarsen::problems::{Options, Sequence};
use coarsen::{BackendChoice, Stop, parallel};

use crate::arguments::files::outputs;
use crate::arguments::{Method, NullSpace, Precision, Precond, Rhs, Solve, UpdatePolicy, threads};
use crate::console::{complain, report};
use crate::decision::decide::used;
use crate::error::Failure;
use crate::report::json::write_json;
use crate::run::progress::Progress;
use crate::run::sequence_solver::SequenceSolver;
use crate::words::options as options_of;
use table::{Row, Table};

/// Whether the command line selects a sequence.
pub(crate) fn is_asked(options: &Solve) -> bool {
    options.steps.is_some() || options.given.source.problem.as_deref().is_some_and(Sequence::is_named)
}

/// `coarsen solve` of a sequence.
pub(crate) fn run(options: &Solve) -> Result<ExitCode, Failure> {
    let outputs = outputs([("--report", &options.report), ("--plot", &options.plot)]);
    options.given.check_files(&outputs)?;
    check(options)?;
    let threads = threads(options.given.threads);
    let table = parallel::threads(threads, || solve(options, threads))??;
    if !options.talk.quiet {
        report(&table.to_string(), &outputs)?;
    }
    if let Some(file) = &options.plot {
        picture::write(file, &table)?;
    }
    if let Some(file) = &options.report {
        write_json(file, &table)?;
    }
    match table.worst() {
        None => Ok(ExitCode::SUCCESS),
        Some(row) => {
            let (step, outcome) = (row.step, row.solved.outcome);
            complain(&format!("error: step {step}: {}: {}\n", outcome.name(), options_of(outcome.advice())));
            Ok(ExitCode::from(4))
        }
    }
}

/// Solves all steps.
fn solve(options: &Solve, threads: usize) -> Result<Table, Failure> {
    let source = &options.given.source;
    let spec = source.problem.as_deref().unwrap_or_default();
    let steps = options.steps.unwrap_or(20) as usize;
    let mut sequence =
        Sequence::parse(spec, steps, &Options { dt: source.dt, jump: source.jump, share: source.share })?;
    let b = match options.given.rhs {
        Rhs::Random(seed) => sequence.right_hand_side(seed),
        _ => vec![1.0; sequence.elastic().shape().0],
    };
    let stop = Stop {
        max_iterations: options.given.max_iterations,
        absolute: options.given.atol,
        ..Stop::relative(options.given.tol)
    };
    let mut cg = Cg::new(stop);
    let mut sequence_solver = SequenceSolver::new(options, &sequence)?;
    let (mut rows, mut assembly_seconds) = (Vec::with_capacity(steps), 0.0);
    let progress = Progress::new(&options.talk);
    loop {
        progress.method("step", (rows.len() + 1, steps));
        progress.phase("solving");
        let solved = sequence_solver.solve(&mut cg, &b)?;
        rows.push(Row {
            step: sequence.step(),
            pairs: sequence.pairs(),
            touched: sequence.touched().len(),
            assembly_seconds,
            solved,
        });
        progress.phase("assembling the next step");
        let begun = Instant::now();
        if !sequence.advance()? {
            break;
        }
        assembly_seconds = begun.elapsed().as_secs_f64();
        sequence_solver.set(&sequence)?;
    }
    progress.clear();
    Ok(Table::new(options, threads, &sequence, rows))
}

/// Rejects options that a sequence would ignore.
fn check(options: &Solve) -> Result<(), Failure> {
    let given = &options.given;
    if given.source.problem.is_none() {
        let cure = "give --problem cloth-contact:N or stack:N, or leave --steps out";
        return Err(Failure::usage(format!("--steps needs a sequence; {cure}")));
    }
    let auto = options.precond == Precond::Auto;
    let ignored = [
        (given.source.contact.is_some(), "--contact"),
        (given.source.coordinates.is_some(), "--coordinates"),
        (given.x0.is_some(), "--x0"),
        (given.block_size.is_some(), "--block-size"),
        (given.near_kernel.is_some(), "--near-kernel"),
        (given.null_space != NullSpace::None, "--null-space"),
        (matches!(given.rhs, Rhs::File(_)), "a file for --rhs"),
        (!matches!(options.method, Method::Auto | Method::Cg), "--method other than cg"),
        (matches!(options.precond, Precond::None), "--precond none (there is no preconditioner to update)"),
        (matches!(options.precision, Precision::F32), "--precision f32"),
        (options.backend.0 != BackendChoice::Cpu, "--backend other than cpu"),
        (options.time_limit.is_some(), "--time-limit"),
        (given.symmetrize, "--symmetrize"),
        (given.memory() != MEMORY && !auto, "--memory without --precond auto"),
        (
            options.update != UpdatePolicy::Policy && auto,
            "--update with --precond auto, which decides itself",
        ),
        (options.out.is_some(), "--out"),
        (options.dump.is_some(), "--dump"),
    ];
    if let Some((_, option)) = ignored.into_iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!(
            "a sequence of systems does not support {option}; leave it out, or solve a single system"
        )));
    }
    let named = [options.precond];
    used(given, if auto { &[] } else { &named }, false)
}
