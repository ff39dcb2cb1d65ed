//! When a factor is computed: the work so far, the cost of a factor, and the bound.
//!
//! The number of iterations of a method is not known before they are done. The cost of a factor is known after the
//! ordering. To compute the factor once the work of iterations has reached its cost takes at most twice the cheaper of both;
//! this is the ski rental problem. Here a forecast decides when the factor is computed: at a work between half and
//! twice its cost. The total is then at most three times the cheaper of both.
//!
//! | letter | here | meaning |
//! |---|---|---|
//! | R | [`CostLog::iterated`] | the work of setups and iterations |
//! | O | `ordering` | the work of the ordering |
//! | F | `factor` | the work of the numeric factorisation and the solve |
//! | C | `total` = O + F | the whole cost of a factor |
//! | C₀ | `least` ≤ C | a lower bound of C, from the entries of A |
//! | g | granule | the cost of the most expensive iteration, which cannot be interrupted |
//!
//! | action | when |
//! |---|---|
//! | order | after an iteration: R ≥ O/2 and the forecast for the remaining iterations is above the estimate of C, or R ≥ 2 C₀. Before a setup, if R is at least O/2, with the setup if no method that began can go on: R with the setup would exceed 2 C₀, or the estimate of C is below the forecast of all methods |
//! | factor | after an iteration: R ≥ C/2 and the forecast for the remaining iterations is above 1.2 F, or R ≥ C and the forecast is above F/2, or R ≥ 2 C. Before a setup: R with the setup would exceed 2 C; or F is below the forecast of all methods, and R ≥ C/2 or no method that began can go on |
//!
//! **The bound.** If iterations end the solve, R ≤ 2 C + g, and O was paid only if R ≥ O/2. So the total work
//! is at most 3 R and at most 3 C + g. If the factor ends the solve, C/2 ≤ R ≤ 2 C + g, so
//! the total work R + C is at most 3 R and at most 3 C + g; if all methods failed before, R may be less than C/2, and only the
//! second limit holds. This holds for any forecasts. A factor without earlier attempts costs C. There is no bound if no factor is possible: an option excludes it, its fill-in is unknown, it
//! needs too much memory, or it fails. C does not include an earlier factorisation that failed.
//!
//! *Reference* Karlin, Manasse, Rudolph, Sleator 1988, "Competitive snoopy caching", Algorithmica 3.

use std::fmt;

use crate::{Kind, Method};

/// The purpose of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The setup of a preconditioner.
    Setup(Kind),
    /// A second setup in f64, after f32 failed.
    Retry(Kind),
    /// Iterations of a Krylov method with a preconditioner.
    Iterations(Method, Kind),
    /// Ordering a matrix and finding the structure of its factor.
    Ordering,
    /// Computing the factor and solving with it.
    Factor,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setup(kind) => write!(f, "setup of {kind}"),
            Self::Retry(kind) => write!(f, "setup of {kind} in f64"),
            Self::Iterations(method, kind) => write!(f, "iterations of {method} with {kind}"),
            Self::Ordering => f.write_str("ordering"),
            Self::Factor => f.write_str("factor"),
        }
    }
}

/// The work of each item, in the order in which items were begun.
///
/// The unit is one byte moved between memory and processor. An operation counts as the bytes that could be
/// moved in the same time ([`Costs`](crate::Costs)). Work is computed from sizes and not measured, so the same
/// matrix is always solved in the same way. *Cost* of adding: linear in the number of items, which is small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CostLog {
    entries: Vec<(Item, f64)>,
}

impl CostLog {
    /// Adds work to an item.
    pub fn add(&mut self, item: Item, work: f64) {
        match self.entries.iter_mut().find(|(known, _)| *known == item) {
            Some((_, sum)) => *sum += work,
            None => self.entries.push((item, work)),
        }
    }

    /// All work so far.
    pub fn total(&self) -> f64 {
        self.entries.iter().map(|(_, work)| work).sum()
    }

    /// All work except ordering and factor: R.
    pub fn iterated(&self) -> f64 {
        let iterated = self.entries.iter().filter(|(item, _)| !matches!(item, Item::Ordering | Item::Factor));
        iterated.map(|(_, work)| work).sum()
    }

