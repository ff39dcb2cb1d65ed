//! From the input to the report.

use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use coarsen::auto::Meter;
use coarsen::backend::Cpu;
use coarsen::diagnose::{Diagnosis, Severity};
use coarsen::matrix_market;
use coarsen::sparse::Bsr;
use coarsen::{Outcome, largest, parallel};

use crate::arguments::{Follow, Given, Method, NullSpace, Precision, Precond, Solve, name};
use crate::decision::choose::{Choice, Wish, refuse};
use crate::error::Failure;
use crate::input::ready::{NULL, Ready};
use crate::input::system::Input;
use crate::report::summary::{Report, Setting};
use crate::report::{dump, plot};
use crate::run::attempts::by_choice;
use crate::run::ending::Ending;
use crate::run::factor::factor;
use crate::run::iterate::iterate;
use crate::run::job::{Job, Solution};
use crate::run::progress::Progress;
use crate::run::stage::{Stage, Stages};
use crate::{complain, say};

/// `coarsen solve`.
pub(crate) fn run(options: &Solve) -> Result<ExitCode, Failure> {
    for file in [&options.out, &options.report, &options.plot].into_iter().flatten() {
        check_place(file)?;
    }
    if options.follow != Follow::Upkeep {
        return Err(Failure::NotSequence { option: "--follow" });
    }
    let threads =
        options.given.threads.map_or_else(|| available_parallelism().map_or(1, usize::from), |n| n as usize);
    let begun = Instant::now();
    let stages = Stages::open(options.backend.0, options.precision)?;
    let report = parallel::threads(threads, || solve(options, &stages, threads, begun))??;
    if !options.quiet {
        say(&report.to_string());
    }
    if report.converged() {
        return Ok(ExitCode::SUCCESS);
    }
    complain(&format!("error: {}: {}\n", report.outcome, report.advice));
    Ok(ExitCode::from(4))
}

fn solve(options: &Solve, stages: &Stages, threads: usize, begun: Instant) -> Result<Report, Failure> {
    let progress = Progress::new(options.quiet);
    progress.phase("reading");
    let begin = Instant::now();
    let loaded = Input::load(&options.given);
    if let Some(folder) = &options.dump {
        progress.phase("dumping");
        dump::write(folder, options, (threads, stages), &loaded)?;
    }
    let mut input = loaded?;
    let mut filter = input.filter.take();
    let read_seconds = begin.elapsed().as_secs_f64();

    progress.phase("setting up");
    let mut run = Run::new(options, stages, &input, &progress, true)?;
    if run.ready.order.is_some() && run.solution.ending.names_a_row() {
        run = Run::new(options, stages, &input, &progress, false)?.after(&run);
    }
    let Run { ready, choice, mut solution } = run;
    progress.clear();
    if let Some(filter) = &mut filter {
        filter.recover(&mut solution.x)?;
        solution.notes.insert(0, format!("{}", filter.density()));
    }

    let setting = Setting { options, threads, begun, read_seconds, ready: &ready };
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

/// What was found out, chosen and done.
struct Run<'a> {
    ready: Ready<'a>,
    choice: Choice,
    solution: Solution,
}

impl<'a> Run<'a> {
    /// Looks, chooses, solves; in another order of the nodes where that pays and `renumber` allows it.
    fn new(
        options: &Solve,
        stages: &Stages,
        input: &'a Input,
        progress: &Progress,
        renumber: bool,
    ) -> Result<Self, Failure> {
        let ready = Ready::new(&options.given, input, renumber)?;
        let mut choice = decide(options, stages, &ready)?;
        let place = (stages, options.precision, None);
        let solution = by_choice(&ready, &options.given, &mut choice, place, progress)?;
        Ok(Self { ready, choice, solution })
    }

    /// With a run before it that came to nothing: its steps and attempts took time as well.
    fn after(mut self, before: &Self) -> Self {
        self.ready.looks.get_mut().add(&before.ready.looks.borrow());
        let tried = before.solution.tries.iter().copied().chain([before.solution.tried()]);
        self.solution.tries.splice(0..0, tried);
        self
    }
}

