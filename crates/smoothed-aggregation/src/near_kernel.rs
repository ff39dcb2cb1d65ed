//! The near-kernel K of the finest level: chosen, held at constraints, relaxed (Tamstorf 2015, §6; Algorithm
//! 3, step 4).

use std::borrow::Cow;
use std::ops::Range;

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, each, tree};
use coarsen_krylov::start_vector;
use coarsen_sparse::{Bsr, NearKernel};

use super::decoupled::Decoupled;
use super::parameters::{Modes, SmoothedAggregation};
use super::parts::Parts;
use super::scaled::scaled_to_diagonal;
use super::share::Share;
use coarsen_multigrid::Grid;

/// The number of nodes per task.
const LEAF: usize = 1024;

/// Returns K for the finest level and the number of vectors to use: only the translations if aggregates are
/// `small`.
pub(super) fn choose<'a, T: Real>(
    parameters: &SmoothedAggregation,
    fine: &Grid<'a, T>,
    decoupled: &Decoupled,
    parts: &Parts<'_, T>,
    small: bool,
    share: &Share<'_>,
) -> Result<(Cow<'a, NearKernel>, usize), SetupError> {
    let (n, b) = (fine.a.shape().0, fine.a.block().0);
    let (modes, given) = match (parameters.modes, fine.near_kernel, fine.positions) {
        (Modes::Found(count), ..) => (Cow::Owned(random(n, count.max(1))?), true),
        (Modes::Known, Some(given), _) => (Cow::Borrowed(given), true),
        (Modes::Known, None, Some(x)) if b == 2 || b == 3 => {
            (Cow::Owned(NearKernel::rigid_body_modes(x, b)?), false)
        }
        (modes, ..) => (Cow::Owned(NearKernel::constants(n, b)?), modes == Modes::Constants),
    };
    let fewer = small && are_rigid(&modes, b, fine.positions, share);
    if given && parts.sweeps == 0 {
        let vectors = if fewer { b } else { modes.vectors() };
        return Ok((modes, vectors));
    }
    let modes = if fewer { Cow::Owned(first(&modes, b)?) } else { modes };
    let modes = if given { modes } else { Cow::Owned(scaled_to_diagonal(fine.a, modes.into_owned())?) };
    let modes =
        if parts.sweeps == 0 { modes } else { Cow::Owned(relax(fine.a, parts, &modes, &decoupled.rows)?) };
    let vectors = modes.vectors();
    Ok((modes, vectors))
}

/// Whether vectors are rigid-body modes. Vector c < b is then a translation, which moves only unknown c of
/// each node except at constraints, and the other vectors are rotations.
///
/// The b x b values of translations at a node form a projector: the identity, 0 at a held node, I − n nᵀ at a
/// node that slides on a plane. Nodes coupled by constraints may have any matrix, so it is enough if half of
/// all nodes have a projector. If the remaining vectors are not rotations, a user has given them, and they
/// are kept. In 2D any third vector could be a rotation, so positions are required.
fn are_rigid(modes: &NearKernel, b: usize, positions: Option<&[[f64; 3]]>, share: &Share<'_>) -> bool {
    let k = modes.vectors();
    let rotation = match (b, k, positions) {
        (3, 6, _) => None,
        (2, 3, Some(positions)) => Some(Rotation::of_modes(modes, positions)),
        _ => return false,
    };
    let rotates = |node: usize, rows: &[f64]| match (&rotation, positions) {
        (Some(rotation), Some(positions)) => rotation.fits(rows, positions[node]),
        _ => is_rotation(rows, b, k),
    };
    let others = |(range, nodes): (Range<usize>, Groups<&[f64]>)| {
        let nodes = range.zip(nodes.0.chunks_exact(b * k));
        nodes.filter(|(node, rows)| !is_projector(rows, b, k) || !rotates(*node, rows)).count()
    };
    let count = modes.size() / b;
    let (nodes, worth) =
        ((0..count, Groups(modes.values(), b * k)), parallel::worth(4 * modes.values().len()));
    let [others, count] = share.sums([tree(nodes, LEAF, worth, &others, &|left, right| left + right), count]);
    2.0 * others <= count
}

/// The 2D rotation that is closest to the third of three vectors at free nodes: v = c + ω (−y, x).
struct Rotation {
    rate: f64,
    shift: [f64; 2],
    /// The largest displacement component of the third vector.
    size: f64,
}

impl Rotation {
    fn of_modes(modes: &NearKernel, positions: &[[f64; 3]]) -> Self {
        let free = || {
            let nodes = modes.values().chunks_exact(6).zip(positions);
            nodes.filter(|(rows, _)| is_free(rows, 2, 3)).map(|(rows, x)| ([rows[2], rows[5]], x))
        };
        let count = free().count().max(1) as f64;
        let mean = |of: &dyn Fn(([f64; 2], &[f64; 3])) -> f64| free().map(of).sum::<f64>() / count;
        let (u, v) = (mean(&|n| n.0[0]), mean(&|n| n.0[1]));
        let (x, y) = (mean(&|n| n.1[0]), mean(&|n| n.1[1]));
        let (mut turned, mut squares, mut size) = (0.0, 0.0, 0.0_f64);
        for (at, p) in free() {
            turned += (p[0] - x) * (at[1] - v) - (p[1] - y) * (at[0] - u);
            squares += (p[0] - x).powi(2) + (p[1] - y).powi(2);
            size = size.max(at[0].abs()).max(at[1].abs());
        }
        let rate = if squares > 0.0 { turned / squares } else { 0.0 };
        Self { rate, shift: [u + rate * y, v - rate * x], size }
    }

