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
    method: Method<C>,
    /// Whether the numbers of a kept hierarchy must be computed again.
    worn: bool,
    /// The iterations of the first solve with what is kept; `None` before it.
    first: Option<usize>,
}

/// A method, and what it has computed.
enum Method<C: Communicator> {
    Blocks(Option<Box<DistJacobi<C>>>),
    Domains(DistSchwarz, Option<Box<DistSubdomains<C>>>),
    Levels(Box<DistMultigrid>, Option<Box<DistHierarchy<C>>>),
}

/// Whether ranks have the preconditioner.
pub(super) fn has(solver: Solver) -> bool {
    matches!(solver, Solver::Auto | Solver::BlockJacobi | Solver::Mas | Solver::Sa)
}

impl<C: Communicator> Inverse<C> {
    /// A preconditioner for a sheet with `nodes` free nodes. `levels` has the most levels of `sa` and `mas`, if any.
    pub(super) fn new(solver: Solver, levels: &[usize], nodes: usize) -> Self {
        let most = levels.first().copied();
        let method = match solver {
            Solver::Mas => {
                let chunk = (nodes / CHUNKS).next_power_of_two().clamp(CHUNK[0], CHUNK[1]);
                let mut parameters = DistSchwarz { chunk, ..DistSchwarz::default() };
                parameters.schwarz.levels = most.unwrap_or(parameters.schwarz.levels);
                Method::Domains(parameters, None)
            }
            Solver::Sa => {
                let mut parameters = DistMultigrid::default();
                parameters.multigrid.levels = most.unwrap_or(parameters.multigrid.levels);
                Method::Levels(Box::new(parameters), None)
            }
            _ => Method::Blocks(None),
        };
        Self { method, worn: false, first: None }
    }

    /// Solves a system from d. All ranks call it.
    pub(super) fn solve(
        &mut self,
        system: &Step<'_, C>,
        stop: Stop<f64>,
        d: &mut DistVector<C>,
    ) -> Result<Solve, Failure> {
        let begun = Instant::now();
        let set_up = self.update(system)?;
        let seconds = if set_up { begun.elapsed().as_secs_f64() } else { 0.0 };
        let m: &mut dyn Preconditioner<DistVector<C>> = match &mut self.method {
            Method::Blocks(Some(m)) => &mut **m,
            Method::Domains(_, Some(m)) => &mut **m,
            Method::Levels(_, Some(m)) => &mut **m,
            _ => &mut Identity,
        };
        let report = Cg::<DistVector<C>>::new(stop).solve(system.a, m, system.b, d)?;
        let (iterations, converged) = (report.iterations, matches!(report.outcome, Outcome::Converged));
        let first = *self.first.get_or_insert(iterations);
        self.worn = !converged || iterations > (GROWTH * first as f64) as usize + FEW;
        Ok(Solve { iterations, converged, set_up, seconds })
    }

    /// Computes M⁻¹ from the matrix and the positions of a step as the method does; false if it stays as it is.
    fn update(&mut self, system: &Step<'_, C>) -> Result<bool, Failure> {
        let partition = system.a.rows();
        match &mut self.method {
            Method::Blocks(kept) => *kept = Some(Box::new(DistJacobi::blocks(system.a, 1.0)?)),
            Method::Domains(_, Some(domains)) => drop(domains.update(system.rows)?),
            Method::Domains(parameters, kept) => {
                *kept = Some(Box::new(parameters.build(partition, system.rows)?))
            }
            Method::Levels(parameters, kept) => {
                match kept {
                    Some(levels) if levels.has_pattern(system.rows)? => {
                        if !self.worn {
                            return Ok(false);
                        }
                        levels.renew(system.rows)?;
                    }
                    _ => {
                        let modes = NearKernel::rigid_body_modes(system.x.as_chunks().0, 3)?;
                        let (size, range) = (3 * modes.vectors(), partition.layout().range(partition.rank()));
                        let own = &modes.values()[size * range.start as usize..size * range.end as usize];
                        let own = NearKernel::from_rows(modes.vectors(), own.to_vec())?;
                        *kept = Some(Box::new(parameters.build(partition, system.rows, Some(&own))?));
                    }
                }
                self.first = None;
            }
        }
        Ok(true)
    }
}
