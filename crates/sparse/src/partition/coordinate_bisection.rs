//! Partition by positions.

use coarsen_core::{Error, parallel};

use super::{assign, check, half};
use crate::Classes;
use crate::system::check_points;

/// Recursive bisection of the points across the longest side of their bounding box.
///
/// The sizes of any two parts differ by at most one. Points with equal coordinates are ordered by index.
/// *Use* if positions are known and the mesh is roughly uniform. Parts of curved or branching bodies may be
/// disconnected.
/// *Cost* O(n log parts), parallel over the two halves; the parts do not depend on the number of threads.
///
/// ```
/// use coarsen_sparse::partition;
/// let line = [[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [1.0, 0.0, 0.0], [8.0, 0.0, 0.0]];
/// assert_eq!(partition::coordinate_bisection(&line, 2)?.of(), [0, 1, 0, 1]);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// *Reference* Berger & Bokhari 1987, A partitioning strategy for nonuniform problems on multiprocessors.
///
/// # Errors
/// [`Error::Parameter`] for 0 parts, [`Error::NotFinite`] gives the index of the point, [`Error::TooLarge`]
/// for too many nodes or parts.
pub fn coordinate_bisection(positions: &[[f64; 3]], parts: usize) -> Result<Classes, Error> {
    check(positions.len(), parts)?;
    check_points(positions)?;
    let mut nodes: Vec<u32> = (0..positions.len() as u32).collect();
    bisect(&mut nodes, parts, positions);
    assign(&nodes, parts)
}

/// Orders `nodes` so that each part is a contiguous range.
fn bisect(nodes: &mut [u32], parts: usize, positions: &[[f64; 3]]) {
    let (n, p) = half(nodes.len(), parts.max(1));
    if parts <= 1 || nodes.len() <= 1 {
        return;
    }
    let side = |a: usize| {
        let coordinates = nodes.iter().map(|&i| positions[i as usize][a]);
        let (low, high) = coordinates.fold((f64::MAX, f64::MIN), |(l, h), c| (l.min(c), h.max(c)));
        high - low
    };
    let sides = [side(0), side(1), side(2)];
    let axis = if sides[0] >= sides[1].max(sides[2]) { 0 } else { 1 + usize::from(sides[2] > sides[1]) };
    let at = |i: u32| positions[i as usize][axis];
    nodes.select_nth_unstable_by(n, |&i, &j| at(i).total_cmp(&at(j)).then(i.cmp(&j)));
    let (first, second) = nodes.split_at_mut(n);
    if parallel::worth(8 * (first.len() + second.len())) {
        parallel::join(|| bisect(first, p, positions), || bisect(second, parts - p, positions));
    } else {
        bisect(first, p, positions);
        bisect(second, parts - p, positions);
    }
}
