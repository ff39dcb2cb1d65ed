//! The near-kernel K of the finest level: chosen, held at constraints, relaxed (Tamstorf 2015, §6; Algorithm 3, step 4).

use std::borrow::Cow;
use std::ops::Range;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each};
use coarsen_krylov::start_vector;
use coarsen_sparse::{Bsr, NearKernel};

use super::special::Special;
use super::{Modes, Parts, SmoothedAggregation};
use crate::Grid;

/// Damped Jacobi sweeps that turn random vectors into a near-kernel.
pub(super) const FINDING: usize = 20;

/// Nodes that one task relaxes.
const LEAF: usize = 1024;

/// K for the finest level; `small` aggregates get translations alone.
pub(super) fn choose<T: Real>(
    recipe: &SmoothedAggregation,
    fine: &Grid<'_, T>,
    special: &Special,
    parts: &Parts<T>,
    small: bool,
) -> Result<NearKernel, SetupError> {
    let (n, b) = (fine.a.shape().0, fine.a.block().0);
    let constants = || NearKernel::constants(n, b);
    let modes = match (recipe.modes, fine.near_kernel, fine.positions) {
        (Modes::Found(count), ..) => Cow::Owned(random(n, count.max(1))?),
        (Modes::Known, Some(given), _) => Cow::Borrowed(given),
        (Modes::Known, None, Some(x)) if b == 2 || b == 3 => Cow::Owned(NearKernel::rigid_body_modes(x, b)?),
        _ => Cow::Owned(constants()?),
    };
    let modes = match small.then(|| translations(&modes, b)).flatten() {
        Some(fewer) => Cow::Owned(fewer?),
        None => modes,
    };
    relax(fine.a, parts, &modes, &special.rows)
}

/// The first b of rigid-body modes: vector c < b moves unknown c of the nodes alone. `None` for other modes.
fn translations(modes: &NearKernel, b: usize) -> Option<Result<NearKernel, SetupError>> {
    let k = modes.vectors();
    if !matches!((b, k), (2, 3) | (3, 6)) {
        return None;
    }
    let rows = || modes.values().chunks_exact(k).enumerate();
    let alone = |(i, row): (usize, &[f64])| (0..b).all(|c| c == i % b || row[c] == 0.0);
    if !rows().all(alone) {
        return None;
    }
    let values = rows().flat_map(|(_, row)| row[..b].iter().copied()).collect();
    Some(NearKernel::from_rows(b, values).map_err(Into::into))
}

/// Random columns, a different one each.
fn random(n: usize, count: usize) -> Result<NearKernel, SetupError> {
    let all = start_vector::<f64>(n * count);
    let columns: Vec<&[f64]> = all.chunks_exact(n.max(1)).collect();
    Ok(NearKernel::from_columns(&columns)?)
}

/// Damped Jacobi sweeps K ← K − ω D⁻¹ A K, constrained rows held at zero: K fits the boundary conditions, which exact rigid modes do not.
fn relax<T: Real>(
    a: &Bsr<T>,
    parts: &Parts<T>,
    modes: &NearKernel,
    constrained: &[bool],
) -> Result<NearKernel, SetupError> {
    let (k, b) = (modes.vectors(), a.block().0);
    let mut x = modes.values().to_vec();
    let rows = x.chunks_exact_mut(k.max(1)).zip(constrained);
    rows.filter(|(_, held)| **held).for_each(|(row, _)| row.fill(0.0));
    let mut ax = if parts.sweeps > 0 { vec![0.0; x.len()] } else { Vec::new() };
    for _ in 0..parts.sweeps {
        a.apply_columns(k, &x, &mut ax);
        let pieces = (0..a.pattern().rows(), Groups(&mut x[..], b * k), Groups(&ax[..], b * k));
        let leaf = |(nodes, x, ax): (Range<usize>, Groups<&mut [f64]>, Groups<&[f64]>)| {
            let blocks = x.0.chunks_exact_mut(b * k).zip(ax.0.chunks_exact(b * k));
            for (i, (x, ax)) in nodes.zip(blocks) {
                let rows = parts.inverses.block(i).chunks_exact(b).zip(x.chunks_exact_mut(k));
                for ((d, x), _) in rows.zip(&constrained[i * b..]).filter(|(_, held)| !**held) {
                    for (&d, ax) in d.iter().zip(ax.chunks_exact(k)) {
                        let factor = parts.relaxing * d.wide();
                        x.iter_mut().zip(ax).for_each(|(x, &ax)| *x -= factor * ax);
                    }
                }
            }
        };
        each(pieces, LEAF, parallel::worth(ax.len() * b), &leaf);
    }
    Ok(NearKernel::from_rows(k, x)?)
}
