//! Nodes that are held, and nodes that slide: the projector S onto the motions that they allow.
//!
//! | symbol | here |
//! |---|---|
//! | n | the unit normal of a node that slides |
//! | S_i | 0 for a node that is held, I − n nᵀ for a node that slides, I otherwise |

use std::collections::BTreeMap;

use coarsen_backend::SetupError;
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Prolongation};

/// A restraint of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Restraint {
    /// The node does not move, as at a sticky wall.
    Held,
    /// The node moves in the plane with this normal, of any length. A node that may separate from a wall is
    /// free or slides; which of the two is fixed during a solve.
    Slides([f64; 3]),
}

/// The restraints of a level, by node.
#[derive(Clone, Debug, Default)]
pub(super) struct Restraints {
    held: Vec<bool>,
    sliding: BTreeMap<u32, [f64; 3]>,
}

impl Restraints {
    /// Returns the restraints of `rows` nodes with `b` unknowns each.
    ///
    /// # Errors
    /// An error for a node that does not exist or is named twice, and for a normal without direction.
    pub(super) fn new(given: &[(u32, Restraint)], rows: usize, b: usize) -> Result<Self, SetupError> {
        let mut all = Self { held: vec![false; if given.is_empty() { 0 } else { rows }], ..Self::default() };
        for &(node, restraint) in given {
            let held = all.held.get(node as usize).copied();
            if held != Some(false) || all.sliding.contains_key(&node) {
                let what = if held.is_none() { "nodes with restraints" } else { "restraints of one node" };
                let (expected, found) = if held.is_none() { (rows, node as usize + 1) } else { (1, 2) };
                return Err(Error::Shape { what, expected, found }.into());
            }
            match restraint {
                Restraint::Held => all.held[node as usize] = true,
                Restraint::Slides(normal) => {
                    let length = normal[..b.min(3)].iter().map(|n| n * n).sum::<f64>().sqrt();
                    if !(2..=3).contains(&b) || !(length > 0.0 && length.is_finite()) {
                        let (name, range) = ("NodeEmbedding::restraints, length of a normal", "above 0");
                        return Err(Error::Parameter { name, value: length, range }.into());
                    }
                    all.sliding.insert(node, normal.map(|n| n / length));
                }
            }
        }
        Ok(all)
    }

    pub(super) fn is_held(&self, node: usize) -> bool {
        self.held.get(node).is_some_and(|&held| held)
    }

    /// Returns S P; rows of held nodes are empty already.
    pub(super) fn apply<T: Real>(&self, p: Prolongation<T>) -> Result<Prolongation<T>, SetupError> {
        if self.sliding.is_empty() {
            return Ok(p);
        }
        let mut whole: Bsr<T> = p.to_matrix()?.into_owned();
        let (b, pattern) = (whole.block().0, whole.pattern().clone());
        for (&node, n) in &self.sliding {
            for at in pattern.range(node as usize) {
                let block = &mut whole.values_mut()[at * b * b..(at + 1) * b * b];
                let w = block[0];
                for (e, value) in block.iter_mut().enumerate() {
                    *value -= w * T::of(n[e / b] * n[e % b]); // w (I − n nᵀ)
                }
            }
        }
        Ok(whole.into())
    }
}
