//! The inversion of one block.

use coarsen_core::{Real, small_dense};

/// The reason why a block has no inverse.
pub(super) enum Fault {
    NotFinite(usize, usize),
    Singular,
}

/// Memory for one block: on the stack up to 12 x 12.
pub(super) type Scratch<T> = small_dense::Scratch<T, 144>;

/// The least pivot of L D Lᵀ, as a share of its diagonal entry, for which no pivoting is needed.
const FIRM: f64 = 1e-4;

/// Computes `d` = `w`⁻¹ for a symmetric positive definite block of 3 x 3 whose pivots are not small; `None`, with `d`
/// unchanged, for every other block.
///
/// For such a block W = L D Lᵀ is stable without pivoting (Golub & Van Loan 2013, §4.2.6), and W⁻¹ = Zᵀ D⁻¹ Z with Z =
/// L⁻¹ is symmetric to the last bit. *Cost* three divisions and no branch that depends on the order of rows.
#[inline(always)]
pub(super) fn invert_positive<T: Real>(w: &[T], d: &mut [T]) -> Option<()> {
    let (w, d) = (&w[..9], &mut d[..9]);
    if w[1] != w[3] || w[2] != w[6] || w[5] != w[7] {
        return None;
    }
    let one = T::one();
    let p = one / w[0];
    let (l1, l2) = (w[3] * p, w[6] * p);
    let (d1, m) = (w[4] - l1 * w[3], w[7] - l2 * w[3]);
    let q = one / d1;
    let l3 = m * q;
    let d2 = w[8] - l2 * w[6] - l3 * m;
    let r = one / d2;
    let firm = T::from_f64(FIRM);
    // Also false for NaN.
    if !(w[0] > T::zero() && d1 > firm * w[4] && d2 > firm * w[8] && w[4] > T::zero() && w[8] > T::zero()) {
        return None;
    }
    // L⁻¹ has z1 = −l1, z3 = −l3 and z2 = l1 l3 − l2 below the diagonal.
    let z2 = l1 * l3 - l2;
    let inverse = [p + l1 * l1 * q + z2 * z2 * r, -l1 * q - z2 * l3 * r, z2 * r, q + l3 * l3 * r, -l3 * r, r];
    if inverse.iter().any(|v| !v.is_finite()) {
        return None;
    }
    let [a, b, c, e, f, g] = inverse;
    d.copy_from_slice(&[a, b, c, b, e, f, c, f, g]);
    Some(())
}

/// Computes `d` = `w`⁻¹ for b x b row-major blocks by Gauss-Jordan elimination of (S W | S) with partial
/// pivoting. The diagonal matrix S scales the rows. `w` is overwritten.
#[inline(always)] // makes b a constant in the loops
pub(super) fn invert<T: Real>(w: &mut [T], d: &mut [T], b: usize) -> Result<(), Fault> {
    let (w, d) = (&mut w[..b * b], &mut d[..b * b]);
    if let Some(at) = w.iter().position(|v| !v.is_finite()) {
        return Err(Fault::NotFinite(at / b, at % b));
    }
    if b == 1 {
        d[0] = T::one() / w[0];
        return if w[0] != T::zero() && d[0].is_finite() { Ok(()) } else { Err(Fault::Singular) };
    }
    let tiny = T::EPSILON * T::from_f64(b as f64);
    d.fill(T::zero());
    for (i, row) in w.chunks_exact_mut(b).enumerate() {
        let scale = row.iter().fold(T::zero(), |m, v| m.max(v.abs())).recip();
        if !scale.is_finite() {
            return Err(Fault::Singular);
        }
        row.iter_mut().for_each(|v| *v *= scale);
        d[i * b + i] = scale;
    }
    for p in 0..b {
        let pivot_row =
            (p..b).fold(p, |best, i| if w[i * b + p].abs() > w[best * b + p].abs() { i } else { best });
        if w[pivot_row * b + p].abs() <= tiny {
            return Err(Fault::Singular);
        }
        for c in 0..b {
            w.swap(p * b + c, pivot_row * b + c);
            d.swap(p * b + c, pivot_row * b + c);
        }
        let scale = T::one() / w[p * b + p];
        for c in 0..b {
            w[p * b + c] *= scale;
            d[p * b + c] *= scale;
        }
        for i in (0..b).filter(|&i| i != p) {
            let factor = w[i * b + p];
            for c in 0..b {
                let (wp, dp) = (w[p * b + c], d[p * b + c]);
                w[i * b + c] -= factor * wp;
                d[i * b + c] -= factor * dp;
            }
        }
    }
    Ok(())
}
