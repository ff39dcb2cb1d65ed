//! `coarsen compare`: one system, every preconditioner that fits, side by side.

use std::cell::RefCell;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use coarsen::diagnose::Definiteness;
use coarsen::parallel;

use crate::arguments::{Compare, Given, Method, NullSpace, Precision, Precond};
use crate::commands::solve::{attempt, check_place, check_solvable, leave_to_the_cpu};
use crate::decision::choose::{Choice, Wish};
use crate::error::Failure;
use crate::input::looks::Looks;
use crate::input::ready::Ready;
use crate::input::system::Input;
use crate::memory::peak_of;
use crate::report::chart;
use crate::report::summary::write_json;
use crate::report::table::{Row, Table, label};
use crate::run::attempts::by_choice;
use crate::run::ending::Ending;
use crate::run::factor::order;
use crate::run::job::{Job, Solution};
use crate::run::progress::Progress;
use crate::run::stage::Stages;
use crate::say;

/// Operations a second of a sparse factorisation on one core.
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
    progress.phase("looking");
    let ready = Ready::new(given, &input, true)?;
    check_solvable(given, &ready)?;
    let pairs = candidates(&ready, options);
    check_words(&ready, options, stages, &pairs)?;
    let looked = ready.parsed.elapsed().as_secs_f64();
    let mut rows = Vec::new();
    let places = stages.iter().enumerate().flat_map(|(at, on)| pairs.iter().map(move |&pair| (at, on, pair)));
    // A direct method works on the CPU, wherever the others do.
    let fits = |(at, on, (method, precond)): &(usize, &Stages, (Method, Precond))| match method {
        Method::Direct => *at == 0,
        _ => on.builds(*precond),
    };
    for (_, on, (method, precond)) in places.filter(fits) {
        progress.method(&label((method, precond), (stages.len() > 1).then(|| on.name())));
        progress.phase(if method == Method::Direct { "factoring" } else { "setting up" });
        let begun = Instant::now();
        let (solution, bytes) = peak_of(|| -> Result<Solution, Failure> {
            let looks = RefCell::new(Looks::default());
            let mut job = ready.job(given, &progress);
            (job.method, job.preconds, job.begun, job.looks) = (method, vec![precond], begun, &looks);
            job.again();
            job.deadline = Some(begun + Duration::from_secs_f64(options.limit));
            if let Some(why) = left_out(&job, options.limit, given.memory()) {
                job.ordered.take(); // what follows is timed with an ordering of its own
                return Ok(Solution::new(&job, "cpu").fail(&job, why));
            }
            let mut solution = attempt(&job, on, Precision::Auto, &ready.diagnosis, None)?;
            solution.setup_seconds += looks.borrow().seconds(); // a row has no lines for steps
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

/// What `auto` does, from the choice to the solution.
pub(crate) struct Auto {
    pub(crate) choice: Choice,
    pub(crate) precond: Precond,
    pub(crate) seconds: f64,
    pub(crate) ending: Ending,
}

impl Auto {
    fn run(
        ready: &Ready<'_>,
        options: &Compare,
        stages: &Stages,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let given = &options.given;
        let wish = Wish {
            method: Method::Auto,
            precond: Precond::Auto,
            iterate: given.null_space != NullSpace::None || !matches!(stages, Stages::Cpu),
            varies: given.aggregation.varies(),
            memory: given.memory(),
        };
        let begin = Instant::now();
        let mut choice = ready.choose(wish);
        leave_to_the_cpu(stages, &mut choice)?;
        let deadline = Some(begin + Duration::from_secs_f64(options.limit));
        let place = (stages, Precision::Auto, deadline);
        let solution = by_choice(ready, given, &mut choice, place, progress)?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok(Self { choice, precond: solution.precond, seconds, ending: solution.ending })
    }
}

/// Every method and preconditioner that this matrix allows.
fn candidates(ready: &Ready<'_>, options: &Compare) -> Vec<(Method, Precond)> {
    let given = &options.given;
    let blocks = ready.matrix.block().0 > 1;
    let values = ready.diagnosis.values.as_ref();
    let symmetric = values.is_some_and(|v| v.symmetry.holds());
    let zero = values.is_none_or(|v| v.zero_diagonal + v.empty > 0);
    let positive = !zero && values.is_some_and(|v| v.negative_diagonal == 0);
    let definite = values
        .is_some_and(|v| matches!(v.definiteness, Definiteness::Positive | Definiteness::MaybePositive));
    let mut pairs = Vec::new();
    let mut with = |method: Method, preconds: &[(Precond, bool)]| {
        pairs.extend(preconds.iter().filter(|(_, fits)| *fits).map(|&(precond, _)| (method, precond)));
    };
    if definite {
        let one_level = [
            (Precond::None, true),
            (Precond::Jacobi, true),
            (Precond::BlockJacobi, blocks),
            (Precond::Gs, true),
            (Precond::Ssor, true),
            (Precond::Ic0, true),
            (Precond::Chebyshev, true),
            (Precond::Mas, true),
            (Precond::As, true),
        ];
        with(Method::Cg, &one_level);
        let method = if given.aggregation.varies() { Method::Fcg } else { Method::Cg };
        with(method, &[(Precond::Sa, true)]);
    } else {
        if symmetric {
            with(Method::Minres, &[(Precond::None, true), (Precond::Jacobi, positive)]);
        }
        let factors = [
            (Precond::None, true),
            (Precond::Jacobi, !zero),
            (Precond::BlockJacobi, blocks && !zero),
            (Precond::Ilu0, !zero),
            (Precond::Ras, true),
        ];
        with(Method::Gmres, &factors);
        with(Method::Bicgstab, &factors);
    }
    let floats = values.is_some_and(|v| v.floating > 0);
    with(Method::Direct, &[(Precond::None, !floats && given.null_space == NullSpace::None)]);
    pairs
}

/// Refuses options of preconditioners that no row takes.
fn check_words(
    ready: &Ready<'_>,
    options: &Compare,
    stages: &[Stages],
    pairs: &[(Method, Precond)],
) -> Result<(), Failure> {
    let Given { aggregation, domains, overlap, .. } = &options.given;
    let of_matrix = match ready.diagnosis.is_symmetric() {
        true => "the matrix is not positive definite",
        false => "the matrix is not symmetric",
    };
    let of_place = "it works on the CPU alone";
    for (words, precond, by, why) in [
        (aggregation.words(), "sa", &[Precond::Sa][..], of_matrix),
        (domains.words(), "mas", &[Precond::Mas], of_matrix),
        (overlap.words(), "as and ras", &[Precond::As, Precond::Ras], of_place),
    ] {
        let runs =
            |(_, taken): &(Method, Precond)| by.contains(taken) && stages.iter().any(|on| on.builds(*taken));
        if let Some((option, _)) = words.first().filter(|_| !pairs.iter().any(runs)) {
            return Err(Failure::NotCompared { option, precond, why });
        }
    }
    Ok(())
}

/// Why a factorisation is not begun, by what its structure says: it takes more memory than is allowed, or longer than `limit` seconds, and cannot be
/// interrupted.
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
