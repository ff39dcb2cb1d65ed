//! Small dense blocks: inverse square roots and spectral radii.

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};

/// ‖B‖_F.
pub(super) fn frobenius<T: Real>(block: &[T]) -> f64 {
    block.iter().map(|v| v.wide() * v.wide()).sum::<f64>().sqrt()
}

/// |A_ii|^−½ of every node: the diagonal scaled to the identity.
pub(super) struct InverseRoot {
    b: usize,
    values: Vec<f64>,
}

impl InverseRoot {
    /// Eigenvalues below this share of the largest are taken for zero.
    const ZERO: f64 = 1e-14;

    /// How often [`spectral_radius`](Self::spectral_radius) squares: ρ is then exact to a factor c^(1/1024), where c is at most
    /// the condition of the eigenvectors times b.
    const SQUARINGS: u32 = 10;

    /// A matrix whose square has this nearly the square of its norm is a multiple of a projector: further squares change nothing.
    const SETTLED: f64 = 1e-4;

    /// From the b x b diagonal blocks; a missing one is zero.
    pub(super) fn of_diagonal<'a, T: Real>(
        b: usize,
        nodes: usize,
        diagonal: impl Fn(usize) -> Option<&'a [T]> + Sync,
    ) -> Self {
        let mut values = vec![0.0; nodes * b * b];
        let pieces = (0..nodes, Groups(&mut values[..], b * b));
        each(pieces, 256, parallel::worth(nodes * b * b * b * 20), &|(nodes, values): (
            std::ops::Range<usize>,
            Groups<&mut [f64]>,
        )| {
            let (mut m, mut q) = (vec![0.0; b * b], vec![0.0; b * b]);
            for (i, out) in nodes.zip(values.0.chunks_exact_mut(b * b)) {
                if let Some(block) = diagonal(i) {
                    let half = |r: usize, c: usize| 0.5 * (block[r * b + c].wide() + block[c * b + r].wide());
                    m.iter_mut().enumerate().for_each(|(e, m)| *m = half(e / b, e % b));
                    jacobi(b, &mut m, &mut q);
                    let largest = (0..b).map(|k| m[k * b + k].abs()).fold(0.0, f64::max);
                    for k in (0..b).filter(|k| m[k * b + k].abs() > Self::ZERO * largest) {
                        let scale = 1.0 / m[k * b + k].abs().sqrt();
                        for e in 0..b * b {
                            out[e] += scale * q[e / b * b + k] * q[e % b * b + k];
                        }
                    }
                }
            }
        });
        Self { b, values }
    }

    /// ρ(A_ii^−½ B A_jj^−½) by Gelfand's formula, ρ = lim ‖M^p‖^(1/p) with p = 2, 4, 8, …; exact for b = 1.
    ///
    /// `scratch` holds 2 b² numbers.
    pub(super) fn spectral_radius<T: Real>(
        &self,
        i: usize,
        block: &[T],
        j: usize,
        scratch: &mut [f64],
    ) -> f64 {
        let size = self.b * self.b;
        let root = |i: usize| &self.values[i * size..(i + 1) * size];
        let (m, square) = scratch.split_at_mut(size);
        m.iter_mut().zip(block).for_each(|(m, v)| *m = v.wide());
        if self.b == 1 {
            return (root(i)[0] * m[0] * root(j)[0]).abs();
        }
        multiply(self.b, root(i), m, square);
        multiply(self.b, square, root(j), m);
        // M^p = 2^exponent · m, scaled by powers of two, so that one logarithm at the end is enough
        let (mut exponent, mut power, mut norm) = (0.0, 1.0, frobenius(m));
        for _ in 0..Self::SQUARINGS {
            if norm == 0.0 || !norm.is_finite() {
                return norm; // nilpotent, or not finite
            }
            let (scale, e) = power_of_two(norm);
            m.iter_mut().for_each(|v| *v *= scale);
            let before = norm * scale;
            multiply(self.b, m, m, square);
            m.copy_from_slice(square);
            (exponent, power, norm) = (2.0 * (exponent + e), 2.0 * power, frobenius(m));
            if (norm - before * before).abs() < Self::SETTLED * before * before {
                break;
            }
        }
        if norm == 0.0 { 0.0 } else { ((norm.ln() + exponent * std::f64::consts::LN_2) / power).exp() }
    }
}

/// 2^−e and e with 2^e ≤ `norm` < 2^(e + 1), for normal numbers; subnormal ones count as the smallest of these.
fn power_of_two(norm: f64) -> (f64, f64) {
    let e = ((norm.to_bits() >> 52) as i64 - 1023).clamp(-1022, 1022);
    (f64::from_bits(((1023 - e) as u64) << 52), e as f64)
}

