//! Renting or buying: the rule for ordering and computing a factor.
//!
//! This is the ski rental problem. Iterations are the rent, and their number is not known in advance. A
//! factor is the purchase, and its price is known after the ordering. Buying when the rent has reached the
//! price costs at most twice the cheaper alternative. Here a forecast decides when to buy: at a rent between
//! half of the price and twice the price. The cost is then at most three times the cheaper alternative.
//!
//! | letter | here | meaning |
//! |---|---|---|
//! | R | [`Ledger::rent`] | the work spent on setups and iterations |
//! | O | `ordering` | the work of the ordering |
//! | F | `factor` | the work of the numeric factorisation and the solve |
//! | C | `whole` = O + F | the total price of a factor |
//! | C₀ | `least` ≤ C | a lower bound of the price, from the entries of A |
//! | g | granule | the cost of the most expensive iteration, which cannot be interrupted |
//!
//! | rule | when |
//! |---|---|
//! | order | after an iteration: R ≥ C₀ and the forecast for the remaining iterations is above the estimated cost of the factor, or R ≥ 2 C₀. Before a setup, with R ≥ O/2: R with the setup would exceed 2 C₀, or the estimated factor is cheaper than a hierarchy. The setup counts as rent if it has no alternative |
//! | buy | after an iteration: R ≥ C/2 and the forecast for the remaining iterations is above 1.2 F, or R ≥ C and the forecast is above F/2, or R ≥ 2 C. Before a setup: R with the setup would exceed 2 C |
//!
//! **The bound.** If iterations end the solve, R ≤ 2 C + g, and O was paid only if R ≥ O/2. So the total work
//! is at most 3 R and at most 3 C + g. If the factor ends the solve, C/2 ≤ R ≤ 2 C + g. So the total work R +
//! C is at most 3 R and at most 3 C + g. This holds for any forecasts. A factor without earlier attempts
//! costs C. There is no bound if no factor is possible: an option excludes it, its fill-in is unknown, it
//! needs too much memory, or it fails. C does not include an earlier factorisation that failed.
//!
//! *Reference* Karlin, Manasse, Rudolph, Sleator 1988, "Competitive snoopy caching", Algorithmica 3.

use crate::ledger::{Item, Ledger};

/// The reason why no factor is possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFactor {
    /// An option or the system excludes a factor, for example a null space, a precision or a device.
    Unwanted,
    /// The fill-in depends on the pivots, as for LU.
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

/// The price of a factor, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// No factor is possible.
    None(NoFactor),
    /// The matrix is not ordered yet.
    Unknown {
        /// The work O of the ordering.
        ordering: f64,
        /// The lower bound C₀ of the price.
        least: f64,
        /// The estimate of C from the structure of the matrix.
        promise: f64,
        /// Whether `promise` is less than the expected cost of a hierarchy.
        cheap: bool,
    },
    /// The matrix is ordered.
    Known {
        /// The work F of the factorisation and the solve.
        factor: f64,
        /// The total price C.
        whole: f64,
    },
}

/// The next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Continue; a setup may start.
    GoOn,
    /// Continue; a setup must wait.
    Wait,
    /// Order the matrix for a factor.
    Order,
    /// Compute the factor.
    Buy,
}

/// If the forecast is below this fraction of F, iterations continue.
const SOON: f64 = 0.5;

/// If the forecast is above this multiple of F, the factor is bought at C/2. It is above 1 because early
/// forecasts are too high.
const FAR: f64 = 1.2;

/// The work so far, and the price of a factor.
#[derive(Clone, Debug)]
pub struct Rental {
    /// The work so far.
    pub ledger: Ledger,
    price: Price,
}

impl Rental {
    /// Returns a rental without work so far.
    pub fn new(price: Price) -> Self {
        Self { ledger: Ledger::default(), price }
    }

    /// The price of the factor, as far as it is known.
    pub fn price(&self) -> Price {
        self.price
    }

    /// Records the ordering and its work.
    ///
    /// `factor` is F, or the reason why no factor is possible.
    pub fn ordered(&mut self, factor: Result<f64, NoFactor>) {
        let Price::Unknown { ordering, .. } = self.price else { return };
        self.ledger.charge(Item::Ordering, ordering);
        self.price = match factor {
            Ok(factor) => Price::Known { factor, whole: ordering + factor },
            Err(why) => Price::None(why),
        };
    }

    /// Records that no factor is possible.
    pub fn give_up(&mut self, why: NoFactor) {
        self.price = Price::None(why);
    }

    /// The action before a setup of known work; a setup cannot be interrupted.
    ///
    /// `forced` means that no other method is running.
    pub fn before(&self, setup: f64, forced: bool) -> Advice {
        let rent = self.ledger.rent();
        match self.price {
            Price::None(_) => Advice::GoOn,
            Price::Unknown { ordering, least, cheap, .. } => {
                let early = cheap || rent + setup > 2.0 * least;
                match early {
                    true if rent >= 0.5 * ordering => Advice::Order,
                    // No other method can add rent before this setup, so the setup counts as rent.
                    true if forced && rent + setup >= 0.5 * ordering => Advice::Order,
                    true if !forced => Advice::Wait,
                    _ => self.order(rent, None),
                }
            }
            Price::Known { whole, .. } if rent + setup <= 2.0 * whole => Advice::GoOn,
            Price::Known { whole, .. } if forced || rent >= 0.5 * whole => Advice::Buy,
            Price::Known { .. } => Advice::Wait,
        }
    }

