//! Elimination row by row, dropping all fill (the IKJ variant).
//!
//! | symbol | meaning |
//! |---|---|
//! | Wᵢⱼ | blocks of row i, becoming Lᵢⱼ (j < i), Dᵢ (j = i), Uᵢⱼ (j > i) |
//! | Dᵢ⁻¹ | `pivots` |
//!
//! *Reference* Saad 2003, §10.3, Algorithm 10.4; step numbers in the code are his.

use coarsen_backend::DenseBlocks;
use coarsen_core::Real;
use coarsen_sparse::Bsr;

/// A pivot that cannot be used: its row in the order of elimination, and how large it is.
pub(super) struct Fault {
    pub(super) row: usize,
    pub(super) pivot: f64,
}

/// Overwrites W = P A Pᵀ with L and U, and `pivots` with the inverses of D; `diagonal[i]` is where block (i, i) is stored.
///
/// With `positive` every Dᵢ must be positive definite. *Cost* about 2 b³ flops for each pair of blocks that meet.
pub(super) fn eliminate<T: Real>(
    w: &mut Bsr<T>,
    diagonal: &[usize],
    pivots: &mut DenseBlocks<T>,
    place: &mut [u32],
    positive: bool,
) -> Result<(), Fault> {
    match w.block().0 {
        1 => rows::<T, 1>(w, diagonal, pivots, place, positive),
        2 => rows::<T, 2>(w, diagonal, pivots, place, positive),
        3 => rows::<T, 3>(w, diagonal, pivots, place, positive),
        6 => rows::<T, 6>(w, diagonal, pivots, place, positive),
        _ => rows::<T, 0>(w, diagonal, pivots, place, positive),
    }
}

/// `B` is the block size, or 0 when it is known at run time only.
fn rows<T: Real, const B: usize>(
    w: &mut Bsr<T>,
    diagonal: &[usize],
    pivots: &mut DenseBlocks<T>,
    place: &mut [u32],
    positive: bool,
) -> Result<(), Fault> {
    let b = if B == 0 { w.block().0 } else { B };
    let area = b * b;
    let pattern = w.pattern().clone();
    let values = w.values_mut();
    let (mut stack, mut heap) = ([T::zero(); 144], Vec::new());
    let l = match stack.get_mut(..area) {
        Some(l) => l,
        None => {
            heap.resize(area, T::zero());
            &mut heap[..]
        }
    };
    // place[j] is 1 + the position of column j within row i, 0 where row i has no such column
    place.fill(0);
    for i in 0..pattern.rows() {
        let row = pattern.range(i);
        pattern.row(i).iter().enumerate().for_each(|(at, &j)| place[j as usize] = at as u32 + 1); // 1
        for at in row.start..diagonal[i] {
            let k = pattern.indices()[at] as usize; // 2
            multiply(&values[at * area..(at + 1) * area], pivots.block(k), l, b); // 3: Lᵢₖ = Wᵢₖ Dₖ⁻¹
            values[at * area..(at + 1) * area].copy_from_slice(l);
            for u in diagonal[k] + 1..pattern.offsets()[k + 1] {
                let at = place[pattern.indices()[u] as usize] as usize; // 4
                if at == 0 {
                    continue; // fill: dropped
                }
                // rows k and i are different, so their blocks do not overlap: row k comes first
                let (before, after) = values.split_at_mut(row.start * area);
                let target = &mut after[(at - 1) * area..at * area];
                subtract(l, &before[u * area..(u + 1) * area], target, b); // 5: Wᵢⱼ −= Lᵢₖ Uₖⱼ
            }
        }
        let d = &values[diagonal[i] * area..(diagonal[i] + 1) * area];
        let inverse = &mut pivots.values_mut()[i * area..(i + 1) * area];
        let usable = if positive { smallest_pivot(d, b) > T::zero() } else { true };
        if !usable || !DenseBlocks::invert_one(d, inverse, b) {
            return Err(Fault { row: i, pivot: smallest_pivot(d, b).wide() });
        }
        pattern.row(i).iter().for_each(|&j| place[j as usize] = 0); // 6
    }
    Ok(())
}

/// The smallest pivot of a Cholesky factorisation of a block: positive where the block is positive definite. NaN counts as not.
fn smallest_pivot<T: Real>(d: &[T], b: usize) -> T {
    let (mut stack, mut heap) = ([T::zero(); 144], Vec::new());
    let l = match stack.get_mut(..b * b) {
        Some(l) => l,
        None => {
            heap.resize(b * b, T::zero());
            &mut heap[..]
        }
    };
    let mut smallest = T::infinity();
    for i in 0..b {
        for j in 0..=i {
            let s = (0..j).fold(d[i * b + j], |s, k| s - l[i * b + k] * l[j * b + k]);
            if i != j {
                l[i * b + j] = s / l[j * b + j];
            } else if s > T::EPSILON * d[i * b + i].abs() {
                smallest = smallest.min(s);
                l[i * b + i] = s.sqrt();
            } else {
                return if s.is_nan() { s } else { s.min(T::zero()) };
            }
        }
    }
    smallest
}

/// c = x y for b x b blocks.
#[inline(always)]
fn multiply<T: Real>(x: &[T], y: &[T], c: &mut [T], b: usize) {
    for i in 0..b {
        for j in 0..b {
            c[i * b + j] = (0..b).fold(T::zero(), |s, k| s + x[i * b + k] * y[k * b + j]);
        }
    }
}

/// c −= x y for b x b blocks.
#[inline(always)]
fn subtract<T: Real>(x: &[T], y: &[T], c: &mut [T], b: usize) {
    for i in 0..b {
        for j in 0..b {
            c[i * b + j] = (0..b).fold(c[i * b + j], |s, k| s - x[i * b + k] * y[k * b + j]);
        }
    }
}
