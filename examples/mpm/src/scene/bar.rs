//! A bar with soft ends and a middle of any stiffness, whose upper end is turned once: Wang et al. 2020,
//! Fig. 20.

use examples_common::stage::View;

use super::setting::{Body, Setting, Stuff, stuff};
use crate::collider::{Collider, Kind, Phase};
use crate::shape::Shape;

pub(super) fn setting(stiff: Option<f64>) -> Setting {
    let part = |from: f64, young| {
        let shape = Some(Shape::Box { low: [1.94, from, 1.94], high: [2.06, from + 0.3, 2.06] });
        let of = Stuff { per_cell: Some(12), ..stuff(2e3, young, 0.3) };
        Body { shape, of, ..Body::default() }
    };
    let clamp = |y: f64, rate: f64| {
        let shape = Shape::Cylinder { from: [2.0, y - 0.05, 2.0], to: [2.0, y + 0.05, 2.0], radius: 0.2 };
        let turn = Phase { until: 1.0, velocity: [0.0; 3], rate };
        let clamp = Collider::new(shape, Kind::Sticky).moving([0.0, 1.0, 0.0], vec![turn]);
        Collider { shown: false, ..clamp }
    };
    Setting {
        gravity: [0.0; 3],
        dx: 0.0075,
        dt: 1.0 / 48.0,
        rate: 48.0,
        frames: 48,
        body: vec![part(2.8, 1e5), part(3.1, stiff.unwrap_or(1e9)), part(3.4, 1e5)],
        collider: vec![clamp(2.8, 0.0), clamp(3.7, 360.0)],
        view: View { corners: Some([[1.8, 2.75, 1.8], [2.2, 3.75, 2.2]]), ..View::default() },
        ..Setting::default()
    }
}
