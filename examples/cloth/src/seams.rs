//! Seams: springs that pull the edges of pieces together.
//!
//! | symbol | here | |
//! |---|---|---|
//! | ℓ₀ | `start` | the distance of two vertices at the start |
//! | δ | `end` | the thickness of the cloth: sewn vertices are where their contact begins |
//! | T | [`CLOSING`] | the time in which a seam closes |
//! | k | `stiffness` | stiffness of a metre of a seam times its part, N/m |
//!
//! > E = Σ k/2 (‖x_a − x_b‖ − L)²,  L = δ + (ℓ₀ − δ) max(0, 1 − t/T)    (1)
//!
//! Li et al. 2020, "P-Cloth", Fig. 15: pieces of a T-shirt are stitched together. Their algorithm is in a supplement that we
//! do not have; (1) is ours.

use std::collections::BTreeMap;

use coarsen::elastic::Spring;
use coarsen::mesh::vector::{dot, sub};

use crate::sheet::Sheet;

/// T in s.
const CLOSING: f64 = 0.15;

/// The seams of a sheet, as (1).
pub(crate) struct Seams {
    /// The springs at t = 0.
    pub(crate) start: Vec<Spring>,
    end: f64,
}

impl Seams {
    /// The seams of a sheet, with a stiffness in N/m² and the distance of sewn vertices; `positions` are those at t = 0.
    pub(crate) fn new(sheet: &Sheet, stiffness: f64, end: f64, positions: &[[f64; 3]]) -> Self {
        // Half of each edge belongs to each of its ends.
        let mut parts: BTreeMap<[u32; 2], f64> = BTreeMap::new();
        for &[[a, b], [c, d]] in &sheet.seams {
            let half = 0.5 * sheet.length([a, b]);
            [[a, c], [b, d]].into_iter().for_each(|ends| *parts.entry(ends).or_default() += half);
        }
        let spring = |(ends, part): ([u32; 2], f64)| {
            let [p, q] = ends.map(|v| positions[v as usize]);
            let length = dot(sub(q, p), sub(q, p)).sqrt();
            Spring { ends, stiffness: stiffness * part, length }
        };
        Self { start: parts.into_iter().map(spring).collect(), end }
    }

    pub(crate) fn at(&self, time: f64) -> Vec<Spring> {
        let open = (1.0 - time / CLOSING).max(0.0);
        self.start.iter().map(|s| Spring { length: self.end + (s.length - self.end) * open, ..*s }).collect() // (1)
    }
}