    /// Whether the third vector at a node is this rotation; `true` for nodes that are not free.
    fn fits(&self, rows: &[f64], x: [f64; 3]) -> bool {
        const ROUND_OFF: f64 = 1e-6; // files have six digits or more
        let off = [rows[2] - self.shift[0] + self.rate * x[1], rows[5] - self.shift[1] - self.rate * x[0]];
        !is_free(rows, 2, 3) || off.iter().all(|v| v.abs() <= ROUND_OFF * self.size)
    }
}

/// Returns the first b vectors.
fn first(modes: &NearKernel, b: usize) -> Result<NearKernel, SetupError> {
    let rows = modes.values().chunks_exact(modes.vectors());
    Ok(NearKernel::from_rows(b, rows.flat_map(|row| row[..b].iter().copied()).collect())?)
}

/// Whether the first b columns of b rows of k are a symmetric H with H² = H.
fn is_projector(rows: &[f64], b: usize, k: usize) -> bool {
    const ROUND_OFF: f64 = 1e-10;
    let h = |r: usize, c: usize| rows[r * k + c];
    (0..b).all(|r| {
        (0..b).all(|c| {
            let square: f64 = (0..b).map(|m| h(r, m) * h(m, c)).sum();
            (square - h(r, c)).abs() < ROUND_OFF && (h(r, c) - h(c, r)).abs() < ROUND_OFF
        })
    })
}

/// Whether a node has no constraint.
fn is_free(rows: &[f64], b: usize, k: usize) -> bool {
    (0..b).all(|r| rows[r * k + r] == 1.0)
}

/// Whether the columns after the first three may be 3D rotations. At a free node p they are ω × p, which is
/// normal to p, so their determinant is zero. Returns `true` for nodes that are not free.
fn is_rotation(rows: &[f64], b: usize, k: usize) -> bool {
    const ROUND_OFF: f64 = 1e-10;
    if !is_free(rows, b, k) {
        return true;
    }
    let m = |r: usize, c: usize| rows[r % 3 * k + 3 + c % 3];
    let minors = (0..3).map(|c| m(0, c) * (m(1, c + 1) * m(2, c + 2) - m(1, c + 2) * m(2, c + 1)));
    let lengths = (0..3).map(|c| (0..3).map(|r| m(r, c) * m(r, c)).sum::<f64>().sqrt());
    minors.sum::<f64>().abs() <= ROUND_OFF * lengths.product::<f64>()
}

/// Returns `count` different random columns.
fn random(n: usize, count: usize) -> Result<NearKernel, SetupError> {
    let all = start_vector::<f64>(n * count);
    let columns: Vec<&[f64]> = all.chunks_exact(n.max(1)).collect();
    Ok(NearKernel::from_columns(&columns)?)
}

/// Runs damped Jacobi sweeps K ← K − ω D⁻¹ A K with constrained rows held at zero. Unlike exact rigid-body
/// modes, the result satisfies the boundary conditions.
fn relax<T: Real>(
    a: &Bsr<T>,
    parts: &Parts<'_, T>,
    modes: &NearKernel,
    constrained: &[bool],
) -> Result<NearKernel, SetupError> {
    let (k, b) = (modes.vectors(), a.block().0);
    let mut x = modes.values().to_vec();
    let rows = x.chunks_exact_mut(k.max(1)).zip(constrained);
    rows.filter(|(_, held)| **held).for_each(|(row, _)| row.fill(0.0));
    let mut ax = vec![0.0; x.len()];
    for _ in 0..parts.sweeps {
        a.apply_columns(k, &x, &mut ax);
        let pieces = (0..a.pattern().rows(), Groups(&mut x[..], b * k), Groups(&ax[..], b * k));
        let leaf = |(nodes, x, ax): (Range<usize>, Groups<&mut [f64]>, Groups<&[f64]>)| {
            let blocks = x.0.chunks_exact_mut(b * k).zip(ax.0.chunks_exact(b * k));
            for (i, (x, ax)) in nodes.zip(blocks) {
                let rows = parts.inverses.block(i).chunks_exact(b).zip(x.chunks_exact_mut(k));
                for ((d, x), _) in rows.zip(&constrained[i * b..]).filter(|(_, held)| !**held) {
                    for (&d, ax) in d.iter().zip(ax.chunks_exact(k)) {
                        let factor = parts.relaxing * d.as_f64();
                        x.iter_mut().zip(ax).for_each(|(x, &ax)| *x -= factor * ax);
                    }
                }
            }
        };
        each(pieces, LEAF, parallel::worth(ax.len() * b), &leaf);
    }
    Ok(NearKernel::from_rows(k, x)?)
}
