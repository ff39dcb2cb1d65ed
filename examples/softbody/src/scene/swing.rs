//! A body that is pinned at its top and falls under gravity: Xian, Tong & Liu 2019, Fig. 6.
//!
//! The armadillo hangs by its ears, as in the paper. A bar is pinned at one end of its upper edge, and the body of a
//! file at its top. The pinned part must be thick enough below: the weight divided by its section is a stress, and
//! where it exceeds Young's modulus, elements at the pins are stretched to many times their length and can stay
//! inverted.

use examples_common::stage::{GROUND, View};

use super::setting::{Attachment, Body, Pick, Setting};
use crate::meshes::MeshChoice;

/// The share of nodes that are pinned.
const PINNED: f64 = 0.02;

/// The share for the body of a file, whose highest nodes may belong to thin parts. For an armadillo the section below
/// is then 0.03 m², so that its weight of 656 N makes a stress of 2e4 Pa. With a share of 0.02 it is 5e4 to 1.3e5 Pa,
/// at nodes of which some are pinned alone.
const PINNED_OF_FILE: f64 = 0.05;

/// A box around the ears of the armadillo of size 1, relative to the centre of its bounding box.
const EARS: [[f64; 3]; 2] = [[-0.12, 0.4, 0.1], [0.17, 0.51, 0.25]];

/// The height of the centre of the body.
const HEIGHT: f64 = 1.4;

pub(super) fn setting(mesh: &MeshChoice) -> Setting {
    let (x, nodes, corners) = if *mesh == MeshChoice::Armadillo {
        let ears = EARS.map(|[x, y, z]| [x, y + HEIGHT, z]);
        (0.0, Pick::Box(ears), [[-0.7, 0.2, -0.5], [0.7, HEIGHT + 0.6, 0.5]])
    } else {
        let share = if matches!(mesh, MeshChoice::File(_)) { PINNED_OF_FILE } else { PINNED };
        (0.5, Pick::Top(share), [[-1.1, 0.0, -0.5], [1.1, HEIGHT + 0.7, 0.5]])
    };
    Setting {
        body: vec![Body { centre: [x, HEIGHT, 0.0], ..Body::default() }],
        attachment: vec![Attachment::new(nodes)],
        obstacle: vec![GROUND],
        view: View { corners: Some(corners), ..View::default() },
        ..Setting::default()
    }
}
