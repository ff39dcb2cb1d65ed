//! Small dense matrices in batches: inverse square roots and spectral radii.
//!
//! A [`Lanes`] stores the same entry of eight matrices, and a [`Singles`] that of sixteen, so a loop over lanes compiles
//! to one or two vector instructions. All matrices go through the same steps, including zero and missing blocks.

use coarsen_core::Real;

/// The number of matrices in a batch of f64.
pub(super) const LANES: usize = 8;

/// The same entry of [`LANES`] matrices.
pub(super) type Lanes = [f64; LANES];

/// The number of matrices in a batch of f32.
pub(super) const SINGLES: usize = 16;

/// The same entry of [`SINGLES`] matrices.
pub(super) type Singles = [f32; SINGLES];

/// Eigenvalues below this fraction of the largest one are treated as zero.
const ZERO: f64 = 1e-14;

/// Entries off the diagonal below this fraction of both diagonal entries are round-off.
const NEGLIGIBLE: f64 = f64::EPSILON / 8.0;

/// ‖B‖_F² of each lane.
#[inline(always)]
fn squares<T: Real>(m: &[[T; SINGLES]]) -> [T; SINGLES] {
    let mut squares = [T::zero(); SINGLES];
    for m in m {
        (0..SINGLES).for_each(|l| squares[l] += m[l] * m[l]);
    }
    squares
}

/// Entries below this fraction of ‖B‖_F are round-off. Without them, the products of a fourth power are no subnormal numbers,
/// which are slow.
const ROUND_OFF: f32 = 1.0 / (1 << 30) as f32;

/// Rounds each matrix to f32, divided by ‖B‖_F, unless that is 0, without round-off, and returns ‖B‖_F.
#[inline(always)]
fn rounded<T: Real>(m: &[[T; SINGLES]], out: &mut [Singles]) -> [T; SINGLES] {
    let (mut size, mut scale) = (squares(m), [T::zero(); SINGLES]);
    // loops, since closures are not inlined into code for other instruction sets
    for l in 0..SINGLES {
        size[l] = size[l].sqrt();
    }
    for l in 0..SINGLES {
        scale[l] = if size[l] > T::zero() { T::one() / size[l] } else { T::zero() };
    }
    for (m, out) in m.iter().zip(out) {
        for l in 0..SINGLES {
            out[l] = (m[l] * scale[l]).as_f64() as f32;
        }
        for out in out {
            *out = if out.abs() > ROUND_OFF { *out } else { 0.0 };
        }
    }
    size
}

/// C = A B for b x b matrices.
#[inline(always)]
fn multiply<T: Real>(b: usize, left: &[[T; SINGLES]], right: &[[T; SINGLES]], out: &mut [[T; SINGLES]]) {
    // the lengths are constant if b is a constant
    let (left, right, out) = (&left[..b * b], &right[..b * b], &mut out[..b * b]);
    for r in 0..b {
        for c in 0..b {
            let mut sum = [T::zero(); SINGLES];
            for k in 0..b {
                let (x, y) = (&left[r * b + k], &right[k * b + c]);
                (0..SINGLES).for_each(|l| sum[l] += x[l] * y[l]);
            }
            out[r * b + c] = sum;
        }
    }
}

/// |D|^−½ of symmetric matrices, from the absolute values of their eigenvalues. It is zero in directions with
/// eigenvalue zero.
///
/// `d` is overwritten, `q` is scratch.
#[inline(always)]
pub(super) fn inverse_root(b: usize, d: &mut [Lanes], q: &mut [Lanes], root: &mut [Lanes]) {
    eigenvectors(b, d, q);
    let mut largest = [0.0_f64; LANES];
    for k in 0..b {
        (0..LANES).for_each(|l| largest[l] = largest[l].max(d[k * b + k][l].abs()));
    }
    for k in 0..b {
        for l in 0..LANES {
            let size = d[k * b + k][l].abs();
            d[k * b + k][l] = if size > ZERO * largest[l] { 1.0 / size.sqrt() } else { 0.0 };
        }
    }
    for e in 0..b * b {
        let mut sum = [0.0; LANES];
        for k in 0..b {
            let (x, y, s) = (&q[e / b * b + k], &q[e % b * b + k], &d[k * b + k]);
            (0..LANES).for_each(|l| sum[l] += x[l] * y[l] * s[l]);
        }
        root[e] = sum;
    }
}

