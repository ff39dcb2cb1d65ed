//! The data of a scene.
//!
//! Lengths are in m, y points upwards, angles are in degrees.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use examples_common::fields;
use examples_common::stage::{Solid, View};
use serde::Deserialize;

use crate::material::Material;
use crate::meshes::MeshChoice;

/// A scene by name.
#[derive(Clone, Debug)]
pub(crate) enum SceneChoice {
    /// A body that is pinned at its top, under gravity.
    Swing,
    /// Bodies that fall on the ground and on each other.
    Pile,
    /// A bar whose ends are turned.
    Twist,
    /// Bodies that fall through rows of pins.
    Pachinko,
    /// A sheet that is pinned at two corners.
    Hang,
    /// A scene file.
    File(PathBuf),
}

impl FromStr for SceneChoice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "swing" => Self::Swing,
            "pile" => Self::Pile,
            "twist" => Self::Twist,
            "pachinko" => Self::Pachinko,
            "hang" => Self::Hang,
            file => Self::File(file.into()),
        })
    }
}

/// A scene.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Setting {
    /// The acceleration of all nodes, m/s².
    pub(crate) gravity: Option<[f64; 3]>,
    /// Whether bodies have contact with each other and with themselves; by default true if there are several, and for a
    /// body that can touch itself: one that is no bar, or that an attachment turns. If its mesh is then not fit for contact,
    /// there is none.
    pub(crate) contact: Option<bool>,
    /// The stiffness of contacts in N/m; by default ten times Young's modulus times the length of an edge.
    pub(crate) contact_stiffness: Option<f64>,
    /// The distance in m at which barriers begin; by default a tenth of the mean length of an edge, but with contact
    /// between bodies at most the smallest distance of parts of a body at rest.
    pub(crate) contact_thickness: Option<f64>,
    /// Whether nodes at the same place are merged, and double elements removed, in all meshes.
    pub(crate) weld: bool,
    /// The bodies, in the order of their nodes.
    pub(crate) body: Vec<Body>,
    /// Nodes that are pinned during some frames.
    pub(crate) attachment: Vec<Attachment>,
    /// Solids that do not move.
    pub(crate) obstacle: Vec<Solid>,
    /// The view of the pictures.
    pub(crate) view: View,
}

fields!(Setting {
    gravity, contact, contact_stiffness, contact_thickness, weld, body, attachment, obstacle
} without view);
fields!(Body { mesh, material, young, poisson, density, size, rotate, centre, above, velocity });
fields!(Attachment { body, nodes, from, until, stiffness, velocity, turn });
fields!(
    enum Pick {
        Top(share),
        Box(corners),
        Nearest(point),
        List(nodes),
    }
);
fields!(Turn { through, axis, rate });

/// A body: a mesh whose longest side is scaled to `size`, rotated and then moved.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Body {
    /// The mesh; by default that of the command line.
    pub(crate) mesh: Option<MeshChoice>,
    /// The material; by default that of the command line.
    pub(crate) material: Option<Material>,
    /// Young's modulus, Pa.
    pub(crate) young: Option<f64>,
    /// Poisson's ratio.
    pub(crate) poisson: Option<f64>,
    /// Density, kg/m³.
    pub(crate) density: Option<f64>,
    /// The longest side before the rotation.
    pub(crate) size: f64,
    /// Angles of rotations about the axes x, y and z, one after the other.
    pub(crate) rotate: [f64; 3],
    /// The centre of the box around the body.
    pub(crate) centre: [f64; 3],
    /// The distance of the lowest point of this body above the highest point of the previous body, or above y
    /// = 0 for the first body. It replaces the height of `centre`.
    pub(crate) above: Option<f64>,
    /// The initial velocity of all nodes, m/s.
    pub(crate) velocity: [f64; 3],
}

impl Default for Body {
    fn default() -> Self {
        Self {
            mesh: None,
            material: None,
            young: None,
            poisson: None,
            density: None,
            size: 1.0,
            rotate: [0.0; 3],
            centre: [0.0; 3],
            above: None,
            velocity: [0.0; 3],
        }
    }
}

/// Nodes of a body that are pinned to their positions at the start of the attachment, or to points that move
/// away from these positions. A node can be in one attachment at a time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attachment {
    /// The index of the body, from 0.
    #[serde(default)]
    pub(crate) body: usize,
    /// Its nodes.
    pub(crate) nodes: Pick,
    /// The first frame; frames count from 1.
    #[serde(default)]
    pub(crate) from: usize,
    /// The first frame without the attachment; by default the attachment does not end.
    pub(crate) until: Option<usize>,
    /// The stiffness of the pin of each node in N/m. The default is 100 times Young's modulus times the size
    /// of the body (for sheets the thickness), divided by the number of pinned nodes.
    pub(crate) stiffness: Option<f64>,
    /// The velocity of the points, m/s.
    #[serde(default)]
    pub(crate) velocity: [f64; 3],
    /// The rotation of the points.
    pub(crate) turn: Option<Turn>,
}

impl Setting {
    /// Whether bodies have contact with each other and with themselves, and whether the scene says so or needs it.
    pub(super) fn touches(&self) -> [bool; 2] {
        let said = self.contact.is_some() || self.body.len() > 1;
        let folds = |body: &Body| !matches!(body.mesh, None | Some(MeshChoice::Bar(_)));
        let turns = self.attachment.iter().any(|attachment| attachment.turn.is_some());
        [self.contact.unwrap_or(self.body.len() > 1 || turns || self.body.iter().any(folds)), said]
    }
}

impl Attachment {
    /// Returns an attachment that pins nodes of the first body to their initial positions during the whole
    /// run.
    pub(super) fn new(nodes: Pick) -> Self {
        Self { body: 0, nodes, from: 0, until: None, stiffness: None, velocity: [0.0; 3], turn: None }
    }
}

/// Some nodes of a body, by their initial positions in the scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pick {
    /// This share of all nodes, at least one: the highest nodes. Of equally high nodes, those with the
    /// smallest x are taken first, then those with the smallest z.
    Top(f64),
    /// The nodes inside a box, from its lowest to its highest corner.
    Box([[f64; 3]; 2]),
    /// The node nearest to a point.
    Nearest([f64; 3]),
    /// Nodes by number, from 0 within the body.
    List(Vec<u32>),
}

/// A rotation about an axis.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Turn {
    /// A point of the axis.
    pub(crate) through: [f64; 3],
    /// The direction of the axis.
    pub(crate) axis: [f64; 3],
    /// The rate in degrees per second.
    pub(crate) rate: f64,
}
