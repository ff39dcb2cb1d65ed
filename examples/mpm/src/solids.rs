//! Boxes, rings and cylinders with flat ends by their signed distance. The other shapes are those of
//! `coarsen::contact`. Colliders and seeds use distances and normals only: the curvature is given as 0, which is that of
//! flat faces alone, so these solids are not for `coarsen::contact::Obstacle` with exact Hessians.

use coarsen::contact::Shape;
use coarsen::mesh::vector::{dot, sub};

/// The step of differences of the distance, in units of the size of a shape.
const STEP: f64 = 1e-6;

/// A box along the axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cuboid {
    pub(crate) low: [f64; 3],
    pub(crate) high: [f64; 3],
}

/// A torus: the radius of the ring and that of its tube.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ring {
    pub(crate) centre: [f64; 3],
    pub(crate) axis: [f64; 3],
    pub(crate) radii: [f64; 2],
}

/// A cylinder with flat ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cylinder {
    pub(crate) from: [f64; 3],
    pub(crate) to: [f64; 3],
    pub(crate) radius: f64,
}

/// ‖x‖.
pub(crate) fn length(x: [f64; 3]) -> f64 {
    dot(x, x).sqrt()
}

/// The part of d along an axis, and the length of the part across.
fn split(d: [f64; 3], axis: [f64; 3]) -> (f64, f64) {
    let along = dot(d, axis) / length(axis);
    (along, (dot(d, d) - along * along).max(0.0).sqrt())
}

/// ∇d by differences.
fn slope(d: impl Fn([f64; 3]) -> f64, x: [f64; 3], size: f64) -> [f64; 3] {
    let slope: [f64; 3] = std::array::from_fn(|k| {
        let at = |h: f64| d(std::array::from_fn(|j| x[j] + if j == k { h } else { 0.0 }));
        at(STEP * size) - at(-STEP * size)
    });
    let steep = length(slope);
    if steep > 0.0 { slope.map(|s| s / steep) } else { [0.0, 1.0, 0.0] }
}

impl Shape for Cuboid {
    fn distance(&self, x: [f64; 3]) -> f64 {
        let out = [0, 1, 2].map(|k| (self.low[k] - x[k]).max(x[k] - self.high[k]));
        let inside = out.iter().fold(f64::NEG_INFINITY, |m, d| m.max(*d)).min(0.0);
        length(out.map(|d| d.max(0.0))) + inside
    }
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        slope(|x| self.distance(x), x, length(sub(self.high, self.low)))
    }
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }
    fn magnitude(&self, x: [f64; 3]) -> f64 {
        length(x) + length(self.low) + length(self.high)
    }
}

impl Shape for Ring {
    fn distance(&self, x: [f64; 3]) -> f64 {
        let (along, across) = split(sub(x, self.centre), self.axis);
        (across - self.radii[0]).hypot(along) - self.radii[1]
    }
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        slope(|x| self.distance(x), x, self.radii[0])
    }
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }
    fn magnitude(&self, x: [f64; 3]) -> f64 {
        length(x) + length(self.centre) + self.radii[0] + self.radii[1]
    }
}

impl Shape for Cylinder {
    fn distance(&self, x: [f64; 3]) -> f64 {
        let axis = sub(self.to, self.from);
        let middle = std::array::from_fn(|k| 0.5 * (self.from[k] + self.to[k]));
        let (along, across) = split(sub(x, middle), axis);
        let out = [along.abs() - 0.5 * length(axis), across - self.radius];
        out[0].max(0.0).hypot(out[1].max(0.0)) + out[0].max(out[1]).min(0.0)
    }
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        slope(|x| self.distance(x), x, self.radius)
    }
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }
    fn magnitude(&self, x: [f64; 3]) -> f64 {
        length(x) + length(self.from) + length(self.to) + self.radius
    }
}
