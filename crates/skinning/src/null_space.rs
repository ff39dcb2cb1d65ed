//! Directions of a control point that do not move any of its nodes (§4.4).
//!
//! | symbol | what |
//! |---|---|
//! | X | the homogeneous rest position (x, 1) of a node |
//! | M | Σ ω² X Xᵀ over the nodes that a control point moves, m x m |
//! | c, C | the centre of these nodes and Σ (x − c) (x − c)ᵀ |
//! | n | a direction with Xᵀ n = 0 for all these nodes: a plane that contains them |
//!
//! *Deviation*: the paper adds n nᵀ once, to the first coarse matrix. The Galerkin product with the next
//! transfer would then stiffen motions of other control points. Here each level has its own term, scaled to its
//! diagonal block, and no Galerkin product contains it. In addition, directions are found from positions
//! relative to the centre of the nodes, so that they do not depend on the position of the body.

use coarsen_core::small_dense::diagonalise;

/// Eigenvalues of C up to this fraction of the largest count as 0. The nodes are then within a hundredth of
/// their extent from a plane or a line. Such a direction hardly moves the nodes and is not needed. Without
/// the term it would make the diagonal block too ill-conditioned for `f32`.
const THIN: f64 = 1e-4;

/// The upper triangle of the moments M of a control point, for positions in space.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    /// Σ x xᵀ: xx, xy, xz, yy, yz, zz.
    second: [f64; 6],
    /// Σ x.
    first: [f64; 3],
    /// Σ ω², the number of nodes for constant weights.
    count: f64,
}

impl Moments {
    /// Adds a node that the control point moves with weight ω.
    pub(super) fn add(&mut self, [x, y, z]: [f64; 3], weight: f64) {
        let (products, square) = ([x * x, x * y, x * z, y * y, y * z, z * z], weight * weight);
        self.second.iter_mut().zip(products).for_each(|(s, p)| *s += square * p);
        self.first.iter_mut().zip([x, y, z]).for_each(|(s, p)| *s += square * p);
        self.count += square;
    }

    /// Adds the moments of another control point.
    pub(super) fn join(&mut self, other: &Self) {
        self.second.iter_mut().zip(other.second).for_each(|(s, p)| *s += p);
        self.first.iter_mut().zip(other.first).for_each(|(s, p)| *s += p);
        self.count += other.count;
    }

    /// Returns orthonormal directions n = (a, −aᵀc) that do not move any of the nodes; `axes` is the
    /// dimension of space, 2 or 3.
    ///
    /// a is an eigenvector of C with eigenvalue 0. The fourth component of n belongs to the 1 in X.
    pub(super) fn null_space(&self, axes: usize) -> Vec<[f64; 4]> {
        let c = self.first.map(|sum| sum / self.count);
        let [xx, xy, xz, yy, yz, zz] = self.second;
        let whole = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        let entry = |e: usize| match (e / 3, e % 3) {
            (i, j) if i < axes && j < axes => whole[i][j] - self.count * c[i] * c[j],
            _ => 0.0,
        };
        let (mut about, mut vectors): ([f64; 9], _) = (std::array::from_fn(entry), [0.0; 9]);
        diagonalise(&mut about, &mut vectors, 3);
        let values: [f64; 3] = std::array::from_fn(|i| about[4 * i]);
        let rounding = 1e-13 * (xx + yy + zz);
        let largest = values[..axes].iter().fold(0.0, |m: f64, &v| m.max(v));
        let mut found = Vec::<[f64; 4]>::new();
        for k in (0..axes).filter(|&k| values[k] <= (THIN * largest).max(rounding)) {
            let a: [f64; 3] = std::array::from_fn(|i| vectors[3 * i + k]);
            let mut n = [a[0], a[1], a[2], -(a[0] * c[0] + a[1] * c[1] + a[2] * c[2])];
            for q in &found {
                let along: f64 = n.iter().zip(q).map(|(n, q)| n * q).sum();
                n.iter_mut().zip(q).for_each(|(n, q)| *n -= along * q);
            }
            let length = n.iter().map(|n| n * n).sum::<f64>().sqrt();
            found.push(n.map(|n| n / length));
        }
        found
    }
}
