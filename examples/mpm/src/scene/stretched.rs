//! A soft box whose F is a random diagonal matrix with entries of 0.7 to 1.3 at the start: Wang et al. 2020,
//! Fig. 18.
//!
//! The paper gives no size, modulus or step. Here the box is 24 cells wide, with 5e4 Pa and 1/24 s. All particles have
//! the same F, as the paper speaks of one matrix for the box. With seed 2 the first step takes 24 iterations by `hot` and
//! 108 by `lbfgs-h`, for 25 and 106 in the paper. Other stretches take other numbers: see
//! `book/src/methods/node_embedding.md`.

use coarsen_core::SplitMix64;
use examples_common::stage::View;

use super::setting::{Body, Setting, stuff};
use crate::shape::Shape;

pub(super) fn setting(seed: u64) -> Setting {
    let mut random = SplitMix64::new(seed);
    let stretch = [0; 3].map(|_| 1.0 + 0.3 * random.number());
    let shape = Some(Shape::Box { low: [1.0; 3], high: [1.24; 3] });
    Setting {
        gravity: [0.0; 3],
        dx: 0.01,
        frames: 24,
        body: vec![Body { shape, of: stuff(2e3, 5e4, 0.4), stretch: Some(stretch), ..Body::default() }],
        view: View { corners: Some([[0.95; 3], [1.29; 3]]), ..View::default() },
        ..Setting::default()
    }
}
