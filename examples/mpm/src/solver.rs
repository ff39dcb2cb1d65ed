//! The solvers of a step, by name: the drivers of the library, and `auto`.
//!
//! All start from free fall or from Δv = 0 (`energy/start.rs`), and all but `gast` stop in the characteristic norm of Wang et al.
//! 2020 (HOT), §5.2:
//!
//! > ‖ĝ‖ ≤ ε √n,    ĝ_i = g_i / (24 Δx² ξ_i Δt)    (9)

use std::cell::Cell;
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::str::FromStr;
use std::time::{Duration, Instant};

use coarsen::follow::{Driver, Needs, TimeStepper, UnknownDriver};
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use coarsen::optimize::{Criterion, DescentMonitor, DescentOutcome, DescentReport, Iterate, Verdict};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::{System, SystemAt};
use coarsen::{Iteration, Vector};
use examples_common::Failure;
use examples_common::files::{Field, Fingerprint};
use examples_common::solver::{Clock, Solver as Known, choose};

use crate::collider::Obstacle;
use crate::energy::{Increment, Products};
use crate::options::Method;
use crate::tries::{Counts, DRIVERS, Spent, Tries};

/// A solver by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// A driver of the library.
    Driver(Driver),
    /// `hot`, `lbfgs-h` or `lbfgs-mas`, whichever is the least work: they take turns (`tries.rs`). While colliders rub,
    /// `pn-pcg`: there it takes fewer iterations, on a small jelly in the same time (`book/src/methods/node_embedding.md`). Up to
    /// 1000 unknowns the preconditioner with the least work on the first system: a factor, skinning, smoothed aggregation,
    /// Gauss-Seidel or block Jacobi. A hierarchy preconditions L-BFGS, the others Newton's method.
    Auto,
}

impl Field for Solver {
    fn add(&self, to: &mut Fingerprint) {
        to.field("name", self.to_string().as_str());
    }
}

/// The name of [`Solver::Auto`].
const AUTO: &str = "auto";

/// The number of levels of the hierarchies: Wang et al. 2020 (HOT), §7.1.
const LEVELS: usize = 3;

/// Up to this number of unknowns `auto` compares preconditioners.
const FEW: usize = 1000;

/// The tolerance of `gast`, kg m/s: Wang et al. 2020 (HOT), §7.1.
const GAST: f64 = 1e-3;

impl Solver {
    /// The names of all solvers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Driver::ALL.into_iter().map(Driver::name).chain([AUTO])
    }

    /// Whether this is [`Auto`](Self::Auto) and its drivers take turns on a step: no collider rubs, and it has more than
    /// 1000 unknowns.
    pub fn takes_turns(self, f: &Increment<'_>) -> bool {
        self == Self::Auto && !f.rubs() && f.size() > FEW
    }
}

impl FromStr for Solver {
    type Err = UnknownDriver;

    fn from_str(name: &str) -> Result<Self, UnknownDriver> {
        if name == AUTO { Ok(Self::Auto) } else { name.parse().map(Self::Driver) }
    }
}

impl fmt::Display for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Driver(driver) => driver.fmt(f),
            Self::Auto => f.pad(AUTO),
        }
    }
}

/// How a solve ended.
#[derive(Debug)]
pub struct Solved {
    /// Δv of the free nodes.
    pub z: Vec<f64>,
    /// The outcome of the descent.
    pub outcome: DescentOutcome,
    /// Iterations of the descent, and of its linear solves on the grid itself: those of Newton's method, or of the initial
    /// inverse Hessian of `lbfgs-h`.
    pub iterations: [usize; 2],
    /// The number of times that the preconditioner was built or updated.
    pub rebuilds: usize,
    /// The number of its applications.
    pub cycles: usize,
    /// ‖ĝ‖ / √n at the end; ‖g‖ in kg m/s for `gast`.
    pub norm: f64,
    /// The time of setups.
    pub setup: Duration,
    /// What was counted; if several drivers of `auto` took the step, of the one with this result.
    pub counts: Counts,
    /// Drivers of `auto` that ended in an error, without which the step went on.
    pub failures: Vec<(Driver, Failure)>,
    /// Seconds since the start of the solve and ‖ĝ‖ / √n, at the start of each run of a driver and after each iteration.
    pub trace: Vec<[f64; 2]>,
}

