//! How far nodes have moved against each other since a search.
//!
//! | symbol | here | |
//! |---|---|---|
//! | u, d | | displacements of the nodes since the search, and those that are added |
//! | c | [`middle`] | a translation of all nodes, which changes no distance |
//! | s | `slack` | how far a node may move |
//!
//! Until ‖u − c‖ > s for a node, two nodes come nearer by 2 s at most. c is the middle of the box around all u: cloth
//! that falls freely needs no search.

use coarsen_mesh::vector::sub;

use crate::shape::norm;

/// c: the middle of the box around displacements; 0 if there are none.
pub(super) fn middle(moves: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    let ends = moves.fold(None, |ends: Option<[[f64; 3]; 2]>, u| {
        let [low, high] = ends.unwrap_or([u, u]);
        Some([[0, 1, 2].map(|k| low[k].min(u[k])), [0, 1, 2].map(|k| high[k].max(u[k]))])
    });
    ends.map_or([0.0; 3], |[low, high]| [0, 1, 2].map(|k| 0.5 * (low[k] + high[k])))
}

/// Whether no node has moved by more than `slack` from `searched` to `at`, but for c.
pub(super) fn is_within(at: &[[f64; 3]], searched: &[[f64; 3]], slack: f64) -> bool {
    let moves = || at.iter().zip(searched).map(|(a, b)| sub(*a, *b));
    let c = middle(moves());
    searched.len() == at.len() && !moves().any(|u| norm(sub(u, c)) > slack)
}

/// The largest α for which no node is further than `slack` from `searched` at `at` + α d, but for a translation of all.
pub(super) fn covered(at: &[[f64; 3]], searched: &[[f64; 3]], d: &[[f64; 3]], slack: f64) -> f64 {
    let moves = || at.iter().zip(searched).map(|(a, b)| sub(*a, *b));
    let (c, e) = (middle(moves()), middle(d.iter().copied()));
    let bound = |(u, d): ([f64; 3], &[f64; 3])| (slack - norm(sub(u, c))) / norm(sub(*d, e));
    moves().zip(d).map(bound).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_do_not_count() {
        let searched = [[0.0; 3], [1.0, 2.0, 3.0]];
        let fallen = searched.map(|x| [x[0], x[1] - 5.0, x[2]]);
        assert!(is_within(&fallen, &searched, 1e-9) && !is_within(&[[0.0; 3]], &searched, 9.0));
        // One node stays and one moves by 1: both are 1/2 from c.
        let one = [searched[0], [1.0, 2.0, 4.0]];
        assert!(is_within(&one, &searched, 0.51) && !is_within(&one, &searched, 0.49));
        // (0.7 − 0.5) / 0.5, and no bound for a translation.
        let moves = [[0.0; 3], [0.0, 0.0, 1.0]];
        assert!((covered(&one, &searched, &moves, 0.7) - 0.4).abs() < 1e-12);
        assert_eq!(covered(&one, &searched, &[[3.0, -4.0, 1.0]; 2], 0.7), f64::INFINITY);
        assert_eq!(middle(std::iter::empty()), [0.0; 3]);
    }
}
