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
//! | order | C₀ is rented, or twice that where the structure promises a dear factor or the rest of the iterations to cost less than O; with O/2 rented, before a setup that would exceed 2 C₀, and before any where the structure promises a cheap factor; the setup counts as rented where nothing else can be |
//! | buy | C/2 is rented and the rest of the iterations promises to cost more than F; C is rented and the rest promises to cost more than F/2; 2 C is rented; before a setup that would exceed 2 C |
//!
//! **The bound.** Where iterations end the solve: R ≤ 2 C + g, and O was paid only with R ≥ O/2, so all work is at most 3 R and 3 C + g. Where the
//! factor does: C/2 ≤ R ≤ 2 C + g, so all work R + C is at most 3 R and 3 C + g. Forecasts that are wrong change nothing of it. A factor that nothing was
//! tried before costs C. No bound holds where there is no factor to buy: an option speaks against it, its fill is
//! unknown, it needs too much memory, or it fails.
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

/// What the structure of a matrix promises of its factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// It is cheaper than a hierarchy.
    Cheap,
    /// It is neither.
    Open,
    /// It is several times dearer.
    Dear,
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
        /// What the structure promises.
        outlook: Outlook,
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
            Price::Unknown { ordering, least, outlook } => {
                let early = outlook == Outlook::Cheap || rent + setup > 2.0 * least;
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
                    || rent >= 0.5 * whole && rest.is_some_and(|rest| rest > factor);
                if buy { Advice::Buy } else { Advice::GoOn }
            }
        }
    }

    fn order(&self, rent: f64, rest: Option<f64>) -> Advice {
        let Price::Unknown { ordering, least, outlook } = self.price else { return Advice::GoOn };
        let patient = outlook == Outlook::Dear || rest.is_some_and(|rest| rest < ordering);
        if rent >= if patient { 2.0 * least } else { least } { Advice::Order } else { Advice::GoOn }
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

    const fn unknown(outlook: Outlook) -> Price {
        Price::Unknown { ordering: 3.0, least: 4.0, outlook }
    }

    #[test]
    fn a_factor_is_ordered_once_its_least_price_is_rented() {
        for (rent, outlook, advice) in [
            (3.9, Outlook::Open, Advice::GoOn),
            (3.9, Outlook::Cheap, Advice::GoOn),
            (4.0, Outlook::Open, Advice::Order),
            (7.9, Outlook::Dear, Advice::GoOn),
            (8.0, Outlook::Dear, Advice::Order),
        ] {
            assert_eq!(rented(rent, unknown(outlook)).after(None), advice, "{rent} {outlook:?}");
        }
    }

    #[test]
    fn an_ordering_waits_for_iterations_that_promise_to_be_cheaper() {
        for (rent, rest, advice) in
            [(4.0, 2.9, Advice::GoOn), (4.0, 3.1, Advice::Order), (8.0, 0.1, Advice::Order)]
        {
            assert_eq!(rented(rent, unknown(Outlook::Open)).after(Some(rest)), advice, "{rent} {rest}");
        }
    }

    #[test]
    fn a_large_setup_waits_until_half_of_the_ordering_is_rented() {
        for (rent, setup, outlook, advice) in [
            (1.0, 7.0, Outlook::Dear, Advice::GoOn),
            (1.0, 7.1, Outlook::Dear, Advice::Wait),
            (1.5, 7.0, Outlook::Dear, Advice::Order),
            (1.0, 1.0, Outlook::Cheap, Advice::Wait),
            (1.5, 1.0, Outlook::Cheap, Advice::Order),
        ] {
            assert_eq!(rented(rent, unknown(outlook)).before(setup, false), advice, "{rent} {setup}");
        }
        assert_eq!(rented(0.1, unknown(Outlook::Open)).before(9.0, true), Advice::Order);
        assert_eq!(rented(0.1, unknown(Outlook::Cheap)).before(1.4, true), Advice::Order);
        assert_eq!(
            rented(0.1, unknown(Outlook::Cheap)).before(1.3, true),
            Advice::GoOn,
            "dearer than what it may save"
        );
    }

    #[test]
    fn a_factor_is_bought_between_half_and_twice_its_price() {
        let price = Price::Known { factor: 8.0, whole: 10.0 };
        for (rent, rest, advice) in [
            (4.9, Some(1e9), Advice::GoOn),
            (5.0, Some(8.1), Advice::Buy),
            (5.0, Some(7.9), Advice::GoOn),
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
        let mut rental = Rental::new(unknown(Outlook::Open));
        rental.ordered(Ok(7.0));
        assert_eq!(rental.price(), Price::Known { factor: 7.0, whole: 10.0 });
        rental.ordered(Ok(1.0));
        assert_eq!((rental.ledger.spent(), rental.ledger.rent()), (3.0, 0.0));
        let mut rental = Rental::new(unknown(Outlook::Open));
        rental.ordered(Err(NoFactor::Failed));
        assert_eq!(rental.after(Some(1e9)), Advice::GoOn);
    }
}
