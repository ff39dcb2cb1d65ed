//! Bodies that fall through staggered rows of pins: Xian, Tong & Liu 2019, Fig. 4.
//!
//! A step of 1/30 s moves a falling body by the radius of a pin. The minimum that a step then finds is not
//! always that of the side from which the body comes, and the energy grows by up to 5 % of the kinetic energy
//! in such a step (with `--contact penalty`); with `--dt 0.0083` it does not grow.

use examples_common::stage::{GROUND, Solid, View};

use super::setting::{Body, Setting};

/// The distance between pins in a row, and between rows.
const APART: [f64; 2] = [0.8, 0.6];

/// The number of rows, and the number of pins of a row on each side of the middle.
const ROWS: [usize; 2] = [3, 2];

/// The radius of a pin.
const RADIUS: f64 = 0.1;

/// The height of the lowest row.
const LOWEST: f64 = 0.9;

/// Half of the depth between the walls.
const DEPTH: f64 = 0.45;

/// Half of the width between the walls.
const WIDTH: f64 = 1.8;

/// The angle of each body, and its position: x, and the height above the highest row.
const BODIES: [(f64, [f64; 2]); 4] =
    [(10.0, [-0.3, 0.5]), (-40.0, [0.7, 0.7]), (80.0, [0.05, 1.3]), (20.0, [-0.9, 1.6])];

pub(super) fn setting() -> Setting {
    let [rows, side] = ROWS;
    let top = LOWEST + APART[1] * (rows - 1) as f64;
    let pin = |(row, k): (usize, usize)| {
        // Every second row has one pin less and is shifted by half the distance between pins.
        let x = APART[0] * (k as f64 - side as f64 + if row % 2 == 1 { 0.5 } else { 0.0 });
        let y = LOWEST + APART[1] * row as f64;
        Solid::Capsule { from: [x, y, -DEPTH], to: [x, y, DEPTH], radius: RADIUS }
    };
    let pins = (0..rows).flat_map(|row| (0..2 * side + 1 - row % 2).map(move |k| (row, k))).map(pin);
    let wall = |point: [f64; 3], normal: [f64; 3]| Solid::Plane { point, normal };
    let walls = [
        GROUND,
        wall([0.0, 0.0, -DEPTH], [0.0, 0.0, 1.0]),
        wall([0.0, 0.0, DEPTH], [0.0, 0.0, -1.0]),
        wall([-WIDTH, 0.0, 0.0], [1.0, 0.0, 0.0]),
        wall([WIDTH, 0.0, 0.0], [-1.0, 0.0, 0.0]),
    ];
    let body = |(angle, [x, y]): (f64, [f64; 2])| Body {
        size: 0.7,
        rotate: [0.0, 0.0, angle],
        centre: [x, top + y, 0.0],
        ..Body::default()
    };
    let corners = Some([[-1.9, 0.0, -DEPTH], [1.9, top + 1.9, DEPTH]]);
    Setting {
        body: BODIES.into_iter().map(body).collect(),
        obstacle: walls.into_iter().chain(pins).collect(),
        view: View { corners, azimuth: 8.0, elevation: 8.0 },
        ..Setting::default()
    }
}
