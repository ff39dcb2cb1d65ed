//! The work so far, in units that need no clock.

use std::fmt;

use crate::Kind;

/// The purpose of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Item {
    /// The setup of a preconditioner.
    Setup(Kind),
    /// A second setup in f64, after f32 failed.
    Retry(Kind),
    /// Iterations of a Krylov method with a preconditioner.
    Iterations(Kind),
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
            Self::Iterations(kind) => write!(f, "iterations with {kind}"),
            Self::Ordering => f.write_str("ordering"),
            Self::Factor => f.write_str("factor"),
        }
    }
}

/// The work of each item, in the order in which items were begun.
///
/// The unit is one byte moved between memory and processor. An operation counts as the bytes that could be
/// moved in the same time ([`cost`](crate::Costs)). Work is computed from sizes and not measured, so the same
/// matrix is always solved in the same way. *Cost* of adding: linear in the number of items, which is small.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    entries: Vec<(Item, f64)>,
}

impl Ledger {
    /// Adds work to an item.
    pub fn charge(&mut self, item: Item, work: f64) {
        match self.entries.iter_mut().find(|(known, _)| *known == item) {
            Some((_, sum)) => *sum += work,
            None => self.entries.push((item, work)),
        }
    }

    /// All work so far.
    pub fn spent(&self) -> f64 {
        self.entries.iter().map(|(_, work)| work).sum()
    }

    /// The rent: all work except ordering and factor.
    pub fn rent(&self) -> f64 {
        let rented = self.entries.iter().filter(|(item, _)| !matches!(item, Item::Ordering | Item::Factor));
        rented.map(|(_, work)| work).sum()
    }

    /// The items and their work.
    pub fn entries(&self) -> &[(Item, f64)] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_is_not_rent() {
        let mut ledger = Ledger::default();
        for (item, work) in [
            (Item::Setup(Kind::Jacobi), 1.0),
            (Item::Iterations(Kind::Jacobi), 2.0),
            (Item::Ordering, 4.0),
            (Item::Iterations(Kind::Jacobi), 8.0),
            (Item::Factor, 16.0),
        ] {
            ledger.charge(item, work);
        }
        assert_eq!((ledger.spent(), ledger.rent()), (31.0, 11.0));
        assert_eq!(ledger.entries()[1], (Item::Iterations(Kind::Jacobi), 10.0));
    }
}
