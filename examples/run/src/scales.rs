//! Whether the numbers of a scene can be resolved at all.
//!
//! > δ = ε L / 4,  r = ‖W (∇E(x + δ s) − ∇E(x))‖,  sᵢ = ±1    (1)
//!
//! with the weights W of the norm in which steps converge, and L the largest coordinate. A position of the size L is
//! stored with an error of about δ, so that forces have an error of about r, whatever a solver does. If r is larger than
//! the force to which steps converge, no step does. A body that is 10¹⁵ times too light or too stiff is such a case.

use coarsen::elastic::Potential;
use coarsen::optimize::{Norm, node_weights};

use crate::Failure;

/// Forces that are below the round-off of positions.
#[derive(Debug, thiserror::Error)]
#[error(
    "in units of the characteristic force of a node, rounding of positions changes forces by {noise:.1e}, but {what} is \
     {limit:.1e}, so that no step can converge; the bodies are too light or too stiff: take a larger density, a smaller \
     stiffness or a larger --tolerance"
)]
pub struct Unresolved {
    /// r of (1).
    pub noise: f64,
    /// The force to which steps converge.
    pub limit: f64,
    /// What that force is.
    pub what: &'static str,
}

/// By how much (1) moves positions, in units of δ: so far that a difference of forces has several digits.
const FAR: f64 = (1_u64 << 22) as f64;

/// Checks that the round-off of forces at x is below `tolerance` times the weight, or below the weight if that is 0;
/// `weight` has three numbers for each free node, in N. *Cost* two gradients.
///
/// # Errors
/// [`Unresolved`], and the errors of [`node_weights`] and [`Norm::weighted`] for forces that are not finite.
pub fn check(
    energy: &mut (impl Potential + ?Sized),
    x: &[f64],
    weight: &Vec<f64>,
    tolerance: f64,
) -> Result<(), Failure> {
    let mut forces = vec![0.0; x.len() / 3];
    energy.add_characteristic(&mut forces);
    let mut norm = Norm::weighted(node_weights(&forces, 3)?)?;
    let length = x.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let by = FAR * 0.25 * f64::EPSILON * length;
    // The signs of neighbours differ without a period (Thue and Morse).
    let sign = |k: usize| if k.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let moved: Vec<f64> = x.iter().enumerate().map(|(k, x)| x + by * sign(k)).collect();
    let [mut here, mut there] = [0; 2].map(|_| vec![0.0; x.len()]);
    energy.add_gradient(x, &mut here);
    energy.add_gradient(&moved, &mut there);
    there.iter_mut().zip(&here).for_each(|(there, here)| *there = (*there - here) / FAR);
    let (noise, weight) = (norm.of(&there), norm.of(weight)); // (1)
    let (limit, what) = match tolerance {
        0.0 => (weight, "the weight"),
        share => (share * weight, "the tolerance"),
    };
    if noise <= limit { Ok(()) } else { Err(Unresolved { noise, limit, what }.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen::elastic::{Spring, Springs};

    /// A chain at 1 m with springs of k N/m, each of them 0.1 m long: forces are exact to about 1e-16 k N.
    fn chain(k: f64) -> (Springs, Vec<f64>) {
        let x: Vec<[f64; 3]> = (0..11).map(|i| [0.1 * f64::from(i), 1.0, 0.0]).collect();
        let spring = |i: u32| Spring { ends: [i, i + 1], stiffness: k, length: 0.1 };
        let springs = Springs::new((0..10).map(spring).collect(), &[false; 11], &x).unwrap();
        (springs, x.into_flattened())
    }

    #[test]
    fn scales_that_cannot_be_resolved_are_refused() {
        for (k, weight, tolerance, good) in [
            (1e3, 1e-3, 1e-2, true),
            (1e3, 1e-9, 1e-2, true),
            (1e3, 1e-12, 1e-2, false),
            (1e3, 1e-12, 0.0, true),
            (1e3, 1e-15, 0.0, false),
            (1e16, 1e-3, 1e-2, false),
            (1e300, 1e-3, 0.0, false),
            (1e-3, 1e-9, 1e-2, true),
        ] {
            let (mut springs, x) = chain(k);
            let found = check(&mut springs, &x, &[0.0, -weight, 0.0].repeat(11), tolerance);
            assert_eq!(found.is_ok(), good, "{k:e} {weight:e} {tolerance}: {found:?}");
            if let Err(error) = found {
                let Unresolved { noise, limit, .. } = error.downcast_ref().unwrap();
                assert!(noise > limit, "{error}");
            }
        }
        let (mut springs, x) = chain(1e3);
        assert!(check(&mut springs, &x, &vec![f64::NAN; 33], 1.0).is_err());
    }
}
