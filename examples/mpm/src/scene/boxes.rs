//! A metal box between two elastic boxes, pushed down by a ball until the elastic ones tear: Wang et al. 2020,
//! Fig. 4.
//!
//! The walls hold the outer ends. The ball disappears after frame 52, when that of the authors is moved away.

use examples_common::stage::View;

use super::setting::{ALUMINIUM, Body, Setting, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

/// Half of the sides of each box, the middle of the first, and the distance from one to the next.
const HALF: [f64; 3] = [0.25, 0.04, 0.25];
const FIRST: [f64; 3] = [2.0, 4.0, 2.0];
const APART: f64 = 0.46;

pub(super) fn setting() -> Setting {
    let body = |k: f64, of| {
        let middle = [FIRST[0] + k * APART, FIRST[1], FIRST[2]];
        let shape = Shape::Box {
            low: std::array::from_fn(|i| middle[i] - HALF[i]),
            high: std::array::from_fn(|i| middle[i] + HALF[i]),
        };
        Body { shape: Some(shape), of, ..Body::default() }
    };
    let wall = |x: f64, normal: f64| {
        let shape = Shape::Plane { point: [x, 0.0, 0.0], normal: [normal, 0.0, 0.0] };
        Collider { shown: false, ..Collider::new(shape, Kind::Sticky) }
    };
    let ball = Shape::Sphere { centre: [2.5, 4.2, 2.0], radius: 0.1 };
    let end = 52.0 / 24.0;
    let push = vec![Phase { until: end, velocity: [0.0, -0.3, 0.0], rate: 0.0 }];
    let ball = Collider::new(ball, Kind::Sticky).moving([0.0, 1.0, 0.0], push);
    let ground = Shape::Plane { point: [0.0, 3.2, 0.0], normal: [0.0, 1.0, 0.0] };
    let soft = stuff(2e3, 2e5, 0.33);
    Setting {
        gravity: [0.0; 3],
        dx: 0.02 / 2.48,
        dt: 1.0 / 240.0,
        frames: 80,
        // Where boxes overlap, the metal one is the last.
        body: vec![body(0.0, soft), body(2.0, soft), body(1.0, ALUMINIUM)],
        collider: vec![
            Collider { gone: Some(end), ..ball },
            wall(1.95, 1.0),
            wall(2.97, -1.0),
            Collider::new(ground, Kind::Sticky),
        ],
        view: View { corners: Some([[1.7, 3.3, 1.7], [3.2, 4.3, 2.3]]), azimuth: 20.0, elevation: 18.0 },
        ..Setting::default()
    }
}