/// What is done about a system, or why nothing can be: the decision that `solve` acts on and `info` tells.
///
/// # Errors
/// Options that what was decided would ignore; a finding that no method survives, where the method is left to `auto`.
pub(crate) fn decide(options: &Solve, stages: &Stages, ready: &Ready<'_>) -> Result<Choice, Failure> {
    let given = &options.given;
    if options.method == Method::Auto {
        check_solvable(given, ready)?;
    }
    let wish = Wish {
        method: options.method,
        precond: options.precond,
        iterate: options.precond != Precond::Auto
            || !matches!(options.precision, Precision::Auto | Precision::F64)
            || !matches!(stages, Stages::Cpu)
            || given.null_space != NullSpace::None,
        varies: given.aggregation.varies(),
        memory: given.memory(),
    };
    let mut choice = ready.choose(wish);
    check_direct(options, stages, &choice)?;
    leave_to_the_cpu(stages, &mut choice)?;
    check_words(options, &choice)?;
    Ok(choice)
}

/// Refuses what no method solves. With a method that is named, or a null space, empty rows may be meant.
pub(crate) fn check_solvable(given: &Given, ready: &Ready<'_>) -> Result<(), Failure> {
    let grave = ready.diagnosis.findings.iter().find(|finding| finding.severity() == Severity::Error);
    match grave.filter(|_| given.null_space == NullSpace::None) {
        Some(finding) => {
            Err(Failure::Unsolvable { file: ready.input.source.clone(), finding: finding.clone() })
        }
        None => Ok(()),
    }
}

/// Solves, unless there is nothing to solve or the matrix itself speaks against it.
pub(crate) fn attempt(
    job: &Job<'_>,
    stages: &Stages,
    precision: Precision,
    diagnosis: &Diagnosis,
    meter: Option<&mut Meter<'_>>,
) -> Result<Solution, Failure> {
    if job.b.iter().all(|&v| v == 0.0) {
        let mut nothing = Solution::new(job, stages.name());
        nothing.take(job, vec![0.0; job.b.len()], Outcome::Converged);
        nothing.history.push(0.0);
        nothing.begin(job);
        return Ok(nothing);
    }
    if let Some(ending) = refuse(job.method, diagnosis).or_else(|| wrong_null_space(job)) {
        return Ok(Solution::new(job, stages.name()).fail(job, ending));
    }
    let mut solution = match (job.method, stages) {
        (Method::Direct, _) => factor(job),
        (_, Stages::Cpu) if precision == Precision::F32 => iterate(job, &Cpu::single(), meter)?,
        (_, Stages::Cpu) => return in_double(job, precision, (&Cpu::new(), &Cpu::mixed()), meter),
        #[cfg(feature = "opencl")]
        (_, Stages::Double(on)) => return in_double(job, precision, (on, &on.mixed()), meter),
        #[cfg(feature = "opencl")]
        (_, Stages::Single(on)) => iterate(job, on, meter)?,
    };
    solution.precision = if job.method == Method::Direct { Precision::F64 } else { precision };
    Ok(solution)
}

/// Vectors in f64 over a preconditioner in the precision asked for.
fn in_double<D: Stage, M: Stage>(
    job: &Job<'_>,
    precision: Precision,
    (double, mixed): (&D, &M),
    meter: Option<&mut Meter<'_>>,
) -> Result<Solution, Failure> {
    let mut solution = match precision {
        Precision::Auto => return precise_enough(job, double, mixed),
        Precision::Mixed => iterate(job, mixed, meter)?,
        Precision::F64 | Precision::F32 => iterate(job, double, meter)?,
    };
    solution.precision = precision;
    Ok(solution)
}

/// A preconditioner in f32 where it may serve, in f64 where that does not converge.
///
/// Half the traffic of a preconditioner is saved where its values fit and the method takes a symmetric one; what rounding spoils (a matrix so
/// ill-conditioned that its rounded form is indefinite) shows as an outcome, and is done again.
fn precise_enough<D: Stage, M: Stage>(job: &Job<'_>, double: &D, mixed: &M) -> Result<Solution, Failure> {
    let mut tried = None;
    // Domains have a precision of their own.
    let stores =
        job.preconds.iter().all(|p| !matches!(p, Precond::None | Precond::Mas | Precond::As | Precond::Ras));
    let worth = stores && matches!(job.method, Method::Cg | Method::Fcg);
    let worth = worth && job.time(RANGE, || fits(job.system.matrix));
    let mut notes = Vec::new();
    if worth {
        let mut solution = iterate(job, mixed, None)?;
        solution.precision = Precision::Mixed;
        if !solution.ending.may_be_rounding() {
            return Ok(solution);
        }
        notes.push(format!("stored in f32 it did not converge ({}): again in f64", solution.ending.name()));
        job.again();
        tried = Some(solution);
    }
    let mut again = job.clone();
    again.x0 = tried.as_ref().map(|tried| &tried.x[..]).or(job.x0);
    let mut solution = iterate(&again, double, None)?;
    solution.precision = Precision::F64;
    if let Some(tried) = tried {
        solution = solution.after(tried);
    }
    solution.notes.splice(0..0, notes);
    Ok(solution)
}

