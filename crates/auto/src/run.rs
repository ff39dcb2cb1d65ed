//! The events of a run and their costs.

use std::fmt;

use coarsen_direct::Figures;

use crate::ending::Ending;
use crate::factor_cost::{CostLog, NoFactor};
use crate::{Kind, Method};

/// A method and its preconditioner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A Krylov method with a preconditioner.
    Iterations(Method, Kind),
    /// A factor.
    Factor,
}

impl fmt::Display for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Iterations(method, kind) => write!(f, "{method} with {kind}"),
            Self::Factor => f.write_str("a factor"),
        }
    }
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A method was left for a method with a lower forecast.
    Left {
        /// The method that was left.
        from: Last,
        /// The number of its iterations in this attempt.
        after: usize,
        /// The forecast of the total number of its iterations.
        forecast: f64,
    },
    /// An attempt with a preconditioner in f32 failed and was repeated in f64.
    Retried {
        /// The preconditioner.
        kind: Kind,
        /// How the attempt in f32 ended.
        ending: Ending,
    },
    /// An attempt ended without a solution.
    Failed {
        /// The method.
        of: Last,
        /// How it ended, with the cause.
        ending: Ending,
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
    Factored {
        /// The work spent on setups and iterations before.
        iterated: f64,
        /// The work of ordering and factor.
        cost: f64,
    },
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Left { from, after, forecast } => {
                write!(f, "{from} left: after {after} iterations the forecast is {forecast:.0}")
            }
            Self::Retried { kind, ending } => {
                write!(f, "{kind} stored in f32 failed ({}); repeated in f64", ending.name())
            }
            Self::Failed { of, ending } => match ending.to_string() {
                cause if cause.is_empty() => write!(f, "{of} ended without a solution"),
                cause => write!(f, "{of} ended without a solution ({}): {cause}", ending.name()),
            },
            Self::Ordered { figures, .. } => {
                let entries = figures.nnz.unwrap_or(0);
                let mib = figures.bytes as f64 / f64::from(1 << 20);
                write!(f, "ordered for a factor: {entries} entries, {mib:.0} MiB")
            }
            Self::NoFactor(why) => write!(f, "no factor: {why}; the cost has no bound"),
            Self::Factored { iterated, cost } if *iterated > 0.0 => {
                let share = 100.0 * iterated / cost;
                write!(f, "a factor was computed after {share:.0} % of its cost was spent on iterations")
            }
            Self::Factored { .. } => f.write_str("a factor has the lowest forecast"),
        }
    }
}

/// The record of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The last method.
    pub last: Last,
    /// The events in order.
    pub events: Vec<Event>,
    /// The work of each item.
    pub log: CostLog,
    /// The reason why the cost has no bound; `None` if it has a bound.
    pub unbounded: Option<NoFactor>,
}
