//! Granular material falls on a ring and three boards between two walls: Wang et al. 2020, Fig. 5.
//!
//! Poisson's ratios of the grains and of the ring, 0.3 and 0.35, are those of the authors' program; Table 2 has 0.33.

use examples_common::stage::View;

use super::setting::{Body, Emitter, Setting, Stuff, stuff};
use crate::collider::{Collider, Kind};
use crate::shape::Shape;

/// The origin of the authors' coordinates.
const SHIFT: f64 = 1.1;

pub(super) fn setting() -> Setting {
    let at = |p: [f64; 3]| p.map(|x| x + SHIFT);
    let board = |low, high, young| {
        let shape = Some(Shape::Box { low: at(low), high: at(high) });
        Body { shape, of: stuff(1e3, young, 0.33), ..Body::default() }
    };
    let ring = Shape::Torus { centre: at([0.479, 0.612, 0.2]), axis: [0.0, 0.0, 1.0], radii: [0.08, 0.02] };
    let wall = |point: [f64; 3], normal| {
        let shown = point[1] == 0.0 && point[0] == 0.0;
        Collider { shown, ..Collider::new(Shape::Plane { point: at(point), normal }, Kind::Sticky) }
    };
    let grains = Stuff { granular: Some([0.99, 1.001]), per_cell: Some(16), ..stuff(1e3, 1e5, 0.3) };
    Setting {
        dx: 0.007,
        frames: 144,
        body: vec![
            board([0.15, 0.8, 0.1], [0.57, 0.83, 0.3], 3e6),
            board([0.53, 0.6, 0.1], [0.85, 0.63, 0.3], 2e6),
            board([0.15, 0.23, 0.1], [0.85, 0.26, 0.3], 2e5),
            Body { shape: Some(ring), of: stuff(1e3, 1e8, 0.35), ..Body::default() },
        ],
        collider: vec![
            wall([0.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
            wall([0.2, 0.0, 0.0], [1.0, 0.0, 0.0]),
            wall([0.8, 0.0, 0.0], [-1.0, 0.0, 0.0]),
        ],
        emitter: vec![Emitter {
            shape: Shape::Sphere { centre: at([0.425, 1.05, 0.2]), radius: 0.03 },
            of: grains,
            velocity: [0.0, -0.5, 0.0],
            until: 100.0 / 24.0,
            swing: [0.0; 3],
            swing_rate: [0.0; 3],
        }],
        view: View { corners: Some([[1.2, 1.1, 1.1], [2.0, 2.25, 1.5]]), ..View::default() },
        ..Setting::default()
    }
}
