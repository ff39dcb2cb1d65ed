//! An aluminium wheel is crushed by a cylinder that moves down: Wang et al. 2020, Fig. 12.
//!
//! The wheel of the authors is a mesh. Here it has the same outer radius, height and number of spokes: a rim of three
//! rings, a hub, and six round spokes. The soft shaft of their Table 2 is not in their scene either.

use examples_common::stage::View;

use super::setting::{ALUMINIUM, Body, Setting, Stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

/// The middle of the wheel, and its outer radius.
const MIDDLE: [f64; 3] = [1.1, 1.3414, 1.1];
const RADIUS: f64 = 0.2442;

/// The radius of the tubes of the rim, and the distance of their rings.
const TUBE: f64 = 0.018;
const APART: f64 = 0.03;

/// The radius and half of the width of the hub, and the radius of the spokes.
const HUB: [f64; 2] = [0.075, 0.04];
const SPOKE: f64 = 0.0145;

pub(super) fn setting() -> Setting {
    let of = Stuff { per_cell: Some(12), ..ALUMINIUM };
    let body = |shape| Body { shape: Some(shape), of, ..Body::default() };
    let at = |x: f64, y: f64, z: f64| [MIDDLE[0] + x, MIDDLE[1] + y, MIDDLE[2] + z];
    let ring = |k: f64| {
        let axis = [0.0, 0.0, 1.0];
        body(Shape::Torus { centre: at(0.0, 0.0, k * APART), axis, radii: [RADIUS - TUBE, TUBE] })
    };
    let spoke = |k: i32| {
        let (sin, cos) = (f64::from(k) * std::f64::consts::FRAC_PI_3).sin_cos();
        let end = |r: f64| at(r * cos, r * sin, 0.0);
        body(Shape::Capsule { from: end(HUB[0] - SPOKE), to: end(RADIUS - TUBE), radius: SPOKE })
    };
    let hub = Shape::Cylinder { from: at(0.0, 0.0, -HUB[1]), to: at(0.0, 0.0, HUB[1]), radius: HUB[0] };
    let press = Shape::Cylinder { from: [1.1, 1.6, 1.1], to: [1.1, 2.6, 1.1], radius: 0.08 };
    let down = Phase { until: 38.0 / 24.0, velocity: [0.0, -0.2, 0.0], rate: 0.0 };
    let press = Collider::new(press, Kind::Sticky).moving([0.0, 1.0, 0.0], vec![down]);
    let ground = Shape::Plane { point: [1.1, 1.11, 1.1], normal: [0.0, 1.0, 0.0] };
    Setting {
        dx: 0.005,
        dt: 1.0 / 48.0,
        cfl: 0.3, // half of that of the paper, as in the authors' program
        frames: 48,
        body: (-1..2).map(|k| ring(f64::from(k))).chain((0..6).map(spoke)).chain([body(hub)]).collect(),
        collider: vec![press, Collider::new(ground, Kind::Sticky)],
        view: View { corners: Some([[0.8, 1.05, 0.95], [1.4, 1.75, 1.25]]), ..View::default() },
        ..Setting::default()
    }
}
