//! Sauce flows from a swinging source on a hill: Wang et al. 2020, Fig. 14.
//!
//! The authors pour it on the mesh of a turkey, which is 1.4 x 0.82 x 1.65 m; here two balls of about this size
//! take its place.

use examples_common::stage::View;

use super::setting::{Emitter, Setting, Stuff, stuff};
use crate::collider::{Collider, Kind};
use crate::shape::Shape;

pub(super) fn setting() -> Setting {
    let sauce = Stuff { yield_stress: Some(720.0), per_cell: Some(16), ..stuff(2.7e3, 6.9e10 * 3e-6, 0.33) };
    let hill = |centre, radius| Collider::new(Shape::Sphere { centre, radius }, Kind::Sticky);
    let ground = Shape::Plane { point: [0.0, 3.0, 0.0], normal: [0.0, 1.0, 0.0] };
    Setting {
        dx: 0.015,
        frames: 185,
        collider: vec![
            Collider::new(ground, Kind::Sticky),
            hill([3.0, 3.2, 2.75], 0.62),
            hill([3.0, 3.1, 3.35], 0.5),
        ],
        emitter: vec![Emitter {
            shape: Shape::Sphere { centre: [3.0, 4.18, 2.857], radius: 0.09 },
            of: sauce,
            velocity: [0.0, -0.5, 0.0],
            until: 6.0,
            swing: [-0.4, 0.0, 0.5],
            swing_rate: [55.0, 0.0, 120.0],
        }],
        view: View { corners: Some([[2.1, 3.0, 2.0], [3.9, 4.3, 4.0]]), azimuth: -60.0, elevation: 20.0 },
        ..Setting::default()
    }
}
