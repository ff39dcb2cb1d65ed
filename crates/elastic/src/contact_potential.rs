//! Energies of the distance to an obstacle.

use std::fmt;
use std::sync::Arc;

use crate::error::positive;
use crate::{Barrier, BodyError, Penalty};

/// An energy φ of the distance to an obstacle in m, positive outside.
///
/// ```
/// use std::sync::Arc;
/// use coarsen_elastic::{ContactPotential, Penalty};
/// assert_eq!(ContactPotential::from(Penalty { stiffness: 8.0 }).at(-0.5), [1.0, -4.0, 8.0]);
/// // A cubic penalty, which limits no step.
/// let at = |d: f64| if d < 0.0 { [-d.powi(3), -3.0 * d * d, -6.0 * d] } else { [0.0; 3] };
/// let cubic = ContactPotential::Other { at: Arc::new(at), max_step: Arc::new(|_, _| f64::INFINITY) };
/// assert_eq!(cubic.at(-1.0), [1.0, -3.0, 6.0]);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum ContactPotential {
    /// Nodes penetrate.
    Penalty(Penalty),
    /// No step crosses it.
    Barrier(Barrier),
    /// Any other potential.
    Other {
        /// φ, φ' and φ'' at a distance, as [`at`](Self::at) returns them.
        at: Arc<dyn Fn(f64) -> [f64; 3] + Send + Sync>,
        /// The bound of steps for a distance and its rate, as [`max_step`](Self::max_step) returns it.
        max_step: Arc<dyn Fn(f64, f64) -> f64 + Send + Sync>,
    },
}

impl ContactPotential {
    /// φ, φ' and φ'' at a distance. All are 0 without contact.
    pub fn at(&self, distance: f64) -> [f64; 3] {
        match self {
            Self::Penalty(penalty) => penalty.at(distance),
            Self::Barrier(barrier) => barrier.at(distance),
            Self::Other { at, .. } => at(distance),
        }
    }

    /// Checks the parameters of a penalty or a barrier.
    ///
    /// # Errors
    /// [`BodyError::Value`] for the first one that is not positive and finite.
    pub fn check(&self) -> Result<(), BodyError> {
        match self {
            Self::Penalty(penalty) => positive("the stiffness of a penalty", penalty.stiffness).map(drop),
            Self::Barrier(barrier) => {
                positive("the stiffness of a barrier", barrier.stiffness)?;
                positive("the reach of a barrier", barrier.reach).map(drop)
            }
            Self::Other { .. } => Ok(()),
        }
    }

    /// The largest α for which `distance + α rate` is valid.
    pub fn max_step(&self, distance: f64, rate: f64) -> f64 {
        match self {
            Self::Penalty(_) => f64::INFINITY,
            Self::Barrier(barrier) => barrier.max_step(distance, rate),
            Self::Other { max_step, .. } => max_step(distance, rate),
        }
    }
}

impl fmt::Debug for ContactPotential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Penalty(penalty) => fmt::Debug::fmt(penalty, f),
            Self::Barrier(barrier) => fmt::Debug::fmt(barrier, f),
            Self::Other { .. } => f.write_str("Other"),
        }
    }
}

impl From<Penalty> for ContactPotential {
    fn from(penalty: Penalty) -> Self {
        Self::Penalty(penalty)
    }
}

impl From<Barrier> for ContactPotential {
    fn from(barrier: Barrier) -> Self {
        Self::Barrier(barrier)
    }
}
