//! Anisotropic diffusion whose strong direction is not aligned with the grid.
//!
//! The equation is −div(Q diag(1, ε) Qᵀ grad u) = f with the rotation Q by θ, discretised by bilinear (Q1)
//! elements on squares. Strong couplings are not along grid lines, so coarsening along axes fails. The
//! problem tests measures of strength of connection: Trottenberg, Oosterlee & Schüller 2001, *Multigrid*.
//! PyAMG's `diffusion_stencil_2d(type='FE')` is the same stencil.

use std::f64::consts::FRAC_PI_3;

use crate::by_rows::ByRows;
use crate::grid::Grid;
use crate::{Problem, ProblemError, rows};

/// ε: the diffusion orthogonal to the strong direction divided by the diffusion along it.
const WEAK: f64 = 1e-3;

/// θ: the angle from the x axis to the strong direction, 60 degrees.
const ANGLE: f64 = FRAC_PI_3;

/// Returns Q1 elements for anisotropic diffusion (θ = 60 degrees, ε = 10⁻³) on N x N interior points, with u
/// = 0 on the boundary.
///
/// With the tensor entries k_xx = cos²θ + ε sin²θ, k_yy = ε cos²θ + sin²θ and k_xy = (1 − ε) cos θ sin θ, the
/// stencil is
///
/// | | y − h | y | y + h |
/// |---|---|---|---|
/// | **x − h** | −(k_xx + k_yy)/6 − k_xy/2 | (k_yy − 2 k_xx)/3 | −(k_xx + k_yy)/6 + k_xy/2 |
/// | **x** | (k_xx − 2 k_yy)/3 | 4 (k_xx + k_yy)/3 | (k_xx − 2 k_yy)/3 |
/// | **x + h** | −(k_xx + k_yy)/6 + k_xy/2 | (k_yy − 2 k_xx)/3 | −(k_xx + k_yy)/6 − k_xy/2 |
///
/// Some couplings are positive, so the matrix is not an M-matrix.
///
/// ```
/// let p = coarsen_problems::anisotropic2d(10)?;
/// assert_eq!((p.matrix.shape().0, p.matrix.nnz()), (100, 784));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`].
pub fn anisotropic2d(n: usize) -> Result<Problem, ProblemError> {
    system(n)?.whole()
}

/// The system of N points per side, without its matrix.
pub(crate) fn system(n: usize) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_size("anisotropic2d", n, 1, 1)?;
    let grid = Grid::new(("anisotropic2d", n), [n, n, 1], 1)?;
    let h = 1.0 / (n + 1) as f64;
    let positions = grid.positions(|[x, y, _]| [(x + 1) as f64 * h, (y + 1) as f64 * h, 0.0]);
    let stencil = stencil(WEAK, ANGLE);
    Ok(ByRows::new(format!("anisotropic2d:{n}"), 1, positions, move |_, nodes| {
        Ok(rows::assemble(nodes, 1, &|i, row| {
            let [x, y, _] = grid.at(i);
            for p in x.saturating_sub(1)..n.min(x + 2) {
                for q in y.saturating_sub(1)..n.min(y + 2) {
                    row.add(grid.index([p, q, 0]), &[stencil[p + 1 - x][q + 1 - y]]);
                }
            }
        })?)
    }))
}

/// Returns the weights of the neighbours (x + p − 1, y + q − 1).
fn stencil(epsilon: f64, theta: f64) -> [[f64; 3]; 3] {
    let (s, c) = theta.sin_cos();
    let (xx, yy, xy) = (c * c + epsilon * s * s, epsilon * c * c + s * s, (1.0 - epsilon) * c * s);
    let along = -(xx + yy) / 6.0 - xy / 2.0;
    let across = -(xx + yy) / 6.0 + xy / 2.0;
    let (in_x, in_y) = ((yy - 2.0 * xx) / 3.0, (xx - 2.0 * yy) / 3.0);
    [[along, in_x, across], [in_y, 4.0 * (xx + yy) / 3.0, in_y], [across, in_x, along]]
}
