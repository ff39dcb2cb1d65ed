//! A half-space.
//!
//! > d(x) = n · x − c

use coarsen_mesh::vector::dot;

use crate::shape::{kernel, size, unit};
use crate::{ContactError, Shape};

/// The half-space behind a plane: a floor or a wall.
///
/// ```
/// use coarsen_contact::{Plane, Shape};
/// let floor = Plane::through([0.0, 2.0, 0.0], [0.0, 5.0, 0.0])?;
/// assert_eq!((floor.distance([7.0, 1.5, 0.0]), floor.normal([7.0, 1.5, 0.0])), (-0.5, [0.0, 1.0, 0.0]));
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    normal: [f64; 3],
    offset: f64,
}

impl Plane {
    /// Returns the half-space behind the plane through a point. `normal` may have any length and points out
    /// of the solid.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a normal of length 0 and numbers that are not finite.
    pub fn through(point: [f64; 3], normal: [f64; 3]) -> Result<Self, ContactError> {
        let (normal, _) = unit("the length of the normal of a plane", normal)?;
        let offset = dot(normal, point);
        if !offset.is_finite() {
            return Err(ContactError::Value {
                what: "the offset of a plane",
                found: offset,
                range: "finite",
            });
        }
        Ok(Self { normal, offset })
    }
}

impl Shape for Plane {
    fn distance(&self, x: [f64; 3]) -> f64 {
        dot(self.normal, x) - self.offset
    }

    fn normal(&self, _: [f64; 3]) -> [f64; 3] {
        self.normal
    }

    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        size(std::array::from_fn(|k| self.normal[k] * x[k])) + self.offset.abs()
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
        Some((kernel!("plane"), [&self.normal[..], &[self.offset]].concat()))
    }
}
