//! The lengths of the edges of the elastic graph.

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use super::control_points::Lengths;

/// The metric in which farthest points are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sampling {
    /// The lengths of edges in the rest position, for bodies of one material (§4.1).
    Uniform,
    /// The lengths ‖x_i − x_j‖ (‖A_ii‖ ‖A_jj‖)^½ / ‖A_ij‖: edges with weak coupling are longer. A control point then
    /// controls only nodes on one side of a jump of stiffness. *Use* for bodies whose regions of equal
    /// stiffness have many control points each. With the default of 80 nodes per control point it saved no iteration on
    /// eight regions of 250 nodes.
    Stiffness,
}

/// The elastic graph and the lengths of its edges.
pub(super) struct Graph<'a> {
    pattern: &'a Pattern,
    lengths: Vec<f64>,
    x: &'a [[f64; 3]],
}

impl<'a> Graph<'a> {
    /// The graph of the couplings of a pattern between nodes at x, with the lengths of [`Sampling::Uniform`]. They are
    /// computed when they are needed: for searches that see a small part of the graph.
    pub(super) fn of(pattern: &'a Pattern, x: &'a [[f64; 3]]) -> Self {
        Self { pattern, lengths: Vec::new(), x }
    }

    pub(super) fn view(&self) -> Lengths<'_> {
        Lengths { pattern: self.pattern, lengths: &self.lengths, x: self.x }
    }
}

/// The distance of two points.
pub(super) fn between(x: &[f64; 3], y: &[f64; 3]) -> f64 {
    (0..3).map(|d| (x[d] - y[d]).powi(2)).sum::<f64>().sqrt()
}

/// Returns the graph of the couplings of A between nodes at x.
pub(super) fn edge_lengths<'a, T: Real>(sampling: Sampling, a: &'a Bsr<T>, x: &'a [[f64; 3]]) -> Graph<'a> {
    let norm = |block: &[T]| block.iter().map(|v| v.as_f64() * v.as_f64()).sum::<f64>().sqrt();
    let diagonal: Vec<f64> = match sampling {
        Sampling::Uniform => Vec::new(),
        Sampling::Stiffness => {
            let own = |i: usize| a.pattern().find(i, i).map_or(0.0, |at| norm(a.value(at)));
            (0..a.pattern().rows()).map(own).collect()
        }
    };
    let mut lengths = Vec::with_capacity(a.pattern().len());
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            let length = between(&x[i], &x[j]);
            lengths.push(match sampling {
                Sampling::Uniform => length,
                Sampling::Stiffness => {
                    let (size, coupling) = ((diagonal[i] * diagonal[j]).sqrt(), norm(block));
                    if coupling > 0.0 { length * size / coupling } else { f64::INFINITY }
                }
            });
        }
    }
    Graph { pattern: a.pattern(), lengths, x }
}
