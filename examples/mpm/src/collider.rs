//! Colliders: analytic shapes that move as rigid bodies.
//!
//! The velocity of a node in a collider is that of its displacement in the step, (x(t + Δt) − x(t)) / Δt, so
//! that material stays on a turning collider and does not spiral outwards.

use serde::Deserialize;

use crate::shape::{Pose, Shape};

/// How material meets a collider.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Nodes inside move with the collider.
    #[default]
    Sticky,
    /// Nodes inside keep the normal velocity of the collider.
    Slip,
    /// As slip, but nodes that leave the collider at the start of a solve are free in this solve.
    Separating,
}

/// A part of a motion.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The end of the phase, s.
    pub until: f64,
    /// Velocity, m/s.
    #[serde(default)]
    pub velocity: [f64; 3],
    /// Angular velocity around the axis of the collider, degrees/s.
    #[serde(default)]
    pub rate: f64,
}

/// A collider.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Collider {
    /// Its shape at the start.
    pub shape: Shape,
    /// How material meets it.
    #[serde(default)]
    pub kind: Kind,
    /// The axis around which it turns, through the centre of the shape.
    #[serde(default = "upwards")]
    pub axis: [f64; 3],
    /// Its motion, phase by phase; at rest afterwards.
    #[serde(default)]
    pub motion: Vec<Phase>,
    /// The least radius of a ball, tube, capsule or cylinder in units of Δx, so that thin colliders hold nodes on
    /// coarse grids too.
    #[serde(default)]
    pub cells: f64,
    /// When it disappears, s; never by default.
    pub gone: Option<f64>,
    /// Whether pictures show it.
    #[serde(default = "yes")]
    pub shown: bool,
}

fn upwards() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

fn yes() -> bool {
    true
}

impl Collider {
    /// A collider at rest.
    pub fn new(shape: Shape, kind: Kind) -> Self {
        Self { shape, kind, axis: upwards(), motion: Vec::new(), cells: 0.0, gone: None, shown: true }
    }

    /// The same collider with a motion.
    pub fn moving(self, axis: [f64; 3], motion: Vec<Phase>) -> Self {
        Self { axis, motion, ..self }
    }

    /// Whether it is there at a time.
    pub fn exists(&self, time: f64) -> bool {
        self.gone.is_none_or(|gone| time < gone)
    }

    /// The signed distance from its shape at the start.
    pub fn distance(&self, x: [f64; 3], dx: f64) -> f64 {
        let growth = self.shape.radius().map_or(0.0, |radius| (self.cells * dx - radius).max(0.0));
        self.shape.distance(x) - growth
    }

    /// Its pose at a time.
    pub fn pose(&self, time: f64) -> Pose {
        let (mut shift, mut angle, mut from) = ([0.0; 3], 0.0, 0.0);
        for &Phase { until, velocity, rate } in &self.motion {
            let span = (time.min(until) - from).max(0.0);
            (0..3).for_each(|k| shift[k] += span * velocity[k]);
            angle += span * rate.to_radians();
            from = until;
        }
        Pose::new(self.axis, angle, self.shape.centre(), shift)
    }
}
