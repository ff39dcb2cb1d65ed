//! −Δu = f by finite differences.
//!
//! This is the model problem of multigrid: Trottenberg, Oosterlee & Schüller 2001, *Multigrid*.

use std::borrow::Cow;

use coarsen_sparse::Bsr;

use crate::by_rows::{ByRows, Nodes};
use crate::grid::Grid;
use crate::{Problem, ProblemError, rows};

/// Returns the 5-point Laplacian on the N x N interior points of the unit square, with u = 0 on the boundary.
///
/// The entries are 4 on the diagonal and −1 for each neighbour: h² (−Δ) with h = 1 / (N + 1). All eigenvalues
/// are in (0, 8), and the condition number is about 0.4 (N + 1)².
///
/// ```
/// let p = coarsen_problems::poisson2d(10)?;
/// assert_eq!((p.matrix.shape().0, p.matrix.nnz()), (100, 460));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`].
pub fn poisson2d(n: usize) -> Result<Problem, ProblemError> {
    Box::new(Poisson::new("poisson2d", n, 2)?).whole()
}

/// Returns the 7-point Laplacian on the N x N x N interior points of the unit cube, with u = 0 on the
/// boundary.
///
/// The entries are 6 on the diagonal and −1 for each neighbour: h² (−Δ) with h = 1 / (N + 1).
///
/// ```
/// let p = coarsen_problems::poisson3d(10)?;
/// assert_eq!((p.matrix.shape().0, p.matrix.nnz()), (1000, 6400));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`].
pub fn poisson3d(n: usize) -> Result<Problem, ProblemError> {
    Box::new(Poisson::new("poisson3d", n, 3)?).whole()
}

/// N points per side.
pub(crate) struct Poisson {
    name: &'static str,
    n: usize,
    dimension: usize,
    grid: Grid,
}

impl Poisson {
    pub(crate) fn new(name: &'static str, n: usize, dimension: usize) -> Result<Self, ProblemError> {
        ProblemError::check_size(name, n, 1, 1)?;
        let grid = Grid::new((name, n), if dimension == 2 { [n, n, 1] } else { [n; 3] }, 1)?;
        Ok(Self { name, n, dimension, grid })
    }
}

impl ByRows for Poisson {
    fn name(&self) -> String {
        format!("{}:{}", self.name, self.n)
    }

    fn block(&self) -> usize {
        1
    }

    fn nodes(&self) -> usize {
        self.grid.len()
    }

    fn positions(&self) -> Cow<'_, [[f64; 3]]> {
        let h = 1.0 / (self.n + 1) as f64;
        Cow::Owned(self.grid.positions(|[x, y, z]| {
            let at = |k: usize| (k + 1) as f64 * h;
            [at(x), at(y), if self.dimension == 2 { 0.0 } else { at(z) }]
        }))
    }

    fn matrix(&self, nodes: Nodes<'_>) -> Result<Bsr<f64>, ProblemError> {
        let Self { dimension, grid, .. } = *self;
        Ok(rows::assemble(nodes, 1, &|i, row| {
            let sides = (0..dimension).map(|axis| grid.neighbours(i, axis));
            sides.clone().rev().filter_map(|[lower, _]| lower).for_each(|j| row.add(j, &[-1.0]));
            row.add(i, &[2.0 * dimension as f64]);
            sides.rev().filter_map(|[_, upper]| upper).for_each(|j| row.add(j, &[-1.0]));
        })?)
    }
}
