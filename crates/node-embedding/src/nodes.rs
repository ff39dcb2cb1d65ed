//! The nodes of a grid as integers.

use std::sync::Arc;

use coarsen_backend::SetupError;
use coarsen_core::Error;

/// Places beyond this bound are refused, so that a place and all places around it fit a key of the hash table.
const BOUND: i32 = (1 << 20) - 16;

/// A position may differ from its place on the grid by this fraction of the spacing.
const TOLERANCE: f64 = 1e-3;

/// The places of the nodes of the finest grid.
///
/// Even places are places of the next coarser grid, so the coarse grids stay where they are when the set of
/// nodes changes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Nodes {
    /// Node i lies at `origin` + `spacing` k for integers k, read from the positions of the system at a build.
    /// An update with the same pattern does not read them.
    OfSystem {
        /// The distance of neighbouring nodes along an axis, in the unit of the positions.
        spacing: f64,
        /// A point of the coarsest grid.
        origin: [f64; 3],
    },
    /// The integers k of each block row; any one number for absent axes. They belong to one set of nodes: when it
    /// changes, build anew.
    Given(Arc<[[i32; 3]]>),
}

/// A node does not lie on the grid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error(
    "its position {at:?} does not lie on a grid of spacing {spacing} (or lies more than a million cells from its origin); give the spacing and the origin of the finest grid, or the integers of every node"
)]
pub struct OffGrid {
    /// The position of the node, or its integers.
    pub at: [f64; 3],
    /// The spacing of the grid.
    pub spacing: f64,
}

impl Nodes {
    /// Returns the positions of nodes of the grid at `depth`, if the spacing is known.
    pub(super) fn positions(&self, places: &[[i32; 3]], depth: usize) -> Option<Vec<[f64; 3]>> {
        let &Self::OfSystem { spacing, origin } = self else { return None };
        let spacing = spacing * f64::powi(2.0, depth as i32);
        let at = |k: &[i32; 3]| std::array::from_fn(|d| origin[d] + spacing * f64::from(k[d]));
        Some(places.iter().map(at).collect())
    }

    /// Returns the places of all nodes of the finest level, which has `rows` block rows.
    ///
    /// # Errors
    /// [`SetupError::NoPositions`], [`OffGrid`] with the first node that is not on the grid, and
    /// an error for a spacing that is not positive or for another number of nodes.
    pub(super) fn places(
        &self,
        positions: Option<&[[f64; 3]]>,
        rows: usize,
    ) -> Result<Vec<[i32; 3]>, SetupError> {
        let places = match self {
            Self::Given(given) => {
                let apart = |x: &[i32; 3]| x.iter().any(|k| !(-BOUND..=BOUND).contains(k));
                if let Some(node) = given.iter().position(apart) {
                    let off = OffGrid { at: given[node].map(f64::from), spacing: 1.0 };
                    return Err(SetupError::of_method(node, off));
                }
                given.to_vec()
            }
            &Self::OfSystem { spacing, origin } => {
                if !(spacing > 0.0 && spacing.is_finite()) {
                    let (name, range) = ("NodeEmbedding, spacing", "positive and finite");
                    return Err(Error::Parameter { name, value: spacing, range }.into());
                }
                let x = positions.ok_or(SetupError::NoPositions { method: "node embedding" })?;
                let place = |(node, x): (usize, &[f64; 3])| {
                    let k: [f64; 3] = std::array::from_fn(|d| (x[d] - origin[d]) / spacing);
                    let near = |k: &f64| (k - k.round()).abs() <= TOLERANCE && k.abs() <= f64::from(BOUND);
                    if !k.iter().all(near) {
                        return Err(SetupError::of_method(node, OffGrid { at: *x, spacing }));
                    }
                    Ok(k.map(|k| k.round() as i32))
                };
                x.iter().enumerate().map(place).collect::<Result<_, _>>()?
            }
        };
        if places.len() != rows {
            let what = "places of nodes (one per block row)";
            return Err(Error::Shape { what, expected: rows, found: places.len() }.into());
        }
        Ok(places)
    }
}