/// The step of [`fits`].
pub(crate) const RANGE: &str = "range of f32";

/// Whether the values of a matrix and the inverses of its diagonal are well within f32.
pub(crate) fn fits(a: &Bsr<f64>) -> bool {
    const ROOM: f64 = 1e30;
    let least = a.diagonal().iter().fold(f64::INFINITY, |m, v| m.min(v.abs()));
    largest(a.values()) < ROOM && least > 1.0 / ROOM
}

/// The first vector that A does see.
fn wrong_null_space(job: &Job<'_>) -> Option<Ending> {
    let space = job.null_space.as_ref()?;
    match job.time("null space", || space.quality(job.system.matrix)) {
        Ok(quality) => {
            let vector = quality.iter().position(|q| q.all > NULL)?;
            Some(Ending::NotNull { vector, share: quality[vector].all })
        }
        Err(error) => Some(Ending::Unsuitable(error)),
    }
}

/// Refuses options that a direct solve would ignore.
fn check_direct(options: &Solve, stages: &Stages, choice: &Choice) -> Result<(), Failure> {
    if choice.method != Method::Direct {
        return Ok(());
    }
    let ignored = [
        (!matches!(stages, Stages::Cpu), "--backend: it works on the CPU"),
        (!matches!(options.precond, Precond::Auto | Precond::None), "--precond"),
        (options.given.null_space != NullSpace::None, "--null-space"),
        (!matches!(options.precision, Precision::Auto | Precision::F64), "--precision: it works in f64"),
    ];
    match ignored.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => Err(Failure::Direct { option }),
        None => Ok(()),
    }
}

/// Takes out what only the CPU can apply.
pub(crate) fn leave_to_the_cpu(stages: &Stages, choice: &mut Choice) -> Result<(), Failure> {
    let first = choice.preconds[0];
    choice.keep(|precond| stages.builds(precond), "is left to the CPU");
    match choice.preconds.is_empty() {
        true => Err(Failure::NotThere { precond: name(first), backend: stages.name() }),
        false => Ok(()),
    }
}

/// Refuses options of a preconditioner that is not used, and a K-cycle under a method that needs the same map each time.
fn check_words(options: &Solve, choice: &Choice) -> Result<(), Failure> {
    let hint = options.precond == Precond::Auto && options.method != Method::Direct;
    used(&options.given, &choice.preconds, hint)?;
    if options.given.aggregation.varies()
        && choice.preconds.contains(&Precond::Sa)
        && choice.method != Method::Fcg
    {
        return Err(Failure::Varies { method: name(choice.method) });
    }
    Ok(())
}

/// Refuses options of preconditioners that are not among `preconds`; those of smoothed aggregation may be a `hint` to `auto`, which takes it where it
/// pays.
pub(crate) fn used(given: &Given, preconds: &[Precond], hint: bool) -> Result<(), Failure> {
    let first = |words: Vec<(&'static str, String)>, by: &[Precond]| {
        let taken = preconds.iter().any(|precond| by.contains(precond));
        words.into_iter().map(|(option, _)| option).find(|_| !taken)
    };
    if let Some(option) = first(given.domains.words(), &[Precond::Mas]) {
        return Err(Failure::NotDomains { option });
    }
    given.domains.check()?;
    if let Some(option) = first(given.overlap.words(), &[Precond::As, Precond::Ras]) {
        return Err(Failure::NotOverlap { option });
    }
    match first(given.aggregation.words(), &[Precond::Sa]).filter(|_| !hint) {
        Some(option) => Err(Failure::NotAggregation { option }),
        None => Ok(()),
    }
}

/// Refuses a file in a folder that does not exist before hours are spent on what it is to hold.
pub(crate) fn check_place(file: &Path) -> Result<(), Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let kind = match folder {
        _ if file.is_dir() => std::io::ErrorKind::IsADirectory,
        Some(folder) if !folder.is_dir() => std::io::ErrorKind::NotFound,
        _ => return Ok(()),
    };
    Err(Failure::File { file: file.into(), kind })
}
