//! Pairs that are nearer than the thickness.

use std::ops::Range;

use coarsen_core::parallel;
use coarsen_elastic::Nodes;
use coarsen_mesh::vector::{cross, dot, sub};
use coarsen_sparse::Stencil;

use super::apart::{apart, beyond};
use super::distance::gap;
use crate::Pair;

/// The number of pairs per task of a parallel loop.
const LEAF: usize = 256;

/// The number of scalar operations per pair, used to decide whether threads pay off.
const WORK: usize = 100;

/// The number of every held node in a stencil.
const HELD: u32 = u32::MAX;

/// Edges whose squared cross product is below this share of its value for orthogonal edges of the lengths at
/// rest count less, down to 0 if they are parallel: Li et al. 2020, "Incremental potential contact", §4.5.
const SOFT: f64 = 1e-3;

/// A pair that is nearer than the thickness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// The pair.
    pub pair: Pair,
    /// The weights w of its four nodes at the nearest points: positive for the first part, negative for the
    /// second.
    pub weights: [f64; 4],
    /// The unit vector n from the second part to the first.
    pub normal: [f64; 3],
    /// The distance d.
    pub distance: f64,
    /// m: 1, or less for edges that are nearly parallel, where the direction n jumps.
    pub share: f64,
    /// c / ε: the squared cross product of both edges, in units of that below which m < 1.
    pub(super) crossing: f64,
    /// ε.
    pub(super) soft: f64,
}

impl Touch {
    /// The touch of a pair with nodes at x, if it is nearer than `thickness` and does not meet. `rest` has the
    /// squared lengths of both edges at rest.
    pub(super) fn of(
        pair: Pair,
        x: &[[f64; 3]; 4],
        rest: impl Fn(u32, u32) -> f64,
        thickness: f64,
    ) -> Option<Self> {
        let far = thickness * (1.0 + 1e-9);
        if apart(&pair, x, &[[0.0; 3]; 4], far) || beyond(&pair, x, far) {
            return None; // far enough that errors of distances do not count
        }
        let own = gap(&pair, x);
        if !(own.distance < thickness && own.distance > 0.0) {
            return None;
        }
        let (crossing, soft) = match pair {
            Pair::VertexFace { .. } => (1.0, 1.0),
            Pair::EdgeEdge { edges: [[a, b], [c, d]] } => {
                let soft = SOFT * rest(a, b) * rest(c, d);
                let n = cross(sub(x[1], x[0]), sub(x[3], x[2]));
                (dot(n, n) / soft, soft)
            }
        };
        let share = if crossing < 1.0 { (2.0 - crossing) * crossing } else { 1.0 };
        let normal = own.vector.map(|v| v / own.distance);
        Some(Self { pair, weights: own.weights, normal, distance: own.distance, share, crossing, soft })
    }

    /// The numbers of a touch, for [`of_numbers`](Self::of_numbers) on another rank.
    pub fn numbers(&self) -> [f64; 11] {
        let ([a, b, c, d], [x, y, z]) = (self.weights, self.normal);
        [a, b, c, d, x, y, z, self.distance, self.share, self.crossing, self.soft]
    }

    /// The touch of a pair with these [`numbers`](Self::numbers).
    pub fn of_numbers(pair: Pair, [a, b, c, d, x, y, z, distance, share, crossing, soft]: [f64; 11]) -> Self {
        let (weights, normal) = ([a, b, c, d], [x, y, z]);
        Self { pair, weights, normal, distance, share, crossing, soft }
    }

    /// The free nodes of the pair, with their weights.
    pub(super) fn stencil(&self, nodes: &Nodes) -> Stencil {
        let slot = |node: u32| nodes.slot(node).map_or(HELD, |slot| slot as u32);
        let ([a, b, c, d], w) = (self.pair.nodes().map(slot), self.weights);
        let stencil = match self.pair {
            Pair::VertexFace { .. } => Stencil::vertex_face(a, [b, c, d], [-w[1], -w[2], -w[3]]),
            Pair::EdgeEdge { .. } => Stencil::edge_edge([a, b], w[1], [c, d], -w[3]),
        };
        stencil.without(HELD)
    }

    /// ∂m/∂x of the four nodes; `None` where m = 1.
    pub(super) fn share_gradient(&self, x: &[[f64; 3]; 4]) -> Option<[[f64; 3]; 4]> {
        if self.crossing >= 1.0 {
            return None;
        }
        let (d, e) = (sub(x[1], x[0]), sub(x[3], x[2]));
        let n = cross(d, e);
        // c = n · n, ∂c/∂d = 2 e × n, ∂c/∂e = 2 n × d
        let slope = 2.0 * (1.0 - self.crossing) / self.soft;
        let [along_d, along_e] = [cross(e, n), cross(n, d)].map(|g| g.map(|g| 2.0 * slope * g));
        Some([along_d.map(|g| -g), along_d, along_e.map(|g| -g), along_e])
    }

    /// ∂²m/∂x² of the four nodes where m < 1.
    pub(super) fn share_hessian(&self, x: &[[f64; 3]; 4]) -> [[[[f64; 3]; 3]; 4]; 4] {
        let (d, e) = (sub(x[1], x[0]), sub(x[3], x[2]));
        let (dd, ee, de, n) = (dot(d, d), dot(e, e), dot(d, e), cross(d, e));
        // c = (d · d)(e · e) − (d · e)²
        let first = [cross(e, n), cross(n, d)].map(|g| g.map(|g| 2.0 * g));
        let second = |i: usize, j: usize, p: usize, q: usize| {
            let unit = f64::from(u8::from(p == q));
            match (i, j) {
                (0, 0) => 2.0 * (ee * unit - e[p] * e[q]),
                (1, 1) => 2.0 * (dd * unit - d[p] * d[q]),
                (0, _) => 4.0 * d[p] * e[q] - 2.0 * (e[p] * d[q] + de * unit),
                _ => 4.0 * e[p] * d[q] - 2.0 * (d[p] * e[q] + de * unit),
            }
        };
        // m = (2 − c/ε) c/ε
        let (slope, bend) = (2.0 * (1.0 - self.crossing) / self.soft, -2.0 / (self.soft * self.soft));
        let sign = [-1.0, 1.0, -1.0, 1.0];
        let block = |a: usize, b: usize, p: usize, q: usize| {
            let (i, j) = (a / 2, b / 2);
            sign[a] * sign[b] * (slope * second(i, j, p, q) + bend * first[i][p] * first[j][q])
        };
        std::array::from_fn(|a| {
            std::array::from_fn(|b| std::array::from_fn(|p| std::array::from_fn(|q| block(a, b, p, q))))
        })
    }
}

/// Replaces `found` by the touches among the candidates, in their order.
pub(super) fn touches(
    candidates: &[Pair],
    of: &(impl Fn(&Pair) -> Option<Touch> + Sync),
    found: &mut Vec<Touch>,
) {
    let leaf = |range: Range<usize>| -> Vec<Touch> { candidates[range].iter().filter_map(of).collect() };
    let both = |mut a: Vec<Touch>, b: Vec<Touch>| {
        a.extend(b);
        a
    };
    *found =
        parallel::tree(0..candidates.len(), LEAF, parallel::worth(candidates.len() * WORK), &leaf, &both);
}
