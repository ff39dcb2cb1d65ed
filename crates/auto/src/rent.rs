//! Renting or buying: when a factor is ordered, and when it is computed.
//!
//! Iterations are rented, one by one, and nobody knows how many it takes; a factor is bought, at a price that is known once its ordering
//! is. Whoever rents as much as the price before buying never pays more than twice what the better of the two costs (the ski rental problem);
//! a forecast may buy at half of the price, or rent up to twice of it, and the bound is three times.
//!
//! | letter | here | meaning |
//! |---|---|---|
//! | R | [`Ledger::rent`] | work spent on setups and iterations |
//! | O | `ordering` | work of the ordering |
//! | F | `factor` | work of the numeric factorisation and the solve |
//! | C | `whole` = O + F | the price of a factor |
//! | C₀ | `least` ≤ C | what it costs at least, known from the entries of A alone |
//! | g | granule | the dearest step that cannot be interrupted: an iteration |
//!
//! | rule | when |
//! |---|---|
//! | order | C₀ is rented and the rest of the iterations promises to cost more than the factor does by its structure; 2 C₀ is rented; with O/2 rented, before a setup that would exceed 2 C₀, and before any where the structure promises a cheap factor; the setup counts as rented where nothing else can be |
//! | buy | C/2 is rented and the rest of the iterations promises to cost more than 1.2 F; C is rented and the rest promises to cost more than F/2; 2 C is rented; before a setup that would exceed 2 C |
//!
//! **The bound.** Where iterations end the solve: R ≤ 2 C + g, and O was paid only with R ≥ O/2, so all work is at most 3 R and 3 C + g. Where the
//! factor does: C/2 ≤ R ≤ 2 C + g, so all work R + C is at most 3 R and 3 C + g. Forecasts that are wrong change nothing of it. A factor that nothing was
//! tried before costs C. No bound holds where there is no factor to buy: an option speaks against it, its fill is
//! unknown, it needs too much memory, or it fails; C is what the factor that serves costs, without one that failed before it.
//!
//! *Reference* Karlin, Manasse, Rudolph, Sleator 1988, "Competitive snoopy caching", Algorithmica 3.

use crate::ledger::{Item, Ledger};

/// Why there is no factor to buy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFactor {
    /// An option or the system speaks against it: a null space, a precision, a device.
    Unwanted,
    /// Its fill depends on its pivots: LU.
    Unknown,
    /// It needs more bytes than allowed.
    TooLarge {
        /// Bytes it needs.
        bytes: usize,
        /// Bytes it may take.
        allowed: usize,
    },
    /// The ordering or the factorisation failed.
    Failed,
}

/// What is known of the factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Price {
    /// There is none to buy.
    None(NoFactor),
    /// Not ordered yet.
    Unknown {
        /// O.
        ordering: f64,
        /// C₀.
        least: f64,
        /// C as the structure promises it.
        promise: f64,
        /// Whether that is less than what a hierarchy promises to cost.
        cheap: bool,
    },
    /// Ordered.
    Known {
        /// F.
        factor: f64,
        /// C.
        whole: f64,
    },
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// What is under way goes on, and what asks may begin.
    GoOn,
    /// What is under way goes on, and what asks must wait.
    Wait,
    /// The matrix is ordered for a factor.
    Order,
    /// The factor is computed.
    Buy,
}

/// Share of F under which the rest of the iterations is waited for.
const SOON: f64 = 0.5;

/// Share of F above which it is not worth renting more than C/2: early forecasts are long.
const FAR: f64 = 1.2;

/// The ledger, and the factor that iterations are rented instead of.
#[derive(Clone, Debug)]
pub struct Rental {
    /// What was spent.
    pub ledger: Ledger,
    price: Price,
}

impl Rental {
    /// Nothing is spent.
    pub fn new(price: Price) -> Self {
        Self { ledger: Ledger::default(), price }
    }

    /// What is known of the factor.
    pub fn price(&self) -> Price {
        self.price
    }

    /// The ordering is done, and paid for.
    ///
    /// `factor` is F, or why there is none after all.
    pub fn ordered(&mut self, factor: Result<f64, NoFactor>) {
        let Price::Unknown { ordering, .. } = self.price else { return };
        self.ledger.charge(Item::Ordering, ordering);
        self.price = match factor {
            Ok(factor) => Price::Known { factor, whole: ordering + factor },
            Err(why) => Price::None(why),
        };
    }

    /// There is no factor to buy any more.
    pub fn give_up(&mut self, why: NoFactor) {
        self.price = Price::None(why);
    }

    /// Before a setup of known work that cannot be interrupted.
    ///
    /// `forced` says that nothing else goes on: what was tried has ended.
    pub fn before(&self, setup: f64, forced: bool) -> Advice {
        let rent = self.ledger.rent();
        match self.price {
            Price::None(_) => Advice::GoOn,
            Price::Unknown { ordering, least, cheap, .. } => {
                let early = cheap || rent + setup > 2.0 * least;
                match early {
                    true if rent >= 0.5 * ordering => Advice::Order,
                    // Nothing is left to rent before the setup, which counts.
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

    /// After an iteration; `rest` is the work that the rest of them promises to cost, where that is known.
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
            "dearer than what it may save"
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
