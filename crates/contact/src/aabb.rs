//! Axis-aligned boxes.

/// A closed axis-aligned box.
///
/// ```
/// use coarsen_contact::Aabb;
/// let edge = Aabb::of([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]]);
/// assert_eq!(edge, Aabb { low: [0.0; 3], high: [1.0, 2.0, 0.0] });
/// assert!(edge.overlaps(&Aabb::of([[1.0, 1.0, 0.1]]).grown(0.1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// The smallest coordinates.
    pub low: [f64; 3],
    /// The largest coordinates.
    pub high: [f64; 3],
}

impl Aabb {
    /// The box that contains nothing.
    pub const EMPTY: Self = Self { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    /// Returns the smallest box that contains the points. A coordinate that is NaN in a point is NaN in the
    /// box.
    pub fn of(points: impl IntoIterator<Item = [f64; 3]>) -> Self {
        // `f64::min` would ignore a NaN.
        let lower = |a: f64, b: f64| if b < a || b.is_nan() { b } else { a };
        let higher = |a: f64, b: f64| if b > a || b.is_nan() { b } else { a };
        points.into_iter().fold(Self::EMPTY, |all, x| Self {
            low: [0, 1, 2].map(|k| lower(all.low[k], x[k])),
            high: [0, 1, 2].map(|k| higher(all.high[k], x[k])),
        })
    }

    /// Returns the box grown by `by` on each side.
    pub fn grown(self, by: f64) -> Self {
        Self { low: self.low.map(|x| x - by), high: self.high.map(|x| x + by) }
    }

    /// Whether both boxes have a point in common.
    #[inline]
    pub fn overlaps(&self, other: &Self) -> bool {
        // Without branches, because their outcome is not predictable.
        (0..3).fold(true, |all, k| all & (self.low[k] <= other.high[k]) & (other.low[k] <= self.high[k]))
    }

    /// The square of the distance of a point from the box; 0 inside.
    #[inline]
    pub fn square_distance(&self, x: [f64; 3]) -> f64 {
        let away = [0, 1, 2].map(|k| (self.low[k] - x[k]).max(x[k] - self.high[k]).max(0.0));
        away[0] * away[0] + away[1] * away[1] + away[2] * away[2]
    }

    /// The length of the longest side.
    pub fn extent(&self) -> f64 {
        (0..3).map(|k| self.high[k] - self.low[k]).fold(0.0, f64::max)
    }

    /// Whether the box is not empty and all coordinates are finite.
    pub fn is_finite(&self) -> bool {
        (0..3).all(|k| self.low[k].is_finite() && self.high[k].is_finite() && self.low[k] <= self.high[k])
    }
}

/// Returns the mean extent of boxes; NaN if there are no boxes.
pub(crate) fn mean_extent(boxes: impl ExactSizeIterator<Item = Aabb>) -> f64 {
    let count = boxes.len() as f64;
    boxes.map(|b| b.extent()).sum::<f64>() / count
}
