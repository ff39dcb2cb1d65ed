//! From the input to the report.

use std::path::Path;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use coarsen::backend::Cpu;
use coarsen::sparse::diagnose::{Diagnosis, diagnose};
use coarsen::sparse::{Bsr, NearKernel, System, Zeros, matrix_market};
use coarsen::{LinearOperator, Outcome, parallel};

use crate::args::{Method, NullSpace, Precision, Precond, Solve};
use crate::choose::{Choice, Wish, refuse};
use crate::ending::Ending;
use crate::error::Failure;
use crate::factor::factor;
use crate::input::Input;
use crate::iterate::iterate;
use crate::progress::Progress;
use crate::report::{Report, Setting};
use crate::{complain, dump, plot, say};

/// ‖A v‖ of a null vector, relative to what it is without cancellation: files round to 6 digits or more.
const NULL: f64 = 1e-6;

/// One system and what is to be done with it.
pub(crate) struct Job<'a> {
    /// The matrix in blocks, and what is known beside it.
    pub(crate) system: System<'a, f64>,
    /// The matrix as it was read: the judge.
    pub(crate) original: &'a Bsr<f64>,
    pub(crate) b: &'a [f64],
    pub(crate) x0: Option<&'a [f64]>,
    pub(crate) method: Method,
    /// The first that can be set up is taken.
    pub(crate) preconds: Vec<Precond>,
    pub(crate) null_space: Option<NearKernel>,
    /// Whether constants are in the kernel of A, on some component at least.
    pub(crate) floats: bool,
    pub(crate) tolerance: f64,
    pub(crate) max_iterations: usize,
    pub(crate) progress: &'a Progress,
    /// When the matrix was parsed.
    pub(crate) parsed: Instant,
}

/// What a method made of a job.
pub(crate) struct Solution {
    pub(crate) backend: &'static str,
    pub(crate) precond: Precond,
    pub(crate) x: Vec<f64>,
    pub(crate) ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of this x in `f64`, with A as it was read.
    pub(crate) residual: f64,
    pub(crate) iterations: usize,
    /// Relative residuals as the method saw them, the starting guess first.
    pub(crate) history: Vec<f64>,
    pub(crate) condition: Option<f64>,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
    /// What a reader of the report should know.
    pub(crate) notes: Vec<String>,
    since: Instant,
}

impl Solution {
    /// The starting guess, before anything is set up.
    pub(crate) fn new(job: &Job<'_>, backend: &'static str) -> Self {
        let x = job.x0.map_or_else(|| vec![0.0; job.b.len()], <[f64]>::to_vec);
        Self {
            backend,
            precond: Precond::None,
            residual: relative_residual(job.original, job.b, &x),
            x,
            ending: Ending::Method(Outcome::Stopped),
            iterations: 0,
            history: Vec::new(),
            condition: None,
            setup_seconds: 0.0,
            solve_seconds: 0.0,
            notes: Vec::new(),
            since: job.parsed,
        }
    }

    /// Setup is done, the first iteration begins.
    pub(crate) fn begin(&mut self) {
        self.setup_seconds = self.since.elapsed().as_secs_f64();
        self.since = Instant::now();
    }

    /// The last iteration is done.
    pub(crate) fn end(mut self) -> Self {
        self.solve_seconds = self.since.elapsed().as_secs_f64();
        self
    }

    /// It ends here, with the x there is.
    pub(crate) fn fail(mut self, ending: Ending) -> Self {
        if self.setup_seconds == 0.0 {
            self.begin();
        }
        self.ending = ending;
        self.end()
    }

    /// Takes a new x, and judges it by its own residual, whatever the method said of it.
    pub(crate) fn take(&mut self, job: &Job<'_>, x: Vec<f64>, said: Outcome) {
        let residual = relative_residual(job.original, job.b, &x);
        self.ending = Ending::Method(match said {
            _ if residual <= job.tolerance => Outcome::Converged,
            _ if !residual.is_finite() => Outcome::NotFinite,
            Outcome::Converged => Outcome::Stagnated,
            other => other,
        });
        if let Ending::Method(end @ (Outcome::IndefiniteOperator | Outcome::Breakdown | Outcome::Stagnated)) =
            self.ending
            && job.floats
            && job.null_space.is_none()
        {
            self.ending = Ending::Singular(end);
        }
        if residual.is_finite() {
            (self.x, self.residual) = (x, residual);
        }
    }
}

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

fn wrong_null_space(job: &Job<'_>) -> Option<Ending> {
    let quality = job.null_space.as_ref()?.quality(job.system.matrix);
    let wrong = |q: Vec<coarsen::sparse::Quality>| q.iter().position(|q| q.all > NULL).map(|i| (i, q[i].all));
    match quality {
        Ok(quality) => wrong(quality).map(|(vector, share)| Ending::NotNull { vector, share }),
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

/// ‖b − A x‖ / ‖b‖, divided by 1 where b = 0; NaN where x is not finite.
pub(crate) fn relative_residual(a: &Bsr<f64>, b: &[f64], x: &[f64]) -> f64 {
    if x.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    let (b, x) = (b.to_vec(), x.to_vec());
    let mut r = vec![0.0; b.len()];
    a.residual(&b, &x, &mut r);
    let size = norm(&b);
    norm(&r) / if size > 0.0 { size } else { 1.0 }
}

/// ‖v‖₂, without overflow or underflow of the squares; NaN where v is not finite.
fn norm(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if v.iter().any(|v| !v.is_finite()) {
        return f64::NAN;
    }
    if largest == 0.0 { 0.0 } else { largest * v.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn norms_neither_overflow_nor_vanish() {
        for scale in [1e-310, 1e-200, 1.0, 1e200, 1e307] {
            assert!((norm(&[3.0 * scale, -4.0 * scale]) / scale - 5.0).abs() < 1e-12, "{scale}");
        }
        assert_eq!((norm(&[]), norm(&[0.0])), (0.0, 0.0));
        assert!(norm(&[1.0, f64::NAN]).is_nan() && norm(&[f64::INFINITY]).is_nan());
    }

    #[test]
    fn residuals_of_what_is_not_finite_are_not_small() {
        let a = Bsr::identity(2, 1).unwrap();
        assert_eq!(relative_residual(&a, &[3.0, 4.0], &[0.0, 4.0]), 0.6);
        assert_eq!(relative_residual(&a, &[0.0, 0.0], &[0.0, 2.0]), 2.0);
        assert!(relative_residual(&a, &[1.0, 1.0], &[f64::NAN, 1.0]).is_nan());
    }
}
