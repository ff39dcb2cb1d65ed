//! One attempt at a system, in the requested precision or in a precision that suffices.

use coarsen::auto::Meter;
use coarsen::backend::Cpu;
use coarsen::diagnose::Diagnosis;
use coarsen::sparse::Bsr;
use coarsen::{Outcome, largest};

use super::factor::factor;
use super::iterate::iterate;
use super::job::Job;
use super::refuse::{refuse, wrong_null_space};
use super::solution::Solution;
use super::stage::Stage;
use crate::arguments::{Method, Precision, Precond};
use crate::decision::places::Stages;
use crate::error::Failure;

/// Solves, unless b is zero or a property of the matrix excludes the method.
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
        nothing.begin(job);
        nothing.history.push(0.0);
        nothing.times.push(job.begun.elapsed().as_secs_f64());
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

/// Solves with vectors in f64 and a preconditioner in the requested precision.
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

/// Tries a preconditioner in f32 first if f32 is suitable, and in f64 if the solve does not converge.
///
/// Storage in f32 halves the memory traffic of a preconditioner. It is used if the values fit and the method
/// is a conjugate gradient method. If rounding makes the preconditioner indefinite, as can happen for very
/// ill-conditioned matrices, the solve fails and is repeated.
fn precise_enough<D: Stage, M: Stage>(job: &Job<'_>, double: &D, mixed: &M) -> Result<Solution, Failure> {
    let mut tried = None;
    // Domains have their own option for precision.
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
        notes.push(format!(
            "the preconditioner in f32 did not converge ({}); repeated in f64",
            solution.ending.name()
        ));
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

/// The name of the analysis step of [`fits`].
pub(crate) const RANGE: &str = "range of f32";

/// Whether the values of a matrix and the inverses of its diagonal are well within f32.
pub(crate) fn fits(a: &Bsr<f64>) -> bool {
    const ROOM: f64 = 1e30;
    let least = a.diagonal().iter().fold(f64::INFINITY, |m, v| m.min(v.abs()));
    largest(a.values()) < ROOM && least > 1.0 / ROOM
}
