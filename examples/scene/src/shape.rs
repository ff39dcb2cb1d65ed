//! Shapes as data: what bodies are seeded from, and what colliders are.
//!
//! Lengths are in m. [`Shape::solid`] gives the signed distance. A shape may be turned by [`Pose`], which first turns
//! about the origin and then moves.

use std::sync::Arc;

use coarsen_contact::{self as contact, Capsule, ContactError, Cuboid, Plane, Sphere};
use coarsen_mesh::vector::{dot, norm, sub};
use serde::Deserialize;

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

/// Two triangles of a cell with these corners, cut from the second to the third or the other way.
pub fn quad([a, b, c, d]: [u32; 4], along: bool) -> [[u32; 3]; 2] {
    if along { [[a, c, b], [b, c, d]] } else { [[a, d, b], [a, c, d]] }
}

/// The triangles of cells in rows and columns, row by row; their diagonals alternate. `number` is that of the vertex at a column
/// and a row.
pub fn cells([columns, rows]: [usize; 2], number: impl Fn(usize, usize) -> u32) -> Vec<[u32; 3]> {
    let cell = |c: usize| {
        let (i, j) = (c % columns, c / columns);
        let corners = [number(i, j), number(i + 1, j), number(i, j + 1), number(i + 1, j + 1)];
        quad(corners, (i + j).is_multiple_of(2))
    };
    (0..columns * rows).flat_map(cell).collect()
}

/// The ground at y = 0.
pub const GROUND: Shape = Shape::Plane { point: [0.0; 3], normal: [0.0, 1.0, 0.0] };

/// A 3x3 matrix, row by row.
type Matrix = [[f64; 3]; 3];

const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

impl Shape {
    /// The shape by its signed distance.
    ///
    /// # Errors
    /// [`ContactError::Value`] for numbers without a shape.
    pub fn solid(&self) -> Result<Solid, ContactError> {
        Ok(match *self {
            Self::Plane { point, normal } => Arc::new(Plane::through(point, normal)?),
            Self::Sphere { centre, radius } => Arc::new(Sphere::new(centre, radius)?),
            Self::Capsule { from, to, radius } => Arc::new(Capsule::new(from, to, radius)?),
            Self::Box { low, high } => Arc::new(Cuboid::new([low, high], 0.0)?),
            Self::Torus { centre, axis, radii } => {
                let distance = move |x: [f64; 3]| {
                    let (along, across) = split(sub(x, centre), axis);
                    (across - radii[0]).hypot(along) - radii[1]
                };
                let magnitude = norm(centre) + radii[0] + radii[1];
                Arc::new(Signed { distance, size: radii[0], magnitude })
            }
            Self::Cylinder { from, to, radius } => {
                let (axis, middle) = (sub(to, from), self.centre());
                let distance = move |x: [f64; 3]| {
                    let (along, across) = split(sub(x, middle), axis);
                    let out = [along.abs() - 0.5 * norm(axis), across - radius];
                    out[0].max(0.0).hypot(out[1].max(0.0)) + out[0].max(out[1]).min(0.0)
                };
                let magnitude = norm(from) + norm(to) + radius;
                Arc::new(Signed { distance, size: radius, magnitude })
            }
        })
    }

    /// A plane, a ball or a capsule, grown by `skin` on all sides: the shapes whose distance has a curvature, as contact needs.
    ///
    /// # Errors
    /// [`ContactError::Value`] for numbers without a shape, and for other shapes.
    pub fn grown(&self, skin: f64) -> Result<Box<dyn contact::Shape>, ContactError> {
        // A radius that is not valid stays so.
        let wider = |radius: f64| if radius > 0.0 { radius + skin } else { radius };
        Ok(match *self {
            Self::Plane { point, normal } => {
                let along = unit(normal);
                let raised = std::array::from_fn(|k| point[k] + skin * along[k]);
                Box::new(Plane::through(raised, normal)?)
            }
            Self::Sphere { centre, radius } => Box::new(Sphere::new(centre, wider(radius))?),
            Self::Capsule { from, to, radius } => Box::new(Capsule::new(from, to, wider(radius))?),
            _ => {
                let range = "a finite curvature: take a plane, a sphere, a capsule or a mesh";
                return Err(ContactError::Value {
                    what: "the curvature of the shape",
                    found: f64::NAN,
                    range,
                });
            }
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

    /// The shape after a rigid motion; a box keeps the directions of its sides.
    pub fn moved(&self, pose: &Pose) -> Self {
        let (at, along) = (|x| pose.apply(x), |n| pose.direct(n));
        match *self {
            Self::Plane { point, normal } => Self::Plane { point: at(point), normal: along(normal) },
            Self::Sphere { centre, radius } => Self::Sphere { centre: at(centre), radius },
            Self::Box { low, high } => {
                let shift = sub(at(self.centre()), self.centre());
                let by = |x: [f64; 3]| std::array::from_fn(|k| x[k] + shift[k]);
                Self::Box { low: by(low), high: by(high) }
            }
            Self::Torus { centre, axis, radii } => {
                Self::Torus { centre: at(centre), axis: along(axis), radii }
            }
            Self::Capsule { from, to, radius } => Self::Capsule { from: at(from), to: at(to), radius },
            Self::Cylinder { from, to, radius } => Self::Cylinder { from: at(from), to: at(to), radius },
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
        let size = norm(axis);
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

/// The step of differences of the distance, in units of the size of a shape.
const STEP: f64 = 1e-6;

/// A shape by its signed distance. The normal is found by differences, and the curvature is given as 0: colliders and seeds
/// use distances and normals only.
struct Signed<D> {
    distance: D,
    /// The step of differences is a share of it.
    size: f64,
    magnitude: f64,
}

impl<D: Fn([f64; 3]) -> f64 + Send + Sync> contact::Shape for Signed<D> {
    fn distance(&self, x: [f64; 3]) -> f64 {
        (self.distance)(x)
    }
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let slope: [f64; 3] = std::array::from_fn(|k| {
            let at = |h: f64| self.distance(std::array::from_fn(|j| x[j] + if j == k { h } else { 0.0 }));
            at(STEP * self.size) - at(-STEP * self.size)
        });
        let steep = norm(slope);
        if steep > 0.0 { slope.map(|s| s / steep) } else { [0.0, 1.0, 0.0] }
    }
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }
    fn magnitude(&self, x: [f64; 3]) -> f64 {
        norm(x) + self.magnitude
    }
}

/// v / ‖v‖.
pub fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = norm(v);
    v.map(|v| v / length)
}

/// A x.
fn apply(a: &Matrix, x: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2])
}

/// The part of d along an axis, and the length of the part across.
fn split(d: [f64; 3], axis: [f64; 3]) -> (f64, f64) {
    let along = dot(d, axis) / norm(axis);
    (along, (dot(d, d) - along * along).max(0.0).sqrt())
}
