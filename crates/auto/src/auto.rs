//! The entry points: plan and solve.

use std::fmt;
use std::ops::ControlFlow;

use coarsen_backend::Prepared;
use coarsen_core::{Error, Outcome, Stop};
use coarsen_diagnose::diagnose;
use coarsen_direct::FactorStats;
use coarsen_sparse::{SparseError, System};

use crate::build::Host;
use crate::plan::{Auto, NoFactor, Plan};
use crate::problem::Problem;
use crate::solve::{Attempt, Observer};
use crate::{Ending, Method};

/// The preconditioner or the factor that a solve leaves for the next system.
type Kept = Box<dyn Prepared<Vec<f64>, f64> + Send>;

/// The reason why a system cannot be solved.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AutoError {
    /// Sizes in the system do not match, or a parameter is out of range.
    #[error(transparent)]
    System(#[from] Error),
    /// The elastic part and contact cannot be merged.
    #[error(transparent)]
    Contact(#[from] SparseError),
    /// The solve ended above the tolerance.
    #[error("{0}")]
    NotConverged(Box<Solved>),
}

/// The same text as [`Display`](std::fmt::Display), so that an error returned from `main` prints as a
/// sentence.
impl fmt::Debug for AutoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The report of a solve.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()?"]
pub struct Solved {
    /// How the solve ended, with the cause.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance.
    pub tolerance: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// All attempts in order; none if the guess was a solution.
    pub attempts: Vec<Attempt>,
    /// The reason why the cost had no bound; `None` if it had one.
    pub unbounded: Option<NoFactor>,
    /// Whether −A x = −b was solved.
    pub negated: bool,
    /// The work of all attempts, counted in the units of [`Costs`](crate::cost::Costs) and not measured.
    pub work: f64,
    /// The size of the factor, if the matrix was ordered for it.
    pub ordered: Option<FactorStats>,
    /// The seconds of this ordering.
    pub ordering_seconds: f64,
}

impl Solved {
    /// The report of a solve that has not begun; `true_residual` is that of the guess.
    pub fn new(tolerance: f64, true_residual: f64) -> Self {
        Self {
            ending: Ending::Method(Outcome::Stopped),
            true_residual,
            tolerance,
            iterations: 0,
            attempts: Vec::new(),
            unbounded: None,
            negated: false,
            work: 0.0,
            ordered: None,
            ordering_seconds: 0.0,
        }
    }

    /// Returns the report itself if the tolerance was reached.
    ///
    /// # Errors
    /// [`AutoError::NotConverged`] for every other ending.
    pub fn converged(self) -> Result<Self, AutoError> {
        if self.ending.converged() { Ok(self) } else { Err(AutoError::NotConverged(Box::new(self))) }
    }

    /// The method of the last attempt; `None` if the guess was a solution.
    pub fn method(&self) -> Option<Method> {
        self.attempts.last().map(|last| last.method)
    }

    /// Why the last method was taken: why another one was left, or why a factor was computed.
    pub fn reason(&self) -> Option<&str> {
        let last = self.attempts.last()?;
        let other = |attempt: &&Attempt| {
            (attempt.method, attempt.precond) != (last.method, last.precond) && attempt.is_left()
        };
        match last.method {
            Method::Direct => last.note.as_deref(),
            _ => self.attempts.iter().rfind(other)?.note.as_deref(),
        }
    }

    /// A sentence for each attempt that was followed by another one, with the cause if it failed, and for the factor.
    pub fn notes(&self) -> Vec<String> {
        let ordered = self.ordered.map(|FactorStats { nnz, bytes, .. }| {
            format!("ordered for a factor: {nnz} entries, {:.0} MiB", bytes as f64 / f64::from(1 << 20))
        });
        let last = self.attempts.len().saturating_sub(1);
        let of = |(k, attempt): (usize, &Attempt)| {
            let Attempt { method, ending, note, .. } = attempt;
            let is_factor = *method == Method::Direct;
            let failed = k < last && (note.is_none() || is_factor) && !attempt.is_left();
            let failed =
                failed.then(|| format!("{attempt} ended without a solution ({}): {ending}", ending.name()));
            [ordered.clone().filter(|_| is_factor), note.clone(), failed].into_iter().flatten()
        };
        let notes: Vec<String> = self.attempts.iter().enumerate().flat_map(of).collect();
        match self.attempts.iter().any(|attempt| attempt.method == Method::Direct) {
            true => notes,
            false => notes.into_iter().chain(ordered).collect(),
        }
    }
}

impl fmt::Display for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ending, true_residual, tolerance, iterations, .. } = self;
        match self.attempts.last() {
            Some(last) => write!(f, "{last}")?,
            None => f.write_str("the guess")?,
        }
        let name = ending.name().replace('_', " ");
        write!(
            f,
            ": {name} after {iterations} iterations, true relative residual {true_residual:.2e} (asked {tolerance:.0e})"
        )?;
        if !ending.converged() {
            write!(f, "; {ending}")?;
        }
        match self.unbounded {
            Some(why) => write!(f, "; no factor: {why}, so the cost had no bound"),
            None => Ok(()),
        }
    }
}

