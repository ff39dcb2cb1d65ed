//! The solvers of a step, by name: the drivers of the library, and `auto`.
//!
//! All start from free fall or from Δv = 0 (`energy/start.rs`), and stop in the characteristic norm of Wang et al. 2020 (HOT), §5.2:
//!
//! > ‖ĝ‖ ≤ ε √n,    ĝ_i = g_i / (24 Δx² ξ_i Δt)    (9)

use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::time::{Duration, Instant};

use coarsen::follow::{Driver, Needs, TimeStepper, UnknownDriver};
use coarsen::multigrid::{NodeEmbedding, Nodes};
use coarsen::optimize::{Criterion, DescentMonitor, DescentOutcome, DescentReport, Iterate, Verdict};
use coarsen::prelude::*;
use coarsen::schwarz::Place;
use coarsen::sparse::{System, SystemAt};
use coarsen::{Iteration, Vector};
use examples_common::Failure;
use examples_common::solver::{Clock, Solver as Known, choose};

use crate::collider::Obstacle;
use crate::energy::{Increment, Products};
use crate::options::Method;

/// A solver by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solver {
    /// A driver of the library.
    Driver(Driver),
    /// `pn-pcg` while colliders rub, otherwise `hot`. In one run of one step (`benches/README.md`, `-- solvers`), `hot`
    /// is the fastest or as fast as it on 6 of 10 scenes, within 1.2 of it on 8, and takes 1.26 and 1.55 times as long
    /// on the others. Friction is not in that table: there `pn-pcg` takes fewer iterations
    /// (`book/src/methods/node_embedding.md`); seconds were not measured. Up to 1000 unknowns the preconditioner with
    /// the least work on the first system: a factor, skinning, smoothed aggregation, Gauss-Seidel or block Jacobi. A
    /// hierarchy preconditions L-BFGS, the others Newton's method.
    Auto,
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
#[derive(Clone, Debug)]
pub struct Solved {
    /// Δv of the free nodes.
    pub z: Vec<f64>,
    /// The outcome of the descent.
    pub outcome: DescentOutcome,
    /// Iterations of the descent, and of its linear solves.
    pub iterations: [usize; 2],
    /// The number of times that the preconditioner was built or updated.
    pub rebuilds: usize,
    /// The number of its applications.
    pub cycles: usize,
    /// ‖ĝ‖ / √n at the end.
    pub norm: f64,
    /// The time of setups.
    pub setup: Duration,
    /// Seconds since the start of the solve and ‖ĝ‖ / √n, at the start and after each iteration.
    pub trace: Vec<[f64; 2]>,
}

/// The monitor that fills [`Solved::trace`].
struct Trace {
    start: Instant,
    points: Vec<[f64; 2]>,
    deadline: Option<Instant>,
}

/// Whether a deadline is over.
fn is_over(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|end| Instant::now() >= end)
}

impl<V: Vector<Real = f64>> DescentMonitor<V> for Trace {
    fn observe(&mut self, it: &Iterate<'_, V>) -> ControlFlow<Verdict> {
        self.points.push([self.start.elapsed().as_secs_f64(), it.gradient]);
        if is_over(self.deadline) { ControlFlow::Break(Verdict::Stop) } else { ControlFlow::Continue(()) }
    }
}

impl Solver {
    /// The driver, and the preconditioner if it is not that of the driver; `Auto` looks at the system of a step.
    ///
    /// # Errors
    /// Those of the choice.
    fn driver(self, f: &mut Increment<'_>) -> Result<(Driver, Option<Known>), Failure> {
        let Self::Driver(driver) = self else {
            if f.rubs() || f.size() > FEW {
                return Ok((if f.rubs() { Driver::PnPcg } else { Driver::Hot }, None));
            }
            let known = choose(f.system_at(&vec![0.0; f.size()])?.system())?;
            let hierarchy = matches!(known, Known::Sa | Known::Skinning);
            return Ok((if hierarchy { Driver::LbfgsSa } else { Driver::PnPcg }, Some(known)));
        };
        Ok((driver, None))
    }
}

