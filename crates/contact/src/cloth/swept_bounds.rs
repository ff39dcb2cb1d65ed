//! The positions for which the candidates of a search serve: bounds around a displacement of all nodes.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x, d | `from`, `displacement` | the start of the bounds at each node, and their displacement without a translation of all |
//! | c | [`middle`] | a translation of all nodes, which changes no distance |
//! | s_i | `radii` | the radius of the bounds at a node; `slack` at most nodes |
//! | α | [`SweptBounds::share`] | the share of the displacement that fits best |
//!
//! > y_i = x_i + α d_i + c + r_i,  0 ≤ α ≤ 1,  ‖r_i‖ ≤ s_i for all nodes i    (1)
//!
//! Bounds of one displacement start at the positions of the search; bounds that are updated (`swept_bounds_update`)
//! start at their own. The mean as translation keeps most displacements short where a few nodes are fast, so that their
//! boxes are small; the middle of the box around all d would make them half as long as the longest.
//!
//! Two nodes come nearer than along the displacement by the sum of their s_i at most. So one search serves for a whole line
//! search, and for later steps that are shorter than s. Cloth that falls freely needs no search.

use coarsen_mesh::vector::{dot, sub};

use crate::Aabb;
use crate::shape::norm;

/// All y of (1). It contains nothing before the first search.
#[derive(Default)]
pub(super) struct SweptBounds {
    pub(super) from: Vec<[f64; 3]>,
    pub(super) displacement: Vec<[f64; 3]>,
    pub(super) slack: f64,
    pub(super) radii: Vec<f64>,
    /// The steps for which the displacement serves, if it is that of several steps; else 0.
    pub(super) steps: f64,
    /// The mean of d, and the sum of ‖d − mean‖².
    mean: [f64; 3],
    square: f64,
}

impl SweptBounds {
    /// The bounds around the displacement of all nodes from `from` along `dx`.
    pub(super) fn along(from: &[[f64; 3]], dx: &[[f64; 3]], slack: f64) -> Self {
        let c = mean(dx);
        let displacement: Vec<[f64; 3]> = dx.iter().map(|d| sub(*d, c)).collect();
        Self::new(from.to_vec(), displacement, slack, vec![slack; from.len()], 0.0)
    }

    /// The bounds of these parts.
    pub(super) fn new(
        from: Vec<[f64; 3]>,
        displacement: Vec<[f64; 3]>,
        slack: f64,
        radii: Vec<f64>,
        steps: f64,
    ) -> Self {
        let mean = mean(&displacement);
        let square = displacement.iter().map(|d| dot(sub(*d, mean), *d)).sum();
        Self { from, displacement, slack, radii, steps, mean, square }
    }

    /// The box around the displacement of a node, grown by the radius of the bounds and `margin`.
    pub(super) fn path(&self, node: u32, margin: f64) -> Aabb {
        let (x, d) = (self.from[node as usize], self.displacement[node as usize]);
        Aabb::of([x, [0, 1, 2].map(|k| x[k] + d[k])]).grown(self.radii[node as usize] + margin)
    }

    /// Whether all nodes at `at` are in the bounds.
    pub(super) fn holds(&self, at: &[[f64; 3]]) -> bool {
        self.from.len() == at.len() && {
            let alpha = self.share(self.moves(at)).clamp(0.0, 1.0);
            let rest = || self.moves(at).zip(&self.displacement).map(|(u, d)| less(u, alpha, *d));
            let c = middle(rest());
            rest().zip(&self.radii).all(|(r, s)| norm(sub(r, c)) <= *s)
        }
    }

    /// A time until which all nodes are in the bounds, while they move from `at`, which is in them, along `dx`: at
    /// least 1 for what is left of the displacement. `dx` changes r, or its share β along the displacement changes α,
    /// up to the end of the displacement at the time 1, and the rest changes r. NaN where numbers overflow.
    pub(super) fn covered(&self, at: &[[f64; 3]], dx: &[[f64; 3]]) -> f64 {
        let alpha = self.share(self.moves(at)).clamp(0.0, 1.0);
        let rest = || self.moves(at).zip(&self.displacement).map(|(u, d)| less(u, alpha, *d));
        let c = middle(rest());
        let until = |beta: f64| {
            let turn = || dx.iter().zip(&self.displacement).map(|(p, d)| less(*p, beta, *d));
            let e = middle(turn());
            let bound = |((r, p), s): (_, &f64)| (s - norm(sub(r, c))) / norm(sub(p, e));
            let until = rest().zip(turn()).zip(&self.radii).map(bound).fold(f64::INFINITY, least);
            let end = if beta > 0.0 { (1.0 - alpha) / beta } else { alpha / -beta };
            if beta == 0.0 { until } else { least(end, until) }
        };
        until(0.0).max(until(self.share(dx.iter().copied()).clamp(-alpha, 1.0 - alpha)))
    }

    fn moves<'a>(&'a self, at: &'a [[f64; 3]]) -> impl Iterator<Item = [f64; 3]> + 'a {
        at.iter().zip(&self.from).map(|(a, b)| sub(*a, *b))
    }

    /// The α for which Σ ‖u − α d − mean‖² is least; 0 if all displacements are the same, or where numbers overflow.
    fn share(&self, moves: impl Iterator<Item = [f64; 3]>) -> f64 {
        let sum = moves.zip(&self.displacement).map(|(u, d)| dot(sub(*d, self.mean), u)).sum::<f64>();
        let share = sum / self.square;
        if share.is_finite() { share } else { 0.0 }
    }
}

/// u − α d.
pub(super) fn less(u: [f64; 3], alpha: f64, d: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|k| u[k] - alpha * d[k])
}

/// The smaller number; NaN if one is, which `f64::min` would ignore.
fn least(a: f64, b: f64) -> f64 {
    if b < a || b.is_nan() { b } else { a }
}

/// The mean, which is exact if all are equal; 0 if there are none.
pub(super) fn mean(all: &[[f64; 3]]) -> [f64; 3] {
    let (count, first) = (all.len() as f64, all.first().copied().unwrap_or_default());
    let sum = all.iter().fold([0.0; 3], |sum, d| [0, 1, 2].map(|k| sum[k] + (d[k] - first[k])));
    [0, 1, 2].map(|k| if count > 0.0 { first[k] + sum[k] / count } else { 0.0 })
}

/// c: the middle of the box around displacements; 0 if there are none.
fn middle(moves: impl Iterator<Item = [f64; 3]>) -> [f64; 3] {
    let ends = moves.fold(None, |ends: Option<[[f64; 3]; 2]>, u| {
        let [low, high] = ends.unwrap_or([u, u]);
        Some([[0, 1, 2].map(|k| low[k].min(u[k])), [0, 1, 2].map(|k| high[k].max(u[k]))])
    });
    ends.map_or([0.0; 3], |[low, high]| [0, 1, 2].map(|k| 0.5 * (low[k] + high[k])))
}
