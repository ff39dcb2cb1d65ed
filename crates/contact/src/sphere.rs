//! A ball.
//!
//! > d(x) = ρ − r,  ∇d = n = (x − c) / ρ,  ∇²d = (I − n nᵀ) / ρ,  ρ = ‖x − c‖

use coarsen_mesh::vector::sub;

use crate::error::{finite, positive};
use crate::shape::{across, kernel, norm, size};
use crate::{ContactError, Shape};

/// A ball. The normal at its centre is the y axis.
///
/// ```
/// use coarsen_contact::{Shape, Sphere};
/// let ball = Sphere::new([0.0, 1.0, 0.0], 2.0)?;
/// assert_eq!((ball.distance([0.5, 1.0, 0.0]), ball.normal([0.5, 1.0, 0.0])), (-1.5, [1.0, 0.0, 0.0]));
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    centre: [f64; 3],
    radius: f64,
}

impl Sphere {
    /// Returns the ball with this centre and radius, in m.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a radius that is not positive and numbers that are not finite.
    pub fn new(centre: [f64; 3], radius: f64) -> Result<Self, ContactError> {
        let centre = finite("the centre of a sphere", centre)?;
        Ok(Self { centre, radius: positive("the radius of a sphere", radius)? })
    }
}

impl Shape for Sphere {
    fn distance(&self, x: [f64; 3]) -> f64 {
        norm(sub(x, self.centre)) - self.radius
    }

    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let outward = sub(x, self.centre);
        let rho = norm(outward);
        if rho == 0.0 { [0.0, 1.0, 0.0] } else { outward.map(|v| v / rho) }
    }

    fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
        across([self.normal(x)], norm(sub(x, self.centre)))
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        size(x) + size(self.centre) + self.radius
    }

    fn is_convex(&self) -> bool {
        true
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>)> {
        Some((kernel!("sphere"), [&self.centre[..], &[self.radius]].concat()))
    }
}