/// C = A B for b x b matrices.
fn multiply(b: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
    match b {
        2 => multiply_sized::<2>(b, left, right, out),
        3 => multiply_sized::<3>(b, left, right, out),
        6 => multiply_sized::<6>(b, left, right, out),
        _ => multiply_sized::<0>(b, left, right, out),
    }
}

/// `B` is the size, or 0 when it is known at run time only.
#[inline(always)]
fn multiply_sized<const B: usize>(b: usize, left: &[f64], right: &[f64], out: &mut [f64]) {
    let b = if B == 0 { b } else { B };
    for (left, out) in left.chunks_exact(b).zip(out.chunks_exact_mut(b)) {
        out.fill(0.0);
        for (l, right) in left.iter().zip(right.chunks_exact(b)) {
            out.iter_mut().zip(right).for_each(|(o, r)| *o += l * r);
        }
    }
}

/// The eigenvalues of a symmetric matrix on its diagonal, the eigenvectors in the columns of q: cyclic Jacobi rotations.
///
/// *Reference* Golub & Van Loan 2013, §8.5, the cyclic-by-row method.
fn jacobi(b: usize, m: &mut [f64], q: &mut [f64]) {
    const SWEEPS: usize = 30; // convergence is quadratic: 6 to 8 are usual
    q.iter_mut().enumerate().for_each(|(e, q)| *q = f64::from(u8::from(e / b == e % b)));
    let size = frobenius(m);
    for _ in 0..SWEEPS {
        let off: f64 = (0..b * b).filter(|e| e / b != e % b).map(|e| m[e] * m[e]).sum();
        if off.sqrt() <= f64::EPSILON * size {
            return;
        }
        for p in 0..b {
            for r in p + 1..b {
                if m[p * b + r] == 0.0 {
                    continue;
                }
                let tau = (m[r * b + r] - m[p * b + p]) / (2.0 * m[p * b + r]);
                let t = tau.signum() / (tau.abs() + (1.0 + tau * tau).sqrt());
                let c = 1.0 / (1.0 + t * t).sqrt();
                let s = t * c;
                let rotate = |x: &mut [f64], at: usize, to: usize| {
                    (x[at], x[to]) = (c * x[at] - s * x[to], s * x[at] + c * x[to]);
                };
                for k in 0..b {
                    rotate(m, k * b + p, k * b + r);
                    rotate(q, k * b + p, k * b + r);
                }
                (0..b).for_each(|k| rotate(m, p * b + k, r * b + k));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    #[test]
    fn roots_scale_the_diagonal_to_the_identity() {
        for b in [1, 2, 3, 6, 12] {
            let x = random::vector(b * b, b as u64);
            let mut d = vec![0.0; b * b]; // Xᵀ X + 0.1 I
            (0..b * b).for_each(|e| d[e] = (0..b).map(|k| x[k * b + e / b] * x[k * b + e % b]).sum());
            (0..b).for_each(|k| d[k * b + k] += 0.1);
            let roots = InverseRoot::of_diagonal(b, 1, |_| Some(&d[..]));
            let (mut half, mut one) = (vec![0.0; b * b], vec![0.0; b * b]);
            multiply(b, &roots.values, &d, &mut half);
            multiply(b, &half, &roots.values, &mut one);
            for (e, v) in one.iter().enumerate() {
                assert!((v - f64::from(u8::from(e / b == e % b))).abs() < 1e-12, "{b}: {one:?}");
            }
        }
    }

    #[test]
    fn radii_are_right() {
        let roots = |b: usize| {
            let identity: Vec<f64> = (0..b * b).map(|e| f64::from(u8::from(e / b == e % b))).collect();
            InverseRoot::of_diagonal(b, 1, |_| Some(&identity[..]))
        };
        let radius = |b: usize, m: &[f64]| roots(b).spectral_radius(0, m, 0, &mut vec![0.0; 2 * b * b]);
        assert_eq!(radius(1, &[-3.0]), 3.0);
        assert_eq!(radius(2, &[0.0, 1.0, 0.0, 0.0]), 0.0); // nilpotent
        assert!((radius(2, &[0.0, 2.0, -2.0, 0.0]) - 2.0).abs() < 2e-3); // ±2i
        assert!((radius(2, &[1.0, 100.0, 0.0, -0.5]) - 1.0).abs() < 1e-2); // far from normal
        assert!((radius(3, &[2.0, 0.0, 0.0, 0.0, -5.0, 0.0, 0.0, 0.0, 1.0]) - 5.0).abs() < 1e-12);
    }

    #[test]
    fn missing_stiffness_does_not_couple() {
        let d = [4.0, 0.0, 0.0, 0.0];
        let roots = InverseRoot::of_diagonal(2, 2, |i| (i == 0).then_some(&d[..]));
        assert_eq!(roots.values, [0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
