//! The bound is tested with an adversary, which chooses iterations, forecasts, sizes and failures. The work
//! is at most three times the smaller of the work of all methods tried and the work of the factor.

use coarsen_core::Outcome;
use coarsen_direct::FactorStats;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::cost::Costs;
use crate::plan::{FactorCost, Plan};
use crate::sample::Sample;
use crate::schedule::{Next, Order, Schedule};
use crate::{Auto, Ending, Method, Precond};

/// The behaviour of a preconditioner, chosen by the adversary.
#[derive(Clone, Debug)]
struct Secret {
    /// The number of iterations until convergence.
    takes: usize,
    /// How it ends, if it fails.
    fails: Option<Outcome>,
    /// Its operator complexity.
    complexity: f64,
    /// The residuals that it reports, repeated in a cycle. They are false, and all are above the tolerance.
    shows: Vec<f64>,
    /// The condition number that it reports.
    condition: Option<f64>,
}

/// Runs attempts as the adversary has chosen, and records the most expensive iteration.
struct Adversary<'a> {
    secrets: Vec<Secret>,
    plan: &'a Plan,
    factors: bool,
    /// The cost of the most expensive iteration.
    dearest: f64,
    /// Whether a method that began can still continue.
    alive: Vec<bool>,
    ending: Ending,
    /// The last attempt; `None` for a factor.
    last: Option<usize>,
}

impl<'a> Adversary<'a> {
    fn new(secrets: Vec<Secret>, plan: &'a Plan, factors: bool) -> Self {
        let alive = vec![false; secrets.len()];
        let ending = Ending::Method(Outcome::Stopped);
        Self { secrets, plan, factors, dearest: 0.0, alive, ending, last: None }
    }

    /// Runs a schedule to its end. Returns the work of iterations, of ordering and factor, and why there was no factor.
    fn run(&mut self, order: &mut Order<'_>) -> (f64, f64, Option<Ending>) {
        let mut schedule = Schedule::new(self.plan, order, false);
        loop {
            match schedule.next() {
                Next::Iterate(i) => {
                    schedule.begin(i);
                    self.ending = self.iterate(i, &mut schedule);
                    schedule.end(i, 0, &self.ending);
                    self.last = Some(i);
                }
                Next::Factor => {
                    schedule.begin_factor();
                    let outcome = if self.factors { Outcome::Converged } else { Outcome::Breakdown };
                    self.ending = Ending::Method(outcome);
                    schedule.end_factor(&self.ending, false);
                    self.last = None;
                }
                Next::End => break,
            }
        }
        let why = if let FactorCost::None(why) = &schedule.factor { Some(why.clone()) } else { None };
        (schedule.iteration_work, schedule.factor_work, why)
    }

    fn iterate(&mut self, i: usize, schedule: &mut Schedule<'_>) -> Ending {
        let secret = &self.secrets[i];
        let mut monitor = schedule.monitor(i, secret.complexity);
        self.dearest = self.dearest.max(self.plan.iteration(i, secret.complexity));
        self.alive[i] = true;
        let condition = || secret.condition;
        for number in 0..=secret.takes {
            let shown = secret.shows[number % secret.shows.len()];
            if monitor.observe(number, shown, &condition).is_break() {
                return Ending::Method(Outcome::Stopped);
            }
        }
        self.alive[i] = secret.fails.is_none();
        if secret.fails == Some(Outcome::IndefiniteOperator) {
            // No method for positive definite matrices can go on.
            let definite = |method: Method| matches!(method, Method::Cg | Method::FlexibleCg);
            let candidates = self.plan.candidates.iter().zip(&mut self.alive);
            candidates.filter(|(candidate, _)| definite(candidate.0)).for_each(|(_, alive)| *alive = false);
        }
        Ending::Method(secret.fails.unwrap_or(Outcome::Converged))
    }
}

fn secret() -> impl Strategy<Value = Secret> {
    let fails = prop_oneof![
        6 => Just(None),
        2 => Just(Some(Outcome::Breakdown)),
        1 => Just(Some(Outcome::IndefiniteOperator)),
    ];
    let takes = prop_oneof![0_usize..60, 0_usize..3000];
    let shows = prop::collection::vec((-7.9_f64..2.0).prop_map(|e| 10_f64.powf(e)), 1..40);
    let condition = prop::option::of((0.0_f64..14.0).prop_map(|e| 10_f64.powf(e)));
    (takes, fails, 1.0_f64..6.0, shows, condition).prop_map(|(takes, fails, complexity, shows, condition)| {
        Secret { takes, fails, complexity, shows, condition }
    })
}

