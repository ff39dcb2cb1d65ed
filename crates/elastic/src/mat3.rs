//! Row-major 3x3 matrices, and their signed singular values.

pub(crate) use coarsen_mesh::vector::{cross, dot};

/// A Bᵀ.
pub(crate) fn mul_transposed(a: &[[f64; 3]; 3], b: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| dot(a[i], b[j])))
}

/// Σ |cof(F)_ij F_ij|: the magnitude of the terms of det F, which may cancel.
pub(crate) fn products(f: &[[f64; 3]; 3]) -> f64 {
    let cofactor = cofactor(f);
    cofactor.as_flattened().iter().zip(f.as_flattened()).map(|(c, f)| (c * f).abs()).sum()
}

pub(crate) fn determinant(a: &[[f64; 3]; 3]) -> f64 {
    dot(a[0], cross(a[1], a[2]))
}

/// ∂ det A / ∂A.
pub(crate) fn cofactor(a: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    [cross(a[1], a[2]), cross(a[2], a[0]), cross(a[0], a[1])]
}

/// Σ aᵢⱼ².
pub(crate) fn square(a: &[[f64; 3]; 3]) -> f64 {
    a.iter().map(|row| dot(*row, *row)).sum()
}

/// ‖A‖² − 3, without cancellation near I.
pub(crate) fn excess(a: &[[f64; 3]; 3]) -> f64 {
    let term =
        |p: usize, q: usize| if p == q { (a[p][p] - 1.0) * (a[p][p] + 1.0) } else { a[p][q] * a[p][q] };
    (0..9).map(|pq| term(pq / 3, pq % 3)).sum()
}

/// A = U diag(σ) Vᵀ with rotations U and V: σ₀ ≥ σ₁ ≥ |σ₂|, and σ₂ has the sign of det A.
///
/// ```
/// let svd = coarsen_elastic::Svd::of(&[[0.0, -2.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]]);
/// assert_eq!(svd.sigma, [3.0, 2.0, 1.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Svd {
    /// U, a rotation.
    pub u: [[f64; 3]; 3],
    /// The signed singular values.
    pub sigma: [f64; 3],
    /// V, a rotation.
    pub v: [[f64; 3]; 3],
}

/// The maximal number of sweeps of one-sided Jacobi rotations. Convergence is quadratic, and 3 or 4 sweeps
/// suffice.
const SWEEPS: usize = 20;

/// The smallest value that is used as divisor for a sum of two singular values.
const LEAST: f64 = 1e-8;

impl Svd {
    /// Computes the factors by one-sided Jacobi, which rotates columns of A until they are orthogonal. Golub
    /// & Van Loan 2013, §8.6.3. *Cost* three or four sweeps of three rotations.
    pub fn of(a: &[[f64; 3]; 3]) -> Self {
        let mut b = transpose(a); // rows of b are columns of A V
        let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]; // rows are columns of V
        for _ in 0..SWEEPS {
            let mut rotated = false;
            for (p, q) in [(0, 1), (0, 2), (1, 2)] {
                let (pp, qq, pq) = (dot(b[p], b[p]), dot(b[q], b[q]), dot(b[p], b[q]));
                if pq.abs() <= f64::EPSILON * (pp * qq).sqrt() {
                    continue;
                }
                rotated = true;
                // Overflow of ζ² gives t = 0, which is t to round-off. `hypot` would take half of the time of Svd.
                let zeta = (qq - pp) / (2.0 * pq);
                let t = zeta.signum() / (zeta.abs() + (1.0 + zeta * zeta).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                rotate(&mut b, p, q, c, c * t);
                rotate(&mut v, p, q, c, c * t);
            }
            if !rotated {
                break;
            }
        }
        let mut order = [0, 1, 2];
        let lengths = b.map(|row| dot(row, row).sqrt());
        order.sort_unstable_by(|&i, &j| lengths[j].total_cmp(&lengths[i]));
        let (b, mut v) = (order.map(|k| b[k]), order.map(|k| v[k]));
        if determinant(&v) < 0.0 {
            v[2] = v[2].map(|x| -x);
        }
        let sign = if determinant(&order.map(unit)) < 0.0 { -1.0 } else { 1.0 };
        let u0 = direction(&b[0], &[0.0; 3]);
        let u1 = direction(&b[1], &u0);
        let u2 = cross(u0, u1);
        let sigma = [lengths[order[0]], dot(b[1], u1), sign * dot(b[2], u2)];
        Self { u: transpose(&[u0, u1, u2]), sigma, v: transpose(&v) }
    }

    /// For each k, σᵢ + σⱼ of the other two directions i and j, but at least [`LEAST`], for use as divisors.
    /// No sum is negative. If the smallest sum vanishes, the curvature of co-rotational energies is
    /// unbounded.
    pub(crate) fn sums(&self) -> [f64; 3] {
        let [a, b, c] = self.sigma;
        [b + c, c + a, a + b].map(|sum| sum.max(LEAST))
    }
}

fn unit(k: usize) -> [f64; 3] {
    std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 })
}

pub(crate) fn transpose(a: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
}

fn rotate(rows: &mut [[f64; 3]; 3], p: usize, q: usize, c: f64, s: f64) {
    for k in 0..3 {
        let (x, y) = (rows[p][k], rows[q][k]);
        (rows[p][k], rows[q][k]) = (c * x - s * y, s * x + c * y);
    }
}

/// Returns the direction of the part of b that is orthogonal to `to`, a unit vector or zero. If this part is
/// zero, returns any orthogonal direction.
fn direction(b: &[f64; 3], to: &[f64; 3]) -> [f64; 3] {
    let along = dot(*b, *to);
    let across: [f64; 3] = std::array::from_fn(|k| b[k] - along * to[k]);
    let length = dot(across, across).sqrt();
    if length > f64::EPSILON * dot(*b, *b).sqrt() && length > f64::MIN_POSITIVE {
        return across.map(|x| x / length);
    }
    let least = (0..3).min_by(|&i, &j| to[i].abs().total_cmp(&to[j].abs())).unwrap_or(0);
    let across = if dot(*to, *to) == 0.0 { unit(0) } else { cross(*to, unit(least)) };
    let length = dot(across, across).sqrt();
    across.map(|x| x / length)
}

/// Returns the eigenvalues and eigenvectors (as rows) of a symmetric matrix by cyclic Jacobi. Golub & Van
/// Loan 2013, §8.5.
pub(crate) fn eigen(a: &[[f64; 3]; 3]) -> ([f64; 3], [[f64; 3]; 3]) {
    let (mut a, mut q) = (*a, [unit(0), unit(1), unit(2)]);
    for _ in 0..SWEEPS {
        let off = a[0][1].powi(2) + a[0][2].powi(2) + a[1][2].powi(2);
        if off <= (f64::EPSILON * f64::EPSILON) * square(&a) {
            break;
        }
        for (i, j) in [(0, 1), (0, 2), (1, 2)] {
            if a[i][j] == 0.0 {
                continue;
            }
            let theta = (a[j][j] - a[i][i]) / (2.0 * a[i][j]);
            let sum = theta.abs() + (1.0 + theta * theta).sqrt();
            let t = if theta == 0.0 { 1.0 } else { theta.signum() / sum };
            let c = 1.0 / (1.0 + t * t).sqrt();
            rotate(&mut a, i, j, c, c * t);
            let mut columns = transpose(&a);
            rotate(&mut columns, i, j, c, c * t);
            a = transpose(&columns);
            rotate(&mut q, i, j, c, c * t);
        }
    }
    ([a[0][0], a[1][1], a[2][2]], q)
}