impl Solved {
    /// This descent, with what another one of the same step has cost.
    fn with(self, other: &Self) -> Self {
        let iterations = [0, 1].map(|k| self.iterations[k] + other.iterations[k]);
        let (rebuilds, cycles) = (self.rebuilds + other.rebuilds, self.cycles + other.cycles);
        let setup = self.setup + other.setup;
        Self { iterations, rebuilds, cycles, setup, ..self }
    }

    /// Whether the gradient at the end is no larger than that of `other`; one that is not finite is the largest. Of the
    /// drivers of `auto` that did not solve a step, the best one is kept.
    pub fn is_as_good_as(&self, other: &Self) -> bool {
        let size = |solved: &Self| match solved.outcome {
            DescentOutcome::NotFinite => f64::INFINITY,
            _ => solved.norm,
        };
        size(self).total_cmp(&size(other)).is_le()
    }
}

/// The monitor that fills [`Solved::trace`].
struct Trace {
    start: Instant,
    points: Vec<[f64; 2]>,
    deadline: Option<Instant>,
    /// The limit of a driver of `auto`.
    budget: Option<Budget>,
    /// Whether it was reached.
    cut: bool,
}

/// The work at which a step by a driver ends.
struct Budget {
    driver: usize,
    size: Counts,
    work: f64,
    /// The iterations of coarsest solves so far.
    coarsest: Rc<Cell<usize>>,
}

impl Budget {
    /// Whether iterations and evaluations so far are more work.
    fn is_spent(&self, iterations: usize, [values, gradients]: [usize; 2]) -> bool {
        let coarsest = self.coarsest.get();
        Counts { iterations, values, gradients, coarsest, ..self.size }.work(self.driver) > self.work
    }
}

/// Whether a deadline is over.
fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|end| Instant::now() >= end)
}

