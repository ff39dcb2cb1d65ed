//! The methods, and how one solves a time step.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use coarsen::Iteration;
use coarsen::backend::Cpu;
use coarsen::descent::{CachedPreconditioner, Driver, Needs, TimeStepper, refreshed};
use coarsen::multigrid::{Coarsest, Hierarchy, JacobiCg, Multigrid, Smoothing};
use coarsen::node_embedding::{Kernel, NodeEmbedding, Nodes};
use coarsen::optimize::{Backtracking, Descent, DescentOutcome, Iterate, Lbfgs, Norm, Refresh, Verdict};
use coarsen::prelude::*;
use coarsen::sparse::{System, SystemAt};
use mpm::energy::Increment;

use crate::Outcome;
use crate::moment::{Moment, Step};
use crate::products::Products;
use crate::quadrature::Rediscretised;
use crate::rows::Row;

/// The most iterations of a descent.
const LIMIT: usize = 1000;

/// The number of levels of the hierarchies (§7.1).
const LEVELS: usize = 3;

/// The tolerance of `gast` in the Euclidean norm, kg m/s (§7.1).
const GAST: f64 = 1e-3;

/// A solved step.
pub(crate) struct Solved<'a> {
    pub(crate) f: Increment<'a>,
    /// Δv of the free nodes.
    pub(crate) z: Vec<f64>,
    pub(crate) row: Row,
    /// Seconds since the start and ‖ĝ‖ / √n, at the start and after each iteration.
    pub(crate) trace: Vec<[f64; 2]>,
}

/// Solves a step by a driver, which is stopped after a time.
pub(crate) fn solve<'a>(driver: Driver, step: Step<'a>, most: Option<Duration>) -> Outcome<Solved<'a>> {
    let mut f = step.objective()?;
    let (weights, largest) = f.weights()?;
    let (mut z, mut trace, nodes) = (f.start(), Vec::new(), f.size() / 3);
    let mut row = Row { nodes, converged: true, ..Row::default() };
    if z.is_empty() {
        return Ok(Solved { f, z, row, trace });
    }
    let mut stepper = TimeStepper::new(driver);
    stepper.max_iterations = LIMIT;
    stepper.min_norm = stepper.tolerance * (nodes as f64).sqrt() * largest;
    let start = Instant::now();
    let is_over = move || most.is_some_and(|most| start.elapsed() >= most);
    stepper.watch(most.map(|_| {
        let watch = move |it: &Iteration<'_, Vec<f64>>| match it.number > 0 && is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        Box::new(watch) as _
    }));
    let mut monitor = |it: &Iterate<'_, Vec<f64>>| {
        trace.push([start.elapsed().as_secs_f64(), it.gradient]);
        if is_over() { ControlFlow::Break(Verdict::Stop) } else { ControlFlow::Continue(()) }
    };
    let weights = Some(&weights[..]);
    let report = match driver.needs() {
        Needs::System => {
            let embedding = embedding(&f);
            stepper.minimize(&mut f, &embedding, &mut z, weights, Some(&mut monitor))?
        }
        Needs::Quadrature => {
            let (mut f, parameters) = Rediscretised::new(&mut f, LEVELS, step)?;
            let build =
                move |system: System<'_, f64>| Ok(Box::new(parameters.build_from(system, &Cpu::new())?) as _);
            stepper.minimize_with(&mut f, build, &mut z, weights, Some(&mut monitor))?
        }
        Needs::Products => {
            if driver == Driver::Gast {
                stepper.tolerance = GAST;
            }
            let mut products = Products::new(&mut f, step.given)?;
            stepper.minimize_free(&mut products, &mut z, weights, Some(&mut monitor))?
        }
        needs => return Err(format!("{driver} needs {needs:?}").into()),
    };
    row.seconds = start.elapsed().as_secs_f64();
    row.converged = matches!(report.outcome, DescentOutcome::Converged(_));
    // The only level of `lbfgs-h` is the grid.
    let inner = if driver == Driver::LbfgsH { stepper.coarsest_iterations() } else { report.inner };
    (row.outer, row.inner) = (report.iterations as f64, inner as f64);
    Ok(Solved { f, z, row, trace })
}

/// Node embedding of the nodes of a step.
fn embedding(f: &Increment<'_>) -> NodeEmbedding {
    let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
    NodeEmbedding { constraints: f.node_constraints().into(), ..NodeEmbedding::new(nodes) }
}

/// HOT with other parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hot {
    pub(crate) levels: usize,
    pub(crate) window: usize,
    pub(crate) kernel: Kernel,
    pub(crate) smoothing: Smoothing,
    pub(crate) coarsest: Coarsest,
}

/// A method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    /// A driver of the library.
    Driver(Driver),
    Hot(Hot),
    /// `pn-mgpcg` with other parts; the window has no effect.
    Newton(Hot),
}

