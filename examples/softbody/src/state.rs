//! What a run carries from frame to frame.

use crate::scene::World;

/// The state after a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    /// The frame; 0 is the start.
    pub(crate) frame: usize,
    /// Positions, three numbers for each node.
    pub(crate) x: Vec<f64>,
    /// Velocities.
    pub(crate) v: Vec<f64>,
    /// The positions at which each attachment began; empty before.
    pub(crate) anchors: Vec<Vec<[f64; 3]>>,
    /// The energy of the pins at x, J.
    pub(crate) pinned: f64,
    /// The work that pins have done by moving, coming and going, J.
    pub(crate) work: f64,
}

impl State {
    /// The start of a scene.
    pub(crate) fn start(world: &World) -> Self {
        Self {
            x: world.positions.as_flattened().to_vec(),
            v: world.velocities.as_flattened().to_vec(),
            anchors: vec![Vec::new(); world.holds.len()],
            ..Self::default()
        }
    }
}
