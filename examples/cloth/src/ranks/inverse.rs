//! The preconditioner of the linear systems on ranks, and when it is computed again.
//!
//! | `--solver` | M⁻¹ | in each step |
//! |---|---|---|
//! | `auto`, `block-jacobi` | inverses of the diagonal blocks, as Li et al. 2020, §3.2 | from the new matrix |
//! | `mas` | multilevel additive Schwarz | inverses from the new matrix; new domains if contact has changed its pattern |
//! | `sa` | smoothed aggregation | that of an earlier step, or new if contact has changed the pattern |
//!
//! All of them see contact, since they are computed from the whole matrix: with stiff contact that it has not seen, a hierarchy
//! needed twenty times the iterations. A hierarchy costs as much as several solves, so it is kept as it is while the
//! pattern stays, until a solve has needed more than [`GROWTH`] times the iterations of the first solve with it, and
//! [`FEW`] more; the next step then computes its numbers again, with the same aggregates. Iterations are counted, not times,
//! so that a run can be repeated. If contact changes the pattern, aggregates and near-kernel are those of the new matrix
//! and positions.
//!
//! The first two have the same bits at any number of ranks. Aggregates of `sa` do not cross ranks, so its solutions
//! agree to the tolerance of the solve.

use std::time::Instant;

use coarsen::prelude::*;
use coarsen::sparse::NearKernel;
use coarsen::{Identity, Outcome};
use coarsen_distributed::{Communicator, DistJacobi, DistMatrix, DistVector, GlobalRows};
use coarsen_distributed_solvers::{DistHierarchy, DistMultigrid, DistSchwarz, DistSubdomains};
use examples_run::Failure;
use examples_run::solver::Solver;

/// A kept hierarchy may need this many times the iterations of its first solve, and a few more.
const GROWTH: f64 = 1.5;
const FEW: usize = 3;

/// Domains grow among at least and at most this number of nodes. Sheets have some 32 such chunks or more, so that every
/// rank has several.
const CHUNK: [usize; 2] = [64, 1024];
const CHUNKS: usize = 32;

/// The linear system of a step: A d = b on the rows of a rank, and the positions of all nodes.
pub(super) struct Step<'a, C: Communicator> {
    pub(super) a: &'a DistMatrix<C>,
    pub(super) rows: &'a GlobalRows<f64>,
    pub(super) b: &'a DistVector<C>,
    pub(super) x: &'a [f64],
}

/// What a solve did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Solve {
    pub(super) iterations: usize,
    /// Whether it reached the tolerance.
    pub(super) converged: bool,
    /// Whether M⁻¹ was computed, and the seconds of that.
    pub(super) set_up: bool,
    pub(super) seconds: f64,
}

/// The preconditioner of a rank.
pub(super) struct Inverse<C: Communicator> {
    recipe: Recipe,
    kept: Option<Kept<C>>,
    /// Whether the numbers of a kept hierarchy must be computed again.
    worn: bool,
    /// The iterations of the first solve with what is kept; `None` before it.
    first: Option<usize>,
}

enum Recipe {
    Blocks,
    Domains(DistSchwarz),
    Levels(Box<DistMultigrid>),
}

enum Kept<C: Communicator> {
    Blocks(Box<DistJacobi<C>>),
    Domains(Box<DistSubdomains<C>>),
    Levels(Box<DistHierarchy<C>>),
}

/// Whether ranks have the preconditioner.
pub(super) fn has(solver: Solver) -> bool {
    matches!(solver, Solver::Auto | Solver::BlockJacobi | Solver::Mas | Solver::Sa)
}

impl<C: Communicator> Inverse<C> {
    /// A preconditioner for a sheet with `nodes` free nodes. `levels` has the most levels of `sa` and `mas`, if any.
    pub(super) fn new(solver: Solver, levels: &[usize], nodes: usize) -> Self {
        let most = levels.first().copied();
        let recipe = match solver {
            Solver::Mas => {
                let mut recipe = DistSchwarz {
                    chunk: (nodes / CHUNKS).next_power_of_two().clamp(CHUNK[0], CHUNK[1]),
                    ..DistSchwarz::default()
                };
                recipe.schwarz.levels = most.unwrap_or(recipe.schwarz.levels);
                Recipe::Domains(recipe)
            }
            Solver::Sa => {
                let mut recipe = DistMultigrid::default();
                recipe.multigrid.levels = most.unwrap_or(recipe.multigrid.levels);
                Recipe::Levels(Box::new(recipe))
            }
            _ => Recipe::Blocks,
        };
        Self { recipe, kept: None, worn: false, first: None }
    }

    /// Solves a system from d. All ranks call it.
    ///
    /// # Errors
    /// Those of preconditioners and of communication.
    pub(super) fn solve(
        &mut self,
        system: &Step<'_, C>,
        stop: Stop<f64>,
        d: &mut DistVector<C>,
    ) -> Result<Solve, Failure> {
        let mut done = Solve::default();
        self.follow(system, &mut done)?;
        let m: &mut dyn Preconditioner<DistVector<C>> = match &mut self.kept {
            None => &mut Identity,
            Some(Kept::Blocks(m)) => &mut **m,
            Some(Kept::Domains(m)) => &mut **m,
            Some(Kept::Levels(m)) => &mut **m,
        };
        let report = Cg::<DistVector<C>>::new(stop).solve(system.a, m, system.b, d)?;
        done.iterations = report.iterations;
        done.converged = matches!(report.outcome, Outcome::Converged);
        let first = *self.first.get_or_insert(done.iterations);
        self.worn = !done.converged || done.iterations > (GROWTH * first as f64) as usize + FEW;
        Ok(done)
    }

    /// Follows the matrix in the way of the method.
    fn follow(&mut self, system: &Step<'_, C>, done: &mut Solve) -> Result<(), Failure> {
        let begun = Instant::now();
        match &mut self.kept {
            Some(Kept::Levels(levels)) if levels.has_pattern(system.rows)? => {
                if !self.worn {
                    return Ok(());
                }
                levels.renew(system.rows)?;
                self.first = None;
            }
            Some(Kept::Domains(domains)) => drop(domains.update(system.rows)?),
            _ => {
                self.kept = Some(self.recipe.build(system)?);
                self.first = None;
            }
        }
        (done.set_up, done.seconds) = (true, begun.elapsed().as_secs_f64());
        Ok(())
    }
}

impl Recipe {
    /// Computes M⁻¹ from the matrix and the positions of a step.
    fn build<C: Communicator>(&self, system: &Step<'_, C>) -> Result<Kept<C>, Failure> {
        let on = system.a.rows();
        Ok(match self {
            Self::Blocks => Kept::Blocks(Box::new(DistJacobi::blocks(system.a, 1.0)?)),
            Self::Domains(recipe) => Kept::Domains(Box::new(recipe.build(on, system.rows)?)),
            Self::Levels(recipe) => {
                let modes = NearKernel::rigid_body_modes(system.x.as_chunks().0, 3)?;
                let (size, range) = (3 * modes.vectors(), on.layout().range(on.rank()));
                let own = &modes.values()[size * range.start as usize..size * range.end as usize];
                let own = NearKernel::from_rows(modes.vectors(), own.to_vec())?;
                Kept::Levels(Box::new(recipe.build(on, system.rows, Some(&own))?))
            }
        })
    }
}
