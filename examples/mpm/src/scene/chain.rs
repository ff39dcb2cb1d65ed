//! A chain of soft and stiff rings, pulled and then turned from both ends until soft rings break: Wang et al.
//! 2020, Fig. 10.

use examples_common::stage::View;

use super::setting::{Body, Setting, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

/// The radii of each ring, the middle of the first soft one, and the distance from one to the next of its kind.
const RADII: [f64; 2] = [0.2, 0.04];
const FIRST: f64 = 1.3;
const APART: f64 = 0.54;

pub(super) fn setting() -> Setting {
    let ring = |x: f64, axis| Shape::Torus { centre: [x, 1.3, 1.3], axis, radii: RADII };
    // Soft rings lie in planes of constant z, stiff ones in planes of constant y.
    let (flat, upright) = ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]);
    let between = FIRST + 0.5 * APART;
    let body = |shape, young| Body { shape: Some(shape), of: stuff(2e3, young, 0.4), ..Body::default() };
    let soft = (0..4).map(|i| body(ring(FIRST + f64::from(i) * APART, flat), 5e5));
    let stiff = (0..3).map(|i| body(ring(between + f64::from(i) * APART, upright), 3e9));
    let hold = |x: f64, side: f64| {
        let pull = Phase { until: 2.0, velocity: [0.2 * side, 0.0, 0.0], rate: 0.0 };
        let turn = Phase { until: 8.0, velocity: [0.0; 3], rate: 250.0 * side };
        Collider::new(ring(x, upright), Kind::Sticky).moving([1.0, 0.0, 0.0], vec![pull, turn])
    };
    Setting {
        gravity: [0.0; 3],
        dx: 0.01,
        frames: 240,
        body: soft.chain(stiff).collect(),
        collider: vec![hold(between - APART, -1.0), hold(between + 3.0 * APART, 1.0)],
        view: View { corners: Some([[0.4, 0.9, 0.9], [3.8, 1.7, 1.7]]), azimuth: 15.0, elevation: 25.0 },
        ..Setting::default()
    }
}
