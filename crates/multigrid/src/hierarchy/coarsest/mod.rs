//! The solve on the coarsest level: one hook, and what is behind it.
//!
//! | file | what |
//! |---|---|
//! | `factor` | a sparse factor, or a dense pseudo-inverse where the system is singular |
//! | `iterative` | conjugate gradients to a given reduction |

mod factor;
mod iterative;

use coarsen_backend::{Backend, SetupError};
use coarsen_core::{Class, Real};
use coarsen_sparse::Bsr;

use crate::Coarsest;
use factor::Factored;
pub(super) use factor::check_stalled;
use iterative::Iterative;

/// What solves the coarsest level.
pub(super) trait CoarsestSolve<T: Real, B: Backend>: Send {
    /// x ≈ A⁻¹ b, whatever x held.
    fn solve(&mut self, b: &B::Vector, x: &mut B::Vector);

    /// New values on the same pattern. After an error the old solver stays, as it was.
    fn update(&mut self, a: &Bsr<T>) -> Result<(), SetupError>;

    /// What it promises.
    fn class(&self) -> Class;

    /// Unknowns.
    fn size(&self) -> usize;

    /// Stored scalars of A.
    fn nnz(&self) -> usize;

    /// Bytes it holds.
    fn bytes(&self) -> usize;

    /// What it is, for tables.
    fn kind(&self) -> &'static str;
}

/// The solver that the recipe asks for.
pub(super) fn build<T: Real, B: Backend>(
    recipe: Coarsest,
    a: &Bsr<T>,
    on: &B,
) -> Result<Box<dyn CoarsestSolve<T, B>>, SetupError> {
    Ok(match recipe {
        Coarsest::Factor => Box::new(Factored::build(a, on)?),
        Coarsest::Iterative(recipe) => Box::new(Iterative::build(recipe, a, on)?),
    })
}
