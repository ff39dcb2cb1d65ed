//! A body that is pinned at its top and falls under gravity: Xian, Tong & Liu 2019, Fig. 6.
//!
//! The armadillo hangs by its ears, which are its highest nodes. A bar is pinned at one end of its upper edge.

use super::setting::{Attachment, Body, GROUND, Pick, Setting, View};

/// The share of nodes that are pinned.
const PINNED: f64 = 0.02;

pub(super) fn setting() -> Setting {
    let body = Body { centre: [0.5, 1.4, 0.0], ..Body::default() };
    let pinned = Attachment::new(Pick::Top(PINNED));
    let corners = Some([[-1.1, 0.0, -0.5], [1.1, 2.1, 0.5]]);
    Setting {
        body: vec![body],
        attachment: vec![pinned],
        obstacle: vec![GROUND],
        view: View { corners, ..View::default() },
        ..Setting::default()
    }
}
