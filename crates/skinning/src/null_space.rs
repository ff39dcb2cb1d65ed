//! Directions of a handle that do not move any of its nodes (§4.4).
//!
//! | symbol | what |
//! |---|---|
//! | X | the homogeneous rest position (x, 1) of a node |
//! | M | Σ ω² X Xᵀ over the nodes that a handle moves, m x m |
//! | c, C | the centre of these nodes and Σ (x − c) (x − c)ᵀ |
//! | n | a direction with Xᵀ n = 0 for all these nodes: a plane that contains them |
//!
//! *Deviation*: the paper adds n nᵀ once, to the first coarse matrix. The Galerkin product with the next
//! transfer would then stiffen motions of other handles. Here each level has its own term, scaled to its
//! diagonal block, and no Galerkin product contains it. In addition, directions are found from positions
//! relative to the centre of the nodes, so that they do not depend on the position of the body.

/// Eigenvalues of C up to this fraction of the largest count as 0. The nodes are then within a hundredth of
/// their extent from a plane or a line. Such a direction hardly moves the nodes and is not needed. Without
/// the term it would make the diagonal block too ill-conditioned for `f32`.
const THIN: f64 = 1e-4;

/// The upper triangle of the moments M of a handle, for positions in space.
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
    /// Adds a node that the handle moves with weight ω.
    pub(super) fn add(&mut self, [x, y, z]: [f64; 3], weight: f64) {
        let (products, square) = ([x * x, x * y, x * z, y * y, y * z, z * z], weight * weight);
        self.second.iter_mut().zip(products).for_each(|(s, p)| *s += square * p);
        self.first.iter_mut().zip([x, y, z]).for_each(|(s, p)| *s += square * p);
        self.count += square;
    }

    /// Adds the moments of another handle.
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
        let mut about: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| whole[i][j] - self.count * c[i] * c[j]));
        let rounding = 1e-13 * (xx + yy + zz);
        let vectors = eigenvectors(&mut about, axes);
        let values: [f64; 3] = std::array::from_fn(|i| about[i][i]);
        let largest = values[..axes].iter().fold(0.0, |m: f64, &v| m.max(v));
        let mut found = Vec::<[f64; 4]>::new();
        for k in (0..axes).filter(|&k| values[k] <= (THIN * largest).max(rounding)) {
            let a: [f64; 3] = std::array::from_fn(|i| vectors[i][k]);
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

/// Computes A = V Λ Vᵀ for the leading block of a symmetric matrix by Jacobi rotations. Returns the columns
/// of V; the diagonal of A becomes Λ.
fn eigenvectors(a: &mut [[f64; 3]; 3], axes: usize) -> [[f64; 3]; 3] {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _sweep in 0..12 {
        for (p, q) in [(0, 1), (0, 2), (1, 2)].into_iter().filter(|&(_, q)| q < axes) {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
            for row in a.iter_mut().chain(&mut v) {
                (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
            }
        }
    }
    v
}
