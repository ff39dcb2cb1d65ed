//! Forecasts, and the rule of a factor.

use coarsen_core::Outcome;
use coarsen_direct::{DirectError, FactorStats};

use super::plan_of;
use crate::plan::{FactorCost, Plan};
use crate::schedule::{Next, Schedule, extrapolated, forecast};
use crate::{Auto, Ending, Method, Precond};

#[test]
fn a_straight_line_is_extended() {
    let logs: Vec<f64> = (0..11).map(|k| -0.5 * f64::from(k)).collect();
    assert!((extrapolated(&logs, -20.0) - 40.0).abs() < 1e-12);
    assert_eq!(extrapolated(&logs, -1.0), 10.0, "what is reached is reached");
    assert_eq!(extrapolated(&[0.0, 0.0, 1.0], -1.0), f64::INFINITY);
    assert_eq!(extrapolated(&[], -1.0), f64::INFINITY);
}

#[test]
fn slope_and_condition_are_weighed() {
    let logs: Vec<f64> = (0..11).map(|k| -0.5 * f64::from(k)).collect();
    assert!((forecast(&logs, -20.0, None) - 40.0).abs() < 1e-9);
    let bound = 0.5 * 10.0 * (2.0_f64.ln() + 20.0);
    let mean = 40.0_f64.powf(0.3) * bound.powf(0.7);
    assert!((forecast(&logs, -20.0, Some(100.0)) - mean).abs() < 1e-9);
    assert_eq!(
        forecast(&logs, -20.0, Some(0.5)),
        forecast(&logs, -20.0, None),
        "no condition number is below 1"
    );
}

const ESTIMATED: FactorCost = FactorCost::Estimated { ordering: 3.0, least: 4.0, total: 6.0 };
const KNOWN: FactorCost = FactorCost::Known { factor: 8.0, total: 10.0 };
const CANDIDATES: [(Method, Precond); 2] = [(Method::Cg, Precond::Jacobi), (Method::Cg, Precond::Ic0)];

/// After an iteration, the ordering is deferred until half of its cost, and a factor is computed between half and twice its cost.
#[test]
fn a_factor_is_computed_between_half_and_twice_its_cost() {
    let plan = plan_of(Auto::default(), &CANDIDATES, true);
    for (factor, done, rest, orders, stops) in [
        (ESTIMATED, 1.4, Some(6.1), false, false),
        (ESTIMATED, 1.5, Some(6.1), true, false),
        (ESTIMATED, 1.5, Some(5.9), false, false),
        (ESTIMATED, 7.9, None, false, false),
        (ESTIMATED, 8.0, Some(0.1), true, false),
        (KNOWN, 4.9, Some(1e9), false, false),
        (KNOWN, 5.0, Some(9.7), false, true),
        (KNOWN, 5.0, Some(9.5), false, false),
        (KNOWN, 10.0, None, false, false),
        (KNOWN, 10.0, Some(4.1), false, true),
        (KNOWN, 10.0, Some(3.9), false, false),
        (KNOWN, 20.0, Some(0.1), false, true),
    ] {
        let stats = FactorStats { nnz: 1 << 20, bytes: 1, products: 0, flops: 1e9 };
        let mut ordered = 0;
        let mut order = || {
            ordered += 1;
            Ok((stats, None))
        };
        let mut schedule = Schedule::new(&plan, &mut order, false);
        (schedule.factor, schedule.iteration_work) = (factor.clone(), done);
        assert_eq!(schedule.stops_for_factor(rest), stops, "{factor:?} {done} {rest:?}");
        assert!(!schedule.stops_for_factor(None) || stops, "an ordering counts once");
        assert_eq!(schedule.factor_work, if orders { 3.0 } else { 0.0 });
        assert_eq!(ordered, usize::from(orders), "{factor:?} {done} {rest:?}");
    }
}

/// A method that was left goes on while the factor is deferred, and the factor follows when all methods failed.
#[test]
fn a_factor_is_deferred_while_a_method_can_go_on() {
    let plan = plan_of(Auto { single: false, ..Auto::default() }, &CANDIDATES, true);
    let mut order = || Err(Ending::FactorExcluded);
    let mut schedule = Schedule::new(&plan, &mut order, false);
    // Both methods are more expensive than the factor, which costs 8 of 10.
    schedule.factor = FactorCost::Known { factor: 8.0, total: 1e9 };
    schedule.begin(0);
    assert_eq!(schedule.next(), Next::Iterate(0), "the factor is deferred");
    schedule.end(0, 1, &Ending::Method(Outcome::Breakdown));
    assert_eq!(schedule.next(), Next::Factor);
    schedule.begin_factor();
    schedule.end_factor(&Ending::Method(Outcome::Breakdown), false);
    assert_eq!(schedule.next(), Next::Iterate(1), "a factor that failed is not repeated");
}

/// If the memory does not suffice for an ordering or for a factor, iterations go on, and the report has the cause.
#[test]
fn iterations_go_on_where_memory_fails() {
    let plan = plan_of(Auto { single: false, ..Auto::default() }, &CANDIDATES, true);
    let memory = Ending::Factor(DirectError::Memory { bytes: 1 << 40 });
    for of_ordering in [true, false] {
        let mut order = || Err(memory.clone());
        let mut schedule = Schedule::new(&plan, &mut order, false);
        if of_ordering {
            schedule.factor = FactorCost::Estimated { ordering: 1e-3, least: 2e-3, total: 3e-3 };
        } else {
            schedule.factor = FactorCost::Known { factor: 1e-3, total: 2e-3 };
            assert_eq!(schedule.next(), Next::Factor);
            schedule.begin_factor();
            schedule.end_factor(&memory, false);
        }
        assert_eq!(schedule.next(), Next::Iterate(0), "an ordering: {of_ordering}");
        assert_eq!(schedule.factor, FactorCost::None(memory.clone()));
    }
}

/// An ordering is deferred until half of its cost, with the setup that would follow if no method can go on; a setup does not exceed twice
/// the bound from below. What begins by the plan is what begins in the solve.
#[test]
fn an_ordering_is_deferred_until_half_of_its_cost() {
    let plan = plan_of(Auto::default(), &CANDIDATES, true);
    let (setup, expected) = (plan.setup(0), plan.expected(0));
    assert!(expected < plan.expected(1), "Jacobi is first");
    for (begins, ordering, least, total, orders) in [
        (false, 2.1 * setup, 2.1 * setup, 0.5 * expected, false),
        (false, 1.9 * setup, 1.9 * setup, 0.5 * expected, true),
        (false, 1.9 * setup, 1.9 * setup, 2.0 * expected, false),
        (false, 0.1 * setup, 0.4 * setup, 2.0 * expected, true),
        (true, 2.1 * setup, 2.1 * setup, 0.5 * expected, false),
        (true, 1.9 * setup, 1.9 * setup, 0.5 * expected, true),
    ] {
        let mut ordered = false;
        let mut order = || {
            ordered = true;
            Ok((FactorStats { nnz: 1 << 20, bytes: 1, products: 0, flops: 1e9 }, None))
        };
        let factor = FactorCost::Estimated { ordering, least, total };
        let plan = Plan { factor, ..plan.clone() };
        let mut schedule = Schedule::new(&plan, &mut order, false);
        if begins {
            schedule.begin(0);
        } else {
            assert_eq!(plan.begins().0 == Method::Direct, orders, "{ordering:e} {least:e} {total:e}");
        }
        schedule.next();
        assert_eq!(ordered, orders, "{begins} {ordering:e} {least:e} {total:e}");
    }
}
