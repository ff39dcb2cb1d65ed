//! The bound is tested with an adversary, which chooses iterations, forecasts, sizes and failures. The work
//! is at most three times the smaller of the work of all methods tried and the work of the factor.

use std::convert::Infallible;

use coarsen_auto::{
    Costs, End, Factored, Kind, Last, Meter, Method, NoFactor, Plan, Price, Step, Steps, Terms, drive,
};
use coarsen_direct::Figures;
use proptest::prelude::*;

/// The behaviour of a preconditioner, chosen by the adversary.
#[derive(Clone, Debug)]
struct Secret {
    /// The number of iterations until convergence.
    takes: usize,
    /// How it ends, if it fails.
    fails: Option<End>,
    /// Its operator complexity.
    complexity: f64,
    /// The residuals that it reports, repeated in a cycle. They are false, and all are above the tolerance.
    shows: Vec<f64>,
    /// The condition number that it reports.
    condition: Option<f64>,
}

/// Runs attempts as the adversary has chosen, and records the most expensive iteration.
struct Adversary {
    secrets: Vec<(Kind, Secret)>,
    costs: Costs,
    factor: Factored,
    /// The cost of the most expensive iteration.
    granule: f64,
    /// Whether the last attempt was stopped while it could still continue.
    alive: bool,
    begun: Vec<Kind>,
}

impl Steps for Adversary {
    type Error = Infallible;

    fn iterate(&mut self, step: Step, meter: &mut Meter<'_>) -> Result<End, Infallible> {
        let secret = &self.secrets.iter().find(|(kind, _)| *kind == step.kind).expect("a secret each").1;
        self.begun.push(step.kind);
        meter.built(secret.complexity);
        self.granule = self.granule.max(self.costs.iteration(step.kind, secret.complexity));
        self.alive = true;
        let condition = || secret.condition;
        for number in 0..=secret.takes {
            let shown = secret.shows[number % secret.shows.len()];
            if meter.see(number, shown, &condition).is_break() {
                return Ok(End::Stopped);
            }
        }
        self.alive = secret.fails.is_none();
        Ok(secret.fails.unwrap_or(End::Converged))
    }

    fn factor(&mut self) -> Result<Factored, Infallible> {
        Ok(self.factor)
    }
}

fn secret() -> impl Strategy<Value = Secret> {
    let fails = prop_oneof![
        6 => Just(None),
        1 => Just(Some(End::Broken)),
        1 => Just(Some(End::Rounding)),
        1 => Just(Some(End::Indefinite)),
    ];
    let takes = prop_oneof![0_usize..60, 0_usize..3000];
    let shows = prop::collection::vec((-7.9_f64..2.0).prop_map(|e| 10_f64.powf(e)), 1..40);
    let condition = prop::option::of((0.0_f64..14.0).prop_map(|e| 10_f64.powf(e)));
    (takes, fails, 1.0_f64..6.0, shows, condition).prop_map(|(takes, fails, complexity, shows, condition)| {
        Secret { takes, fails, complexity, shows, condition }
    })
}

