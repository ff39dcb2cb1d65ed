//! Four soft pillars with a stiff ball in each, twisted from both ends while the upper one rises, until they
//! break: Wang et al. 2020, Fig. 1.
//!
//! The authors draw the radii of the balls at random; here they are four fixed numbers from the same range,
//! 0.064 to 0.092 m. The ends are held by cylinders, the lower one above the ground.

use examples_common::stage::View;

use super::setting::{Body, Setting, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

/// Half of the side of a pillar, and the distance of its axis from the middle on both axes.
const HALF: f64 = 0.04;
const AWAY: f64 = 0.085;

/// The heights of the ends.
const ENDS: [f64; 2] = [2.8, 3.7];

/// The heights of the balls above the lower end, and their radii.
const BALLS: [(f64, f64); 4] = [(0.25, 0.084), (0.65, 0.076), (0.55, 0.09), (0.45, 0.078)];

pub(super) fn setting() -> Setting {
    let axes = [[-AWAY, -AWAY], [-AWAY, AWAY], [AWAY, -AWAY], [AWAY, AWAY]];
    let pillar = |[x, z]: [f64; 2]| {
        let low = [2.0 + x - HALF, ENDS[0], 2.0 + z - HALF];
        let high = [2.0 + x + HALF, ENDS[1], 2.0 + z + HALF];
        Body { shape: Some(Shape::Box { low, high }), of: stuff(2e3, 5e5, 0.4), ..Body::default() }
    };
    let ball = |([x, z], (above, radius)): ([f64; 2], (f64, f64))| {
        let shape = Some(Shape::Sphere { centre: [2.0 + x, ENDS[0] + above, 2.0 + z], radius });
        Body { shape, of: stuff(2e3, 5e9, 0.4), ..Body::default() }
    };
    let clamp = |y: f64, rate: f64, rise: f64| {
        let (from, to) = ([2.0, y - 0.05, 2.0], [2.0, y + 0.05, 2.0]);
        let phase = Phase { until: 3.0, velocity: [0.0, rise, 0.0], rate };
        let shape = Shape::Cylinder { from, to, radius: 0.2 };
        let clamp = Collider::new(shape, Kind::Sticky).moving([0.0, 1.0, 0.0], vec![phase]);
        Collider { shown: false, ..clamp }
    };
    let ground = Shape::Plane { point: [0.0, 2.75, 0.0], normal: [0.0, 1.0, 0.0] };
    Setting {
        dx: 0.01,
        frames: 131,
        body: axes.map(pillar).into_iter().chain(axes.into_iter().zip(BALLS).map(ball)).collect(),
        collider: vec![
            clamp(ENDS[0], -100.0, 0.0),
            clamp(ENDS[1], 100.0, 0.1),
            Collider::new(ground, Kind::Sticky),
        ],
        view: View { corners: Some([[1.75, 2.75, 1.75], [2.25, 4.05, 2.25]]), ..View::default() },
        ..Setting::default()
    }
}
