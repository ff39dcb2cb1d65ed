//! A closed mesh with a signed distance as an obstacle.
//!
//! The distance carries vertices, with friction, and holds them if obstacles are constraints. The triangles are in the
//! contact of triangles as those of other obstacles: they keep edges of the cloth outside where the mesh is sharp.

use std::path::Path;

use coarsen::mesh::Mesh;
use coarsen_contact::{ClosedSurface, Shape, SmoothSdf};
use examples_scene::closed::{self, MeshFault};

use crate::fault::SceneError;
use crate::sheet::welded;

/// The number of samples of the distance along the longest side. They are not nearer to each other than the thickness.
const SAMPLES: f64 = 64.0;

/// A closed mesh that stands on the ground with its middle over the origin.
#[derive(Debug)]
pub(crate) struct Statue {
    closed: ClosedSurface,
    solid: SmoothSdf,
}

impl Statue {
    /// Reads a file, scales its longest side if a size is given, and samples the distance for cloth of a thickness; returns
    /// also the numbers of its triangles in the file.
    pub(crate) fn read(
        file: &Path,
        size: Option<f64>,
        thickness: f64,
        weld: bool,
    ) -> Result<(Self, Vec<u32>), SceneError> {
        let mesh = closed::surface(file, size).map_err(MeshFault::from)?;
        let (mut mesh, numbers) = welded(mesh, weld);
        let [low, high] = mesh.bounds();
        let shift = [-0.5 * (low[0] + high[0]), -low[1], -0.5 * (low[2] + high[2])];
        mesh.positions.iter_mut().for_each(|p| *p = [0, 1, 2].map(|k| p[k] + shift[k]));
        let closed = closed::closed(mesh, file)?;
        let Mesh { positions, triangles, .. } = closed.mesh();
        let longest = size.unwrap_or_else(|| (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max));
        let spacing = (longest / SAMPLES).max(thickness);
        let solid = SmoothSdf::new(positions, triangles, spacing, |x| closed.winding(x) > 0)?;
        Ok((Self { closed, solid }, numbers))
    }

    pub(crate) fn mesh(&self) -> &Mesh {
        self.closed.mesh()
    }

    /// Whether a point is inside, by its winding number, which shares no code with the distance.
    pub(crate) fn contains(&self, x: [f64; 3]) -> bool {
        self.closed.winding(x) > 0
    }

    /// Its distance, grown on all sides.
    pub(crate) fn shape(&self, skin: f64) -> Box<dyn Shape> {
        Box::new(self.solid.grown(skin))
    }
}
