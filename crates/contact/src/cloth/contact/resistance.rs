//! How the energy of a pair depends on its distance.

use coarsen_elastic::Barrier;

use super::MIN_DISTANCE;

/// The potential of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) enum Resistance {
    /// A barrier of the distance above the one that is kept.
    Barrier(Barrier),
    /// Springs with this stiffness, which begin at the thickness.
    Springs(f64),
}

impl Resistance {
    /// φ, φ' and φ'' at a distance, for a thickness.
    pub(super) fn at(&self, distance: f64, thickness: f64) -> [f64; 3] {
        match self {
            Self::Barrier(barrier) => barrier.at(distance - MIN_DISTANCE * thickness),
            Self::Springs(_) if distance >= thickness => [0.0; 3],
            Self::Springs(k) => {
                let depth = thickness - distance;
                [0.5 * k * depth * depth, -k * depth, *k]
            }
        }
    }
}
