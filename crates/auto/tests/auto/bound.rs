//! The bound is tested with an adversary, which chooses iterations, forecasts, sizes and failures. The work
//! is at most three times the smaller of the work of all methods tried and the work of the factor.

use std::convert::Infallible;

use coarsen_auto::{
    Attempt, Attempts, Candidate, Costs, Ending, FactorCost, Kind, Last, Limits, Method, Monitor, NoFactor,
    Plan, Reason, Why, drive,
};
use coarsen_core::Outcome;
use coarsen_direct::Figures;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

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
struct Adversary {
    secrets: Vec<Secret>,
    plan: Plan,
    factors: bool,
    /// The cost of the most expensive iteration.
    granule: f64,
    /// Whether a method that began can still continue.
    alive: Vec<bool>,
    begun: Vec<Kind>,
    ending: Ending,
}

impl Adversary {
    fn new(secrets: Vec<Secret>, plan: &Plan, factors: bool) -> Self {
        let (plan, alive) = (plan.clone(), vec![false; secrets.len()]);
        let ending = Ending::Method(Outcome::Stopped);
        Self { secrets, plan, factors, granule: 0.0, alive, begun: Vec::new(), ending }
    }
}

impl Attempts for Adversary {
    type Error = Infallible;

    fn iterate(&mut self, attempt: Attempt, monitor: &mut Monitor<'_>) -> Result<Ending, Infallible> {
        let Candidate { method, kind } = attempt.candidate;
        let at = self.plan.candidates.iter().position(|c| *c == attempt.candidate).expect("of the plan");
        let secret = &self.secrets[at];
        self.begun.push(kind);
        monitor.built(secret.complexity);
        let iteration = self.plan.costs.iteration(method, kind, secret.complexity);
        self.granule = self.granule.max(iteration);
        self.alive[at] = true;
        let condition = || secret.condition;
        for number in 0..=secret.takes {
            let shown = secret.shows[number % secret.shows.len()];
            if monitor.see(number, shown, &condition).is_break() {
                return Ok(Ending::Method(Outcome::Stopped));
            }
        }
        self.alive[at] = secret.fails.is_none();
        if secret.fails == Some(Outcome::IndefiniteOperator) {
            // No method for positive definite matrices can go on.
            let definite = |c: &Candidate| matches!(c.method, Method::Cg | Method::FlexibleCg);
            let candidates = self.plan.candidates.iter().zip(&mut self.alive);
            candidates.filter(|(c, _)| definite(c)).for_each(|(_, alive)| *alive = false);
        }
        self.ending = Ending::Method(secret.fails.unwrap_or(Outcome::Converged));
        Ok(self.ending.clone())
    }

    fn factor(&mut self) -> Result<(Ending, bool), Infallible> {
        self.ending = Ending::Method(if self.factors { Outcome::Converged } else { Outcome::Breakdown });
        Ok((self.ending.clone(), false))
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
        |((size, block, per_row, evenness, width), quotient, jump, near_kernel, pivots)| {
            let nodes = 10_f64.powf(size).round();
            let unknowns = nodes * block as f64;
            let stored_blocks = (nodes * per_row).round();
            Costs {
                unknowns,
                entries: stored_blocks * (block * block) as f64,
                nodes,
                stored_blocks,
                block,
                evenness,
                quotient: 10_f64.powf(quotient),
                jump: 10_f64.powf(jump),
                width: 10_f64.powf(width),
                near_kernel,
                pivots,
                tolerance: 1e-8,
            }
        },
    )
}

/// The candidates of a positive definite, of an indefinite, and of an unsymmetric matrix.
const CANDIDATES: [[(Method, Kind); 4]; 3] = [
    [
        (Method::Cg, Kind::Jacobi),
        (Method::Cg, Kind::Skinning),
        (Method::Cg, Kind::SmoothedAggregation),
        (Method::Cg, Kind::Ic0),
    ],
    [
        (Method::Minres, Kind::L1Jacobi),
        (Method::Minres, Kind::Identity),
        (Method::Gmres, Kind::Ilu0),
        (Method::Gmres, Kind::RestrictedSchwarz),
    ],
    [
        (Method::Gmres, Kind::SmoothedAggregation),
        (Method::BiCgStab, Kind::Ilu0),
        (Method::Gmres, Kind::Ilu0),
        (Method::Gmres, Kind::L1Jacobi),
    ],
];

