//! Continuous collision detection of a surface: the largest step before any of its pairs touches.

use std::ops::Range;

use coarsen_core::parallel;

use crate::Pair;

/// The number of pairs per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per pair, used to decide whether threads pay off.
const WORK: usize = 300;

/// The first impact of a step: its time, and the pair; of equal times, the first pair.
pub type Impact = Option<(f64, Pair)>;

/// Returns the first impact among candidates before the time `last`; `time(pair, end)` is that of a pair, if it is
/// before `end`.
pub(super) fn first_impact(
    candidates: &[Pair],
    last: f64,
    time: &(impl Fn(&Pair, f64) -> Option<f64> + Sync),
) -> Impact {
    let leaf = |range: Range<usize>| {
        let mut first: Impact = None;
        for pair in &candidates[range] {
            let end = first.map_or(last, |(t, _)| t);
            if let Some(t) = time(pair, end).filter(|t| *t < end) {
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

/// All impacts among candidates, in their order; `time` is that of a pair.
pub(super) fn all_impacts(
    candidates: &[Pair],
    time: &(impl Fn(&Pair) -> Option<f64> + Sync),
) -> Vec<(f64, Pair)> {
    let leaf = |range: Range<usize>| -> Vec<(f64, Pair)> {
        candidates[range].iter().filter_map(|pair| time(pair).map(|t| (t, *pair))).collect()
    };
    let both = |mut a: Vec<(f64, Pair)>, b: Vec<(f64, Pair)>| {
        a.extend(b);
        a
    };
    parallel::tree(0..candidates.len(), LEAF, parallel::worth(candidates.len() * WORK), &leaf, &both)
}