fn costs() -> impl Strategy<Value = Costs> {
    let sizes = (2.5_f64..6.5, 1_usize..7, 2.0_f64..60.0, 0.0_f64..1.0, 0.0_f64..5.0);
    (sizes, -12.0_f64..0.0, 0.0_f64..6.0, any::<bool>(), any::<bool>()).prop_map(
        |((size, block, per_row, uniformity, width), quotient, jump, near_kernel, pivots)| {
            let nodes = 10_f64.powf(size).round();
            Costs {
                unknowns: nodes * block as f64,
                entries: (nodes * per_row).round() * (block * block) as f64,
                block,
                sample: Sample {
                    uniformity,
                    mixed: 1.0 - uniformity,
                    couplings: 10_f64.powf(jump / 8.0),
                    rayleigh_quotient: 10_f64.powf(quotient),
                    diagonal_jump: 10_f64.powf(jump),
                },
                width: 10_f64.powf(width),
                near_kernel,
                pivots,
                lu: pivots,
                tolerance: 1e-8,
            }
        },
    )
}

/// The candidates of a positive definite, of an indefinite, and of an unsymmetric matrix.
const CANDIDATES: [[(Method, Precond); 4]; 3] = [
    [
        (Method::Cg, Precond::Jacobi),
        (Method::Cg, Precond::Skinning),
        (Method::Cg, Precond::SmoothedAggregation),
        (Method::Cg, Precond::Ic0),
    ],
    [
        (Method::Minres, Precond::L1Jacobi),
        (Method::Minres, Precond::None),
        (Method::Gmres, Precond::Ilu0),
        (Method::Gmres, Precond::RestrictedSchwarz),
    ],
    [
        (Method::Gmres, Precond::SmoothedAggregation),
        (Method::BiCgStab, Precond::Ilu0),
        (Method::Gmres, Precond::Ilu0),
        (Method::Gmres, Precond::L1Jacobi),
    ],
];

fn plan(costs: Costs, of: usize, total: f64, memory: usize, single: bool) -> Plan {
    let auto = Auto { max_iterations: 1_000_000, memory, single, ..Auto::default() };
    let factor = FactorCost::Estimated { ordering: costs.ordering(), least: costs.least(), total };
    Plan { costs, factor, ..super::plan_of(auto, &CANDIDATES[of], of < 2) }
}

#[test]
fn work_is_at_most_three_times_the_cheaper() {
    check_work(2500);
}

#[test]
#[ignore = "4 s: run by .ci/full"]
fn long_work_is_at_most_three_times_the_cheaper() {
    check_work(10_000);
}

#[test]
fn methods_that_can_solve_are_tried() {
    check_tried(2500);
}

#[test]
#[ignore = "4 s: run by .ci/full"]
fn long_methods_that_can_solve_are_tried() {
    check_tried(10_000);
}

fn config(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(1988);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

fn check_work(cases: u32) {
    proptest!(config(cases), |(
        costs in costs(),
        of in 0..3_usize,
        secrets in prop::collection::vec(secret(), 4),
        (fill, flops) in (0.0_f64..4.0, 0.0_f64..14.0),
        total in 0.0_f64..14.0,
        single in any::<bool>(),
        factor_first in prop::bool::weighted(0.1),
    )| {
        let nnz = (0.5 * costs.entries * 10_f64.powf(fill)).ceil() as usize;
        let stats = FactorStats { nnz, bytes: 1, products: 0, flops: 10_f64.powf(flops) };
        let plan = Plan { factor_first, ..plan(costs, of, 10_f64.powf(total), 2, single) };
        let mut adversary = Adversary::new(secrets, &plan, true);
        let (iteration_work, factor_work, unbounded) = adversary.run(&mut || Ok((stats, None)));

        prop_assert!(adversary.ending.converged());
        prop_assert_eq!(unbounded, None);
        let whole = costs.ordering() + costs.factor(&stats);
        let spent = iteration_work + factor_work;
        // The cost of the methods tried is at least their work so far; a method that failed has infinite cost.
        let alive = adversary.alive.contains(&true);
        let tried = if iteration_work > 0.0 && alive { iteration_work } else { f64::INFINITY };
        let best = tried.min(whole);
        prop_assert!(
            spent <= (3.0 * best + 3.0 * adversary.dearest) * (1.0 + 1e-9),
            "{spent:e} for {best:e}: iteration_work {iteration_work:e}, factor {whole:e}"
        );
    });
}

/// Without a factor, a method that can solve the system ends the solve, whatever the others promise.
fn check_tried(cases: u32) {
    proptest!(config(cases), |(
        costs in costs(),
        of in 0..3_usize,
        secrets in prop::collection::vec(secret(), 4),
        memory in any::<bool>(),
    )| {
        let plan = plan(costs, of, 1e14, 1, false);
        let stats = FactorStats { nnz: 1 << 40, bytes: 2, products: 0, flops: 1e9 };
        let able = secrets.iter().any(|s| s.fails.is_none());
        let indefinite = of == 0 && secrets.iter().any(|s| s.fails == Some(Outcome::IndefiniteOperator));
        let mut adversary = Adversary::new(secrets, &plan, false);
        adversary.run(&mut || if memory { Ok((stats, None)) } else { Err(Ending::FactorExcluded) });
        prop_assert!(!able || indefinite || adversary.ending.converged(), "{:?}", adversary.alive);
        prop_assert!(adversary.last.is_some(), "there is no factor");
    });
}
