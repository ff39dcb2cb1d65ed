//! The state that a run passes from frame to frame.

use crate::scene::World;

/// The state after a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    /// The number of the frame; 0 is the start.
    pub(crate) frame: usize,
    /// Positions, three numbers for each node.
    pub(crate) x: Vec<f64>,
    /// Velocities.
    pub(crate) v: Vec<f64>,
    /// The positions of the nodes at the start of each attachment; empty before the start.
    pub(crate) anchors: Vec<Vec<[f64; 3]>>,
    /// The energy of the pins at x, J.
    pub(crate) pinned: f64,
    /// The work in J that pins have done because they moved, were added or were removed.
    pub(crate) work: f64,
}

impl State {
    /// The state at the start of a scene.
    pub(crate) fn start(world: &World) -> Self {
        Self {
            x: world.positions.as_flattened().to_vec(),
            v: world.velocities.as_flattened().to_vec(),
            anchors: vec![Vec::new(); world.holds.len()],
            ..Self::default()
        }
    }
}
