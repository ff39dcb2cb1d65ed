//! The attempt with a factor.

use std::time::Instant;

use coarsen_backend::Backend;
use coarsen_core::Outcome;
use coarsen_direct::{Analysis, Direct, DirectError, Engine, Factor, Method};
use coarsen_sparse::Bsr;

use crate::schedule::Schedule;
use crate::solve::Solve;
use crate::{Attempt, Ending};

/// Options that accept a factor of any accuracy, because the residual is checked here.
pub const DIRECT: Direct = Direct {
    method: Method::Auto,
    refinements: 3,
    accept: f64::INFINITY,
    trial: f64::INFINITY,
    engine: Engine::Fastest,
};

/// The same for a matrix that is known to be symmetric and indefinite.
const PIVOTED: Direct = Direct { method: Method::Ldlt, ..DIRECT };

/// A factor of a matrix, as far as it is computed before a solve.
pub enum KnownFactor {
    /// The ordering alone.
    Ordering(Analysis),
    /// The factor of A, or of −A if a report said so. It solves first.
    Factor(Box<Factor>),
}

/// Orders a matrix. If it is `indefinite`, it is known that Cholesky fails.
pub(crate) fn order(a: &Bsr<f64>, indefinite: bool) -> Result<Analysis, DirectError> {
    match indefinite {
        true => PIVOTED.analyse(a).or_else(|_| DIRECT.analyse(a)),
        false => DIRECT.analyse(a),
    }
}

/// Factorises a matrix that was ordered before it was known whether it is `indefinite`.
fn factorise(a: &Bsr<f64>, ordered: Option<Analysis>, indefinite: bool) -> Result<Factor, DirectError> {
    let ordered = ordered.filter(|ordered| !indefinite || ordered.method() != Method::Cholesky);
    let built = match ordered {
        Some(ordered) => ordered.factor(a),
        None if indefinite => PIVOTED.factor(a),
        None => DIRECT.factor(a),
    };
    match built {
        Ok(factor) if !indefinite || factor.singular().is_none() => Ok(factor),
        Err(error) if !indefinite => Err(error),
        _ => DIRECT.factor(a),
    }
}

impl<B: Backend> Solve<'_, '_, B> {
    /// Factorises the matrix and solves by the factor, with refinement from the best x.
    pub(crate) fn factor(&mut self, schedule: &mut Schedule<'_>) {
        let mut attempt = Attempt { note: Some(schedule.begin_factor()), ..Attempt::default() };
        let (a, begun) = (self.operator, Instant::now());
        let built = match self.factor.take() {
            Some(factor) => Ok(factor),
            None => factorise(a, schedule.analysis.take(), self.indefinite.get()),
        };
        attempt.setup_seconds = begun.elapsed().as_secs_f64();
        let (begun, mut x) = (Instant::now(), self.start.0.clone());
        let solved = built.and_then(|mut factor| {
            attempt.factorised = Some((factor.method(), factor.fallback().cloned()));
            let solved = factor.solve_from(self.b, &mut x);
            let singular = factor.singular().cloned();
            self.factor = Some(factor);
            Ok((solved?, singular))
        });
        attempt.ending = match solved {
            Ok((solved, singular)) => {
                attempt.iterations = solved.refinements;
                let done = self.iterations;
                let late = (self.observer)(done, self.start.1).is_break()
                    | (self.observer)(done + 1, solved.relative_residual).is_break();
                match (self.take(x, Outcome::Stagnated), singular) {
                    (ending, _) if late && !ending.converged() => Ending::TimeLimit,
                    (Ending::Method(Outcome::Stagnated), Some(error)) => Ending::Factor(error),
                    (ending, _) => ending,
                }
            }
            Err(error) => Ending::Factor(error),
        };
        attempt.solve_seconds = begun.elapsed().as_secs_f64();
        let twice = matches!(attempt.factorised, Some((_, Some(_))));
        schedule.end_factor(&attempt.ending, twice);
        self.attempts.push(attempt);
    }
}
