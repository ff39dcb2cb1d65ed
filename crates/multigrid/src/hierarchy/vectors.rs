//! The vectors of a cycle.

use coarsen_core::Vector;

/// The vectors of a level in a cycle.
pub(super) struct LevelVectors<V> {
    pub(super) residual: V,
    pub(super) coarse_b: V,
    pub(super) coarse_x: V,
    /// The right-hand side of the cycle, restricted, if the coarsest solve compares its residual with it.
    pub(super) coarse_whole: Option<V>,
    pub(super) krylov: Option<[V; 3]>,
}

/// The vectors of a cycle over interleaved columns: those of the finest level, and of each level above the coarsest.
pub(super) struct Interleaved<V> {
    pub(super) b: V,
    pub(super) x: V,
    pub(super) levels: Vec<LevelVectors<V>>,
}

impl<V: Vector> Interleaved<V> {
    /// Returns the size of all vectors in bytes.
    pub(super) fn bytes(&self) -> usize {
        let numbers: usize = self.levels.iter().map(|of| of.residual.size() + 2 * of.coarse_b.size()).sum();
        (2 * self.b.size() + numbers) * size_of::<V::Real>()
    }
}
