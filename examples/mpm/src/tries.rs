//! How `auto` chooses the driver of a step: three drivers take turns, and their work is counted.
//!
//! No clock is read, so that runs repeat with the same bits. The first steps are taken by the three in turn, later ones
//! by the driver with the least expected work w. That is the mean of its work in the last step in which it ran and of what was
//! expected before, so that one hard or easy step counts half. Another driver gets a turn after 24 w / w_least steps, at most 384:
//! so turns cost about 1/24 of a step for each of the two. The price is that old steps count long. A driver that is stopped in one
//! hard step may be out until its next turn, and a driver that becomes the fastest after hard steps of all is found after some
//! of its turns, which may be hundreds of steps.
//!
//! A driver may be fast in one step and slow in the next, where a stiff body strains for the first time. So each run of a
//! driver ends at a multiple of the least expected work of the others: twice in a turn of a driver that is not the best, three times
//! otherwise. Then those of the other drivers that were tried before solve the step from its start, that of the least work first,
//! each with its limit: what a stopped driver has spent counts as its work there. If none does, drivers run without a limit: `hot`,
//! whose iterations depend least on the material, then the rest. A driver that fails by itself, also with an error, has no second
//! run.
//!
//! | letter | meaning | ns |
//! |---|---|---:|
//! | p | evaluations of E times particles | `VALUE` |
//! | q | evaluations of ∇E times particles | `GRADIENT` |
//! | b | blocks of the Hessian times setups, cycles, or iterations of the coarsest solve | `COSTS` |
//!
//! The constants are nanoseconds of one thread, fitted once (`benches/results/show.py hot/auto`); only ratios
//! matter.

use coarsen::follow::Driver;

/// The drivers that take turns.
pub const DRIVERS: [Driver; 3] = [Driver::Hot, Driver::LbfgsH, Driver::LbfgsMas];

/// The steps between two turns of a driver, times its work relative to the least.
const WAIT: f64 = 24.0;

/// The largest ratio that counts.
const RATIO: f64 = 16.0;

/// The largest work of a step, ns: 30 years.
const DEAREST: f64 = 1e18;

/// A run ends at this multiple of the least work of the other drivers.
const MOST: f64 = 3.0;

/// A turn of a driver that is not the best ends at this multiple.
const TURN: f64 = 2.0;

/// An evaluation of E, per particle.
const VALUE: f64 = 110.0;

/// An evaluation of ∇E at a point with E, per particle.
const GRADIENT: f64 = 150.0;

/// The cost of a driver per block of the Hessian.
struct Costs {
    /// The Hessian and the preconditioner.
    setup: f64,
    /// An application of the preconditioner; the fit finds none but that of a V-cycle.
    apply: f64,
    /// An iteration of the coarsest solve.
    coarsest: f64,
}

/// The costs of the drivers, in their order.
const COSTS: [Costs; 3] = [
    Costs { setup: 200.0, apply: 22.0, coarsest: 0.2 },
    Costs { setup: 175.0, apply: 0.0, coarsest: 4.0 },
    Costs { setup: 210.0, apply: 0.0, coarsest: 0.0 },
];

/// What is counted in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Iterations of the descent.
    pub iterations: usize,
    /// Evaluations of E.
    pub values: usize,
    /// Evaluations of ∇E.
    pub gradients: usize,
    /// Iterations of coarsest solves.
    pub coarsest: usize,
    /// Particles.
    pub particles: usize,
    /// Blocks of the Hessian.
    pub blocks: usize,
}

impl Counts {
    /// The work of a step by a driver of [`DRIVERS`], ns.
    pub fn work(&self, driver: usize) -> f64 {
        let Costs { setup, apply, coarsest } = COSTS[driver];
        let per_block = setup + apply * self.iterations as f64 + coarsest * self.coarsest as f64;
        let per_particle = VALUE * self.values as f64 + GRADIENT * self.gradients as f64;
        per_block * self.blocks as f64 + per_particle * self.particles as f64
    }

    /// The most iterations of all coarsest solves with which a step by a driver is no more than `work`.
    pub fn most_coarsest(&self, driver: usize, work: f64) -> usize {
        let cost = COSTS[driver].coarsest * self.blocks as f64;
        ((work - self.work(driver)).max(0.0) / cost.max(f64::MIN_POSITIVE)) as usize
    }
}

/// What the drivers did so far; a part of the state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tries {
    /// The number of steps.
    pub steps: u64,
    /// The number of the last step of each driver, from 1; 0 before the first.
    pub last: [u64; DRIVERS.len()],
    /// The expected work of a step of each driver, ns; 0 before the first.
    pub work: [f64; DRIVERS.len()],
}

impl Tries {
    /// The driver with the least expected work, as an index of [`DRIVERS`]; the first before any turn.
    pub fn best(&self) -> usize {
        let tried = (0..DRIVERS.len()).filter(|&k| self.last[k] > 0);
        tried.min_by(|&a, &b| self.work[a].total_cmp(&self.work[b])).unwrap_or(0)
    }

