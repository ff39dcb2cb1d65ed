//! The stage of pictures: obstacles, the ground, a view, and the bodies between them.
//!
//! | file | what |
//! |---|---|
//! | `mod` | [`Solid`]: an obstacle; [`View`]: the direction of view |
//! | `patches` | triangles of obstacles, to be drawn |
//! | `drawn` | [`Stage`]: draws a frame |

mod drawn;
mod patches;

use coarsen_contact::{Capsule, ContactError, Plane, Shape, Sphere};
use serde::Deserialize;

pub use drawn::{BODIES, OBSTACLE, Stage};
pub use patches::{Patch, unit};

/// An obstacle.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Solid {
    /// Everything below a plane.
    Plane {
        /// A point of the plane.
        point: [f64; 3],
        /// The outward normal.
        normal: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Its centre.
        centre: [f64; 3],
        /// Its radius.
        radius: f64,
    },
    /// A cylinder with round ends.
    Capsule {
        /// One end of its axis.
        from: [f64; 3],
        /// The other end.
        to: [f64; 3],
        /// Its radius.
        radius: f64,
    },
}

crate::fields!(enum Solid { Plane { point, normal }, Sphere { centre, radius }, Capsule { from, to, radius } });

impl Solid {
    /// The radius; `None` for a plane.
    pub fn radius(&self) -> Option<f64> {
        match *self {
            Self::Plane { .. } => None,
            Self::Sphere { radius, .. } | Self::Capsule { radius, .. } => Some(radius),
        }
    }

    /// The signed distance of the solid, grown by `skin` on all sides.
    ///
    /// # Errors
    /// [`ContactError`] for a radius or a direction that is not valid.
    pub fn shape(&self, skin: f64) -> Result<Box<dyn Shape>, ContactError> {
        Ok(match *self {
            Self::Plane { point, normal } => {
                let along = unit(normal);
                let raised = std::array::from_fn(|k| point[k] + skin * along[k]);
                Box::new(Plane::through(raised, normal)?)
            }
            Self::Sphere { centre, radius } => Box::new(Sphere::new(centre, grown(radius, skin))?),
            Self::Capsule { from, to, radius } => Box::new(Capsule::new(from, to, grown(radius, skin))?),
        })
    }
}

/// A radius that is not valid stays so.
fn grown(radius: f64, skin: f64) -> f64 {
    if radius > 0.0 { radius + skin } else { radius }
}

/// The ground at y = 0.
pub const GROUND: Solid = Solid::Plane { point: [0.0; 3], normal: [0.0, 1.0, 0.0] };

/// The view of the pictures: a box that fills them, and the direction.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct View {
    /// Two corners of the box; by default the box contains the bodies, balls and capsules.
    pub corners: Option<[[f64; 3]; 2]>,
    /// The angle around the vertical axis: 0 looks from +z, 90 from +x.
    pub azimuth: f64,
    /// The angle above the horizon.
    pub elevation: f64,
}

impl Default for View {
    fn default() -> Self {
        Self { corners: None, azimuth: 25.0, elevation: 12.0 }
    }
}
