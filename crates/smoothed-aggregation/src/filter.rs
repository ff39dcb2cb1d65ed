//! The couplings that smooth the prolongation. A_F is A with its weak couplings removed and added to the
//! diagonal block of their row.
//!
//! If many couplings are weak, smoothing along them makes P and PᵀAP fuller, and D contains stiffness against
//! motions that P̂ already represents. On cloth this is bending stiffness, which vanishes when neighbours
//! move together. A weak A_ij is multiplied by s_j / s_i and added to the diagonal, where s is the size of
//! the translations of K at a node. Then A_F K = A K for scalars; for blocks this holds for translations in
//! one direction. D_F is the stiffness against strong neighbours. Rows without a weak coupling, without a
//! strong coupling, or with an unusable D_F are the rows of A. *Reference* Vaněk, Mandel & Brezina 1996,
//! "Algebraic multigrid by smoothed aggregation", §5.1, here for blocks, with the same θ, halved from level
//! to level.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, each, tree};
use coarsen_sparse::{Pattern, Strength};

use super::high_degree::HighDegree;
use super::share::Share;
use super::tentative::Held;
use coarsen_multigrid::Grid;

/// The number of nodes per task.
const LEAF: usize = 1024;

/// θ of the finest level: a coupling is weak if ‖A_ij‖ ≤ θ (‖A_ii‖ ‖A_jj‖)^½. Halved from level to level. *Source*:
/// Vaněk, Mandel & Brezina 1996, §5.1.
const WEAK: f64 = 0.08;

/// If more than this fraction of the couplings of the finest level are weak, weak couplings are dropped on all levels. Sheets
/// and rotated layers exceed this fraction; solids and Laplacians do not.
const MANY_WEAK: f64 = 0.45;

/// A coupling with ‖A_ij‖ / (‖A_ii‖ ‖A_jj‖)^½ above this value, as in stiff contact, ties its two nodes.
const STRENGTH_TIED: f64 = 0.75;

/// The fraction of tied nodes above which no coupling is dropped.
const FRACTION_TIED: f64 = 0.005;

/// Returns the strength measure that decides which couplings of a level are weak.
pub(super) fn measure(depth: usize) -> Strength {
    Strength::Symmetric { theta: WEAK * 0.5_f64.powi(depth.min(60) as i32) }
}

/// Returns, for each coupling, whether it smooths P according to `weights`. `None` if all couplings do,
/// because few are weak on the finest level or many nodes are tied.
pub(super) fn strong<T: Real>(
    fine: &Grid<'_, T>,
    (norms, weights): (Strength, &[f32]),
    high_degree: &HighDegree,
    share: &Share<'_>,
) -> Option<Vec<bool>> {
    let (pattern, scalars) = (fine.a.pattern(), fine.a.block() == (1, 1));
    let mut strong = norms.strong(pattern, weights);
    let few_tied = scalars || keep_tied(pattern, weights, &mut strong, share);
    let filtered = few_tied && (fine.depth > 0 || many_weak(pattern, (weights, &strong), high_degree, share));
    filtered.then_some(strong)
}

/// Marks all couplings of tied nodes as strong. A stiff coupling, for example from contact, makes all other
/// couplings look weak, even in directions in which the stiff coupling does not act.
///
/// Returns `false` if many nodes are tied: all couplings should then smooth P.
fn keep_tied(pattern: &Pattern, weights: &[f32], strong: &mut [bool], share: &Share<'_>) -> bool {
    let columns = pattern.indices();
    let is_tied = |i: usize| {
        pattern.range(i).any(|k| columns[k] as usize != i && f64::from(weights[k]) > STRENGTH_TIED)
    };
    let mut tied = vec![false; pattern.rows()];
    let pieces = (0..pattern.rows(), &mut tied[..]);
    each(pieces, LEAF, parallel::worth(weights.len()), &|(rows, tied): (Range<usize>, &mut [bool])| {
        tied.iter_mut().zip(rows).for_each(|(tied, i)| *tied = is_tied(i));
    });
    let ties = tied[share.own.clone()].iter().filter(|&&tied| tied).count();
    let [ties, nodes] = share.sums([ties, share.own.len()]);
    if ties == 0.0 {
        return true;
    }
    if ties > FRACTION_TIED * nodes {
        return false;
    }
    share.of_owners(&mut tied); // a node behind a ghost may tie it
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let j = columns[k] as usize;
            strong[k] |= j != i && weights[k] > 0.0 && (tied[i] || tied[j]);
        }
    }
    true
}

/// Whether so many couplings are weak that they are dropped. Rows without a strong coupling, as in a stencil
/// of many equal neighbours, and couplings of high-degree nodes are not counted.
fn many_weak(
    pattern: &Pattern,
    (weights, strong): (&[f32], &[bool]),
    high_degree: &HighDegree,
    share: &Share<'_>,
) -> bool {
    let count = |rows: Range<usize>| {
        let (mut coupled, mut weak) = (0, 0);
        for i in rows.filter(|&i| !high_degree.contains(i)) {
            let range = pattern.range(i);
            let stored = weights[range.clone()].iter().zip(&strong[range]).zip(pattern.row(i));
            let (mut all, mut kept) = (0_usize, 0);
            // Without a branch per coupling, since strong and weak ones may alternate.
            for ((&weight, &strong), &j) in stored {
                let counts = (weight > 0.0) & (j as usize != i) & !high_degree.contains(j as usize);
                all += usize::from(counts);
                kept += usize::from(counts & strong);
            }
            coupled += all;
            weak += if kept > 0 { all - kept } else { 0 };
        }
        [coupled, weak]
    };
    let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let worth = parallel::worth(weights.len());
    let [coupled, weak] = share.sums(tree(share.own.clone(), LEAF, worth, &count, &add));
    weak > MANY_WEAK * coupled
}

/// Returns s of every node of `block` unknowns.
pub(super) fn sizes<T: Real>(modes: Held<'_>, block: usize) -> Vec<T> {
    let k = modes.vectors;
    let size = |node: usize| {
        if (block, k) == (1, 1) {
            return modes.value(node, 0).abs();
        }
        let rows = node * block..(node + 1) * block;
        let values = rows.flat_map(|row| (0..block.min(k)).map(move |c| modes.value(row, c)));
        values.map(|v| v * v).sum::<f64>().sqrt()
    };
    let mut sizes = vec![T::zero(); modes.modes.size() / block.max(1)];
    let pieces = (0..sizes.len(), &mut sizes[..]);
    let worth = parallel::worth(modes.modes.values().len());
    each(pieces, LEAF, worth, &|(nodes, sizes): (Range<usize>, &mut [T])| {
        sizes.iter_mut().zip(nodes).for_each(|(s, node)| *s = T::from_f64(size(node)));
    });
    sizes
}
