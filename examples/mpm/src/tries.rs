//! How `auto` chooses the driver of a step: three drivers take turns, and their work is counted.
//!
//! No clock is read, so that runs repeat with the same bits. The first steps are taken by the three in turn, later ones
//! by the driver whose last step was the least work w. Another one gets a turn after 16 w / w_least steps, at most 256:
//! so turns cost about 1/16 of a step for each of the two. A turn ends at three times the least work, counted without
//! coarsest solves, which together take at most as much again, or when it fails, also with an error; the
//! best other driver then completes the step from where it is, or the third one if that one has an error.
//!
//! | letter | meaning | ns |
//! |---|---|---:|
//! | p | evaluations of E times particles | `VALUE` |
//! | q | evaluations of ∇E times particles | `GRADIENT` |
//! | b | blocks of the Hessian times setups, cycles, or iterations of the coarsest solve | `COSTS` |
//!
//! The constants are nanoseconds of one thread, fitted once (`benches/README.md`, *The choice of `auto`*); only ratios
//! matter.

use coarsen::follow::Driver;

/// The drivers that take turns.
pub const DRIVERS: [Driver; 3] = [Driver::Hot, Driver::LbfgsH, Driver::LbfgsMas];

/// The steps between two turns of a driver, times its work relative to the least.
const WAIT: f64 = 16.0;

/// The largest ratio that counts.
const RATIO: f64 = 16.0;

/// The largest work of a step, ns: 30 years.
const DEAREST: f64 = 1e18;

/// A turn ends at this multiple of the least work.
const MOST: f64 = 3.0;

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

    /// The number of iterations with which a step is as much work as `work`, if each takes one evaluation.
    fn iterations(&self, driver: usize, work: f64) -> usize {
        let of = |iterations| {
            let counts = Self { iterations, values: iterations, gradients: iterations, coarsest: 0, ..*self };
            counts.work(driver)
        };
        let (none, one) = (of(0), of(1));
        ((work - none) / (one - none)).clamp(1.0, 1e6) as usize
    }
}

/// What the drivers did so far; a part of the state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tries {
    /// The number of steps.
    pub steps: u64,
    /// The number of steps after the last turn of each driver; 0 before the first.
    pub last: [u64; DRIVERS.len()],
    /// The work of the last step of each driver, ns; 0 before the first.
    pub work: [f64; DRIVERS.len()],
}

impl Tries {
    /// The driver with the least work, as an index of [`DRIVERS`]; the first before any turn.
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

    /// The most iterations of the next step by a driver; `None` without a limit.
    pub fn most(&self, driver: usize, counts: &Counts) -> Option<usize> {
        let best = self.best();
        let other = self.last[best] > 0 && driver != best;
        other.then(|| counts.iterations(driver, MOST * self.work[best]))
    }

    /// The most iterations of all coarsest solves of the next step by a driver; `None` without a limit.
    pub fn most_coarsest(&self, driver: usize, counts: &Counts) -> Option<usize> {
        let Costs { coarsest, .. } = COSTS[driver];
        let best = self.best();
        let other = coarsest > 0.0 && self.last[best] > 0 && driver != best;
        let rest = (MOST * self.work[best] - counts.work(driver)).max(0.0);
        other.then(|| (rest / (coarsest * counts.blocks as f64)) as usize)
    }

    /// All drivers but one, the best first.
    pub fn others(self, driver: usize) -> impl Iterator<Item = usize> {
        let best = if self.best() == driver { (driver + 1) % DRIVERS.len() } else { self.best() };
        std::iter::once(best).chain((0..DRIVERS.len()).filter(move |&k| k != driver && k != best))
    }

    /// Records a step that a driver did not solve: it has the largest ratio to the others, up to a bound that repeated
    /// failures of all of them cannot pass.
    pub fn fail(&mut self, driver: usize, work: f64) {
        let others = (0..DRIVERS.len()).filter(|&k| k != driver && self.last[k] > 0);
        let least = others.map(|k| self.work[k]).fold(f64::INFINITY, f64::min);
        self.learn(driver, (RATIO * if least.is_finite() { least } else { work }).min(DEAREST));
    }

    /// Records a step.
    pub fn learn(&mut self, driver: usize, work: f64) {
        self.steps += 1;
        (self.last[driver], self.work[driver]) = (self.steps, work);
    }
}
