//! An elastic ring between two metal bars, which are bent by two balls: Wang et al. 2020, Fig. 13.
//!
//! The bars of the authors are a mesh, whose ends at the ring are round; here they are two boxes with the mean
//! ends of the mesh, and the ring takes its place in them. The radius of the ring is the mean of their random
//! one.

use examples_common::stage::View;

use super::setting::{ALUMINIUM, Body, Setting, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

/// The heights of the outer ends of the bars, and of those at the ring.
const ENDS: [f64; 2] = [2.8, 3.7];
const INNER: [f64; 2] = [3.215, 3.345];

pub(super) fn setting() -> Setting {
    let bar = |from: f64, to: f64| {
        let shape = Some(Shape::Box { low: [1.96, from, 1.96], high: [2.04, to, 2.04] });
        Body { shape, of: ALUMINIUM, ..Body::default() }
    };
    let radius = 0.04 * 2.05;
    let ring =
        Shape::Torus { centre: [2.0, 3.28, 2.0], axis: [0.0, 0.0, 1.0], radii: [radius, radius / 3.0] };
    let clamp = |y: f64| {
        let (from, to) = ([2.0, y - 0.05, 2.0], [2.0, y + 0.05, 2.0]);
        let shape = Shape::Cylinder { from, to, radius: 0.2 };
        Collider { shown: false, ..Collider::new(shape, Kind::Sticky) }
    };
    let end = 52.0 / 24.0;
    let ball = |centre: [f64; 3], speed: f64| {
        let phase = Phase { until: end, velocity: [speed, 0.0, 0.0], rate: 0.0 };
        let ball = Collider::new(Shape::Sphere { centre, radius: 0.1 }, Kind::Sticky);
        Collider { gone: Some(end), ..ball.moving([1.0, 0.0, 0.0], vec![phase]) }
    };
    let ground = Shape::Plane { point: [0.0, 2.75, 0.0], normal: [0.0, 1.0, 0.0] };
    Setting {
        gravity: [0.0, -1.0, 0.0],
        dx: 0.01 / 1.32 * 0.75,
        dt: 1.0 / 240.0,
        frames: 80,
        body: vec![
            bar(ENDS[0], INNER[0]),
            bar(INNER[1], ENDS[1]),
            Body { shape: Some(ring), of: stuff(2e3, 1e5, 0.33), ..Body::default() },
        ],
        collider: vec![
            clamp(ENDS[0]),
            clamp(ENDS[1]),
            ball([2.3, 3.54, 2.0], -0.1),
            ball([1.7, 3.0, 2.0], 0.1),
            Collider::new(ground, Kind::Sticky),
        ],
        view: View { corners: Some([[1.55, 2.75, 1.8], [2.45, 3.75, 2.2]]), ..View::default() },
        ..Setting::default()
    }
}
