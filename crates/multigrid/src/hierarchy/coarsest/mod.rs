//! The solve on the coarsest level: its interface and implementations.
//!
//! | file | what |
//! |---|---|
//! | `factor` | a sparse factor; for a singular system a deflated one, or a dense pseudo-inverse |
//! | `unconstrained` | the motions that are deflated |
//! | `iterative` | conjugate gradients to a given reduction |

mod factor;
mod iterative;
mod unconstrained;

use coarsen_backend::{Backend, SetupError};
use coarsen_core::{PreconditionerKind, Real};

use crate::{Coarsest, Grid};
use factor::Factored;
use iterative::Iterative;

/// Why a coarsest level is larger than [`Multigrid::coarse_size`](crate::Multigrid::coarse_size), which limits the factor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// It is not.
    None,
    /// It cannot be coarsened.
    Stalled,
    /// It is the last of so many levels.
    Levels(usize),
}

/// The solver of the coarsest level.
pub(super) trait CoarsestSolve<T: Real, B: Backend>: Send {
    /// Computes x ≈ A⁻¹ b; x is overwritten. `whole` is the right-hand side of the finest level, restricted, if the
    /// coarsest solve [compares residuals with it](crate::Multigrid::compares_finest_rhs); otherwise b.
    fn solve(&mut self, b: &B::Vector, whole: &B::Vector, x: &mut B::Vector);

    /// Whether [`solve`](Self::solve) accepts vectors that [interleave columns](Backend::COLUMNS).
    fn interleaves(&self) -> bool {
        false
    }

    /// Computes the solver of new values on the same pattern. After an error the old solver is unchanged.
    fn update(&mut self, grid: &Grid<'_, T>) -> Result<(), SetupError>;

    /// Returns the kind of the solver.
    fn kind(&self) -> PreconditionerKind;

    /// Returns the number of unknowns.
    fn size(&self) -> usize;

    /// Returns the number of stored scalars of A, for the table.
    fn nnz(&self) -> usize;

    /// Returns the number of iterations since the solver was built; 0 for a factor.
    fn iterations(&self) -> usize {
        0
    }

    /// Returns the size in bytes of the solver.
    fn bytes(&self) -> usize;

    /// Returns the name printed in tables.
    fn name(&self) -> &'static str;
}

/// Builds the solver of the coarsest level that the parameters name.
pub(super) fn build<T: Real, B: Backend>(
    parameters: Coarsest,
    grid: &Grid<'_, T>,
    limit: Limit,
    backend: &B,
) -> Result<Box<dyn CoarsestSolve<T, B>>, SetupError> {
    Ok(match parameters {
        Coarsest::Factor => Box::new(Factored::build(grid, limit, backend)?),
        Coarsest::Iterative(parameters) => Box::new(Iterative::build(parameters, grid.a, backend)?),
    })
}