impl Auto {
    /// Returns the methods that [`solve`](Self::solve) may use, with their expected costs, without a setup.
    ///
    /// *Cost*: a diagnosis of the matrix, and breadth-first searches in its graph.
    ///
    /// # Errors
    /// [`AutoError::System`] and [`AutoError::Contact`] if sizes do not match.
    pub fn plan<'a>(&self, system: impl Into<System<'a, f64>>) -> Result<Plan, AutoError> {
        let system = system.into();
        system.check()?;
        Ok(self.analyse(system)?.1)
    }

    fn analyse<'a>(&self, system: System<'a, f64>) -> Result<(Problem<'a>, Plan), AutoError> {
        let whole = system.whole()?;
        let diagnosis = diagnose::<f64>(&whole);
        let problem = Problem::new(whole, &diagnosis, true);
        let preconditioned = System { matrix: problem.preconditioned(), contact: None, ..system };
        let plan = Plan::new(*self, preconditioned, problem.diagnosis().unwrap_or(&diagnosis));
        Ok((problem, plan))
    }

    /// Solves A x = b, starting with the guess x.
    ///
    /// For every ending, x is the best x so far, and [`Solved::true_residual`] is computed from it.
    ///
    /// # Errors
    /// [`AutoError::System`] for shapes that do not match and for NaN in A or b, before x is changed.
    pub fn solve<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, AutoError> {
        Ok(self.solve_and_keep(system, b, x, &mut |_, _| ControlFlow::Continue(()))?.0)
    }

    /// Solves A x = b as [`solve`](Self::solve) does, and also returns the preconditioner or the factor of the last attempt. It is
    /// that of −A if the report says so; `None` if another matrix was solved in place of A. `observer` is called at every
    /// iteration of all methods, with the number of iterations so far and the relative residual; its `Break` ends the solve.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_and_keep<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
        observer: &mut Observer<'_>,
    ) -> Result<(Solved, Option<Kept>), AutoError> {
        let system = system.into();
        self.check(system, b, x)?;
        let (problem, plan) = self.analyse(system)?;
        problem.matrix().check_finite()?;
        let (solved, built, factor) = plan.solve(&problem, None, &Host(system), b, x, observer)?;
        // The next system may need another adaptation.
        let kept = factor.map(|factor| Box::new(factor) as Kept).or(built);
        Ok((solved, kept.filter(|_| problem.is_given())))
    }

    /// Checks sizes, the tolerance, and that b and x are finite.
    ///
    /// # Errors
    /// [`AutoError::System`]
    pub fn check(&self, system: System<'_, f64>, b: &[f64], x: &[f64]) -> Result<(), AutoError> {
        system.check()?;
        Stop::relative(self.tolerance).validate()?;
        let n = system.matrix.shape().0;
        for (what, v) in [("b", b), ("x", x)] {
            if v.len() != n {
                return Err(Error::Shape { what, expected: n, found: v.len() }.into());
            }
            if let Some(index) = v.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index }.into());
            }
        }
        Ok(())
    }
}
