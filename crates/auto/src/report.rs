//! The report of a solve and of its attempts.

use std::fmt;

use coarsen_core::Outcome;
use coarsen_direct::{DirectError, FactorStats};

use crate::{Ending, Levels, Method, Precond};

/// The report of a solve. As an error, it is that of a solve that ended above the tolerance.
#[derive(Clone, Default, PartialEq)]
#[must_use = "a solve can end without convergence: call .converged()?"]
pub struct Solved {
    /// How the solve ended, with the cause.
    pub ending: Ending,
    /// ‖b − A x‖ / ‖b‖ of the returned x.
    pub true_residual: f64,
    /// The requested tolerance, relative to ‖b‖ also where [`Auto::absolute`](crate::Auto::absolute) decides.
    pub tolerance: f64,
    /// The number of iterations of all methods.
    pub iterations: usize,
    /// All attempts in order; none if the guess was a solution.
    pub attempts: Vec<Attempt>,
    /// The reason why no factor was possible, so that the cost had no bound; `None` if it had one.
    pub unbounded: Option<Ending>,
    /// Whether −A x = −b was solved.
    pub negated: bool,
    /// The work of all attempts, counted in the units of [`Costs`](crate::Costs) and not measured.
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

/// An attempt that was made. `Display` names the method and the preconditioner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attempt {
    /// The method.
    pub method: Method,
    /// The preconditioner.
    pub precond: Precond,
    /// Whether the preconditioner was stored in f32.
    pub single: bool,
    /// The seconds of its setup; 0 if the preconditioner was kept from an earlier attempt.
    pub setup_seconds: f64,
    /// The seconds of its iterations.
    pub solve_seconds: f64,
    /// The number of its iterations, or of refinements by a factor.
    pub iterations: usize,
    /// How it ended.
    pub ending: Ending,
    /// Why it was left or is repeated; why a factor was computed.
    pub note: Option<String>,
    /// An estimate of the condition number of M⁻¹A from below.
    pub condition: Option<f64>,
    /// The levels of the preconditioner.
    pub levels: Option<Levels>,
    /// How A was factorised, and the failure of a cheaper factorisation.
    pub factorised: Option<(coarsen_direct::Method, Option<DirectError>)>,
}

impl Attempt {
    /// Whether it was left for another method or for a factor.
    pub(crate) fn is_left(&self) -> bool {
        matches!(self.ending, Ending::Method(Outcome::Stopped))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method {
            Method::Direct => f.write_str("a factor"),
            method => write!(f, "{method} with {}", self.precond),
        }
    }
}
