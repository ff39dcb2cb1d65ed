//! Four stiff balls are thrown onto round sheets of aluminium and of 1/10, 1/100 and 1/1000 of its modulus: Wang et al.
//! 2020, Fig. 2.
//!
//! The paper shows a cat on each sheet and gives no sizes; here the cats are the ball of `armacat`, on round sheets whose
//! rims are held as that of its trampoline. The softest sheet is carried down with its cat and throws it up again; the
//! stiffest one hardly moves.

use examples_common::stage::View;

use super::armacat::{cat, rim};
use super::setting::{ALUMINIUM, Body, Setting, Stuff};
use crate::shape::Shape;

/// The distance from one sheet to the next, and the radius and half of the thickness of each.
const APART: f64 = 3.5;
const RADIUS: f64 = 1.6;
const HALF: f64 = 0.03;

/// The height of the cats above the middle of the sheets, and their speed, m/s.
const ABOVE: f64 = 0.5;
const SPEED: f64 = 20.0;

/// Young's moduli of the sheets relative to that of aluminium.
const SHARES: [f64; 4] = [1.0, 1e-1, 1e-2, 1e-3];

pub(super) fn setting() -> Setting {
    // In two rows: the stiffest is behind on the left, the softest in front on the right.
    let side = |k: usize| 10.0 + (k as f64 - 0.5) * APART;
    let at = |k: usize, y: f64| [side(k % 2), 10.0 + y, side(k / 2)];
    let sheet = |(k, share): (usize, f64)| {
        let shape = Some(Shape::Cylinder { from: at(k, -HALF), to: at(k, HALF), radius: RADIUS });
        let young = ALUMINIUM.young.map(|young| share * young);
        Body { shape, of: Stuff { young, per_cell: Some(16), ..ALUMINIUM }, ..Body::default() }
    };
    let thrown = |k: usize| cat(at(k, ABOVE), 1e9, SPEED);
    Setting {
        dx: 0.04,
        dt: 1.0 / 240.0,
        frames: 24,
        body: SHARES.into_iter().enumerate().map(sheet).chain((0..4).map(thrown)).collect(),
        collider: (0..4).map(|k| rim(at(k, 0.0), RADIUS)).collect(),
        view: View { corners: Some([[6.6, 8.9, 6.6], [13.4, 11.4, 13.4]]), azimuth: 20.0, elevation: 20.0 },
        ..Setting::default()
    }
}
