//! The camera: direction of view and projection.

use coarsen_mesh::vector::{cross, dot, sub};

/// The projection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Parallel projection.
    Orthographic,
    /// Perspective projection with this vertical angle of view in degrees, between 0 and 180.
    Perspective(f64),
}

/// A direction of view; the distance is computed from the points to show.
///
/// ```
/// use examples_render::{Camera, Projection};
/// let above = Camera { azimuth: -90.0, elevation: 90.0, projection: Projection::Orthographic, ..Camera::default() };
/// let plan = above.fit(&[[0.0, 0.0, 0.0], [2.0, 1.0, 0.0]], 2.0);
/// let [x, y, _] = plan.project([2.0, 1.0, 0.0]);
/// assert!((x - 1.0).abs() < 1e-12 && (y - 1.0).abs() < 1e-12); // the upper right corner
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// The angle around the upward axis in degrees. With z upwards, 0 looks from +x and 90 from +y.
    pub azimuth: f64,
    /// The angle above the horizon in degrees, −90 to 90.
    pub elevation: f64,
    /// The axis that points upwards: 0, 1 or 2.
    pub up: usize,
    /// The projection.
    pub projection: Projection,
}

impl Default for Camera {
    /// Azimuth −60 degrees, elevation 20 degrees, z upwards, angle of view 25 degrees.
    fn default() -> Self {
        Self { azimuth: -60.0, elevation: 20.0, up: 2, projection: Projection::Perspective(25.0) }
    }
}

/// A camera with its distance; computed by [`Camera::fit`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The directions right, up and towards the eye.
    axes: [[f64; 3]; 3],
    /// The centre of the view.
    centre: [f64; 3],
    /// Half the visible height at the centre.
    half: f64,
    /// The distance of the eye from the centre; infinite for parallel projection.
    distance: f64,
    aspect: f64,
}

/// The direction to the light, from above and in front: along the first axis after the upward one, the second, and upwards.
const LAMP: [f64; 3] = [0.557, -0.371, 0.743];

impl Camera {
    /// The direction to the light, which is fixed in the world: with y upwards it comes from +z and −x, from above.
    pub(crate) fn lamp(&self) -> [f64; 3] {
        let mut lamp = [0.0; 3];
        (0..3).for_each(|k| lamp[(self.up + 1 + k) % 3] = LAMP[k]);
        lamp
    }

    /// Returns the camera at the distance where all points just fit into a picture with `aspect` = width /
    /// height.
    pub fn fit(&self, points: &[[f64; 3]], aspect: f64) -> Fitted {
        let (az, el) = (self.azimuth.to_radians(), self.elevation.clamp(-90.0, 90.0).to_radians());
        let (east, north, up) = ((self.up + 1) % 3, (self.up + 2) % 3, self.up % 3);
        let vector = |e: f64, n: f64, u: f64| {
            let mut v = [0.0; 3];
            (v[east], v[north], v[up]) = (e, n, u);
            v
        };
        let towards = vector(el.cos() * az.cos(), el.cos() * az.sin(), el.sin());
        let right = vector(-az.sin(), az.cos(), 0.0);
        let axes = [right, cross(towards, right), towards];
        let seen = |x: [f64; 3]| axes.map(|axis| dot(axis, x));
        let mut ends = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for s in points.iter().map(|&x| seen(x)) {
            for k in 0..3 {
                (ends[0][k], ends[1][k]) = (ends[0][k].min(s[k]), ends[1][k].max(s[k]));
            }
        }
        if points.is_empty() {
            ends = [[-1.0; 3], [1.0; 3]];
        }
        let middle = [0, 1, 2].map(|k| 0.5 * (ends[0][k] + ends[1][k]));
        let centre = [0, 1, 2].map(|i| (0..3).map(|k| middle[k] * axes[k][i]).sum());
        let half = [0, 1].map(|k| 0.5 * (ends[1][k] - ends[0][k]));
        let half = half[1].max(half[0] / aspect).max(f64::MIN_POSITIVE);
        let Projection::Perspective(angle) = self.projection else {
            return Fitted { axes, centre, half, distance: f64::INFINITY, aspect };
        };
        let slope = (0.5 * angle.clamp(1.0, 170.0)).to_radians().tan();
        let mut distance = half;
        for x in points {
            let [x, y, z] = seen(sub(*x, centre));
            distance = distance.max(z + y.abs() / slope).max(z + x.abs() / (slope * aspect));
        }
        Fitted { axes, centre, half: distance * slope, distance, aspect }
    }
}

impl Fitted {
    /// The projected point: x and y from −1 to 1, right and up, and a depth that increases towards the eye. A
    /// plane in space is projected to a plane in these three coordinates.
    pub fn project(&self, x: [f64; 3]) -> [f64; 3] {
        let [x, y, z] = self.axes.map(|axis| dot(axis, sub(x, self.centre)));
        if self.distance.is_infinite() {
            return [x / (self.half * self.aspect), y / self.half, z];
        }
        // the fitted camera has all points in front of the eye
        let nearness = 1.0 / (1.0 - z / self.distance).max(1e-6);
        [x * nearness / (self.half * self.aspect), y * nearness / self.half, nearness]
    }

    /// The perspective scale at a projected depth; 1 for parallel projection.
    pub(crate) fn nearness(&self, depth: f64) -> f64 {
        if self.distance.is_infinite() { 1.0 } else { depth }
    }

    /// The directions right, up and towards the eye.
    pub(crate) fn axes(&self) -> &[[f64; 3]; 3] {
        &self.axes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From any direction, all corners of a box are visible, and at least one touches a side.
    #[test]
    fn the_fit_is_tight() {
        let corners: Vec<[f64; 3]> = (0..8)
            .map(|k| [f64::from(k & 1), f64::from(k >> 1 & 1) * 3.0, f64::from(k >> 2) * 0.2 + 5.0])
            .collect();
        for up in 0..3 {
            for (azimuth, elevation) in
                [(0.0, 0.0), (30.0, 20.0), (-100.0, 70.0), (200.0, -30.0), (10.0, 90.0)]
            {
                for projection in [Projection::Orthographic, Projection::Perspective(40.0)] {
                    let fitted = Camera { azimuth, elevation, up, projection }.fit(&corners, 1.5);
                    let most = corners
                        .iter()
                        .map(|&x| fitted.project(x))
                        .fold(0.0, |m: f64, p| m.max(p[0].abs()).max(p[1].abs()));
                    assert!((most - 1.0).abs() < 1e-9, "{most} {azimuth} {elevation} {projection:?}");
                }
            }
        }
    }
}
