//! The methods, and how one solves a time step.

use std::time::{Duration, Instant};

use coarsen::backend::Cpu;
use coarsen::follow::{Driver, Follower, TimeStepper, following};
use coarsen::multigrid::{Coarsening, Coarsest, Hierarchy, JacobiCg, Multigrid, Smoothing};
use coarsen::node_embedding::{Kernel, NodeEmbedding, Nodes};
use coarsen::optimize::{Backtracking, Descent, DescentOutcome, Lbfgs, Norm, Refresh};
use coarsen::prelude::*;
use coarsen::sparse::{System, SystemAt};
use mpm::energy::Increment;
use mpm::solver::{Minimizer, Solver};
use mpm::tries;

use crate::Outcome;
use crate::moment::Moment;
use crate::rows::Row;
use crate::stage::options;

/// The most iterations of a descent.
const LIMIT: usize = 1000;

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
    /// A solver of the example.
    Solver(Solver),
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
    pub(crate) fn recipe(self, f: &Increment<'_>) -> Multigrid<NodeEmbedding> {
        let Self { levels, kernel, smoothing, coarsest, .. } = self;
        let nodes = Nodes::OfSystem { spacing: f.spacing(), origin: [0.0; 3] };
        let method = NodeEmbedding { kernel, restraints: f.restraints().into(), ..NodeEmbedding::new(nodes) };
        Multigrid { levels, smoothing, coarsest, ..node_embedding_of(method) }
    }

    fn solve(self, f: &mut Increment<'_>) -> Outcome<Row> {
        let (weights, _) = f.weights()?;
        let recipe = self.recipe(f);
        let mut z = f.start();
        let start = Instant::now();
        f.project(true);
        let build = move |system: System<'_, f64>| Ok(Box::new(recipe.build_from(system, &Cpu::new())?) as _);
        let built = Follower::build(f, &z, build)?;
        let mut direction = following(Lbfgs::new(self.window, built));
        let stop = Stop { max_iterations: LIMIT, ..Stop::absolute(1e-7) };
        let mut descent = Descent::new(Backtracking::default(), stop);
        (descent.norm, descent.refresh) = (Norm::weighted(weights)?, Refresh::AtStart);
        descent.least_iterations = 1;
        let report = descent.minimize(f, &mut direction, &mut z, &mut ())?;
        let converged = matches!(report.outcome, DescentOutcome::Converged(_));
        let (outer, seconds) = (report.iterations as f64, start.elapsed().as_secs_f64());
        Ok(Row { converged, outer, inner: 0.0, seconds, ..Row::default() })
    }

    fn newton(self, f: &mut Increment<'_>) -> Outcome<Row> {
        let (weights, most) = f.weights()?;
        let recipe = self.recipe(f);
        let mut z = f.start();
        let mut stepper = TimeStepper::new(Driver::PnMgpcg);
        stepper.max_iterations = LIMIT;
        stepper.floor = stepper.tolerance * (z.len() as f64 / 3.0).sqrt() * most;
        let start = Instant::now();
        let build = move |system: System<'_, f64>| Ok(Box::new(recipe.build_from(system, &Cpu::new())?) as _);
        let report = stepper.minimize_with(f, build, &mut z, Some(&weights), &mut ())?;
        let converged = matches!(report.outcome, DescentOutcome::Converged(_));
        let [outer, inner] = [report.iterations, report.inner].map(|count| count as f64);
        Ok(Row { converged, outer, inner, seconds: start.elapsed().as_secs_f64(), ..Row::default() })
    }

    /// The blocks of the matrices on all levels, from fine to coarse.
    fn blocks(self, f: &mut Increment<'_>) -> Outcome<Vec<usize>> {
        let recipe = self.recipe(f);
        let z = vec![0.0; f.size()];
        let m = recipe.build_from(f.system_at(&z)?.system(), &Cpu::new())?;
        Ok(blocks(f, &m))
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
            Self::Solver(solver) => {
                let row = by_name(solver, moment, None)?;
                let blocks = match solver {
                    Solver::Driver(Driver::LbfgsGmg | Driver::PnGmgPcg) => from_particles(&mut f, moment)?,
                    _ => Vec::new(),
                };
                Row { blocks, ..row }
            }
        };
        Ok(Row { nodes, ..row })
    }
}

/// Solves a step by a solver of the example, which is stopped after a time.
///
/// `auto` first solves the step by each of its drivers, as it does in a run. The row is that of its choice, with the share
/// of the other turns in a run that goes on like this.
pub(crate) fn by_name(solver: Solver, moment: &Moment, most: Option<Duration>) -> Outcome<Row> {
    let obstacles = &moment.stage.obstacles;
    let mut minimizer = Minimizer::new(&options(solver)?, Cpu::new());
    let mut turns = Vec::new();
    if solver.takes_turns(&moment.objective()?) {
        for _ in tries::DRIVERS {
            let driver = minimizer.tries.next();
            let (f, start) = (moment.objective()?, Instant::now());
            minimizer.deadline = most.map(|most| start + most);
            minimizer.solve(f, obstacles, moment.time())?;
            turns.push((driver, start.elapsed().as_secs_f64()));
        }
    }
    minimizer.forget(); // the other methods have no kept memory
    let f = moment.objective()?;
    let nodes = f.size() / 3;
    let start = Instant::now();
    minimizer.deadline = most.map(|most| start + most);
    let (solved, _) = minimizer.solve(f, obstacles, moment.time())?;
    let mut seconds = start.elapsed().as_secs_f64();
    let (tries, own) = (minimizer.tries, seconds);
    let extra = |(turn, s): (usize, f64)| (s - own).max(0.0) / tries.wait(turn) as f64;
    let others = turns.into_iter().filter(|(turn, _)| *turn != tries.best());
    seconds += others.map(extra).sum::<f64>();
    let converged = matches!(solved.outcome, DescentOutcome::Converged(_));
    let [outer, inner] = solved.iterations.map(|count| count as f64);
    Ok(Row { nodes, converged, outer, inner, seconds, ..Row::default() })
}

/// The blocks of the matrices that particles give on three grids.
fn from_particles(f: &mut Increment<'_>, moment: &Moment) -> Outcome<Vec<usize>> {
    let recipe = f.requadrature(3, &moment.stage.obstacles, moment.time())?;
    let z = vec![0.0; f.size()];
    let m = recipe.build_from(f.system_at(&z)?.system(), &Cpu::new())?;
    Ok(blocks(f, &m))
}

/// The blocks of the system and of the coarse matrices.
fn blocks<C: Coarsening<f64>>(f: &Increment<'_>, m: &Hierarchy<f64, Cpu, C>) -> Vec<usize> {
    let coarse = (1..m.levels()).filter_map(|level| m.matrix(level)).map(|a| a.pattern().len());
    std::iter::once(f.stencil().pattern.len()).chain(coarse).collect()
}
