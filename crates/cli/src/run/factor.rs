//! A direct method.

use std::cell::Cell;

use coarsen::Outcome;
use coarsen::direct::{Analysis, Direct, DirectError, Engine, Figures, Method};
use coarsen::sparse::Bsr;

use super::ending::Ending;
use super::job::Job;
use super::solution::Solution;

/// The direct method. It accepts any residual, because the command compares the residual with the tolerance
/// later.
const DIRECT: Direct = Direct {
    method: Method::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    trial: 1e-3,
    engine: Engine::Fastest,
};

/// Orders the matrix of a job, stores the ordering for [`factor`], and returns the size of the factor.
pub(crate) fn order(a: &Bsr<f64>, ordered: &Cell<Option<Analysis>>) -> Result<Figures, DirectError> {
    let analysis = DIRECT.analyse(a)?;
    let figures = analysis.figures();
    ordered.set(Some(analysis));
    Ok(figures)
}

/// Factors and solves `job` in `f64`; iterations are steps of refinement.
pub(crate) fn factor(job: &Job<'_>) -> Solution {
    let mut solution = Solution::new(job, "cpu");
    let built = match job.ordered.take() {
        Some(analysis) => analysis.factor(job.system.matrix),
        None => DIRECT.factor(job.system.matrix),
    };
    let mut factor = match built {
        Ok(factor) => factor,
        Err(error) => return solution.fail(job, Ending::Factor(error)),
    };
    let how = match factor.method() {
        Method::Auto | Method::Cholesky => "Cholesky, L L^T",
        Method::Ldlt => "L B L^T with pivots of order 1 and 2",
        Method::Lu => "LU with row exchanges",
    };
    solution.notes.push(format!("factorised by {how}"));
    solution.refactored = factor.fallback().is_some();
    solution.notes.extend(factor.fallback().map(|error| format!("a cheaper factorisation failed: {error}")));
    solution.begin(job);

    let mut x = job.arranged(&solution.x).into_owned();
    match factor.solve_from(&job.arranged(job.b), &mut x) {
        Ok(solved) => {
            solution.iterations = solved.refinements;
            solution.history = vec![1.0, solved.relative_residual];
            solution.times = vec![solution.setup_seconds, job.begun.elapsed().as_secs_f64()];
            solution.take(job, job.restored(x), Outcome::Stagnated);
            solution.end(job)
        }
        Err(error) => solution.fail(job, Ending::Factor(error)),
    }
}