    /// The items and their work.
    pub fn entries(&self) -> &[(Item, f64)] {
        &self.entries
    }
}

/// The reason why no factor is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFactor {
    /// An option or the system excludes a factor, for example a null space, a precision or a device.
    Unwanted,
    /// Its size is not known before the factorisation.
    Unknown,
    /// The factor needs more bytes than the limit allows.
    TooLarge {
        /// The number of bytes of the factor.
        bytes: usize,
        /// The memory limit.
        allowed: usize,
    },
    /// The ordering or the factorisation failed.
    Failed,
}

impl fmt::Display for NoFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
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

/// The cost of a factor, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FactorCost {
    /// No factor is possible.
    None(NoFactor),
    /// The matrix is not ordered yet.
    Estimated {
        /// The work O of the ordering.
        ordering: f64,
        /// The lower bound C₀.
        least: f64,
        /// The estimate of C from the structure of the matrix.
        total: f64,
    },
    /// The matrix is ordered.
    Known {
        /// The work F of the factorisation and the solve.
        factor: f64,
        /// The whole cost C.
        total: f64,
    },
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// Iterate, or set up the next preconditioner.
    Iterate,
    /// Order the matrix for a factor.
    Order,
    /// Compute the factor.
    Factor,
}

/// If the forecast is below this fraction of F, iterations continue.
const SOON: f64 = 0.5;

/// If the forecast is above this multiple of F, the factor is computed at C/2. It is above 1 because early
/// forecasts are too high.
const FAR: f64 = 1.2;

/// What the next attempt would be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NextAttempt {
    /// The work of its setup; 0 if it is set up.
    pub(crate) setup: f64,
    /// The forecast of its remaining work, with the setup.
    pub(crate) rest: f64,
    /// Whether a method that began can go on.
    pub(crate) alive: bool,
}

/// The work so far, and the cost of a factor.
#[derive(Clone, Debug)]
pub(crate) struct Spent {
    pub(crate) log: CostLog,
    pub(crate) factor: FactorCost,
}

impl Spent {
    /// Records the ordering and its work. `factor` is F, or the reason why no factor is possible.
    pub(crate) fn ordered(&mut self, factor: Result<f64, NoFactor>) {
        let FactorCost::Estimated { ordering, .. } = self.factor else { return };
        self.log.add(Item::Ordering, ordering);
        self.factor = match factor {
            Ok(factor) => FactorCost::Known { factor, total: ordering + factor },
            Err(why) => FactorCost::None(why),
        };
    }

    /// The action before the next attempt, while no method runs.
    pub(crate) fn before(&self, next: NextAttempt) -> Advice {
        let (done, with) = (self.log.iterated(), self.log.iterated() + next.setup);
        match self.factor {
            FactorCost::None(_) => Advice::Iterate,
            FactorCost::Estimated { ordering, least, total } => {
                let wanted = total < next.rest || with > 2.0 * least;
                // If another method can go on, this setup may be avoided.
                let paid = if next.alive { done } else { with };
                if wanted && paid >= 0.5 * ordering { Advice::Order } else { Advice::Iterate }
            }
            FactorCost::Known { total, .. } if with > 2.0 * total => Advice::Factor,
            FactorCost::Known { factor, total } => {
                let may = done >= 0.5 * total || !next.alive;
                if may && factor < next.rest { Advice::Factor } else { Advice::Iterate }
            }
        }
    }

