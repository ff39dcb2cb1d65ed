//! A cylinder with hemispherical ends.
//!
//! > d(x) = ρ − r,  ρ = ‖x − p‖,  p = a + t (b − a),  t = (x − a)·(b − a) / ‖b − a‖² between 0 and 1
//!
//! ∇d = n = (x − p) / ρ. If p is inside the segment, ∇²d = (I − n nᵀ − u uᵀ) / ρ with the unit vector u of
//! the axis. If p is an end, ∇²d = (I − n nᵀ) / ρ.

use coarsen_mesh::vector::{cross, dot, sub};

use crate::error::{finite, positive};
use crate::shape::{across, kernel, norm, size, unit};
use crate::{ContactError, Shape};

/// A point is on the axis, up to round-off, if its distance from the axis is at most this fraction of the
/// coordinates.
const AXIS: f64 = 8.0 * f64::EPSILON;

/// The points within a radius of a segment, for example a peg or a limb. On the axis the normal is any unit
/// vector orthogonal to it.
///
/// ```
/// use coarsen_contact::{Capsule, Shape};
/// let peg = Capsule::new([0.0; 3], [0.0, 0.0, 4.0], 0.5)?;
/// assert_eq!((peg.distance([1.0, 0.0, 3.0]), peg.distance([0.0, 0.0, -0.2])), (0.5, -0.3));
/// assert_eq!(peg.normal([1.0, 0.0, 3.0]), [1.0, 0.0, 0.0]);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    start: [f64; 3],
    axis: [f64; 3],
    length: f64,
    radius: f64,
}

impl Capsule {
    /// Returns the points within `radius` of the segment from a to b, in m.
    ///
    /// # Errors
    /// [`ContactError::Value`] for ends that coincide (use a [`Sphere`](crate::Sphere)), a radius that is not
    /// positive, and numbers that are not finite.
    pub fn new(a: [f64; 3], b: [f64; 3], radius: f64) -> Result<Self, ContactError> {
        let start = finite("an end of a capsule", a)?;
        let end = finite("an end of a capsule", b)?;
        let (axis, length) = unit("the length of a capsule", sub(end, start))?;
        Ok(Self { start, axis, length, radius: positive("the radius of a capsule", radius)? })
    }

    /// Returns x − p, which is 0 on the axis, and whether p is the projection of x on the axis.
    fn outward(&self, x: [f64; 3]) -> ([f64; 3], bool) {
        let from = sub(x, self.start);
        let along = dot(from, self.axis);
        let t = along.clamp(0.0, self.length);
        let outward: [f64; 3] = std::array::from_fn(|k| from[k] - t * self.axis[k]);
        let on_axis = norm(outward) <= AXIS * self.magnitude(x);
        (if on_axis { [0.0; 3] } else { outward }, t == along)
    }
}

impl Shape for Capsule {
    fn distance(&self, x: [f64; 3]) -> f64 {
        norm(self.outward(x).0) - self.radius
    }

    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let (outward, _) = self.outward(x);
        let rho = norm(outward);
        if rho != 0.0 {
            return outward.map(|v| v / rho);
        }
        // Orthogonal to the axis and to the coordinate axis that is least parallel to it.
        let least = (1..3).fold(0, |m, k| if self.axis[k].abs() < self.axis[m].abs() { k } else { m });
        let across = cross(self.axis, std::array::from_fn(|k| f64::from(k == least)));
        let length = norm(across);
        across.map(|v| v / length)
    }

    fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
        let (outward, beside) = self.outward(x);
        let (normal, rho) = (self.normal(x), norm(outward));
        if beside { across([normal, self.axis], rho) } else { across([normal], rho) }
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        size(x) + size(self.start) + self.length + self.radius
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
        Some((kernel!("capsule"), [&self.start[..], &self.axis, &[self.length, self.radius]].concat()))
    }
}
