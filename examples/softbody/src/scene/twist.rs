//! A bar whose ends turn about its axis in opposite directions, without gravity.

use examples_common::stage::{GROUND, View};

use super::setting::{Attachment, Body, Pick, Setting, Turn};

/// The rate of each end in degrees per second.
const RATE: f64 = 90.0;

/// The height of the axis.
const HEIGHT: f64 = 0.4;

/// The share of the length that is held at each end.
const HELD: f64 = 0.02;

pub(super) fn setting() -> Setting {
    let end = |low: f64, high: f64, rate: f64| Attachment {
        turn: Some(Turn { through: [0.0, HEIGHT, 0.0], axis: [1.0, 0.0, 0.0], rate }),
        ..Attachment::new(Pick::Box([[low, -1.0, -1.0], [high, 1.0, 1.0]]))
    };
    Setting {
        gravity: Some([0.0; 3]),
        body: vec![Body { centre: [0.0, HEIGHT, 0.0], ..Body::default() }],
        attachment: vec![end(-1.0, HELD - 0.5, RATE), end(0.5 - HELD, 1.0, -RATE)],
        obstacle: vec![GROUND],
        view: View { corners: Some([[-0.65, 0.0, -0.3], [0.65, 0.7, 0.3]]), ..View::default() },
        ..Setting::default()
    }
}
