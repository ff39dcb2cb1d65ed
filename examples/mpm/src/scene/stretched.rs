//! A soft box whose F is a random diagonal matrix with entries of 0.7 to 1.3 at the start: Wang et al. 2020,
//! Fig. 18.
//!
//! The paper gives no size, modulus or step, and leaves open whether all particles have the same F. Here each
//! particle has its own, so that the residual has all frequencies; the box is 16 cells wide, with 5e4 Pa and
//! 1/24 s.

use examples_common::stage::View;

use super::setting::{Body, Setting, stuff};
use crate::shape::Shape;

pub(super) fn setting(seed: u64) -> Setting {
    let shape = Some(Shape::Box { low: [1.0; 3], high: [1.16; 3] });
    Setting {
        gravity: [0.0; 3],
        dx: 0.01,
        frames: 24,
        body: vec![Body { shape, of: stuff(2e3, 5e4, 0.4), scatter: Some((0.3, seed)), ..Body::default() }],
        view: View { corners: Some([[0.95; 3], [1.21; 3]]), ..View::default() },
        ..Setting::default()
    }
}
