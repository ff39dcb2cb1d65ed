//! Updates of swept bounds for the nodes that leave them, so that a search is for the pairs of these nodes alone.
//!
//! | symbol | here | |
//! |---|---|---|
//! | y_i, p_i | `at`, `dx` | positions, and the next displacement of each node |
//! | x_i, d_i, s_i, r_i, α | | those of [`SweptBounds`] |
//! | β | `beta` | the share of the displacement of the bounds that the next step takes |
//! | c, e, e' | [`median`] | translations, which change no distance: those of most nodes; in [`SweptBounds::ahead`] means |
//! | v_i | `pace` | the displacement of each later step, as far as it is known |
//! | k | `steps` | the steps for which the displacement of the bounds serves |
//!
//! > a node stays:  ‖r_i − c‖ ≤ s_i  and  ‖r_i + p_i − β d_i − c − e‖ ≤ s_i    (1)
//! > others get  d_i = k v_i − e',  m_i = ½ (p_i − e − β' d_i),  x_i = y_i − c + m_i,  s_i = s + ‖m_i‖    (2)
//!
//! with β' = β / (1 − α), the share of what is left of the displacement, and the translation e' that makes k v_i for most
//! nodes what is left of theirs. Between the ends of the next step, (1) holds too, since balls are convex; y_i and
//! y_i + p_i are at the distance ‖m_i‖ from the displacement (2). For nodes that stay, the rest of their displacement is a part of it, so
//! that their pairs are among the old candidates.

use coarsen_mesh::vector::{dot, sub};

use super::swept_bounds::{SweptBounds, less, mean};
use crate::shape::norm;

/// The nodes of a sample, of which medians are taken.
const SAMPLE: usize = 1024;

/// Bounds whose displacement serves for fewer steps end with the next step.
const SHORT: f64 = 0.5;

/// Which nodes leave the bounds while all nodes move.
pub(super) struct Leaving {
    /// Whether each node leaves, and how many do.
    pub(super) nodes: Vec<bool>,
    pub(super) count: usize,
    alpha: f64,
    beta: f64,
    c: [f64; 3],
    e: [f64; 3],
}

impl SweptBounds {
    /// The nodes that leave the bounds while all move from `at` along `dx`; `None` before the first search. All of them
    /// leave where numbers overflow. *Cost* some passes over the nodes.
    pub(super) fn leaving(&self, at: &[[f64; 3]], dx: &[[f64; 3]]) -> Option<Leaving> {
        if self.from.len() != at.len() {
            return None;
        }
        let alpha = self.typical(|i| sub(at[i], self.from[i])).clamp(0.0, 1.0);
        let along = self.typical(|i| dx[i]).clamp(0.0, 1.0 - alpha);
        let by_share = |beta: f64| {
            let rest = |i: usize| less(sub(at[i], self.from[i]), alpha, self.displacement[i]);
            let turn = |i: usize| less(dx[i], beta, self.displacement[i]);
            let (c, e) = (median(at.len(), rest), median(at.len(), turn));
            let leaves = |i: usize| {
                let (r, q) = (sub(rest(i), c), sub(turn(i), e));
                let stays = norm(r) <= self.radii[i] && norm([0, 1, 2].map(|k| r[k] + q[k])) <= self.radii[i]; // (1)
                !stays
            };
            let nodes: Vec<bool> = (0..at.len()).map(leaves).collect();
            let count = nodes.iter().filter(|leaves| **leaves).count();
            Leaving { nodes, count, alpha, beta, c, e }
        };
        let (still, moving) = (by_share(0.0), by_share(along));
        Some(if moving.count <= still.count { moving } else { still })
    }

    /// The share of the displacement of the bounds that most nodes have gone by displacements u: the median of u · d /
    /// d · d over a sample of those with long displacements, beside translations; 0 if no node has a displacement. A
    /// sum of squares would follow the few that turn aside.
    fn typical(&self, u: impl Fn(usize) -> [f64; 3]) -> f64 {
        let count = self.from.len();
        let (c, e) = (median(count, &u), median(count, |i| self.displacement[i]));
        let one = |i: usize| {
            let d = sub(self.displacement[i], e);
            (dot(d, d), dot(sub(u(i), c), d))
        };
        let mut sample: Vec<(f64, f64)> =
            (0..count).step_by(count / SAMPLE + 1).map(one).filter(|(square, _)| *square > 0.0).collect();
        sample.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let long = &sample[sample.len() / 2..];
        let mut shares: Vec<f64> = long.iter().map(|(square, along)| along / square).collect();
        let middle = shares.len() / 2;
        if shares.is_empty() {
            return 0.0;
        }
        let share = *shares.select_nth_unstable_by(middle, f64::total_cmp).1;
        if share.is_finite() { share } else { 0.0 }
    }

