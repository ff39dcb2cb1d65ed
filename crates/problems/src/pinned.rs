//! A sheet of cloth with a random share of its vertices fixed, or sliding along a line or a plane.

use coarsen_constraints::Constraints;

use crate::by_rows::ByRows;
use crate::{NumpyRandom, Problem, ProblemError, cloth};

/// The seed of all random choices.
const SEED: u64 = 8;

/// The prescribed displacement of constrained vertices, in metres.
const MOVES: f64 = 1e-3;

/// Returns the problem [`cloth`](cloth()) with constraints on a random `share` of its free vertices.
///
/// One third of these vertices are fixed, one third slide along lines and one third on planes in random
/// directions. All have prescribed displacements of up to a millimetre.
///
/// The matrix does not include the constraints; [`Problem::prefilter`] imposes them.
///
/// ```
/// let p = coarsen_problems::pinned(21, 0.002, 0.3)?;
/// let filtered = p.prefilter()?.expect("constraints");
/// assert_eq!(filtered.projector().filtered(), 120); // 30 % of 19 x 21 free vertices, rounded
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The errors of [`cloth`](cloth()), and [`ProblemError::Share`] for a share outside of 0 to 1.
pub fn pinned(n: usize, dt: f64, share: f64) -> Result<Problem, ProblemError> {
    system(n, dt, share)?.whole()
}

/// The system of a sheet of N x N vertices with its constraints, without its matrix.
pub(crate) fn system(n: usize, dt: f64, share: f64) -> Result<ByRows<'static>, ProblemError> {
    if !(0.0..=1.0).contains(&share) {
        return Err(ProblemError::Share { found: share });
    }
    ProblemError::check_size("pinned", n, 3, 1)?;
    let system = cloth::system(n, dt)?;
    let mut random = NumpyRandom::new(SEED);
    let mut free: Vec<usize> = (n..n * (n - 1)).collect(); // the sides u = 0 and u = 1 are held already
    let count = (share * free.len() as f64).round() as usize;
    let mut constraints = Constraints::new(n * n, 3)?;
    for k in 0..count {
        let other = k + (random.uniform() * (free.len() - k) as f64) as usize;
        free.swap(k, other.min(n * (n - 2) - 1));
        let mut vector = |size: f64| [0; 3].map(|_| size * random.normal());
        let (node, direction, move_to) = (free[k], vector(1.0), vector(MOVES / 3.0));
        match k % 3 {
            0 => constraints.point(node, &move_to)?,
            1 => constraints.line(node, &direction, &move_to)?,
            _ => {
                let length = direction.iter().map(|d| d * d).sum::<f64>().sqrt();
                constraints.plane(node, &direction.map(|d| d / length), move_to[0])?;
            }
        }
    }
    let name = format!("pinned:{n} share={share} dt={dt}");
    Ok(ByRows { name, constraints: Some(constraints), ..system })
}
