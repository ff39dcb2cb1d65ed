//! −Δu = f by finite differences.
//!
//! This is the model problem of multigrid: Trottenberg, Oosterlee & Schüller 2001, *Multigrid*.

use crate::by_rows::ByRows;
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
    system("poisson2d", n, 2)?.whole()
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
    system("poisson3d", n, 3)?.whole()
}

/// The system of N points per side, without its matrix.
pub(crate) fn system(
    name: &'static str,
    n: usize,
    dimension: usize,
) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_size(name, n, 1, 1)?;
    let grid = Grid::new((name, n), if dimension == 2 { [n, n, 1] } else { [n; 3] }, 1)?;
    let h = 1.0 / (n + 1) as f64;
    let at = |k: usize| (k + 1) as f64 * h;
    let positions = grid.positions(|[x, y, z]| [at(x), at(y), if dimension == 2 { 0.0 } else { at(z) }]);
    Ok(ByRows::new(format!("{name}:{n}"), 1, positions, move |_, nodes| {
        Ok(rows::assemble(nodes, 1, &|i, row| {
            let sides = (0..dimension).map(|axis| grid.neighbours(i, axis));
            sides.clone().rev().filter_map(|[lower, _]| lower).for_each(|j| row.add(j, &[-1.0]));
            row.add(i, &[2.0 * dimension as f64]);
            sides.rev().filter_map(|[_, upper]| upper).for_each(|j| row.add(j, &[-1.0]));
        })?)
    }))
}
