//! Near-kernel modes of a matrix with scaled unknowns.
//!
//! If a discretisation A has constants or rigid-body modes V, the scaled matrix D A D has the modes D⁻¹ V.
//! The scale of a node is the root of the mean diagonal of its block. Two candidates are compared: V, and V
//! divided at each node by this scale. The candidate with the lower energy, vᵀ A v / vᵀ diag(A) v, is used.

use std::ops::Range;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, tree};
use coarsen_sparse::{Bsr, NearKernel};

/// The number of nodes per task.
const LEAF: usize = 2048;

/// V is divided by the scale of each node if this reduces its energy to less than this fraction. On unscaled systems V is exact
/// already.
const SCALED_ENERGY: f64 = 0.5;

/// V is not divided if the ratio of the scales is at most this value, because boundaries and uneven meshes cause such ratios.
const SCALE_RATIO: f64 = 4.0;

/// Returns V or D⁻¹ V. *Cost*: one pass over the diagonal, and two products of A with all vectors if the
/// scales of the nodes differ.
pub(super) fn scaled_to_diagonal<T: Real>(a: &Bsr<T>, modes: NearKernel) -> Result<NearKernel, SetupError> {
    let (b, k) = (a.block().0, modes.vectors());
    let diagonal = a.diagonal();
    let range = |part: Groups<&[T]>| {
        let scales = part.0.chunks_exact(b).map(scale);
        scales.fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), s| (l.min(s), m.max(s)))
    };
    let wider = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
    let worth = parallel::worth(4 * diagonal.len());
    let (least, most) = tree(Groups(&diagonal[..], b), LEAF, worth, &range, &wider);
    if most <= SCALE_RATIO * least || k == 0 {
        return Ok(modes);
    }
    let rows = modes.values().chunks_exact(b * k).zip(diagonal.chunks_exact(b).map(scale));
    let scaled = NearKernel::from_rows(k, rows.flat_map(|(v, s)| v.iter().map(move |v| v * s)).collect())?;
    let clearly = energy(a, &diagonal, &scaled) < SCALED_ENERGY * energy(a, &diagonal, &modes);
    Ok(if clearly { scaled } else { modes })
}

/// Returns 1 / √(mean diagonal) of a node; 1 if the mean is not positive and finite.
fn scale<T: Real>(diagonal: &[T]) -> f64 {
    let mean = diagonal.iter().map(|d| d.as_f64().abs()).sum::<f64>() / diagonal.len() as f64;
    if mean > 0.0 && mean.is_finite() { 1.0 / mean.sqrt() } else { 1.0 }
}

/// Returns the mean of vᵀ A v / vᵀ diag(A) v over the vectors.
fn energy<T: Real>(a: &Bsr<T>, diagonal: &[T], modes: &NearKernel) -> f64 {
    let k = modes.vectors();
    let mut product = vec![0.0; modes.values().len()];
    a.apply_columns(k, modes.values(), &mut product);
    let leaf = |(rows, v, av): (Range<usize>, Groups<&[f64]>, Groups<&[f64]>)| {
        let mut sums = vec![[0.0; 2]; k];
        for (i, (v, av)) in rows.zip(v.0.chunks_exact(k).zip(av.0.chunks_exact(k))) {
            for (sum, (v, av)) in sums.iter_mut().zip(v.iter().zip(av)) {
                sum[0] += v * av;
                sum[1] += v * v * diagonal[i].as_f64().abs();
            }
        }
        sums
    };
    let add = |mut left: Vec<[f64; 2]>, right: Vec<[f64; 2]>| {
        left.iter_mut().zip(right).for_each(|(l, r)| (l[0], l[1]) = (l[0] + r[0], l[1] + r[1]));
        left
    };
    let pieces = (0..diagonal.len(), Groups(modes.values(), k), Groups(&product[..], k));
    let sums = tree(pieces, LEAF, parallel::worth(2 * product.len()), &leaf, &add);
    sums.iter().map(|[energy, size]| if *size > 0.0 { energy / size } else { 0.0 }).sum::<f64>() / k as f64
}
