//! What happened, as data.

use std::fmt;

use coarsen_direct::Figures;

use crate::ledger::Ledger;
use crate::{Kind, NoFactor};

/// How one attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The true residual is within the tolerance.
    Converged,
    /// The watch asked to stop, or the time is up.
    Stopped,
    /// The iterations allowed are spent.
    Limit,
    /// What was stored in f32 may have spoilt it.
    Rounding,
    /// The preconditioner could not be set up, or the method cannot go on with it.
    Broken,
    /// The matrix is not positive definite.
    Indefinite,
    /// The residual is as small as f64 allows, and above the tolerance.
    Floor,
    /// The matrix is singular, and b not in its range.
    Singular,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Event {
    /// A preconditioner was given up for another one.
    GivenUp {
        /// Which.
        kind: Kind,
        /// Iterations done.
        after: usize,
        /// Iterations that it promised to take.
        total: f64,
        /// What followed.
        next: Kind,
    },
    /// What is stored in f32 did not serve.
    Retried {
        /// Which preconditioner.
        kind: Kind,
    },
    /// It ended without a solution.
    Failed {
        /// Which preconditioner.
        kind: Kind,
        /// How.
        end: End,
    },
    /// The matrix was ordered.
    Ordered {
        /// Work of ordering and factor.
        work: f64,
        /// Sizes of the factor.
        figures: Figures,
    },
    /// No factor is to be had.
    NoFactor(NoFactor),
    /// A factor was computed.
    Bought {
        /// Work rented before.
        rent: f64,
        /// Work of ordering and factor.
        price: f64,
    },
    /// A turn ended.
    Turn {
        /// Whose.
        kind: Kind,
        /// Iterations of it.
        iterations: usize,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GivenUp { kind, after, total, next } => {
                write!(
                    f,
                    "{kind} given up for {next}: after {after} iterations it promises to take {total:.0}"
                )
            }
            Self::Retried { kind } => write!(f, "{kind} stored in f32 did not serve: again in f64"),
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
            Self::Limit => "limit reached",
            Self::Rounding => "spoilt by rounding",
            Self::Broken => "broken down",
            Self::Indefinite => "the matrix is not positive definite",
            Self::Singular => "the matrix is singular",
            Self::Floor => "the residual is as small as f64 allows",
        })
    }
}

impl fmt::Display for NoFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwanted => f.write_str("an option or the system speaks against it"),
            Self::Unknown => f.write_str("its size depends on its pivots"),
            Self::TooLarge { bytes, allowed } => {
                write!(f, "it needs {:.0} MiB, and {:.0} MiB are allowed", mib(*bytes), mib(*allowed))
            }
            Self::Failed => f.write_str("it failed"),
        }
    }
}

fn mib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// What solved the system, or was the last to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A Krylov method with a preconditioner.
    Iterations(Kind),
    /// A factor.
    Factor,
}

/// The whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// What was done last.
    pub last: Last,
    /// How it ended.
    pub end: End,
    /// What happened on the way.
    pub events: Vec<Event>,
    /// What it cost, by item.
    pub ledger: Ledger,
    /// Why the cost has no bound, where it has none.
    pub unbounded: Option<NoFactor>,
}