impl<V: Vector<Real = f64>> DescentMonitor<V> for Trace {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self.points.push([self.start.elapsed().as_secs_f64(), it.gradient]);
        self.cut = self.budget.as_ref().is_some_and(|budget| budget.is_spent(it.number, it.evaluations));
        if self.cut || is_over(self.deadline) {
            ControlFlow::Break(Verdict::Stop)
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// What decides the driver of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    /// It is known.
    Named(Driver),
    /// The preconditioner with the least work decides.
    Few,
}

/// The monitor of linear solves that ends them after an instant, once they have a direction.
fn watch<V: Vector>(end: Instant) -> Box<dyn Monitor<V> + Send> {
    Box::new(move |it: &Iteration<'_, V>| {
        if it.number > 0 && Instant::now() >= end {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

/// A solver with its vectors, kept between the steps.
pub struct Minimizer<B: Place<Real = f64>> {
    /// Ends descents and their linear solves after this instant, but not a coarsest solve of `lbfgs-h`; `None` by default.
    /// For benchmarks: with a deadline the result depends on the speed of the machine.
    pub deadline: Option<Instant>,
    /// What `auto` knows of its drivers: a part of the state of a run.
    pub tries: Tries,
    on: B,
    method: Method,
    /// The most iterations of all coarsest solves of the next run.
    coarsest: usize,
    /// The driver of the last step with unknowns, and what decided it.
    driver: Option<(Case, Chosen<B>)>,
}

/// A driver at its place.
enum Chosen<B: Place<Real = f64>> {
    /// With the preconditioner that `auto` chose.
    There(TimeStepper<B>, Option<Known>),
    /// Products with the Hessian run on the host.
    Host(TimeStepper),
}

impl<B: Place<Real = f64>> Minimizer<B> {
    /// Returns the solver of a method at a place.
    pub fn new(method: &Method, on: B) -> Self {
        Self {
            deadline: None,
            tries: Tries::default(),
            on,
            method: method.clone(),
            coarsest: usize::MAX,
            driver: None,
        }
    }

    /// Drops all vectors, and the preconditioner that `auto` chose for few unknowns, but not its [tries](Self::tries).
    pub fn forget(&mut self) {
        self.driver = None;
    }

    /// Minimises the objective of a step at `time` from its [start](Increment::start), and returns it.
    ///
    /// # Errors
    /// Those of preconditioners, of the choice of `auto` and of the place. A step that one driver of `auto` does not
    /// solve is solved by another one. If none does, the result is that with the smallest gradient, or the first error.
    pub fn solve<'a>(
        &mut self,
        mut f: Increment<'a>,
        obstacles: &[Obstacle],
        time: f64,
    ) -> Result<(Solved, Increment<'a>), Failure> {
        let mut z = f.start();
        let (start, deadline) = (Instant::now(), self.deadline);
        let mut trace = Trace { start, points: Vec::new(), deadline, budget: None, cut: false };
        if z.is_empty() {
            // The only point is the minimum.
            let outcome = DescentOutcome::Converged(Criterion::Gradient);
            let (iterations, setup, counts) = ([0; 2], Duration::ZERO, Counts::default());
            let (rebuilds, cycles, norm, failures, trace) = (0, 0, 0.0, Vec::new(), trace.points);
            let solved =
                Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, counts, failures, trace };
            return Ok((solved, f));
        }
        let most = self.method.iterations;
        let case = match self.method.solver {
            Solver::Driver(driver) => Case::Named(driver),
            auto if auto.takes_turns(&f) => {
                let solved = self.take_turns(&mut f, &mut z, (obstacles, time), &mut trace)?;
                return Ok((Solved { z, trace: trace.points, ..solved }, f));
            }
            Solver::Auto if f.rubs() => Case::Named(Driver::PnPcg),
            Solver::Auto => Case::Few,
        };
        let solved = self.run(case, most, &mut f, &mut z, (obstacles, time), &mut trace)?;
        Ok((Solved { z, trace: trace.points, ..solved }, f))
    }

    /// Solves a step by the driver whose turn it is. If that one does not solve it, others do from the start of the step, in
    /// the [order](Tries::order) of what is known of them. They do not go on from where one was stopped: elements may be so
    /// deformed there that every driver needs hundreds of iterations.
    fn take_turns(
        &mut self,
        f: &mut Increment<'_>,
        z: &mut [f64],
        at: (&[Obstacle], f64),
        trace: &mut Trace,
    ) -> Result<Solved, Failure> {
        let (most, size, start) = (self.method.iterations, f.counts(), z.to_vec());
        let order = self.tries.order(self.tries.next());
        let (mut failures, mut reached) = (Vec::new(), None::<(Solved, Vec<f64>)>);
        let (mut spent, mut has_failed) = (Spent::default(), [false; DRIVERS.len()]);
        for (driver, is_limited) in order {
            if has_failed[driver] {
                continue;
            }
            let limit = if is_limited { self.tries.limit(driver, &spent) } else { None };
            trace.budget = limit.map(|work| Budget { driver, size, work, coarsest: Rc::default() });
            self.coarsest = limit.map_or(usize::MAX, |work| size.most_coarsest(driver, work).max(1));
            z.copy_from_slice(&start);
            let run = self.run(Case::Named(DRIVERS[driver]), most, f, z, at, trace);
            self.coarsest = usize::MAX;
            let solved = match run {
                Ok(solved) => solved,
                Err(error) => {
                    has_failed[driver] = true;
                    spent.fail(driver, self.tries.of_failure(driver, size.work(driver)));
                    failures.push((DRIVERS[driver], error));
                    continue;
                }
            };
            let (outcome, work) = (solved.outcome, solved.counts.work(driver));
            let converged = matches!(outcome, DescentOutcome::Converged(_));
            let was_cut = trace.cut && outcome == DescentOutcome::Stopped;
            has_failed[driver] = !converged && !was_cut;
            if converged {
                spent.solve(driver, work);
            } else if was_cut {
                spent.stop(driver, work);
            } else {
                spent.fail(driver, self.tries.of_failure(driver, work));
            }
            let ends = converged || outcome == DescentOutcome::Stopped && !was_cut;
            reached = Some(match reached {
                Some((before, at)) if !converged && before.is_as_good_as(&solved) => {
                    (before.with(&solved), at)
                }
                Some((before, _)) => (solved.with(&before), z.to_vec()),
                None => (solved, z.to_vec()),
            });
            if ends {
                break;
            }
        }
        self.tries.learn(&spent);
        match reached {
            Some((solved, at)) => {
                z.copy_from_slice(&at);
                Ok(Solved { failures, ..solved })
            }
            None => Err(failures.swap_remove(0).1),
        }
    }

    /// Runs a driver from z, for at most `end` iterations; z and the trace are not in the result. After an error z is
    /// as before.
    fn run(
        &mut self,
        case: Case,
        end: usize,
        f: &mut Increment<'_>,
        z: &mut [f64],
        (obstacles, time): (&[Obstacle], f64),
        trace: &mut Trace,
    ) -> Result<Solved, Failure> {
        let chosen = match self.driver.take().filter(|(known, _)| *known == case) {
            Some((_, chosen)) => chosen,
            None => self.choose(case, f)?,
        };
        let (weights, most) = f.weights()?;
        // τ is the tolerance of the stiffest material in the Euclidean norm (§5.3).
        let floor = self.method.tolerance * (z.len() as f64 / 3.0).sqrt() * most;
        let (report, setup, driver, coarsest);
        let deadline = self.deadline;
        match &mut self.driver.insert((case, chosen)).1 {
            Chosen::Host(stepper) => {
                (stepper.floor, stepper.max_iterations) = (floor, end);
                stepper.watch(deadline.map(watch));
                let mut products = Products::new(f)?;
                report = stepper.minimize_free(&mut products, z, Some(&weights), trace)?;
                (setup, driver, coarsest) = (products.setup(), stepper.driver(), 0);
            }
            Chosen::There(stepper, known) => {
                (stepper.floor, stepper.max_iterations) = (floor, end);
                stepper.limit_coarsest(self.coarsest);
                trace.budget.iter_mut().for_each(|budget| budget.coarsest = stepper.coarsest_counter());
                stepper.watch(deadline.map(watch));
                report = if let Some(known) = known {
                    let rest = f.positions().into();
                    let recipe = known.recipe(&[], rest, &self.on, &Clock::default());
                    stepper.minimize_with(f, recipe, z, Some(&weights), trace)?
                } else if stepper.driver().needs() == Needs::Quadrature {
                    let (recipe, on) = (f.requadrature(LEVELS, obstacles, time)?, self.on.clone());
                    let recipe =
                        move |system: System<'_, f64>| Ok(Box::new(recipe.build_from(system, &on)?) as _);
                    stepper.minimize_with(f, recipe, z, Some(&weights), trace)?
                } else {
                    let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
                    let restraints = f.restraints().into();
                    let embedding = NodeEmbedding { restraints, ..NodeEmbedding::new(nodes) };
                    stepper.minimize(f, &embedding, z, Some(&weights), trace)?
                };
                (setup, driver) = (stepper.setup(), stepper.driver());
                coarsest = stepper.coarsest_iterations();
            }
        }
        let DescentReport { outcome, iterations: outer, inner, values, gradients, .. } = report;
        let counts = Counts { iterations: outer, values, gradients, coarsest, ..f.counts() };
        let cycles = if driver.is_newton() { inner + outer } else { outer };
        // The only level of `lbfgs-h` is the grid.
        let inner = if driver == Driver::LbfgsH { coarsest } else { inner };
        // `minimize_free` builds none before the descent.
        let first = usize::from(driver.needs() != Needs::Products);
        let (iterations, rebuilds, norm) = ([outer, inner], report.refreshes + first, report.gradient);
        let (z, failures, trace) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, counts, failures, trace })
    }

    fn choose(&self, case: Case, f: &mut Increment<'_>) -> Result<Chosen<B>, Failure> {
        let Method { tolerance, inner, .. } = self.method;
        let (driver, known) = match case {
            Case::Named(driver) => (driver, None),
            Case::Few => {
                let known = choose(f.system_at(&vec![0.0; f.size()])?.system())?;
                let hierarchy = matches!(known, Known::Sa | Known::Skinning);
                (if hierarchy { Driver::LbfgsSa } else { Driver::PnPcg }, Some(known))
            }
        };
        if driver.needs() == Needs::Products {
            let mut stepper = TimeStepper::new(driver);
            stepper.tolerance = if driver == Driver::Gast { GAST } else { tolerance };
            stepper.inner_iterations = inner.unwrap_or(stepper.inner_iterations);
            return Ok(Chosen::Host(stepper));
        }
        let mut stepper = TimeStepper::at(driver, self.on.clone());
        (stepper.tolerance, stepper.inner_iterations) =
            (tolerance, inner.unwrap_or(stepper.inner_iterations));
        Ok(Chosen::There(stepper, known))
    }
}
