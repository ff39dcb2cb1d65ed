//! Colliders: shapes and closed meshes that move as rigid bodies.
//!
//! The velocity of a node in a collider is that of its displacement in the step, (x(t + Δt) − x(t)) / Δt, so
//! that material stays on a turning collider and does not spiral outwards.

use std::sync::Arc;

use coarsen::contact::{ContactError, SdfGrid};
use coarsen::mesh::Mesh;
use examples_scene::closed::{self, MeshFault};
use examples_scene::file::Source;

use crate::fault::SceneError;
use crate::shape::Solid;

pub use examples_scene::{Kind, Obstacle as Collider, Phase};

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
    /// without a shape, [`SceneError::Scene`] without shape and mesh.
    pub fn new(collider: &Collider, index: usize, dx: f64) -> Result<Self, SceneError> {
        let shaped = |source: ContactError| SceneError::Shape { table: "obstacle", index, source };
        let meshed = |source: MeshFault| SceneError::Mesh { table: "obstacle", index, source };
        let (solid, surface): (Solid, _) = match (&collider.shape, &collider.mesh) {
            (Some(shape), None) => (shape.solid().map_err(shaped)?, None),
            (None, Some(file)) => {
                let closed = closed::read(file, collider.size).map_err(meshed)?;
                let inside = |x| closed.winding(x) > 0;
                let mesh = closed.mesh();
                let solid =
                    SdfGrid::new(&mesh.positions, &mesh.triangles, SAMPLES * dx, inside).map_err(shaped)?;
                (Arc::new(solid), Some(mesh.clone()))
            }
            _ => {
                let why = "or mesh: give one of the two, and not both";
                return Err(Source::default().fault(format!("obstacle[{index}].shape"), why).into());
            }
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
