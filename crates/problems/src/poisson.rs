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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stencils() {
        let a = poisson2d(3).unwrap().matrix;
        assert_eq!(a.pattern().row(4), [1, 3, 4, 5, 7]);
        assert_eq!(a.row(4).map(|(_, v)| v[0]).collect::<Vec<_>>(), [-1.0, -1.0, 4.0, -1.0, -1.0]);
        assert_eq!(a.pattern().row(2), [1, 2, 5]); // no coupling between ends of lines
        let a = poisson3d(3).unwrap().matrix;
        assert_eq!(a.pattern().row(13), [4, 10, 12, 13, 14, 16, 22]);
        assert_eq!(a.get(13, 13), 6.0);
        assert_eq!(poisson3d(1).unwrap().matrix.values(), [6.0]);
    }

    /// Sines are eigenvectors: A u = 4 Σ sin²(π h / 2) u.
    #[test]
    fn sines_are_eigenvectors() {
        use coarsen_core::LinearOperator;
        for (p, dimension) in [(poisson2d(7).unwrap(), 2), (poisson3d(7).unwrap(), 3)] {
            let sine = |x: &[f64; 3]| {
                x.iter().take(dimension).map(|x| (std::f64::consts::PI * x).sin()).product::<f64>()
            };
            let u: Vec<f64> = p.positions.iter().map(sine).collect();
            let mut y = vec![0.0; u.len()];
            p.matrix.apply(&u, &mut y);
            let lambda = dimension as f64 * 4.0 * (std::f64::consts::PI / 16.0).sin().powi(2);
            assert!(u.iter().zip(&y).all(|(u, y)| (lambda * u - y).abs() < 1e-14));
        }
    }
}
