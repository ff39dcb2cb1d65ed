//! A box with sides along the axes and round edges.
//!
//! > d(x) = ‖max(q, 0)‖ + min(max(q₀, q₁, q₂), 0) − r,  q = |x − c| − (b − a)/2,  c = (a + b)/2
//!
//! Outside ∇d = n = max(q, 0) / ρ with the signs of x − c, and ∇²d = (I − n nᵀ) / ρ on the axes with q > 0.

use crate::error::{finite, positive};
use crate::shape::{across, kernel, norm, size};
use crate::{ContactError, Shape};

/// A box grown by a distance on all sides.
///
/// ```
/// use coarsen_contact::{Cuboid, Shape};
/// let step = Cuboid::new([[0.0; 3], [4.0, 1.0, 2.0]], 0.5)?;
/// assert_eq!((step.distance([1.0, 2.0, 1.0]), step.distance([7.0, 5.0, 1.0])), (0.5, 4.5));
/// assert_eq!((step.normal([1.0, 2.0, 1.0]), step.normal([7.0, 5.0, 1.0])), ([0.0, 1.0, 0.0], [0.6, 0.8, 0.0]));
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cuboid {
    corners: [[f64; 3]; 2],
    radius: f64,
}

impl Cuboid {
    /// Returns the box between its lowest and its highest corner, grown by `radius`, 0 or more, in m.
    ///
    /// # Errors
    /// [`ContactError::Value`] for sides and a radius that are not so, and numbers that are not finite.
    pub fn new([low, high]: [[f64; 3]; 2], radius: f64) -> Result<Self, ContactError> {
        let corners = [finite("a corner of a box", low)?, finite("a corner of a box", high)?];
        (0..3).try_for_each(|k| positive("a side of a box", high[k] - low[k]).map(drop))?;
        if radius != 0.0 {
            positive("the radius of a box", radius)?;
        }
        Ok(Self { corners, radius })
    }

    /// q, and the signs of x − c.
    fn beyond(&self, x: [f64; 3]) -> [[f64; 3]; 2] {
        let [low, high] = self.corners;
        let middle = [0, 1, 2].map(|k| 0.5 * (low[k] + high[k]));
        let beyond = [0, 1, 2].map(|k| (low[k] - x[k]).max(x[k] - high[k])); // exactly 0 on a face
        [beyond, [0, 1, 2].map(|k| (x[k] - middle[k]).signum())]
    }

    /// ρ: the distance from the box without its growth, 0 inside.
    fn outside(beyond: [f64; 3]) -> f64 {
        beyond.iter().map(|q| q.max(0.0).powi(2)).sum::<f64>().sqrt()
    }
}

impl Shape for Cuboid {
    fn distance(&self, x: [f64; 3]) -> f64 {
        let [beyond, _] = self.beyond(x);
        let larger = |most: f64, q: &f64| if most.is_nan() || q.is_nan() { f64::NAN } else { most.max(*q) };
        let inside = beyond.iter().fold(f64::NEG_INFINITY, larger);
        if inside > 0.0 { Self::outside(beyond) - self.radius } else { inside - self.radius }
    }

    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let [beyond, side] = self.beyond(x);
        let outside = Self::outside(beyond);
        if outside > 0.0 {
            return [0, 1, 2].map(|k| beyond[k].max(0.0) / outside * side[k]);
        }
        let nearest = (1..3).fold(0, |best, k| if beyond[k] > beyond[best] { k } else { best });
        [0, 1, 2].map(|k| if k == nearest { side[k] } else { 0.0 })
    }

    fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
        let [beyond, _] = self.beyond(x);
        let whole = across([self.normal(x)], Self::outside(beyond));
        let bends = |k: usize| beyond[k] > 0.0;
        [0, 1, 2].map(|p| [0, 1, 2].map(|q| if bends(p) && bends(q) { whole[p][q] } else { 0.0 }))
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        let [low, high] = self.corners;
        size(x) + norm(low) + norm(high) + self.radius
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
        Some((kernel!("cuboid"), [self.corners.as_flattened(), &[self.radius]].concat()))
    }
}
