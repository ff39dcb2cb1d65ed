//! Shapes as data: what bodies are seeded from, and what colliders are.
//!
//! Lengths are in m. [`Shape::solid`] gives the signed distance. A shape may be turned by [`Pose`], which first turns
//! about the origin and then moves.

use std::sync::Arc;

use coarsen::contact::{self, Capsule, ContactError, Plane, Sphere};
use coarsen::mesh::vector::sub;
use examples_common::fields;
use serde::Deserialize;

use crate::particles::{IDENTITY, Matrix, apply};
use crate::solids::{Cuboid, Cylinder, Ring, length};

/// A solid by its signed distance.
pub type Solid = Arc<dyn contact::Shape>;

/// A shape about its own origin or in the scene.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Shape {
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
    /// A box along the axes.
    Box {
        /// Its lowest corner.
        low: [f64; 3],
        /// Its highest corner.
        high: [f64; 3],
    },
    /// A ring.
    Torus {
        /// Its centre.
        centre: [f64; 3],
        /// The axis of the ring.
        axis: [f64; 3],
        /// The radius of the ring and that of its tube.
        radii: [f64; 2],
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
    /// A cylinder with flat ends.
    Cylinder {
        /// One end of its axis.
        from: [f64; 3],
        /// The other end.
        to: [f64; 3],
        /// Its radius.
        radius: f64,
    },
}

fields!(enum Shape {
    Plane { point, normal }, Sphere { centre, radius }, Box { low, high }, Torus { centre, axis, radii },
    Capsule { from, to, radius }, Cylinder { from, to, radius },
});

impl Shape {
    /// The shape by its signed distance.
    ///
    /// # Errors
    /// [`ContactError::Value`] for numbers without a shape: see [`fault`](Self::fault).
    pub fn solid(&self) -> Result<Solid, ContactError> {
        Ok(match *self {
            Self::Plane { point, normal } => Arc::new(Plane::through(point, normal)?),
            Self::Sphere { centre, radius } => Arc::new(Sphere::new(centre, radius)?),
            Self::Box { low, high } => Arc::new(Cuboid { low, high }),
            Self::Torus { centre, axis, radii } => Arc::new(Ring { centre, axis, radii }),
            Self::Capsule { from, to, radius } => Arc::new(Capsule::new(from, to, radius)?),
            Self::Cylinder { from, to, radius } => Arc::new(Cylinder { from, to, radius }),
        })
    }

    /// The corners of a box that contains the shape; `None` for a plane.
    pub fn bounds(&self) -> Option<[[f64; 3]; 2]> {
        let around = |points: [[f64; 3]; 2], r: f64| {
            [0, 1].map(|end: usize| {
                std::array::from_fn(|k| {
                    let (a, b) = (points[0][k], points[1][k]);
                    if end == 0 { a.min(b) - r } else { a.max(b) + r }
                })
            })
        };
        match *self {
            Self::Plane { .. } => None,
            Self::Sphere { centre, radius } => Some(around([centre; 2], radius)),
            Self::Box { low, high } => Some([low, high]),
            Self::Torus { centre, radii, .. } => Some(around([centre; 2], radii[0] + radii[1])),
            Self::Capsule { from, to, radius } | Self::Cylinder { from, to, radius } => {
                Some(around([from, to], radius))
            }
        }
    }

    /// The radius of the shape across its axis; `None` for a plane and a box.
    pub fn radius(&self) -> Option<f64> {
        match *self {
            Self::Plane { .. } | Self::Box { .. } => None,
            Self::Sphere { radius, .. } | Self::Capsule { radius, .. } | Self::Cylinder { radius, .. } => {
                Some(radius)
            }
            Self::Torus { radii, .. } => Some(radii[1]),
        }
    }

