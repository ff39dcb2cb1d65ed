//! Diffusion with a discontinuous coefficient: −div(k grad u) = f, where k is constant in each block of cells
//! and random from block to block.
//!
//! The discretisation uses cell-centred finite volumes with harmonic means on faces, which are exact for flow
//! through a layered medium: Eymard, Gallouët & Herbin 2000, *Finite Volume Methods*. A coefficient that
//! varies over many decades is the classical test of robustness (Alcouffe, Brandt, Dendy & Painter 1981).

use crate::by_rows::ByRows;
use crate::grid::Grid;
use crate::{NumpyRandom, Problem, ProblemError, rows};

/// The number of cells along the side of a block of equal coefficient.
const BLOCK: usize = 8;

/// log₁₀ of the coefficient is uniformly distributed in 0 .. DECADES.
const DECADES: f64 = 6.0;

/// The seed of the matrices on which other libraries were measured.
const SEED: u64 = 7;

/// Returns finite volumes on N x N x N cells, whose coefficient jumps over six decades between blocks of 8³
/// cells.
///
/// A face between cells with coefficients k and k' has the coupling 2 k k' / (k + k'). A face on the
/// boundary, where u = 0, adds 2 k to the diagonal. log₁₀ k is uniformly distributed in 0 .. 6.
/// [`NumpyRandom`] with seed 7 draws one number per block, z fastest.
///
/// ```
/// let p = coarsen_problems::jump3d(8)?;
/// assert_eq!((p.matrix.shape().0, p.matrix.nnz()), (512, 3200));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] unless n is a positive multiple of 8, [`ProblemError::TooLarge`].
pub fn jump3d(n: usize) -> Result<Problem, ProblemError> {
    system(n)?.whole()
}

/// The system of N cells per side, without its matrix.
pub(crate) fn system(n: usize) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_size("jump3d", n, BLOCK, BLOCK)?;
    let grid = Grid::new(("jump3d", n), [n; 3], 1)?;
    let (h, k) = (1.0 / n as f64, coefficients(&grid, n / BLOCK));
    let positions = grid.positions(|cell| cell.map(|c| (c as f64 + 0.5) * h));
    Ok(ByRows::new(format!("jump3d:{n}"), 1, positions, move |_, nodes| {
        Ok(rows::assemble(nodes, 1, &|i, row| {
            let mut diagonal = 0.0;
            for axis in 0..3 {
                for side in grid.neighbours(i, axis) {
                    diagonal += match side {
                        Some(j) => {
                            let face = 2.0 * k[i] * k[j] / (k[i] + k[j]);
                            row.add(j, &[-face]);
                            face
                        }
                        None => 2.0 * k[i],
                    };
                }
            }
            row.add(i, &[diagonal]);
        })?)
    }))
}

/// Returns k of every cell, for `side`³ blocks.
fn coefficients(cells: &Grid, side: usize) -> Vec<f64> {
    let mut random = NumpyRandom::new(SEED);
    let blocks: Vec<f64> =
        (0..side * side * side).map(|_| 10_f64.powf(random.between(0.0, DECADES))).collect();
    let block = |cell: [usize; 3]| {
        let [x, y, z] = cell.map(|c| c / BLOCK);
        blocks[(x * side + y) * side + z]
    };
    (0..cells.len()).map(|i| block(cells.at(i))).collect()
}
