//! The parameters, the entry points and the report.

use std::fmt;
use std::ops::ControlFlow;

use coarsen_backend::{Prepared, SetupError};
use coarsen_core::{Error, Stop};
use coarsen_diagnose::diagnose;
use coarsen_direct::FactorStats;
use coarsen_sparse::System;

use crate::build::Host;
use crate::plan::{Auto, Plan};
use crate::problem::Problem;
use crate::solve::{Attempt, Observer};
use crate::{Ending, Method};

/// The preconditioner or the factor that a solve leaves for the next system.
type Kept = Box<dyn Prepared<Vec<f64>, f64> + Send>;

impl Auto {
    /// Returns the methods that [`solve`](Self::solve) may use, with their expected costs, without a setup.
    ///
    /// *Cost*: a diagnosis of the matrix, and breadth-first searches in its graph.
    ///
    /// # Errors
    /// [`SetupError::Core`] and [`SetupError::Matrix`] if sizes do not match.
    pub fn plan<'a>(&self, system: impl Into<System<'a, f64>>) -> Result<Plan, SetupError> {
        let system = system.into();
        system.check()?;
        Ok(self.analyse(system)?.1)
    }

    fn analyse<'a>(&self, system: System<'a, f64>) -> Result<(Problem<'a>, Plan), SetupError> {
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
    /// [`SetupError::Core`] and [`SetupError::Matrix`] for shapes that do not match and for NaN in A or b, before x is changed.
    pub fn solve<'a>(
        &self,
        system: impl Into<System<'a, f64>>,
        b: &[f64],
        x: &mut [f64],
    ) -> Result<Solved, SetupError> {
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
    ) -> Result<(Solved, Option<Kept>), SetupError> {
        let system = system.into();
        self.check(system, b, x)?;
        let (problem, plan) = self.analyse(system)?;
        if !plan.is_finite {
            problem.matrix().check_finite()?;
        }
        let (solved, built, factor) = plan.solve(&problem, None, &Host(system), b, x, observer)?;
        // The next system may need another adaptation.
        let kept = factor.map(|factor| Box::new(factor) as Kept).or(built);
        Ok((solved, kept.filter(|_| problem.is_given())))
    }

    /// Checks sizes, the tolerance, and that b and x are finite.
    ///
    /// # Errors
    /// [`Error::Parameter`], [`Error::Shape`] and [`Error::NotFinite`].
    pub fn check(&self, system: System<'_, f64>, b: &[f64], x: &[f64]) -> Result<(), Error> {
        system.check()?;
        Stop { absolute: self.absolute, ..Stop::relative(self.tolerance) }.validate()?;
        let n = system.matrix.shape().0;
        for (what, v) in [("b", b), ("x", x)] {
            if v.len() != n {
                return Err(Error::Shape { what, expected: n, found: v.len() });
            }
            if let Some(index) = v.iter().position(|v| !v.is_finite()) {
                return Err(Error::NotFinite { what, index });
            }
        }
        Ok(())
    }
}

/// The report of a solve. As an error, it is that of a solve that ended above the tolerance.
#[derive(Clone, Default, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()?"]
pub struct Solved {
    /// How the solve ended, with the cause.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance, relative to ‖b‖ also where [`Auto::absolute`] decides.
    pub tolerance: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// All attempts in order; none if the guess was a solution.
    pub attempts: Vec<Attempt>,
    /// The reason why no factor was possible, so that the cost had no bound; `None` if it had one.
    pub unbounded: Option<Ending>,
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
    /// Returns the report itself if the tolerance was reached.
    ///
    /// # Errors
    /// The report for every other ending.
    pub fn converged(self) -> Result<Self, Box<Self>> {
        if self.ending.converged() { Ok(self) } else { Err(Box::new(self)) }
    }

    /// The method of the last attempt; `None` if the guess was a solution.
    pub fn method(&self) -> Option<Method> {
        self.attempts.last().map(|last| last.method)
    }

    /// Why the last method was taken: why another one was left, or why a factor was computed.
    pub fn reason(&self) -> Option<&str> {
        let last = self.attempts.last()?;
        let is_other = |attempt: &&Attempt| {
            (attempt.method, attempt.precond) != (last.method, last.precond) && attempt.is_left()
        };
        match last.method {
            Method::Direct => last.note.as_deref(),
            _ => self.attempts.iter().rfind(is_other)?.note.as_deref(),
        }
    }

    /// A sentence for a solve whose cost had no bound.
    pub fn no_bound(&self) -> Option<String> {
        Some(match self.unbounded.as_ref()? {
            Ending::Method(_) | Ending::Singular(_) | Ending::Factor(_) => {
                "no factor: it failed; the cost has no bound".to_owned()
            }
            why => format!("no factor: {why}; the cost has no bound"),
        })
    }

    /// A sentence for the ordering, and for each attempt that was followed by another one, with the cause if it failed.
    pub fn notes(&self) -> Vec<String> {
        let ordered = self.ordered.map(|FactorStats { nnz, bytes, .. }| {
            format!("ordered for a factor: {nnz} entries, {:.0} MiB", bytes as f64 / f64::from(1 << 20))
        });
        let last = self.attempts.len().saturating_sub(1);
        let of = |(k, attempt): (usize, &Attempt)| {
            let Attempt { method, precond, ending, note, .. } = attempt;
            let (name, is_method) = (ending.name(), *method != Method::Direct);
            let told = note.as_ref().map(|note| match is_method && !attempt.is_left() {
                true => format!("{precond} stored in f32 failed ({name}: {ending}); {note}"),
                false => note.clone(),
            });
            let failed = (k < last && !(told.is_some() && is_method) && !attempt.is_left())
                .then(|| format!("{attempt} ended without a solution ({name}): {ending}"));
            [told, failed].into_iter().flatten()
        };
        ordered.into_iter().chain(self.attempts.iter().enumerate().flat_map(of)).collect()
    }
}

impl std::error::Error for Solved {}

/// The same text as [`Display`](fmt::Display), so that an error returned from `main` prints as a sentence.
impl fmt::Debug for Solved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
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
        match self.no_bound().filter(|_| !matches!(ending, Ending::Singular(_))) {
            Some(why) => write!(f, "; {why}"),
            None => Ok(()),
        }
    }
}
