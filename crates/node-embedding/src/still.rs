//! Coarse nodes that embed only nodes which slide along one plane. They move no node along its normal n, so that
//! their diagonal block is singular.

use coarsen_core::Real;
use coarsen_sparse::Pattern;

/// A coarse node and n.
pub(super) type Still = (u32, [f64; 3]);

/// Normals are equal if 1 − |m · n| is at most this multiple of ε, or [`LEAST`]. For a larger difference the block
/// is regular in the precision of the matrix.
const EQUAL: f64 = 64.0;
const LEAST: f64 = 1e-10;

/// What is known of the nodes that a coarse node embeds.
#[derive(Clone, Copy, Debug)]
enum Common {
    /// No node was seen.
    Open,
    /// All nodes seen slide along the plane with this normal.
    Plane([f64; 3]),
    /// A node can move along every axis, or along another plane.
    Free,
}

/// Returns the coarse nodes whose nodes all slide along one plane. `embedding` has a row per node with its
/// coarse nodes, empty for nodes that are held; `normal` returns n for a node that slides; T is the type of the matrix.
pub(super) fn of<T: Real>(embedding: &Pattern, normal: impl Fn(usize) -> Option<[f64; 3]>) -> Vec<Still> {
    let equal = (EQUAL * T::EPSILON.as_f64()).max(LEAST);
    let mut common = vec![Common::Open; embedding.columns()];
    for i in 0..embedding.rows() {
        let n = normal(i);
        for &j in embedding.row(i) {
            let known = &mut common[j as usize];
            *known = match (*known, n) {
                (Common::Open, Some(n)) => Common::Plane(n),
                (Common::Plane(m), Some(n)) if 1.0 - dot(m, n).abs() <= equal => Common::Plane(m),
                _ => Common::Free,
            };
        }
    }
    let still = common.iter().zip(0..).filter_map(|(common, j)| match common {
        Common::Plane(n) => Some((j, *n)),
        _ => None,
    });
    still.collect()
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
