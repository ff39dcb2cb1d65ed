//! D⁻¹ and ω of a level (Algorithm 3, steps 2 and 3).

use std::borrow::Cow;

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::Real;
use coarsen_relax::Spectrum;

use super::parameters::{Modes, SmoothedAggregation};
use coarsen_multigrid::Grid;

/// The number of damped Jacobi sweeps that compute a near-kernel from random vectors ([`Modes::Found`]). *Source*: Brezina et al.
/// 2004, who use 15 to 20.
const FINDING_SWEEPS: usize = 20;

/// ω ρ(D⁻¹A) of the sweeps on A K = 0, as for P.
const FINDING_OMEGA: f64 = 4.0 / 3.0;

/// D⁻¹ and the damping factors of a level.
pub(super) struct Parts<'a, T: Real> {
    pub(super) inverses: Cow<'a, DenseBlocks<T>>,
    pub(super) omega: f64,
    /// ω with A_F. ρ(D_F⁻¹A_F) is 2 at most, because off-diagonal entries are negative and row sums vanish
    /// except for mass.
    pub(super) omega_filtered: f64,
    /// The number of sweeps on A K = 0.
    pub(super) sweeps: usize,
    /// ω of these sweeps.
    pub(super) relaxing: f64,
}

impl<'a, T: Real> Parts<'a, T> {
    pub(super) fn new(
        parameters: &SmoothedAggregation,
        fine: &Grid<'a, T>,
        filtered: bool,
    ) -> Result<Self, SetupError> {
        let (omega, sweeps) = match fine.sets {
            Some(_) => (parameters.omega_of_sets, 0),
            None => (parameters.omega, parameters.kernel_sweeps),
        };
        let found = matches!(parameters.modes, Modes::Found(_)) && fine.depth == 0;
        let sweeps = match parameters.modes {
            Modes::Found(_) if found => FINDING_SWEEPS + sweeps,
            Modes::Constants => 0,
            Modes::Known if fine.near_kernel.is_some() => 0,
            Modes::Known | Modes::Found(_) => sweeps,
        };
        if omega == 0.0 && sweeps == 0 {
            let inverses = Cow::Owned(DenseBlocks::new(fine.a.block().0, Vec::new())?); // nothing is smoothed
            return Ok(Self { inverses, omega, omega_filtered: 0.0, sweeps, relaxing: 0.0 });
        }
        let inverses = match fine.inverses {
            Some(known) => Cow::Borrowed(known),
            None => Cow::Owned(DenseBlocks::inverse_diagonal(fine.a, "smoothed aggregation")?), // 2
        };
        inverses.check_positive(fine.a, "smoothed aggregation")?;
        let rho = match fine.radius {
            Some(radius) => radius,
            None => {
                // Rows with weak couplings use A_F, whose ρ is known, so fewer steps suffice. Sweeps that
                // compute K from random vectors need all steps: they diverge if ρ is too small.
                let half = filtered && !found;
                let steps =
                    if half { parameters.lanczos_steps.div_ceil(2) } else { parameters.lanczos_steps };
                Spectrum::new(steps, parameters.safety).bound(fine.a, &inverses)? // 3
            }
        };
        Ok(Self {
            inverses,
            omega: omega / rho,
            omega_filtered: omega / 2.0,
            sweeps,
            relaxing: FINDING_OMEGA / rho,
        })
    }
}