/// Gauss-Seidel of a matrix that is known to be symmetric.
pub(crate) fn sweep() -> GaussSeidel {
    GaussSeidel { symmetric: true, ..GaussSeidel::default() }
}

impl Default for Hot {
    /// The settings of the paper.
    fn default() -> Self {
        Self {
            levels: 3,
            window: 8,
            kernel: Kernel::Linear,
            smoothing: Smoothing::SymmetricGaussSeidel(sweep()),
            coarsest: Coarsest::Iterative(JacobiCg::default()),
        }
    }
}

impl Hot {
    /// The hierarchy.
    pub(crate) fn parameters(self, f: &Increment<'_>) -> Multigrid<NodeEmbedding> {
        let Self { levels, kernel, smoothing, coarsest, .. } = self;
        let method = NodeEmbedding { kernel, ..embedding(f) };
        Multigrid { levels, smoothing, coarsest, ..node_embedding_of(method) }
    }

    fn solve(self, f: &mut Increment<'_>) -> Outcome<Row> {
        let (weights, _) = f.weights()?;
        let parameters = self.parameters(f);
        let mut z = f.start();
        let start = Instant::now();
        f.project(true);
        let build =
            move |system: System<'_, f64>| Ok(Box::new(parameters.build_from(system, &Cpu::new())?) as _);
        let built = CachedPreconditioner::build(f, &z, build)?;
        let mut direction = refreshed(Lbfgs::new(self.window, built), |d| &mut d.initial);
        let stop = Stop { max_iterations: LIMIT, ..Stop::absolute(1e-7) };
        let mut descent = Descent::new(Backtracking::default(), stop);
        (descent.norm, descent.refresh) = (Norm::weighted(weights)?, Refresh::AtStart);
        descent.least_iterations = 1;
        let report = descent.minimize(f, &mut direction, &mut z)?;
        let converged = matches!(report.outcome, DescentOutcome::Converged(_));
        let (outer, seconds) = (report.iterations as f64, start.elapsed().as_secs_f64());
        Ok(Row { converged, outer, inner: 0.0, seconds, ..Row::default() })
    }

    fn newton(self, f: &mut Increment<'_>) -> Outcome<Row> {
        let (weights, most) = f.weights()?;
        let parameters = self.parameters(f);
        let mut z = f.start();
        let mut stepper = TimeStepper::new(Driver::PnMgpcg);
        stepper.max_iterations = LIMIT;
        stepper.min_norm = stepper.tolerance * (z.len() as f64 / 3.0).sqrt() * most;
        let start = Instant::now();
        let build =
            move |system: System<'_, f64>| Ok(Box::new(parameters.build_from(system, &Cpu::new())?) as _);
        let report = stepper.minimize_with(f, build, &mut z, Some(&weights), None)?;
        let converged = matches!(report.outcome, DescentOutcome::Converged(_));
        let [outer, inner] = [report.iterations, report.inner].map(|count| count as f64);
        Ok(Row { converged, outer, inner, seconds: start.elapsed().as_secs_f64(), ..Row::default() })
    }

    /// The blocks of the matrices on all levels, from fine to coarse.
    fn blocks(self, f: &mut Increment<'_>) -> Outcome<Vec<usize>> {
        let parameters = self.parameters(f);
        let z = vec![0.0; f.size()];
        let system = f.system_at(&z)?;
        Ok(blocks(system.matrix.pattern().len(), &parameters.build_from(system.system(), &Cpu::new())?))
    }
}

impl How {
    /// Solves a step.
    pub(crate) fn solve(self, moment: &Moment) -> Outcome<Row> {
        let mut f = moment.objective()?;
        let nodes = f.size() / 3;
        let row = match self {
            Self::Hot(hot) | Self::Newton(hot) => {
                let row = if let Self::Hot(_) = self { hot.solve(&mut f)? } else { hot.newton(&mut f)? };
                Row { blocks: hot.blocks(&mut f)?, ..row }
            }
            Self::Driver(driver) => {
                let row = solve(driver, moment.step(), None)?.row;
                if driver.needs() != Needs::Quadrature {
                    return Ok(row);
                }
                let (mut f, parameters) = Rediscretised::new(&mut f, LEVELS, moment.step())?;
                let zeros = vec![0.0; 3 * nodes];
                let system = f.system_at(&zeros)?;
                let m = parameters.build_from(system.system(), &Cpu::new())?;
                Row { blocks: blocks(system.matrix.pattern().len(), &m), ..row }
            }
        };
        Ok(Row { nodes, ..row })
    }
}

/// The blocks of a matrix and of the coarse matrices.
fn blocks(fine: usize, m: &Hierarchy) -> Vec<usize> {
    let coarse = (1..m.levels()).filter_map(|level| m.matrix(level)).map(|a| a.pattern().len());
    std::iter::once(fine).chain(coarse).collect()
}
