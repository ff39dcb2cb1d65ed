//! The union of sparsity patterns, and Hessians on it.

use std::sync::Arc;

use coarsen_sparse::Pattern;

use crate::BodyError;
use crate::nodes::pattern_of;
use crate::potential::{Curvature, Potential};

/// Returns the union of one or more patterns of the same size. This is the first pattern itself if it
/// contains all others.
pub(crate) fn union(parts: &[&Arc<Pattern>]) -> Result<Arc<Pattern>, BodyError> {
    let (first, others) = (parts[0], &parts[1..]);
    let places = |p: &'_ Arc<Pattern>| -> Vec<(u32, u32)> {
        (0..p.rows()).flat_map(|i| p.row(i).iter().map(move |&j| (i as u32, j))).collect()
    };
    let new = |(i, j): &(u32, u32)| first.find(*i as usize, *j as usize).is_none();
    let added: Vec<(u32, u32)> = others.iter().flat_map(|p| places(p)).filter(new).collect();
    if added.is_empty() {
        return Ok(first.clone());
    }
    pattern_of(first.rows(), places(first).into_iter().chain(added))
}

/// The positions of the blocks of a part in the union, and storage for their values.
pub(crate) struct Map {
    blocks: Vec<usize>,
    values: Vec<f64>,
}

impl Map {
    /// Returns the map of a part, or `None` if both patterns are equal.
    pub(crate) fn new(part: &Arc<Pattern>, union: &Arc<Pattern>) -> Option<Self> {
        if part == union {
            return None;
        }
        let find = |i: usize| part.row(i).iter().filter_map(move |&j| union.find(i, j as usize));
        let blocks: Vec<usize> = (0..part.rows()).flat_map(find).collect();
        let values = vec![0.0; 9 * blocks.len()];
        Some(Self { blocks, values })
    }
}

/// Adds the Hessian of a part to the values of the union, in place if there is no map.
pub(crate) fn add_hessian(
    part: &mut impl Potential,
    map: Option<&mut Map>,
    x: &[f64],
    curvature: Curvature,
    values: &mut [f64],
) {
    let Some(Map { blocks, values: own }) = map else { return part.add_hessian(x, curvature, values) };
    own.fill(0.0);
    part.add_hessian(x, curvature, own);
    for (&block, own) in blocks.iter().zip(own.chunks_exact(9)) {
        values[9 * block..9 * block + 9].iter_mut().zip(own).for_each(|(v, own)| *v += own);
    }
}