fn plan(costs: Costs, of: usize, factor: FactorCost, memory: usize) -> Plan {
    let candidates = CANDIDATES[of].map(|(method, kind)| Candidate { method, kind }).to_vec();
    let reason = Reason { matrix: String::new(), unknowns: costs.unknowns as usize, why: Why::Cheapest };
    Plan { costs, candidates, first: None, factor, memory, negate: false, symmetric: of < 2, reason }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 10_000, rng_seed: RngSeed::Fixed(1988), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn work_is_at_most_three_times_the_cheaper(
        costs in costs(),
        of in 0..3_usize,
        secrets in prop::collection::vec(secret(), 4),
        (fill, flops) in (0.0_f64..4.0, 0.0_f64..14.0),
        total in 0.0_f64..14.0,
        single in any::<bool>(),
        begins in 0..6_usize,
    ) {
        let nnz = (0.5 * costs.entries * 10_f64.powf(fill)).ceil();
        let figures = Figures { nnz: Some(nnz as usize), bytes: 1, products: 0, flops: Some(10_f64.powf(flops)) };
        let factor = FactorCost::Estimated { ordering: costs.ordering(), least: costs.least(), total: 10_f64.powf(total) };
        let mut plan = plan(costs, of, factor, 2);
        plan.first = match begins {
            4 => Some(Last::Factor),
            5 => None,
            k => Some(Last::Iterations(plan.candidates[k].method, plan.candidates[k].kind)),
        };
        let mut adversary = Adversary::new(secrets, &plan, true);
        let limits = Limits { tolerance: 1e-8, max_iterations: 1_000_000, single };
        let run = drive(&plan, limits, &mut adversary, &mut || Ok(figures)).unwrap();

        prop_assert!(adversary.ending.converged());
        prop_assert_eq!(run.unbounded, None);
        let whole = costs.ordering() + costs.factor(&figures).unwrap();
        let (spent, iterated) = (run.log.total(), run.log.iterated());
        // The cost of the methods tried is at least their work so far; a method that failed has infinite cost.
        let alive = adversary.alive.contains(&true);
        let tried = if iterated > 0.0 && alive { iterated } else { f64::INFINITY };
        let best = tried.min(whole);
        prop_assert!(
            spent <= (3.0 * best + 3.0 * adversary.granule) * (1.0 + 1e-9),
            "{spent:e} for {best:e}: iterated {iterated:e}, factor {whole:e}, {:?}, {:?}", run.events, run.log
        );
    }

    /// Without a factor, a method that can solve the system ends the solve, whatever the others promise.
    #[test]
    fn methods_that_can_solve_have_their_turn(
        costs in costs(),
        of in 0..3_usize,
        secrets in prop::collection::vec(secret(), 4),
        memory in any::<bool>(),
    ) {
        let factor = FactorCost::Estimated { ordering: costs.ordering(), least: costs.least(), total: 1e14 };
        let plan = plan(costs, of, factor, 1);
        let figures = Figures { nnz: Some(1 << 40), bytes: 2, products: 0, flops: Some(1e9) };
        let able = secrets.iter().any(|s| s.fails.is_none());
        let indefinite = of == 0 && secrets.iter().any(|s| s.fails == Some(Outcome::IndefiniteOperator));
        let mut adversary = Adversary::new(secrets, &plan, false);
        let limits = Limits { tolerance: 1e-8, max_iterations: 1_000_000, single: false };
        let mut order = || if memory { Ok(figures) } else { Err(NoFactor::Failed) };
        let run = drive(&plan, limits, &mut adversary, &mut order).unwrap();
        prop_assert!(!able || indefinite || adversary.ending.converged(), "{run:?}");
        prop_assert!(run.last != Last::Factor);
    }
}
