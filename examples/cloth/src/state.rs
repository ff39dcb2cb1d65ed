//! The state that a run passes from frame to frame, and the results of a frame: one line of the file `frames.csv`.

use coarsen::optimize::DescentOutcome;
use examples_run::files::{Reader, Record, Saved, Writer};

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

examples_run::record! {
    /// The results of a frame.
    pub(crate) struct Row {
        /// The number of the frame; 0 is the start.
        pub(crate) frame: usize = "frame",
        /// The number of time steps of the frame.
        pub(crate) steps: usize = "steps",
        /// The number of those that converged.
        pub(crate) converged: usize = "converged",
        /// The number of iterations of Newton's method in all steps.
        pub(crate) outer: usize = "outer",
        /// The number of iterations of the linear solves.
        pub(crate) inner: usize = "inner",
        /// The number of contacts at the end.
        pub(crate) contacts: usize = "contacts",
        /// The number of edges that cross a triangle or a solid at the end.
        pub(crate) penetrations: usize = "penetrations",
        /// How often the host has waited for the backend.
        pub(crate) synchronisations: u64 = "synchronisations",
        /// The seconds for building and updating preconditioners.
        pub(crate) setup: f64 = "setup_s",
        /// The other seconds.
        pub(crate) solve: f64 = "solve_s",
        /// Kinetic, elastic, contact and gravitational energy, J.
        pub(crate) energy: f64 = "energy",
        /// Kinetic energy, J.
        pub(crate) kinetic: f64 = "kinetic",
        /// Elastic energy with that of contacts, J.
        pub(crate) elastic: f64 = "elastic",
        /// The work of the air and of friction since the start, J.
        pub(crate) work: f64 = "work",
        /// The momentum of the free nodes, kg m/s.
        pub(crate) momentum: [f64; 3] = "momentum_x" "momentum_y" "momentum_z",
    }
}

impl Row {
    /// Counts a step: how it ended, and its iterations of Newton's method and of linear solves.
    pub(crate) fn add(&mut self, outcome: DescentOutcome, [outer, inner]: [usize; 2]) {
        self.steps += 1;
        self.converged += usize::from(matches!(outcome, DescentOutcome::Converged(_)));
        self.outer += outer;
        self.inner += inner;
    }

    fn per_step(&self, count: usize) -> f64 {
        count as f64 / self.steps.max(1) as f64
    }
}

impl Record for Row {
    const SUMMARY: &'static [(&'static str, fn(&Self) -> Option<f64>)] = &[
        ("Newton per step", |row| Some(row.per_step(row.outer))),
        ("inner per step", |row| Some(row.per_step(row.inner))),
        ("synchronisations per step", |row| Some(row.per_step(row.synchronisations as usize))),
        ("setup, s", |row| Some(row.setup)),
        ("solve, s", |row| Some(row.solve)),
        ("contacts", |row| Some(row.contacts as f64)),
        ("penetrations", |row| Some(row.penetrations as f64)),
        ("energy less work, J", |row| Some(row.energy - row.work)),
    ];

    fn frame(&self) -> usize {
        self.frame
    }

    fn note(&self) -> String {
        format!("{} + {} iterations, {} contacts", self.outer, self.inner, self.contacts)
    }

    fn ending(rows: &[Self]) -> String {
        let sum = |of: fn(&Self) -> usize| rows.iter().skip(1).map(of).sum::<usize>();
        format!("{} of {} steps converged\n", sum(|row| row.converged), sum(|row| row.steps))
    }
}
