//! Bodies that fall on the ground and on each other, between four walls.
//!
//! In a step of 1/30 s a falling body moves by a quarter of the thickness of a bar. With `--contact penalty` edges of
//! two bars can then cross before a vertex is inside the other bar, and remain crossed. With `--dt 0.0167` this does
//! not happen to bars.

use examples_common::stage::{GROUND, Solid, View};

use super::setting::{Body, Setting};

/// The angles and the offsets of the bodies, starting with the lowest body.
const BODIES: [([f64; 3], [f64; 2]); 5] = [
    ([0.0, 20.0, 0.0], [0.0, 0.0]),
    ([0.0, 75.0, 10.0], [0.1, 0.05]),
    ([15.0, -30.0, 0.0], [-0.1, 0.0]),
    ([0.0, 120.0, -10.0], [0.05, -0.1]),
    ([-10.0, 0.0, 20.0], [0.0, 0.1]),
];

/// The distance between successive bodies.
const APART: f64 = 0.1;

/// The distance of the walls from the middle.
const WALL: f64 = 0.75;

pub(super) fn setting() -> Setting {
    let body = |(rotate, [x, z]): ([f64; 3], [f64; 2])| Body {
        rotate,
        centre: [x, 0.0, z],
        above: Some(APART),
        ..Body::default()
    };
    let wall = |point: [f64; 3]| Solid::Plane { point, normal: point.map(|x| -x) };
    let walls = [[-WALL, 0.0, 0.0], [WALL, 0.0, 0.0], [0.0, 0.0, -WALL], [0.0, 0.0, WALL]].map(wall);
    let corners = Some([[-WALL, 0.0, -WALL], [WALL, 2.0, WALL]]);
    Setting {
        body: BODIES.into_iter().map(body).collect(),
        obstacle: [GROUND].into_iter().chain(walls).collect(),
        view: View { corners, elevation: 20.0, ..View::default() },
        ..Setting::default()
    }
}