    /// The point about which motions turn.
    pub fn centre(&self) -> [f64; 3] {
        match *self {
            Self::Plane { point, .. } => point,
            Self::Sphere { centre, .. } | Self::Torus { centre, .. } => centre,
            Self::Box { low: a, high: b }
            | Self::Capsule { from: a, to: b, .. }
            | Self::Cylinder { from: a, to: b, .. } => std::array::from_fn(|k| 0.5 * (a[k] + b[k])),
        }
    }

    /// The first number that makes the shape empty or undefined: its key, its value and what is allowed.
    pub fn fault(&self) -> Option<(&'static str, f64, &'static str)> {
        let finite = |key, v: &[f64]| v.iter().find(|v| !v.is_finite()).map(|v| (key, *v, "finite"));
        let positive = |key, v: f64| {
            let good = v > 0.0 && v.is_finite();
            (!good).then_some((key, v, "positive and finite"))
        };
        match *self {
            Self::Plane { point, normal } => {
                finite("plane.point", &point).or_else(|| positive("plane.normal, its length", length(normal)))
            }
            Self::Sphere { centre, radius } => {
                finite("sphere.centre", &centre).or_else(|| positive("sphere.radius", radius))
            }
            Self::Box { low, high } => finite("box.low", &low)
                .or_else(|| finite("box.high", &high))
                .or_else(|| (0..3).find_map(|k| positive("box.high less box.low", high[k] - low[k]))),
            Self::Torus { centre, axis, radii } => finite("torus.centre", &centre)
                .or_else(|| positive("torus.axis, its length", length(axis)))
                .or_else(|| radii.iter().find_map(|r| positive("torus.radii", *r))),
            Self::Capsule { from, to, radius } => finite("capsule.from", &from)
                .or_else(|| finite("capsule.to", &to))
                .or_else(|| positive("capsule.to less capsule.from, its length", length(sub(to, from))))
                .or_else(|| positive("capsule.radius", radius)),
            Self::Cylinder { from, to, radius } => finite("cylinder.from", &from)
                .or_else(|| finite("cylinder.to", &to))
                .or_else(|| positive("cylinder.to less cylinder.from, its length", length(sub(to, from))))
                .or_else(|| positive("cylinder.radius", radius)),
        }
    }

    /// Its key in a scene file.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Plane { .. } => "plane",
            Self::Sphere { .. } => "sphere",
            Self::Box { .. } => "box",
            Self::Torus { .. } => "torus",
            Self::Capsule { .. } => "capsule",
            Self::Cylinder { .. } => "cylinder",
        }
    }
}

/// A rigid motion x → R (x − c) + c + t.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// R.
    pub turn: Matrix,
    /// c.
    pub about: [f64; 3],
    /// t.
    pub shift: [f64; 3],
}

impl Pose {
    /// Turns by an angle in radians around an axis through c, then moves by t.
    pub fn new(axis: [f64; 3], angle: f64, about: [f64; 3], shift: [f64; 3]) -> Self {
        let size = length(axis);
        let turn = if angle == 0.0 || size == 0.0 {
            IDENTITY
        } else {
            let n = axis.map(|a| a / size);
            let (sin, cos) = angle.sin_cos();
            std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    let cross = [[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]][i][j];
                    cos * IDENTITY[i][j] + sin * cross + (1.0 - cos) * n[i] * n[j]
                })
            })
        };
        Self { turn, about, shift }
    }

    /// The image of a point.
    pub fn apply(&self, x: [f64; 3]) -> [f64; 3] {
        let turned = apply(&self.turn, sub(x, self.about));
        std::array::from_fn(|k| turned[k] + self.about[k] + self.shift[k])
    }

    /// The point whose image is x.
    pub fn invert(&self, x: [f64; 3]) -> [f64; 3] {
        let d: [f64; 3] = std::array::from_fn(|k| x[k] - self.shift[k] - self.about[k]);
        std::array::from_fn(|k| (0..3).map(|i| self.turn[i][k] * d[i]).sum::<f64>() + self.about[k])
    }

    /// R x.
    pub fn direct(&self, x: [f64; 3]) -> [f64; 3] {
        apply(&self.turn, x)
    }
}
