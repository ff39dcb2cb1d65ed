//! Linear systems of an animation, written as files for other programs.

use std::path::Path;

use coarsen::matrix_market::{self, Dense, Symmetry};
use coarsen::sparse::OwnedSystem;
use examples_run::Failure;

/// Whether a system is written after a frame, if `count` systems are spread over all frames.
pub(crate) fn is_due(frame: usize, frames: usize, count: usize) -> bool {
    let before = |frame: usize| frame * count / frames.max(1);
    frame > 0 && before(frame) > before(frame - 1)
}

/// Writes a system with its contact, its right-hand side and the positions of its nodes.
pub(crate) fn write(
    folder: &Path,
    frame: usize,
    system: &OwnedSystem<f64>,
    rhs: &[f64],
) -> Result<(), Failure> {
    let file = |what: &str| folder.join(format!("{what}_{frame:04}.mtx"));
    matrix_market::write(file("system"), &*system.system().whole()?, Symmetry::Detect)?;
    matrix_market::write_vector(file("rhs"), rhs)?;
    // A dense file is stored by columns.
    let n = system.positions.len();
    let columns = (0..3 * n).map(|k| system.positions[k % n][k / n]).collect();
    matrix_market::write_dense(file("positions"), &Dense::new(n, 3, columns)?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_spread_over_the_frames() {
        for (frames, count, expected) in [(10, 8, 8), (25, 8, 8), (4, 8, 4), (10, 0, 0), (10, 1, 1)] {
            let due = (1..=frames).filter(|&frame| is_due(frame, frames, count)).count();
            assert_eq!(due, expected, "{count} of {frames}");
        }
        assert!(is_due(10, 10, 1) && !is_due(0, 10, 8));
    }
}