fn costs() -> impl Strategy<Value = Costs> {
    (2.5_f64..6.5, 1_usize..7, 2.0_f64..60.0, 0.0_f64..1.0, 0.0_f64..5.0).prop_map(
        |(size, block, per_row, evenness, width)| {
            let nodes = 10_f64.powf(size).round();
            let unknowns = nodes * block as f64;
            let stored_blocks = (nodes * per_row).round();
            let entries = stored_blocks * (block * block) as f64;
            Costs { unknowns, entries, nodes, stored_blocks, block, evenness, width: 10_f64.powf(width) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn work_is_at_most_three_times_the_cheaper(
        costs in costs(),
        secrets in prop::collection::vec(secret(), 4),
        (fill, flops) in (0.0_f64..4.0, 0.0_f64..14.0),
        (promise, cheap) in (0.0_f64..14.0, any::<bool>()),
        narrow in any::<bool>(),
        begins in 0..6_usize,
    ) {
        let kinds = [Kind::Jacobi, Kind::Skinning, Kind::SmoothedAggregation, Kind::Ic0];
        let nnz = (0.5 * costs.entries * 10_f64.powf(fill)).ceil();
        let figures = Figures { nnz: Some(nnz as usize), bytes: 1, products: 0, flops: Some(10_f64.powf(flops)) };
        let price = Price::Unknown { ordering: costs.ordering(), least: costs.least(), promise: 10_f64.powf(promise), cheap };
        let first = match begins {
            4 => Some(Last::Factor),
            5 => None,
            k => Some(Last::Iterations(kinds[k])),
        };
        let plan = Plan {
            costs, trial: kinds[0], first, kinds: kinds[1..].to_vec(), method: Method::Cg, price, memory: 2,
        };
        let factor = Factored { end: End::Converged, twice: false };
        let mut adversary = Adversary {
            secrets: kinds.into_iter().zip(secrets).collect(), costs, factor, granule: 0.0, alive: false, begun: Vec::new(),
        };
        let terms = Terms { tolerance: 1e-8, max_iterations: 1_000_000, narrow };
        let course = drive(&plan, terms, &mut adversary, &mut || Ok(figures)).unwrap();

        prop_assert_eq!(course.end, End::Converged);
        prop_assert_eq!(course.unbounded, None);
        let whole = costs.ordering() + costs.factor(&figures).unwrap();
        let (spent, rent) = (course.ledger.spent(), course.ledger.rent());
        // The cost of the methods tried is at least the rent; a failed method has infinite cost.
        let tried = if rent > 0.0 && adversary.alive { rent } else { f64::INFINITY };
        let best = tried.min(whole);
        prop_assert!(
            spent <= (3.0 * best + 3.0 * adversary.granule) * (1.0 + 1e-9),
            "{spent:e} for {best:e}: rent {rent:e}, factor {whole:e}, {:?}, {:?}", course.events, course.ledger
        );
        if course.last == Last::Factor && rent > 0.0 && adversary.alive {
            prop_assert!(rent >= 0.5 * whole * (1.0 - 1e-9), "bought after {:.2} of the price", rent / whole);
        }
    }

    /// Without a factor two preconditioners take turns, each turn twice as long as the last. The
    /// preconditioner that can solve the system ends the solve.
    #[test]
    fn turns_end_with_whoever_can(
        costs in costs(),
        secrets in prop::collection::vec(secret(), 3),
        memory in any::<bool>(),
    ) {
        let kinds = [Kind::Jacobi, Kind::SmoothedAggregation, Kind::Ic0];
        let price = Price::Unknown { ordering: costs.ordering(), least: costs.least(), promise: 1e14, cheap: false };
        let plan = Plan {
            costs, trial: kinds[0], first: None, kinds: kinds[1..].to_vec(), method: Method::Cg, price, memory: 1,
        };
        let figures = Figures { nnz: Some(1 << 40), bytes: 2, products: 0, flops: Some(1e9) };
        let factor = Factored { end: End::Broken, twice: false };
        let able = secrets[1..].iter().any(|s| s.fails.is_none());
        let indefinite = secrets.iter().any(|s| s.fails == Some(End::Indefinite));
        let mut adversary = Adversary {
            secrets: kinds.into_iter().zip(secrets).collect(), costs, factor, granule: 0.0, alive: false, begun: Vec::new(),
        };
        let terms = Terms { tolerance: 1e-8, max_iterations: 1_000_000, narrow: false };
        let mut order = || if memory { Ok(figures) } else { Err(NoFactor::Failed) };
        let course = drive(&plan, terms, &mut adversary, &mut order).unwrap();
        prop_assert!(!able || indefinite || course.end == End::Converged, "{course:?}");
        prop_assert!(course.last != Last::Factor);
    }
}

/// A cheap trial continues because its forecast is below the forecast of the hierarchy, then stagnates. The
/// hierarchy then ends the solve.
#[test]
fn a_trial_that_breaks_its_promise_gives_way() {
    let costs = Costs {
        unknowns: 57_000.0,
        entries: 4.4e6,
        nodes: 19_000.0,
        stored_blocks: 4.9e5,
        block: 3,
        evenness: 1.0,
        width: 3000.0,
    };
    let falls = |per: f64, floor: f64| move |i: usize| 10_f64.powf(-(i as f64) / per).max(floor);
    let trial = Secret {
        takes: 100_000,
        fails: None,
        complexity: 1.0,
        shows: (0..100_000).map(falls(65.0, 1e-7)).collect(),
        condition: None,
    };
    let hierarchy = Secret {
        takes: 700,
        complexity: 1.3,
        shows: (0..1000).map(falls(400.0, 1e-7)).collect(),
        ..trial.clone()
    };
    let kinds = [Kind::BlockJacobi, Kind::SmoothedAggregation, Kind::Ic0];
    let price = Price::Unknown {
        ordering: costs.ordering(),
        least: costs.least(),
        promise: costs.direct(),
        cheap: false,
    };
    let (method, first) = (Method::Cg, None);
    let plan = Plan { costs, trial: kinds[0], first, kinds: kinds[1..].to_vec(), method, price, memory: 2 };
    let figures = Figures { nnz: Some(80_000_000), bytes: 1, products: 0, flops: Some(1e14) };
    let factor = Factored { end: End::Converged, twice: false };
    let mut adversary = Adversary {
        secrets: kinds.into_iter().zip([trial.clone(), hierarchy, trial]).collect(),
        costs,
        factor,
        granule: 0.0,
        alive: false,
        begun: Vec::new(),
    };
    let terms = Terms { tolerance: 1e-8, max_iterations: 1_000_000, narrow: false };
    let course = drive(&plan, terms, &mut adversary, &mut || Ok(figures)).unwrap();
    assert_eq!(
        (course.last, course.end),
        (Last::Iterations(kinds[1]), End::Converged),
        "{:?}",
        course.events
    );
    assert_eq!(adversary.begun[..4], [kinds[0], kinds[1], kinds[0], kinds[1]], "{:?}", course.events);
}
