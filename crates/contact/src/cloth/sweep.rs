//! The largest step before any pair of a surface touches.

use std::ops::Range;

use coarsen_core::parallel;

use super::advance::time_of_impact;
use crate::Pair;

/// The number of pairs per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per pair, used to decide whether threads pay off.
const WORK: usize = 300;

/// The first impact of a step: its time, and the pair; of equal times, the first pair.
pub(super) type Impact = Option<(f64, Pair)>;

/// Returns the first impact among candidates, whose nodes move from `at` by `by`, before the time `last`.
pub(super) fn first_impact(
    candidates: &[Pair],
    at: &[[f64; 3]],
    by: &[[f64; 3]],
    floor: f64,
    last: f64,
) -> Impact {
    let leaf = |range: Range<usize>| {
        let mut first: Impact = None;
        for pair in &candidates[range] {
            let nodes = pair.nodes().map(|v| v as usize);
            let end = first.map_or(last, |(t, _)| t);
            let time = time_of_impact(pair, &nodes.map(|v| at[v]), &nodes.map(|v| by[v]), floor, end);
            if let Some(t) = time.filter(|t| *t < end) {
                first = Some((t, *pair));
            }
        }
        first
    };
    let earlier = |a: Impact, b: Impact| match (a, b) {
        (Some(one), Some(other)) => Some(if other.0 < one.0 { other } else { one }),
        (a, b) => a.or(b),
    };
    parallel::tree(0..candidates.len(), LEAF, parallel::worth(candidates.len() * WORK), &leaf, &earlier)
}
