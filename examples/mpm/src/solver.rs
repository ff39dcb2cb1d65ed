//! The solvers of a step, by name: drivers of the library, and `auto`.
//!
//! All start from free fall or from Δv = 0 ([`Increment::start`]), and stop in the characteristic norm of Wang et al.
//! 2020 (HOT), §5.2: ‖ĝ‖ ≤ ε √n.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use coarsen::Objective;
use coarsen::descent::{Driver, Needs, TimeStepper, UnknownDriver};
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use coarsen::optimize::{Criterion, DescentOutcome, DescentReport};
use coarsen::schwarz::SchwarzBackend;
use examples_run::Failure;
use examples_scene::{Field, Fingerprint};

use crate::energy::Increment;
use crate::fault::StepError;
use crate::options::Method;

/// A solver by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// A driver of the library that needs the system alone.
    Driver(Driver),
    /// `hot`, and while colliders rub `pn-pcg`, which sees the stiffness of friction in every iteration. What one of
    /// them does not solve, the other solves from the start of the step.
    Auto,
}

/// The name of [`Solver::Auto`].
const AUTO: &str = "auto";

impl Solver {
    /// The names of all solvers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let drivers = Driver::ALL.into_iter().filter(|driver| driver.needs() == Needs::System);
        drivers.map(Driver::name).chain([AUTO])
    }

    /// The drivers that are tried for a step, one after the other.
    fn drivers(self, f: &Increment<'_>) -> Vec<Driver> {
        match self {
            Self::Driver(driver) => vec![driver],
            Self::Auto if f.rubs() => vec![Driver::PnPcg, Driver::Hot],
            Self::Auto => vec![Driver::Hot, Driver::PnPcg],
        }
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

impl Field for Solver {
    fn add(&self, to: &mut Fingerprint) {
        to.field("name", self.to_string().as_str());
    }
}

/// How a solve ended. Counts and times are those of all drivers that were tried.
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
    /// ‖ĝ‖ / √n at the end.
    pub norm: f64,
    /// The time of setups.
    pub setup: Duration,
    /// Drivers of `auto` that ended in an error, without which the step went on.
    pub failures: Vec<(Driver, Failure)>,
}

impl Solved {
    /// The gradient by which results are compared; the norm of one that is not finite is that of an iterate before.
    fn size(&self) -> f64 {
        match self.outcome {
            DescentOutcome::Converged(_) => 0.0,
            DescentOutcome::NotFinite => f64::INFINITY,
            _ => self.norm,
        }
    }

    /// The better result of two runs, this one if they are equal, with the costs of both.
    pub fn or(self, other: Self) -> Self {
        let iterations = [0, 1].map(|k| self.iterations[k] + other.iterations[k]);
        let (rebuilds, cycles) = (self.rebuilds + other.rebuilds, self.cycles + other.cycles);
        let setup = self.setup + other.setup;
        let best = if self.size().total_cmp(&other.size()).is_le() { self } else { other };
        Self { iterations, rebuilds, cycles, setup, ..best }
    }
}

/// A solver with its vectors, kept between the steps.
pub struct Minimizer<B: SchwarzBackend<Real = f64>> {
    backend: B,
    method: Method,
    /// The drivers that have run.
    steppers: Vec<TimeStepper<B>>,
}

impl<B: SchwarzBackend<Real = f64>> Minimizer<B> {
    /// Returns the solver of a method on a backend.
    pub fn new(method: &Method, backend: B) -> Self {
        Self { backend, method: method.clone(), steppers: Vec::new() }
    }

    /// Drops all vectors.
    pub fn forget(&mut self) {
        self.steppers.clear();
    }

    /// Minimises the objective of a step from its [start](Increment::start). If no driver converges, the result is the one
    /// with the smallest gradient.
    ///
    /// # Errors
    /// Those of all drivers, if all end in one: of preconditioners, of the backend, and of [`Increment::weights`].
    pub fn solve(&mut self, f: &mut Increment<'_>) -> Result<Solved, Failure> {
        let (start, mut best, mut failures) = (f.start(), None::<Solved>, Vec::new());
        let known = if start.is_empty() {
            Some(DescentOutcome::Converged(Criterion::Gradient)) // the only point is the minimum
        } else if !f.value(&start).value.is_finite() {
            Some(DescentOutcome::NotFinite)
        } else {
            None
        };
        if let Some(outcome) = known {
            let (iterations, rebuilds, cycles, norm, setup) = Default::default();
            return Ok(Solved { z: start, outcome, iterations, rebuilds, cycles, norm, setup, failures });
        }
        for driver in self.method.solver.drivers(f) {
            match self.run(driver, f, start.clone()) {
                Ok(solved) => {
                    let converged = matches!(solved.outcome, DescentOutcome::Converged(_));
                    best = Some(match best {
                        Some(before) => before.or(solved),
                        None => solved,
                    });
                    if converged {
                        break;
                    }
                }
                Err(error) => failures.push((driver, error)),
            }
        }
        match best {
            Some(solved) => Ok(Solved { failures, ..solved }),
            None => {
                let first = failures.remove(0);
                Err(StepError::of_drivers(first, failures.pop()))
            }
        }
    }

    fn run(&mut self, driver: Driver, f: &mut Increment<'_>, mut z: Vec<f64>) -> Result<Solved, Failure> {
        let known = self.steppers.iter().position(|stepper| stepper.driver() == driver);
        let at = known.unwrap_or_else(|| {
            self.steppers.push(TimeStepper::at(driver, self.backend.clone()));
            self.steppers.len() - 1
        });
        let stepper = &mut self.steppers[at];
        let Method { tolerance, iterations, inner, .. } = self.method;
        let (weights, most) = f.weights()?;
        (stepper.tolerance, stepper.max_iterations) = (tolerance, iterations);
        stepper.inner_iterations = inner.unwrap_or(stepper.inner_iterations);
        // τ is the tolerance of the stiffest material in the Euclidean norm (§5.3).
        stepper.min_norm = tolerance * (z.len() as f64 / 3.0).sqrt() * most;
        let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
        let embedding =
            NodeEmbedding { constraints: f.node_constraints().into(), ..NodeEmbedding::new(nodes) };
        let report = stepper.minimize(f, &embedding, &mut z, Some(&weights), None)?;
        let DescentReport { outcome, iterations: outer, inner, refreshes, gradient: norm, .. } = report;
        let cycles = if driver.is_newton() { inner + outer } else { outer };
        // The only level of `lbfgs-h` is the grid.
        let inner = if driver == Driver::LbfgsH { stepper.coarsest_iterations() } else { inner };
        let (iterations, rebuilds, setup) = ([outer, inner], refreshes + 1, stepper.setup());
        Ok(Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, failures: Vec::new() })
    }
}
