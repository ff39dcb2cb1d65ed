//! The state that a run passes from frame to frame.

use examples_run::files::{Reader, Saved, Writer};

use crate::world::Fixed;

/// The state after a frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    /// The number of the frame; 0 is the start.
    pub(crate) frame: usize,
    /// The time of frame 0, which is not 0 if the run began from a state of another run, and that of this frame, s.
    pub(crate) begun: f64,
    pub(crate) time: f64,
    /// Positions of the free nodes, three numbers for each.
    pub(crate) x: Vec<f64>,
    /// Velocities.
    pub(crate) v: Vec<f64>,
    /// The work of the air and of friction since the start, J.
    pub(crate) work: f64,
    /// A fingerprint of the scene and of the sheet before its triangles are divided; 0 in a state without one.
    pub(crate) origin: u64,
}

impl State {
    /// The state at the start of a scene.
    pub(crate) fn start(fixed: &Fixed) -> Self {
        let x = fixed.nodes.gather(&fixed.positions);
        Self { v: vec![0.0; x.len()], x, ..Self::default() }
    }
}

impl Saved for State {
    const MAGIC: &'static [u8; 24] = b"coarsen cloth state no 4";

    fn frame(&self) -> usize {
        self.frame
    }

    fn save(&self, to: &mut Writer) {
        to.number(self.frame as u64);
        to.number(self.x.len() as u64);
        to.number(self.origin);
        to.floats(self.x.iter().chain(&self.v).chain([&self.work, &self.begun, &self.time]));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
        let frame = from.number()? as usize;
        let n = from.number()? as usize;
        let (origin, x, v, work) = (from.number()?, from.floats(n)?, from.floats(n)?, from.float()?);
        Ok(Self { frame, x, v, work, origin, begun: from.float()?, time: from.float()? })
    }
}
