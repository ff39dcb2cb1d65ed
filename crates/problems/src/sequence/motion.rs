//! Sheets whose positions are given by a formula, and the contacts between them.

use coarsen_sparse::Stencil;

/// The positions and contacts of every step.
pub(super) trait Motion: Send + Sync {
    /// Writes the positions of the vertices in step k of `steps`.
    fn place(&self, k: usize, steps: usize, positions: &mut [[f64; 3]]);
    /// Appends the contacts of step k, each with a unit normal.
    fn touch(
        &mut self,
        k: usize,
        steps: usize,
        positions: &[[f64; 3]],
        contacts: &mut Vec<(Stencil, [f64; 3])>,
    );
}