/// The monitor of linear solves that ends them after an instant, once they have a direction.
fn watch<V: Vector>(end: Instant) -> Box<dyn Monitor<V>> {
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
    /// Ends descents and their linear solves after this instant, as [`DescentOutcome::Stopped`] in general; `None` by
    /// default. For benchmarks: with a deadline the result depends on the speed of the machine.
    pub deadline: Option<Instant>,
    on: B,
    method: Method,
    /// The driver once a step had unknowns, and whether colliders rubbed when it was chosen.
    driver: Option<(Chosen<B>, bool)>,
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
        Self { deadline: None, on, method: method.clone(), driver: None }
    }

    /// Drops the choice of `auto` and all vectors.
    pub fn forget(&mut self) {
        self.driver = None;
    }

    /// Minimises the objective of a step at `time` from its [start](Increment::start), and returns it.
    ///
    /// # Errors
    /// Those of preconditioners, of the choice of `auto` and of the place.
    pub fn solve<'a>(
        &mut self,
        mut f: Increment<'a>,
        obstacles: &[Obstacle],
        time: f64,
    ) -> Result<(Solved, Increment<'a>), Failure> {
        let mut z = f.start();
        let mut trace = Trace { start: Instant::now(), points: Vec::new(), deadline: self.deadline };
        if z.is_empty() {
            // The only point is the minimum.
            let outcome = DescentOutcome::Converged(Criterion::Gradient);
            let (iterations, setup) = ([0; 2], Duration::ZERO);
            let (rebuilds, cycles, norm, trace) = (0, 0, 0.0, trace.points);
            return Ok((Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, trace }, f));
        }
        let (rubs, auto) = (f.rubs(), self.method.solver == Solver::Auto);
        let chosen = match self.driver.take().filter(|(_, rubbed)| !auto || rubs == *rubbed) {
            Some((chosen, _)) => chosen,
            None => self.choose(&mut f)?,
        };
        let (weights, most) = f.weights()?;
        // τ is the tolerance of the stiffest material in the Euclidean norm (§5.3).
        let floor = self.method.tolerance * (z.len() as f64 / 3.0).sqrt() * most;
        let (report, setup, newton);
        let deadline = self.deadline;
        match &mut self.driver.insert((chosen, rubs)).0 {
            Chosen::Host(stepper) => {
                stepper.floor = floor;
                stepper.watch(deadline.map(watch));
                let mut products = Products::new(f)?;
                report = stepper.minimize_free(&mut products, &mut z, Some(&weights), &mut trace)?;
                (setup, newton) = (products.setup(), true);
                f = products.into_increment();
            }
            Chosen::There(stepper, known) => {
                stepper.floor = floor;
                stepper.watch(deadline.map(watch));
                report = if let Some(known) = known {
                    let rest = f.positions().into();
                    let recipe = known.recipe(&[], rest, &self.on, &Clock::default());
                    stepper.minimize_with(&mut f, recipe, &mut z, Some(&weights), &mut trace)?
                } else if stepper.driver().needs() == Needs::Quadrature {
                    let (recipe, on) = (f.requadrature(LEVELS, obstacles, time)?, self.on.clone());
                    let recipe =
                        move |system: System<'_, f64>| Ok(Box::new(recipe.build_from(system, &on)?) as _);
                    stepper.minimize_with(&mut f, recipe, &mut z, Some(&weights), &mut trace)?
                } else {
                    let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
                    let restraints = f.restraints().into();
                    let embedding = NodeEmbedding { restraints, ..NodeEmbedding::new(nodes) };
                    stepper.minimize(&mut f, &embedding, &mut z, Some(&weights), &mut trace)?
                };
                (setup, newton) = (stepper.setup(), stepper.driver().is_newton());
            }
        }
        let DescentReport { outcome, iterations: outer, inner, refreshes, gradient: norm, .. } = report;
        let cycles = if newton { inner + outer } else { outer };
        let (iterations, rebuilds, trace) = ([outer, inner], refreshes + 1, trace.points);
        Ok((Solved { z, outcome, iterations, rebuilds, cycles, norm, setup, trace }, f))
    }

    fn choose(&self, f: &mut Increment<'_>) -> Result<Chosen<B>, Failure> {
        let Method { solver, tolerance, iterations, inner, .. } = self.method;
        let (driver, known) = solver.driver(f)?;
        if driver.needs() == Needs::Products {
            let mut stepper = TimeStepper::new(driver);
            stepper.tolerance = if driver == Driver::Gast { GAST } else { tolerance };
            (stepper.max_iterations, stepper.inner_iterations) = (iterations, inner);
            return Ok(Chosen::Host(stepper));
        }
        let mut stepper = TimeStepper::at(driver, self.on.clone());
        stepper.tolerance = tolerance;
        (stepper.max_iterations, stepper.inner_iterations) = (iterations, inner);
        Ok(Chosen::There(stepper, known))
    }
}
