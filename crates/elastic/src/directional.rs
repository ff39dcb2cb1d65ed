//! A number that depends on a direction in flat cloth.

use std::f64::consts::FRAC_PI_4;

/// A number for the directions 0° (u), 45° and 90° (v), linear in the angle between these. Directions that differ by a sign
/// of u or v have the same number.
///
/// *Use* for the bending stiffness of a hinge, with [`Shell::by_hinge`](crate::Shell::by_hinge): cloth bends in the
/// direction across the edge. *Reference* Wang, O'Brien & Ramamoorthi 2011, §4, without their dependence on curvature.
///
/// ```
/// use coarsen_elastic::ByDirection;
/// let bending = ByDirection([4.0, 2.0, 3.0]);
/// assert_eq!(bending.at([-7.0, 0.0]), 4.0);
/// assert_eq!(bending.at([0.0, 0.1]), 3.0);
/// assert!((bending.at([1.0, -1.0]) - 2.0).abs() < 1e-14);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByDirection(pub [f64; 3]);

impl ByDirection {
    /// The number for a direction (u, v) of any length above 0; that for 0° for the length 0.
    pub fn at(self, [u, v]: [f64; 2]) -> f64 {
        let along = v.abs().atan2(u.abs()) / FRAC_PI_4; // 0 to 2
        let [first, middle, last] = self.0;
        if along < 1.0 { first + along * (middle - first) } else { middle + (along - 1.0) * (last - middle) }
    }
}