    /// The action after an iteration; `rest` is the forecast for the work of the remaining iterations, if
    /// there is one.
    pub(crate) fn after(&self, rest: Option<f64>) -> Advice {
        let done = self.log.iterated();
        let above = |limit: f64| rest.is_some_and(|rest| rest > limit);
        match self.factor {
            FactorCost::None(_) => Advice::Iterate,
            FactorCost::Estimated { ordering, least, total } => {
                let order = done >= 2.0 * least || done >= 0.5 * ordering && above(total);
                if order { Advice::Order } else { Advice::Iterate }
            }
            FactorCost::Known { factor, total } => {
                let compute = done >= 2.0 * total
                    || done >= total && above(SOON * factor)
                    || done >= 0.5 * total && above(FAR * factor);
                if compute { Advice::Factor } else { Advice::Iterate }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spent(work: f64, factor: FactorCost) -> Spent {
        let mut spent = Spent { log: CostLog::default(), factor };
        spent.log.add(Item::Iterations(Method::Cg, Kind::Jacobi), work);
        spent
    }

    const ESTIMATED: FactorCost = FactorCost::Estimated { ordering: 3.0, least: 4.0, total: 6.0 };
    const KNOWN: FactorCost = FactorCost::Known { factor: 8.0, total: 10.0 };

    #[test]
    fn ordering_and_factor_are_not_iterations() {
        let mut log = CostLog::default();
        for (item, work) in [
            (Item::Setup(Kind::Jacobi), 1.0),
            (Item::Iterations(Method::Cg, Kind::Jacobi), 2.0),
            (Item::Ordering, 4.0),
            (Item::Iterations(Method::Cg, Kind::Jacobi), 8.0),
            (Item::Factor, 16.0),
        ] {
            log.add(item, work);
        }
        assert_eq!((log.total(), log.iterated(), log.entries().len()), (31.0, 11.0, 4));
    }

    #[test]
    fn ordering_waits_for_half_of_its_cost() {
        for (done, rest, advice) in [
            (1.4, Some(6.1), Advice::Iterate),
            (1.5, Some(6.1), Advice::Order),
            (1.5, Some(5.9), Advice::Iterate),
            (7.9, None, Advice::Iterate),
            (8.0, Some(0.1), Advice::Order),
        ] {
            assert_eq!(spent(done, ESTIMATED).after(rest), advice, "{done} {rest:?}");
        }
        for (done, setup, rest, alive, advice) in [
            (1.0, 7.0, 5.0, false, Advice::Iterate),
            (1.0, 7.1, 5.0, false, Advice::Order),
            (1.0, 0.4, 7.0, false, Advice::Iterate),
            (1.0, 0.5, 7.0, false, Advice::Order),
            (1.4, 0.5, 7.0, true, Advice::Iterate),
            (1.5, 0.5, 7.0, true, Advice::Order),
        ] {
            let next = NextAttempt { setup, rest, alive };
            assert_eq!(spent(done, ESTIMATED).before(next), advice, "{done} {setup} {rest}");
        }
    }

    #[test]
    fn a_factor_is_computed_between_half_and_twice_its_cost() {
        for (done, rest, advice) in [
            (4.9, Some(1e9), Advice::Iterate),
            (5.0, Some(9.7), Advice::Factor),
            (5.0, Some(9.5), Advice::Iterate),
            (10.0, None, Advice::Iterate),
            (10.0, Some(4.1), Advice::Factor),
            (10.0, Some(3.9), Advice::Iterate),
            (20.0, Some(0.1), Advice::Factor),
        ] {
            assert_eq!(spent(done, KNOWN).after(rest), advice, "{done} {rest:?}");
        }
        for (done, setup, alive, advice) in [
            (4.9, 15.0, true, Advice::Iterate),
            (4.9, 15.2, true, Advice::Factor),
            (5.0, 1.0, true, Advice::Factor),
            (1.0, 1.0, false, Advice::Factor),
        ] {
            let next = NextAttempt { setup, rest: 9.0, alive };
            assert_eq!(spent(done, KNOWN).before(next), advice, "{done} {setup} {alive}");
        }
    }

    #[test]
    fn an_ordering_counts_once() {
        let mut spent = Spent { log: CostLog::default(), factor: ESTIMATED };
        spent.ordered(Ok(7.0));
        assert_eq!(spent.factor, FactorCost::Known { factor: 7.0, total: 10.0 });
        spent.ordered(Ok(1.0));
        assert_eq!((spent.log.total(), spent.log.iterated()), (3.0, 0.0));
        let mut spent = Spent { log: CostLog::default(), factor: ESTIMATED };
        spent.ordered(Err(NoFactor::Failed));
        assert_eq!(spent.after(Some(1e9)), Advice::Iterate);
    }
}