    /// The steps between two turns of a driver.
    pub fn wait(&self, driver: usize) -> u64 {
        let ratio = self.work[driver] / self.work[self.best()].max(f64::MIN_POSITIVE);
        (WAIT * ratio.clamp(1.0, RATIO)) as u64
    }

    /// The driver of the next step.
    pub fn next(&self) -> usize {
        let best = self.best();
        let due = |k: &usize| {
            self.last[*k] == 0 || *k != best && self.steps.saturating_sub(self.last[*k]) >= self.wait(*k)
        };
        (0..DRIVERS.len()).find(due).unwrap_or(best)
    }

    /// The work at which the next run of a driver in a step ends: a multiple of the least work of the others, which is what is
    /// expected of each, or what counts for it in the step if that is more. `None` if no other driver ran in a step before.
    pub fn limit(&self, driver: usize, step: &Spent) -> Option<f64> {
        let is_turn = driver != self.best() && step.is_empty();
        let most = if is_turn { TURN } else { MOST };
        let others = (0..DRIVERS.len()).filter(|&k| k != driver && self.last[k] > 0);
        others.map(|k| most * self.work[k].max(step.work[k])).min_by(f64::total_cmp)
    }

    /// The order in which drivers solve a step until one succeeds, and whether the run has a [limit](Self::limit): the one
    /// whose turn it is, the others that were tried, then all without a limit, `hot` first.
    pub fn order(&self, first: usize) -> Vec<(usize, bool)> {
        let hot = |k: usize| DRIVERS[k] == Driver::Hot;
        let tried = |k: usize| self.last[k] > 0;
        let limited = self.sorted(|k| u8::from(k != first)).filter(|&k| k == first || tried(k));
        let free = self.sorted(|k| 2 * u8::from(!hot(k)) + u8::from(!tried(k)));
        limited.map(|k| (k, true)).chain(free.map(|k| (k, false))).collect()
    }

    /// All drivers by their class, then by their work.
    fn sorted(&self, class: impl Fn(usize) -> u8) -> impl Iterator<Item = usize> {
        let mut all = [0, 1, 2];
        all.sort_by(|&a, &b| class(a).cmp(&class(b)).then(self.work[a].total_cmp(&self.work[b])));
        all.into_iter()
    }

    /// The work that counts for a driver which did not solve a step after `work`: at least the largest ratio to the least of the
    /// others, or to its own work without others, up to a bound that repeated failures of all of them cannot pass.
    pub fn of_failure(&self, driver: usize, work: f64) -> f64 {
        let others = (0..DRIVERS.len()).filter(|&k| k != driver && self.last[k] > 0);
        let least = others.map(|k| self.work[k]).fold(f64::INFINITY, f64::min);
        work.max(RATIO * if least.is_finite() { least } else { work }).min(DEAREST)
    }

    /// Ends a step: for each driver that ran in it the expected work is the mean of what was expected before and of its work in the
    /// step; the latter alone, if this was its first step.
    pub fn learn(&mut self, step: &Spent) {
        self.steps = self.steps.saturating_add(1);
        for k in (0..DRIVERS.len()).filter(|&k| step.work[k] > 0.0) {
            let before = if self.last[k] > 0 { self.work[k] } else { step.work[k] };
            (self.last[k], self.work[k]) = (self.steps, 0.5 * before + 0.5 * step.work[k]);
        }
    }
}

/// What the drivers spent in a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// The work that counts for each driver, ns: at least that of its longest run; 0 without a run.
    pub work: [f64; DRIVERS.len()],
    /// How its last run ended.
    end: [Option<End>; DRIVERS.len()],
}

/// How a run of a driver ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Stopped,
    Failed,
    Solved,
}

impl Spent {
    /// Whether no driver ran.
    pub fn is_empty(&self) -> bool {
        self.end == [None; DRIVERS.len()]
    }

    /// Records that a run of a driver was stopped after this work.
    pub fn stop(&mut self, driver: usize, work: f64) {
        self.count(driver, work, End::Stopped);
    }

    /// Records that a run of a driver failed, with the [work that counts](Tries::of_failure).
    pub fn fail(&mut self, driver: usize, work: f64) {
        self.count(driver, work, End::Failed);
    }

    /// Records that a driver solved the step: those that were stopped would have needed as much, and those that failed have the
    /// largest ratio to it.
    pub fn solve(&mut self, driver: usize, work: f64) {
        self.count(driver, work, End::Solved);
        for (counted, end) in self.work.iter_mut().zip(self.end) {
            match end {
                Some(End::Stopped) => *counted = counted.max(work),
                Some(End::Failed) => *counted = counted.max((RATIO * work).min(DEAREST)),
                Some(End::Solved) | None => {}
            }
        }
    }

    fn count(&mut self, driver: usize, work: f64, end: End) {
        (self.work[driver], self.end[driver]) = (self.work[driver].max(work), Some(end));
    }
}
