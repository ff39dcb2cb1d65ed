//! Where cloth crosses itself or an obstacle of triangles, and where it is inside of solids.

use std::sync::Arc;

use coarsen_contact::{Crossings, Shape};

use crate::statue::Statue;

/// The number of points of an edge that are tested against solids.
const POINTS: usize = 8;

/// What cloth may cross or be inside of.
pub(crate) struct Penetrations {
    /// The edges and triangles of cloth and obstacle.
    pub(crate) surfaces: Crossings,
    /// The number of vertices of the cloth; obstacles come after it.
    cloth: u32,
    /// The solids, where they are now.
    pub(crate) solids: Vec<Box<dyn Shape>>,
    statue: Option<Arc<Statue>>,
}

impl Penetrations {
    /// The test for cloth with the first `count` of `all` vertices, an obstacle `still` with those after them, which is the
    /// surface of the statue if there is one, and solids.
    pub(crate) fn new(
        cloth: &[[u32; 3]],
        still: &[[u32; 3]],
        [count, all]: [usize; 2],
        solids: Vec<Box<dyn Shape>>,
        statue: Option<Arc<Statue>>,
    ) -> Self {
        let cloth_count = count as u32;
        let still = still.iter().map(|t| t.map(|v| v + cloth_count));
        let triangles = cloth.iter().copied().chain(still).collect();
        let rests = (0..all).map(|v| v >= count).collect();
        Self { surfaces: Crossings::new(triangles, rests), cloth: cloth_count, solids, statue }
    }

    /// The number of crossings, of edges of the cloth with a point inside a solid, and of vertices inside the statue.
    pub(crate) fn count(&self, at: &[[f64; 3]]) -> usize {
        let inside = |edge: &&[u32; 2]| {
            let [p, q] = edge.map(|v| at[v as usize]);
            let point = |k: usize| {
                let share = k as f64 / POINTS as f64;
                [0, 1, 2].map(|c| (1.0 - share) * p[c] + share * q[c])
            };
            edge[0] < self.cloth
                && (0..=POINTS).any(|k| self.solids.iter().any(|s| s.distance(point(k)) < 0.0))
        };
        let cloth = &at[..self.cloth as usize];
        let statue = self.statue.iter().flat_map(|statue| cloth.iter().filter(|x| statue.contains(**x)));
        self.surfaces.find(at).len() + self.surfaces.edges().iter().filter(inside).count() + statue.count()
    }
}