    /// The action after an iteration; `rest` is the forecast for the work of the remaining iterations, if
    /// there is one.
    pub fn after(&self, rest: Option<f64>) -> Advice {
        let rent = self.ledger.rent();
        match self.price {
            Price::None(_) => Advice::GoOn,
            Price::Unknown { .. } => self.order(rent, rest),
            Price::Known { factor, whole } => {
                let buy = rent >= 2.0 * whole
                    || rent >= whole && rest.is_some_and(|rest| rest > SOON * factor)
                    || rent >= 0.5 * whole && rest.is_some_and(|rest| rest > FAR * factor);
                if buy { Advice::Buy } else { Advice::GoOn }
            }
        }
    }

    fn order(&self, rent: f64, rest: Option<f64>) -> Advice {
        let Price::Unknown { least, promise, .. } = self.price else { return Advice::GoOn };
        let hopeless = rest.is_some_and(|rest| rest > promise);
        if rent >= if hopeless { least } else { 2.0 * least } { Advice::Order } else { Advice::GoOn }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn rented(work: f64, price: Price) -> Rental {
        let mut rental = Rental::new(price);
        rental.ledger.charge(Item::Iterations(Kind::Jacobi), work);
        rental
    }

    const fn unknown(cheap: bool) -> Price {
        Price::Unknown { ordering: 3.0, least: 4.0, promise: 6.0, cheap }
    }

    #[test]
    fn a_factor_is_ordered_once_its_least_price_is_rented() {
        for (rent, rest, advice) in [
            (3.9, Some(6.1), Advice::GoOn),
            (4.0, Some(6.1), Advice::Order),
            (4.0, Some(5.9), Advice::GoOn),
            (7.9, None, Advice::GoOn),
            (8.0, None, Advice::Order),
            (8.0, Some(0.1), Advice::Order),
        ] {
            assert_eq!(rented(rent, unknown(false)).after(rest), advice, "{rent} {rest:?}");
        }
    }

    #[test]
    fn a_large_setup_waits_until_half_of_the_ordering_is_rented() {
        for (rent, setup, cheap, advice) in [
            (1.0, 7.0, false, Advice::GoOn),
            (1.0, 7.1, false, Advice::Wait),
            (1.5, 7.0, false, Advice::Order),
            (1.0, 1.0, true, Advice::Wait),
            (1.5, 1.0, true, Advice::Order),
        ] {
            assert_eq!(rented(rent, unknown(cheap)).before(setup, false), advice, "{rent} {setup}");
        }
        assert_eq!(rented(0.1, unknown(false)).before(9.0, true), Advice::Order);
        assert_eq!(rented(0.1, unknown(true)).before(1.4, true), Advice::Order);
        assert_eq!(
            rented(0.1, unknown(true)).before(1.3, true),
            Advice::GoOn,
            "more expensive than the work it may save"
        );
    }

    #[test]
    fn a_factor_is_bought_between_half_and_twice_its_price() {
        let price = Price::Known { factor: 8.0, whole: 10.0 };
        for (rent, rest, advice) in [
            (4.9, Some(1e9), Advice::GoOn),
            (5.0, Some(9.7), Advice::Buy),
            (5.0, Some(9.5), Advice::GoOn),
            (5.0, None, Advice::GoOn),
            (10.0, None, Advice::GoOn),
            (20.0, None, Advice::Buy),
            (10.0, Some(4.1), Advice::Buy),
            (10.0, Some(3.9), Advice::GoOn),
            (20.0, Some(0.1), Advice::Buy),
        ] {
            assert_eq!(rented(rent, price).after(rest), advice, "{rent} {rest:?}");
        }
        assert_eq!(rented(5.0, price).before(15.0, false), Advice::GoOn);
        assert_eq!(rented(5.0, price).before(15.1, false), Advice::Buy);
        assert_eq!(rented(4.9, price).before(99.0, false), Advice::Wait, "half is not rented yet");
        assert_eq!(rented(4.9, price).before(99.0, true), Advice::Buy, "nothing is left to rent");
    }

    #[test]
    fn an_ordering_is_paid_once_and_prices_are_whole() {
        let mut rental = Rental::new(unknown(false));
        rental.ordered(Ok(7.0));
        assert_eq!(rental.price(), Price::Known { factor: 7.0, whole: 10.0 });
        rental.ordered(Ok(1.0));
        assert_eq!((rental.ledger.spent(), rental.ledger.rent()), (3.0, 0.0));
        let mut rental = Rental::new(unknown(false));
        rental.ordered(Err(NoFactor::Failed));
        assert_eq!(rental.after(Some(1e9)), Advice::GoOn);
    }
}