/// Diagonalises symmetric matrices by cyclic Jacobi rotations. Afterwards the diagonals of m are the
/// eigenvalues and the columns of q the eigenvectors. It ends once all entries off the diagonals are zero.
///
/// *Reference* Golub & Van Loan 2013, §8.5, the cyclic-by-row method; convergence is quadratic.
#[inline(always)]
fn eigenvectors(b: usize, m: &mut [Lanes], q: &mut [Lanes]) {
    let sweeps = if b <= 3 { 6 } else { 10 };
    for (e, q) in q.iter_mut().enumerate() {
        *q = [f64::from(u8::from(e / b == e % b)); LANES];
    }
    for _ in 0..sweeps {
        let mut sizes = [0.0_f64; LANES];
        for p in 0..b {
            for r in p + 1..b {
                (0..LANES).for_each(|l| sizes[l] = sizes[l].max(m[p * b + r][l].abs()));
            }
        }
        if sizes == [0.0; LANES] {
            break;
        }
        for p in 0..b {
            for r in p + 1..b {
                let (mut cos, mut sin) = ([1.0; LANES], [0.0; LANES]);
                for l in 0..LANES {
                    let [first, off, second] = [p * b + p, p * b + r, r * b + r].map(|e| m[e][l]);
                    let tau = (second - first) / (2.0 * off);
                    let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                    let is_zero = off.abs() <= NEGLIGIBLE * first.abs().min(second.abs());
                    let t = if is_zero { 0.0 } else { t };
                    cos[l] = 1.0 / (1.0 + t * t).sqrt();
                    sin[l] = t * cos[l];
                }
                for k in 0..b {
                    rotate(m, k * b + p, k * b + r, &cos, &sin);
                    rotate(q, k * b + p, k * b + r, &cos, &sin);
                }
                (0..b).for_each(|k| rotate(m, p * b + k, r * b + k, &cos, &sin));
                [m[p * b + r], m[r * b + p]] = [[0.0; LANES]; 2];
            }
        }
    }
}

/// Rotates the pair of entries (x, y).
#[inline(always)]
fn rotate(m: &mut [Lanes], x: usize, y: usize, cos: &Lanes, sin: &Lanes) {
    let (mx, my) = (m[x], m[y]);
    for l in 0..LANES {
        m[x][l] = cos[l] * mx[l] - sin[l] * my[l];
        m[y][l] = sin[l] * mx[l] + cos[l] * my[l];
    }
}

/// ρ(M) of M = L B R by the ratio of powers, ρ = lim (‖M²ᵖ‖ / ‖Mᵖ‖)^(1/p) with p = 8.
///
/// M is computed in T: in f64 where a diagonal block is ill-conditioned, since the terms of L B R cancel there. Its powers are
/// computed in f32. The ratio of M¹⁶ and M⁸ is accurate unless several eigenvalues are within a fifth of the largest. M and M⁴ are
/// scaled to norm 1, so that no power leaves the range of f32. If ρ is below 2^(−30/b) of ‖M‖ for b x b blocks (M is far
/// from normal), the result may be round-off or 0.
/// On entry `m` contains B; it is overwritten. `product`, `power` and `square` are scratch.
#[inline(always)]
pub(super) fn spectral_radius<T: Real>(
    b: usize,
    [left, m, right, product]: [&mut [[T; SINGLES]]; 4],
    [power, square]: [&mut [Singles]; 2],
) -> Singles {
    multiply(b, left, m, product);
    multiply(b, product, right, m);
    let (power, square) = (&mut power[..b * b], &mut square[..b * b]);
    let size = rounded(&m[..b * b], power);
    multiply(b, power, power, square); // M²
    multiply(b, square, square, power); // M⁴
    let fourth = rounded(power, square);
    multiply(b, square, square, power); // M⁸
    let below = squares(power);
    multiply(b, power, power, square); // M¹⁶
    let above = squares(square);
    let mut radius = [0.0; SINGLES];
    for l in 0..SINGLES {
        let ratio = if above[l] > 0.0 { above[l] / below[l] } else { 0.0 }; // ρ⁴ of M⁴
        radius[l] = (size[l].as_f64() * f64::from((fourth[l] * ratio.sqrt().sqrt()).sqrt().sqrt())) as f32;
    }
    radius
}
