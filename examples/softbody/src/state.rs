//! The state that a run passes from frame to frame.

use coarsen::elastic::Energy;
use examples_run::files::{Reader, Saved, Writer};

use crate::part::{Depths, Forces};
use crate::rows::{Row, Time};
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
            anchors: vec![Vec::new(); world.timed_attachments.len()],
            ..Self::default()
        }
    }

    /// The row of the table for this state and its contacts, without iterations and times.
    pub(crate) fn row(
        &self,
        touching: Depths,
        forces: &mut Forces,
        masses: &[f64],
        gravity: [f64; 3],
        h: f64,
    ) -> Row {
        let Depths { contacts, obstacles, bodies } = touching;
        let inverted = forces.parts_mut().iter().map(|part| part.inverted(&self.x)).sum();
        let sum = |node: &dyn Fn(usize, &[f64], &[f64]) -> f64| -> f64 {
            let nodes = self.x.chunks_exact(3).zip(self.v.chunks_exact(3)).enumerate();
            nodes.map(|(i, (x, v))| node(i, x, v)).sum()
        };
        let kinetic = sum(&|i, _, v| 0.5 * masses[i] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]));
        let height = sum(&|i, x, _| masses[i] * (gravity[0] * x[0] + gravity[1] * x[1] + gravity[2] * x[2]));
        let elastic = forces.parts_mut().iter_mut().map(|part| part.stored(&self.x)).sum::<Energy>().value;
        Row {
            frame: self.frame,
            time: Time(h * self.frame as f64),
            energy: elastic + (kinetic - height),
            kinetic,
            elastic,
            work: self.work,
            inverted,
            contacts,
            penetration: obstacles,
            overlap: bodies,
            outcome: "start".to_owned(),
            ..Row::default()
        }
    }
}

impl Saved for State {
    const MAGIC: &'static [u8; 24] = b"coarsen softbody state 2";

    fn frame(&self) -> usize {
        self.frame
    }

    fn save(&self, to: &mut Writer) {
        to.number(self.frame as u64);
        to.floats([&self.pinned, &self.work]);
        to.number(self.x.len() as u64);
        to.floats(self.x.iter().chain(&self.v));
        to.number(self.anchors.len() as u64);
        for anchors in &self.anchors {
            to.number(anchors.len() as u64);
            to.floats(anchors.as_flattened());
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, &'static str> {
        let frame = from.number()? as usize;
        let [pinned, work] = [from.float()?, from.float()?];
        let n = from.number()? as usize;
        let (x, v) = (from.floats(n)?, from.floats(n)?);
        let attachments = from.number()?;
        let mut anchors = Vec::new();
        for _ in 0..attachments {
            let count = from.number()? as usize;
            anchors.push(from.points(count)?);
        }
        Ok(Self { frame, x, v, anchors, pinned, work })
    }
}
