//! The record of a run.

use std::fmt;

use coarsen_direct::Figures;

use crate::ledger::Ledger;
use crate::{Kind, NoFactor};

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The true residual is within the tolerance.
    Converged,
    /// The meter stopped the attempt, or the time limit was reached.
    Stopped,
    /// The iteration limit was reached.
    Limit,
    /// The attempt failed, possibly because of storage in f32.
    Rounding,
    /// The preconditioner could not be set up, or the method broke down.
    Broken,
    /// The matrix is not positive definite.
    Indefinite,
    /// The residual is as small as f64 allows, and above the tolerance.
    Floor,
    /// The matrix is singular and b is not in its range.
    Singular,
}

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A preconditioner was given up for another preconditioner.
    GivenUp {
        /// The preconditioner.
        kind: Kind,
        /// The number of iterations with this preconditioner.
        after: usize,
        /// The forecast of the total number of iterations with this preconditioner.
        total: f64,
        /// The next preconditioner.
        next: Kind,
    },
    /// An attempt with a preconditioner in f32 failed and was repeated in f64.
    Retried {
        /// The preconditioner.
        kind: Kind,
    },
    /// An attempt ended without a solution.
    Failed {
        /// The preconditioner.
        kind: Kind,
        /// How the attempt ended.
        end: End,
    },
    /// The matrix was ordered.
    Ordered {
        /// The work of ordering and factor.
        work: f64,
        /// The size of the factor.
        figures: Figures,
    },
    /// No factor is possible.
    NoFactor(NoFactor),
    /// A factor was computed.
    Bought {
        /// The work spent on setups and iterations before.
        rent: f64,
        /// The work of ordering and factor.
        price: f64,
    },
    /// The turn of a preconditioner ended.
    Turn {
        /// The preconditioner.
        kind: Kind,
        /// The number of iterations of this turn.
        iterations: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp { kind, after, total, next } => {
                write!(f, "{kind} given up for {next}: after {after} iterations the forecast is {total:.0}")
            }
            Self::Retried { kind } => write!(f, "{kind} stored in f32 failed; repeated in f64"),
            Self::Failed { kind, end } => write!(f, "{kind} ended without a solution ({end})"),
            Self::Ordered { figures, .. } => {
                let entries = figures.nnz.unwrap_or(0);
                write!(f, "ordered for a factor: {entries} entries, {:.0} MiB", mib(figures.bytes))
            }
            Self::NoFactor(why) => write!(f, "no factor: {why}; the cost has no bound"),
            Self::Bought { rent, price } => {
                write!(
                    f,
                    "a factor was computed after {:.0} % of its cost was spent on iterations",
                    100.0 * rent / price
                )
            }
            Self::Turn { kind, iterations } => {
                write!(f, "a turn of {kind} ended after {iterations} iterations")
            }
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::Stopped => "stopped",
            Self::Limit => "iteration limit reached",
            Self::Rounding => "failed because of rounding",
            Self::Broken => "breakdown",
            Self::Indefinite => "the matrix is not positive definite",
            Self::Singular => "the matrix is singular",
            Self::Floor => "the residual is as small as f64 allows",
        })
    }
}

impl fmt::Display for NoFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwanted => f.write_str("an option or the system excludes it"),
            Self::Unknown => f.write_str("its size depends on its pivots"),
            Self::TooLarge { bytes, allowed } => {
                write!(f, "it needs {:.0} MiB, and the limit is {:.0} MiB", mib(*bytes), mib(*allowed))
            }
            Self::Failed => f.write_str("it failed"),
        }
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// The last method of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A Krylov method with a preconditioner.
    Iterations(Kind),
    /// A factor.
    Factor,
}

/// The record of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The last method.
    pub last: Last,
    /// How the last method ended.
    pub end: End,
    /// The events in order.
    pub events: Vec<Event>,
    /// The work of each item.
    pub ledger: Ledger,
    /// The reason why the cost has no bound; `None` if it has a bound.
    pub unbounded: Option<NoFactor>,
}
