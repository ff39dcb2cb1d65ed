//! Colliders: shapes and closed meshes that move as rigid bodies.
//!
//! The velocity of a node in a collider is that of its displacement in the step, (x(t + Δt) − x(t)) / Δt, so
//! that material stays on a turning collider and does not spiral outwards.

use std::sync::Arc;

use coarsen::contact::{ContactError, SdfGrid};
use coarsen::mesh::Mesh;
use examples_common::closed::{Closed, MeshFault, MeshFile};
use examples_common::fields;
use serde::Deserialize;

use crate::fault::SceneError;
use crate::shape::{Pose, Shape, Solid};

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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Collider {
    /// Its shape at the start.
    pub shape: Option<Shape>,
    /// Its closed surface at the start, instead of a shape.
    pub mesh: Option<MeshFile>,
    /// How material meets it.
    #[serde(default)]
    pub kind: Kind,
    /// The coefficient of Coulomb friction of `slip` and `separating`.
    #[serde(default)]
    pub friction: f64,
    /// The axis around which it turns, through the centre of the shape, or through the origin of a mesh.
    #[serde(default = "upwards")]
    pub axis: [f64; 3],
    /// Its motion, phase by phase; at rest afterwards.
    #[serde(default)]
    pub motion: Vec<Phase>,
    /// The least radius of a ball, tube, capsule or cylinder in units of Δx, so that thin colliders hold nodes on
    /// coarse grids too. Other shapes and meshes have none.
    #[serde(default)]
    pub cells: f64,
    /// When it disappears, s; never by default.
    pub gone: Option<f64>,
    /// Whether pictures show it.
    #[serde(default = "yes")]
    pub shown: bool,
}

fields!(
    enum Kind {
        Sticky,
        Slip,
        Separating,
    }
);
fields!(Phase { until, velocity, rate });
fields!(Collider { shape, mesh, kind, friction, axis, motion, cells, gone } without shown);

fn upwards() -> [f64; 3] {
    [0.0, 1.0, 0.0]
}

fn yes() -> bool {
    true
}

impl Collider {
    /// A collider at rest.
    pub fn new(shape: Shape, kind: Kind) -> Self {
        let (motion, mesh, friction) = (Vec::new(), None, 0.0);
        let shape = Some(shape);
        Self { shape, mesh, kind, friction, axis: upwards(), motion, cells: 0.0, gone: None, shown: true }
    }

    /// The same collider with a motion.
    pub fn moving(self, axis: [f64; 3], motion: Vec<Phase>) -> Self {
        Self { axis, motion, ..self }
    }

    /// Whether it is there at a time.
    pub fn exists(&self, time: f64) -> bool {
        self.gone.is_none_or(|gone| time < gone)
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
        let about = self.shape.map_or([0.0; 3], |shape| shape.centre());
        Pose::new(self.axis, angle, about, shift)
    }
}

/// The spacing of the samples of a mesh, in units of Δx.
const SAMPLES: f64 = 0.5;

/// A collider with its signed distance.
#[derive(Clone)]
pub struct Obstacle {
    /// The collider.
    pub collider: Collider,
    /// Its surface, if it is a mesh.
    pub surface: Option<Mesh>,
    solid: Solid,
    /// The thickness that is added on coarse grids.
    growth: f64,
}

impl Obstacle {
    /// Returns collider `index` of a scene for a grid with spacing `dx`; reads its mesh.
    ///
    /// # Errors
    /// [`SceneError::Mesh`] for a mesh that cannot be read or is not closed, [`SceneError::Shape`] for numbers
    /// without a shape, [`SceneError::Key`] without shape and mesh.
    pub fn new(collider: &Collider, index: usize, dx: f64) -> Result<Self, SceneError> {
        let shaped = |source: ContactError| SceneError::Shape { table: "collider", index, source };
        let meshed = |source: MeshFault| SceneError::Mesh { table: "collider", index, source };
        let (solid, surface): (Solid, _) = match (&collider.shape, &collider.mesh) {
            (Some(shape), None) => (shape.solid().map_err(shaped)?, None),
            (None, Some(file)) => {
                let closed = Closed::read(file).map_err(meshed)?;
                let inside = |x| closed.winding(x) > 0;
                let mesh = closed.mesh();
                let solid =
                    SdfGrid::new(&mesh.positions, &mesh.triangles, SAMPLES * dx, inside).map_err(shaped)?;
                (Arc::new(solid), Some(mesh.clone()))
            }
            _ => return Err(SceneError::outline("collider", index)),
        };
        let radius = collider.shape.and_then(|shape| shape.radius());
        let growth = radius.map_or(0.0, |radius| (collider.cells * dx - radius).max(0.0));
        Ok(Self { collider: collider.clone(), surface, solid, growth })
    }

    /// All colliders of a scene.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn all(colliders: &[Collider], dx: f64) -> Result<Vec<Self>, SceneError> {
        colliders.iter().enumerate().map(|(index, collider)| Self::new(collider, index, dx)).collect()
    }

    /// The signed distance from its shape at the start.
    pub fn distance(&self, x: [f64; 3]) -> f64 {
        self.solid.distance(x) - self.growth
    }

    /// The outward normal of its shape at the start.
    pub fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        self.solid.normal(x)
    }
}
