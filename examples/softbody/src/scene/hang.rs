//! A sheet that is pinned at two corners and falls from a horizontal plane: Xian, Tong & Liu 2019, Fig. 8.

use examples_common::stage::{GROUND, View};

use super::setting::{Attachment, Body, Pick, Setting};

/// The height of the sheet.
const HEIGHT: f64 = 1.4;

pub(super) fn setting() -> Setting {
    let corner = |x: f64| Attachment::new(Pick::Nearest([x, HEIGHT, -0.5]));
    Setting {
        body: vec![Body { centre: [0.0, HEIGHT, 0.0], ..Body::default() }],
        attachment: vec![corner(-0.5), corner(0.5)],
        obstacle: vec![GROUND],
        view: View { corners: Some([[-0.8, 0.0, -1.2], [0.8, 1.6, 0.6]]), ..View::default() },
        ..Setting::default()
    }
}
