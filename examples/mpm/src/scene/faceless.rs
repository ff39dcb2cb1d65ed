//! A soft head is turned and raised by its cap, and released after frame 50: Wang et al. 2020, Fig. 11.
//!
//! The mesh of the authors is not at hand; here the body is a ball on a capsule of about the same size and
//! volume. The base of the body is held by a box.

use examples_common::stage::View;

use super::setting::{Body, Setting, Stuff, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

pub(super) fn setting() -> Setting {
    let of = Stuff { per_cell: Some(20), ..stuff(2e3, 5e4, 0.3) };
    let body = |shape| Body { shape: Some(shape), of, ..Body::default() };
    let neck = Shape::Capsule { from: [5.0, 5.02, 5.0], to: [5.0, 5.16, 5.0], radius: 0.055 };
    let head = Shape::Sphere { centre: [5.0, 5.25, 5.0], radius: 0.1 };
    let cap = Shape::Cylinder { from: [5.0, 5.31, 5.0], to: [5.0, 5.445, 5.0], radius: 0.09 };
    let turn = Phase { until: 40.0 / 24.0, velocity: [0.0, 0.036, 0.0], rate: 120.0 };
    let cap = Collider::new(cap, Kind::Sticky).moving([0.0, 1.0, 0.0], vec![turn]);
    let base = Shape::Box { low: [4.9, 4.9, 4.0], high: [5.1, 5.05, 6.0] };
    Setting {
        gravity: [0.0, -0.3, 0.0],
        dx: 0.01,
        frames: 80,
        body: vec![body(neck), body(head)],
        collider: vec![
            Collider { gone: Some(50.0 / 24.0), shown: false, ..cap },
            Collider { shown: false, ..Collider::new(base, Kind::Sticky) },
        ],
        view: View { corners: Some([[4.82, 4.9, 4.82], [5.18, 5.46, 5.18]]), ..View::default() },
        ..Setting::default()
    }
}
