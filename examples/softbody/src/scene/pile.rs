//! Bodies that fall on the ground and on each other.

use super::setting::{Body, GROUND, Setting, View};

/// The angles and the offsets of the bodies, from the lowest one up.
const BODIES: [([f64; 3], [f64; 2]); 5] = [
    ([0.0, 20.0, 0.0], [0.0, 0.0]),
    ([0.0, 75.0, 10.0], [0.1, 0.05]),
    ([15.0, -30.0, 0.0], [-0.1, 0.0]),
    ([0.0, 120.0, -10.0], [0.05, -0.1]),
    ([-10.0, 0.0, 20.0], [0.0, 0.1]),
];

/// The distance of two bodies.
const APART: f64 = 1.05;

pub(super) fn setting() -> Setting {
    let body = |(k, (rotate, [x, z])): (usize, ([f64; 3], [f64; 2]))| {
        let centre = [x, 0.6 + APART * k as f64, z];
        Body { rotate, centre, ..Body::default() }
    };
    let corners = Some([[-1.1, 0.0, -1.1], [1.1, 2.4, 1.1]]);
    Setting {
        body: BODIES.into_iter().enumerate().map(body).collect(),
        obstacle: vec![GROUND],
        view: View { corners, elevation: 15.0, ..View::default() },
        ..Setting::default()
    }
}