    /// Whether the bounds have no displacement for a later step.
    pub(super) fn ends(&self, leaving: &Leaving) -> bool {
        self.steps * (1.0 - leaving.alpha) < SHORT
    }

    /// The rest of the bounds for nodes that stay, and bounds (2) for those that leave while all move from `at` along
    /// `dx`. Without a `pace`, or when the bounds have no later steps, they cover the next step alone. Otherwise no
    /// displacement in them is longer than `longest`.
    pub(super) fn following(
        &self,
        leaving: &Leaving,
        at: &[[f64; 3]],
        dx: &[[f64; 3]],
        pace: Option<&[[f64; 3]]>,
        longest: f64,
    ) -> Self {
        let Leaving { nodes, alpha, beta, c, e, .. } = leaving;
        let left = 1.0 - alpha;
        let mut steps = self.steps * left;
        let old = |scale: f64, i: usize| self.displacement[i].map(|d| scale * d);
        let (scale, share, displacements): (f64, f64, Vec<[f64; 3]>) =
            match pace.filter(|_| !self.ends(leaving)) {
                Some(pace) => {
                    let far = |i: usize| pace[i].map(|v| steps * v);
                    let drift = median(at.len(), |i| sub(far(i), old(left, i)));
                    (left, beta / left, (0..at.len()).map(|i| limited(sub(far(i), drift), longest)).collect())
                }
                None => {
                    steps = 0.0;
                    (*beta, 1.0, dx.iter().map(|p| sub(*p, *e)).collect())
                }
            };
        let (mut from, mut displacement, mut radii) = (self.from.clone(), displacements, self.radii.clone());
        for i in 0..at.len() {
            if nodes[i] {
                let (start, middle) = (sub(at[i], *c), half(sub(dx[i], *e), share, displacement[i]));
                from[i] = [0, 1, 2].map(|k| start[k] + middle[k]);
                radii[i] = self.slack + norm(middle);
            } else {
                let gone = old(*alpha, i);
                from[i] = [0, 1, 2].map(|k| from[i][k] + gone[k]);
                displacement[i] = old(scale, i);
            }
        }
        Self::new(from, displacement, self.slack, radii, steps)
    }

    /// The bounds around the displacement of several steps, (2) for all nodes, that begins with the step from `at`
    /// along `dx`. No displacement is longer than `longest`: s_i is that of the next step, whatever d_i is.
    pub(super) fn ahead(
        at: &[[f64; 3]],
        dx: &[[f64; 3]],
        pace: &[[f64; 3]],
        slack: f64,
        steps: f64,
        longest: f64,
    ) -> Self {
        let (drift, e) = (mean(pace), mean(dx));
        let displacement: Vec<[f64; 3]> =
            pace.iter().map(|v| limited(sub(*v, drift).map(|v| steps * v), longest)).collect();
        let middle = |i: usize| half(sub(dx[i], e), 1.0 / steps, displacement[i]);
        let from = (0..at.len()).map(|i| [0, 1, 2].map(|k| at[i][k] + middle(i)[k])).collect();
        let radii = (0..at.len()).map(|i| slack + norm(middle(i))).collect();
        Self::new(from, displacement, slack, radii, steps)
    }
}

/// ½ (p − β d).
fn half(p: [f64; 3], beta: f64, d: [f64; 3]) -> [f64; 3] {
    less(p, beta, d).map(|u| 0.5 * u)
}

/// A displacement, shortened to a length if it is longer.
fn limited(d: [f64; 3], longest: f64) -> [f64; 3] {
    let length = norm(d);
    if length > longest { d.map(|d| d * (longest / length)) } else { d }
}

/// The median of a sample of displacements, along each axis; 0 if there are none.
fn median(count: usize, of: impl Fn(usize) -> [f64; 3]) -> [f64; 3] {
    let sample: Vec<[f64; 3]> = (0..count).step_by(count / SAMPLE + 1).map(of).collect();
    [0, 1, 2].map(|k| {
        let mut along: Vec<f64> = sample.iter().map(|u| u[k]).collect();
        if along.is_empty() {
            return 0.0;
        }
        let middle = along.len() / 2;
        *along.select_nth_unstable_by(middle, f64::total_cmp).1
    })
}
