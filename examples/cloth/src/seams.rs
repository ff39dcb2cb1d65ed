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
use std::sync::Arc;

use coarsen::elastic::{BodyError, Curvature, Energy, Potential, Spring, Springs};
use coarsen::mesh::vector::{dot, sub};
use coarsen::sparse::Pattern;

use crate::material::Woven;
use crate::sheet::Sheet;

/// T in s.
pub(crate) const CLOSING: f64 = 0.15;

/// The seams of a sheet, as (1).
pub(crate) struct Seams {
    springs: Springs,
    /// The springs at t = 0.
    start: Vec<Spring>,
    end: f64,
    held: Vec<bool>,
}

impl Seams {
    /// The seams of a sheet at t = 0, with a stiffness in N/m² and the distance of sewn vertices.
    ///
    /// # Errors
    /// [`BodyError`] for vertices that do not exist or are at one place.
    pub(crate) fn new(
        sheet: &Sheet,
        stiffness: f64,
        end: f64,
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
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
        let start: Vec<Spring> = parts.into_iter().map(spring).collect();
        let springs = Springs::new(start.clone(), held, positions)?;
        Ok(Self { springs, start, end, held: held.to_vec() })
    }

    /// The springs at a time.
    fn at(&self, time: f64) -> Vec<Spring> {
        let open = (1.0 - time / CLOSING).max(0.0);
        self.start.iter().map(|s| Spring { length: self.end + (s.length - self.end) * open, ..*s }).collect() // (1)
    }
}

impl Woven for Seams {
    fn hold(&mut self, positions: &[[f64; 3]], time: f64) {
        let springs = Springs::new(self.at(time), &self.held, positions);
        self.springs =
            springs.expect("the springs at the start were valid, and lengths are above the thickness");
    }
}

impl Potential for Seams {
    fn nodes(&self) -> usize {
        self.springs.nodes()
    }

    fn pattern(&self) -> &Arc<Pattern> {
        self.springs.pattern()
    }

    fn energy(&mut self, x: &[f64]) -> Energy {
        self.springs.energy(x)
    }

    fn add_gradient(&mut self, x: &[f64], g: &mut [f64]) {
        self.springs.add_gradient(x, g);
    }

    fn add_hessian(&mut self, x: &[f64], curvature: Curvature, values: &mut [f64]) {
        self.springs.add_hessian(x, curvature, values);
    }

    fn add_characteristic(&self, forces: &mut [f64]) {
        self.springs.add_characteristic(forces);
    }
}
