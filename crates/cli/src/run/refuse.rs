//! How a solve of the command ends, also where properties of the matrix or a limit exclude the method that was asked for.

use std::fmt;

use coarsen::Outcome;
use coarsen::auto::{DIRECT, Ending};
use coarsen::diagnose::{Definiteness, Diagnosis};
use coarsen::direct::Analysis;
use coarsen::sparse::Bsr;

use crate::arguments::Method;
use crate::words::{Rows, number, told};

/// How a solve ended, or why it did not start.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// It ended as the library says.
    Solve(Ending),
    /// The method requires a symmetric matrix. The row and the column of the largest difference, both entries, and whether
    /// the matrix is symmetric to single precision.
    Unsymmetric { row: usize, column: usize, here: f64, there: f64, in_single: bool },
    /// The method requires a positive definite matrix, and this shows that the matrix is not.
    Indefinite { why: String },
    /// The estimated seconds exceed the time limit.
    TooLong { seconds: f64 },
}

impl Ended {
    /// Whether the tolerance was reached.
    pub(crate) fn converged(&self) -> bool {
        matches!(self, Self::Solve(ending) if ending.converged())
    }

    /// The name in reports: snake case.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Solve(ending) => ending.name(),
            Self::Unsymmetric { .. } => "unsymmetric_matrix",
            Self::Indefinite { .. } => Outcome::IndefiniteOperator.name(),
            Self::TooLong { .. } => "left_out",
        }
    }
}

/// The cause and the remedy; empty when converged.
impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Solve(ending) => ending.fmt(f),
            Self::Unsymmetric { row, column, here, there, .. } => write!(
                f,
                "the matrix is not symmetric: row {row}, column {column} holds {here:.17e}, but row {column}, column {row} holds \
                 {there:.17e}, a difference of {:.1e}; use gmres, bicgstab or direct; if constraints replaced rows only, eliminate \
                 their columns too",
                here - there
            ),
            Self::Indefinite { why } => write!(
                f,
                "the matrix is not positive definite: {why}; use minres, gmres or direct, or correct the assembly"
            ),
            Self::TooLong { seconds } => {
                write!(f, "not started: it would take about {seconds:.0} s; raise the time limit")
            }
        }
    }
}

impl Rows for Ended {
    fn number(&mut self, of: &dyn Fn(usize) -> usize) {
        match self {
            Self::Solve(ending) => ending.number(of),
            Self::Unsymmetric { row, column, .. } => number([row, column], of),
            _ => {}
        }
    }
}

/// The reason why a method cannot be used on this matrix, if its diagnosis shows a reason.
pub(crate) fn refuse(method: Method, diagnosis: &Diagnosis) -> Option<Ended> {
    let values = diagnosis.values.as_ref()?;
    let symmetric = matches!(method, Method::Cg | Method::Fcg | Method::Minres);
    if symmetric && !values.symmetry.holds() {
        let (row, column, here, there) = values.symmetry.worst?;
        let in_single = values.symmetry.holds_in_single();
        return Some(Ended::Unsymmetric { row, column, here, there, in_single });
    }
    let Definiteness::Indefinite(witness) = &values.definiteness else { return None };
    let why = told(witness);
    matches!(method, Method::Cg | Method::Fcg).then_some(Ended::Indefinite { why })
}

/// The number of operations per second of a sparse factorisation on one core.
const SPEED: f64 = 3e10;

/// Orders a matrix for a factorisation. The error is a reason not to start it, if there is one: by its symbolic structure it
/// would exceed the memory limit, or take longer than `limit` seconds. A running factorisation cannot be interrupted.
pub(crate) fn ordered(a: &Bsr<f64>, limit: f64, allowed: usize) -> Result<Analysis, Option<Ended>> {
    let analysis = DIRECT.analyse(a).map_err(|_| None)?;
    let stats = analysis.stats();
    let seconds = stats.flops / SPEED;
    match stats.bytes {
        bytes if bytes > allowed => Err(Some(Ended::Solve(Ending::FactorTooLarge { bytes, allowed }))),
        _ if seconds > limit => Err(Some(Ended::TooLong { seconds })),
        _ => Ok(analysis),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::diagnose::diagnose;
    use coarsen::sparse::assembly::from_triplets;

    #[test]
    fn methods_are_refused_where_the_matrix_shows_it() {
        let refused = |method, [a, b, c, d]: [f64; 4]| {
            let entries = [(0, 0, a), (0, 1, b), (1, 0, c), (1, 1, d)];
            refuse(method, &diagnose(&from_triplets(2, 2, &entries).unwrap())).map(|e| e.name())
        };
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 0.0, 2.0]), Some("unsymmetric_matrix"));
        assert_eq!(refused(Method::Fcg, [1.0, 2.0, 2.0, 1.0]), Some("indefinite_operator"));
        assert_eq!(refused(Method::Cg, [-2.0, 1.0, 1.0, -2.0]), None, "the negative is solved");
        assert_eq!(refused(Method::Minres, [1.0, 2.0, 2.0, 1.0]), None);
        assert_eq!(refused(Method::Gmres, [2.0, 1.0, 0.0, 2.0]), None);
        assert_eq!(refused(Method::Cg, [2.0, 1.0, 1.0, 2.0]), None);
    }

    /// `--symmetrize` is advised where it takes the matrix as symmetric: the difference counts relative to the diagonal.
    #[test]
    fn symmetrize_is_advised_where_it_applies() {
        for (difference, applies) in [(1.5e-6, true), (3e-6, false)] {
            let entries = [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0 + difference), (1, 1, 4.0)];
            let ended = refuse(Method::Cg, &diagnose(&from_triplets(2, 2, &entries).unwrap())).unwrap();
            let advice = crate::run::solution::advice(&ended, true);
            assert_eq!(advice.contains("--symmetrize"), applies, "{advice}");
        }
    }
}
