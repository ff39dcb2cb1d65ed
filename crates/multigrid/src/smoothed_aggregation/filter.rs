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

use super::tentative::Held;
use super::thresholds::Thresholds;
use crate::Grid;

/// The number of nodes per task.
const LEAF: usize = 1024;

/// Returns the strength measure that decides which couplings of a level are weak.
pub(super) fn measure(at: &Thresholds, depth: usize) -> Strength {
    Strength::Symmetric { theta: at.weak * 0.5_f64.powi(depth.min(60) as i32) }
}

/// Returns, for each coupling, whether it smooths P according to `weights`. `None` if all couplings do,
/// because few are weak on the finest level or many nodes are tied.
pub(super) fn strong<T: Real>(
    at: &Thresholds,
    fine: &Grid<'_, T>,
    norms: Strength,
    weights: &[f32],
) -> Option<Vec<bool>> {
    let (pattern, scalars) = (fine.a.pattern(), fine.a.block() == (1, 1));
    let mut strong = norms.strong(pattern, weights);
    let few_tied = scalars || keep_tied(at, pattern, weights, &mut strong);
    let filtered = few_tied && (fine.depth > 0 || many_weak(at, pattern, weights, &strong));
    filtered.then_some(strong)
}

/// Marks all couplings of tied nodes as strong. A stiff coupling, for example from contact, makes all other
/// couplings look weak, even in directions in which the stiff coupling does not act.
///
/// Returns `false` if many nodes are tied: all couplings should then smooth P.
fn keep_tied(at: &Thresholds, pattern: &Pattern, weights: &[f32], strong: &mut [bool]) -> bool {
    let columns = pattern.indices();
    let is_tied =
        |i: usize| pattern.range(i).any(|k| columns[k] as usize != i && f64::from(weights[k]) > at.tied);
    let mut tied = vec![false; pattern.rows()];
    let pieces = (0..pattern.rows(), &mut tied[..]);
    each(pieces, LEAF, parallel::worth(weights.len()), &|(rows, tied): (Range<usize>, &mut [bool])| {
        tied.iter_mut().zip(rows).for_each(|(tied, i)| *tied = is_tied(i));
    });
    let ties = tied.iter().filter(|&&tied| tied).count();
    if ties == 0 {
        return true;
    }
    if ties as f64 > at.many_tied * pattern.rows() as f64 {
        return false;
    }
    for i in 0..pattern.rows() {
        for k in pattern.range(i) {
            let j = columns[k] as usize;
            strong[k] |= j != i && weights[k] > 0.0 && (tied[i] || tied[j]);
        }
    }
    true
}

/// Whether so many couplings are weak that they are dropped. Rows without a strong coupling, as in a stencil
/// of many equal neighbours, are not counted.
fn many_weak(at: &Thresholds, pattern: &Pattern, weights: &[f32], strong: &[bool]) -> bool {
    let count = |rows: Range<usize>| {
        let (mut coupled, mut weak) = (0, 0);
        for i in rows {
            let range = pattern.range(i);
            let stored = weights[range.clone()].iter().zip(&strong[range]).zip(pattern.row(i));
            let others = stored.filter(|&((&weight, _), &j)| weight > 0.0 && j as usize != i);
            let (all, kept) =
                others.fold((0_usize, 0), |(all, kept), ((_, &s), _)| (all + 1, kept + usize::from(s)));
            coupled += all;
            weak += if kept > 0 { all - kept } else { 0 };
        }
        [coupled, weak]
    };
    let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let worth = parallel::worth(weights.len());
    let [coupled, weak] = tree(0..pattern.rows(), LEAF, worth, &count, &add);
    weak as f64 > at.many_weak * coupled as f64
}

/// Returns s of every node of `block` unknowns.
pub(super) fn sizes<T: Real>(modes: Held<'_>, block: usize) -> Vec<T> {
    let k = modes.vectors;
    let size = |node: usize| {
        let rows = node * block..(node + 1) * block;
        let values = rows.flat_map(|row| (0..block.min(k)).map(move |c| modes.value(row, c)));
        values.map(|v| v * v).sum::<f64>().sqrt()
    };
    let mut sizes = vec![T::zero(); modes.modes.size() / block.max(1)];
    let pieces = (0..sizes.len(), &mut sizes[..]);
    let worth = parallel::worth(modes.modes.values().len());
    each(pieces, LEAF, worth, &|(nodes, sizes): (Range<usize>, &mut [T])| {
        sizes.iter_mut().zip(nodes).for_each(|(s, node)| *s = T::of(size(node)));
    });
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Multigrid;
    use coarsen_backend::{Cpu, Setup};
    use coarsen_core::Stop;
    use coarsen_krylov::{Cg, Krylov};
    use coarsen_sparse::{Bsr, NearKernel, System};

    #[test]
    fn sheets_and_rotated_layers_have_many_weak_couplings() {
        for (spec, expected) in [
            ("cloth:21", true),
            ("anisotropic2d:40", true),
            ("poisson2d:40", false),
            ("poisson3d:12", false),
            ("jump3d:16", false),
            ("elasticity3d:6", false),
        ] {
            let a = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix;
            let weights = measure(&Thresholds::default(), 0).weights(&a).unwrap();
            let strong = measure(&Thresholds::default(), 0).strong(a.pattern(), &weights);
            assert_eq!(many_weak(&Thresholds::default(), a.pattern(), &weights, &strong), expected, "{spec}");
        }
    }

    #[test]
    fn equal_neighbours_are_not_weak() {
        // A stencil of 26 neighbours with -1 and a diagonal of 26: every coupling is below 0.08.
        let n = 6_usize;
        let at = |i: usize| [i % n, i / n % n, i / n / n];
        let near = |i: usize, j: usize| at(i).iter().zip(at(j)).all(|(x, y)| x.abs_diff(y) < 2);
        let entries: Vec<_> = (0..n * n * n)
            .flat_map(|i| {
                (0..n * n * n)
                    .filter(move |&j| near(i, j))
                    .map(move |j| (i as u32, j as u32, if i == j { 26.0 } else { -1.0 }))
            })
            .collect();
        let a = coarsen_sparse::assembly::from_triplets(n * n * n, n * n * n, &entries).unwrap();
        let weights = measure(&Thresholds::default(), 0).weights(&a).unwrap();
        assert!(!many_weak(
            &Thresholds::default(),
            a.pattern(),
            &weights,
            &measure(&Thresholds::default(), 0).strong(a.pattern(), &weights)
        ));
    }

    /// Where A K = 0, P K_c = K for any scaling of the unknowns.
    #[test]
    fn a_near_kernel_is_kept_where_nothing_holds_it() {
        let n = 40;
        let problem = coarsen_problems::Problem::parse("anisotropic2d:40", &Default::default()).unwrap();
        let scale = |i: usize| 2.0_f64.powi(i as i32 % 5 - 2);
        let (pattern, block, mut values) = problem.matrix.clone().into_parts();
        for i in 0..pattern.rows() {
            pattern.range(i).for_each(|k| values[k] *= scale(i) * scale(pattern.indices()[k] as usize));
        }
        let a = Bsr::new(pattern, block, values).unwrap();
        let modes = NearKernel::from_rows(1, (0..n * n).map(|i| 1.0 / scale(i)).collect()).unwrap();
        let mut recipe = Multigrid::tamstorf();
        (recipe.coarsening.kernel_sweeps, recipe.coarsening.prune) = (0, 0.0);
        let m = recipe.build_from(System { near_kernel: Some(&modes), ..(&a).into() }, &Cpu::new()).unwrap();
        let p = m.prolongation(0).and_then(coarsen_sparse::Prolongation::matrix).unwrap();
        let of = m.aggregates(0).unwrap();
        let mut coarse = vec![0.0_f64; p.shape().1];
        (0..n * n).for_each(|i| coarse[of[i] as usize] += modes.row(i)[0].powi(2));
        for i in (0..n * n).filter(|i| (1..n - 1).contains(&(i % n)) && (1..n - 1).contains(&(i / n))) {
            let sum: f64 = p.row(i).map(|(g, v)| v[0] * coarse[g].sqrt()).sum();
            assert!((sum / modes.row(i)[0] - 1.0).abs() < 1e-10, "row {i}: {sum}");
        }
    }

    /// Contact holds a node in one direction; in the other directions the node moves with its neighbours.
    #[test]
    fn a_node_that_is_stiff_in_one_direction_is_not_left_alone() {
        let problem = coarsen_problems::Problem::parse("cloth:21", &Default::default()).unwrap();
        let (mut a, node, normal) = (problem.matrix.clone(), 10 * 21 + 10, [0.48, 0.6, 0.64]);
        let k = a.pattern().find(node, node).unwrap();
        for (e, v) in a.values_mut()[9 * k..9 * (k + 1)].iter_mut().enumerate() {
            *v += 1e6 * normal[e / 3] * normal[e % 3];
        }
        let m = Multigrid::tamstorf().build(&a, &Cpu::new()).unwrap();
        assert_ne!(m.aggregates(0).unwrap()[node], u32::MAX);
    }

    /// Some existing couplings become a thousand times stiffer.
    #[test]
    fn stiff_pairs_keep_their_couplings_and_many_of_them_all() {
        let problem = coarsen_problems::Problem::parse("cloth:41", &Default::default()).unwrap();
        let n = problem.matrix.pattern().rows();
        let tied = |pairs: usize| {
            let mut a = problem.matrix.clone();
            let pattern = a.pattern().clone();
            for first in (0..pairs).map(|p| 3 * 41 + 7 + (p * 37) % (n - 6 * 41)) {
                let size = a.value(pattern.find(first, first).unwrap())[0];
                for (i, j, sign) in [
                    (first, first, 1.0),
                    (first + 1, first + 1, 1.0),
                    (first, first + 1, -1.0),
                    (first + 1, first, -1.0),
                ] {
                    let Some(k) = pattern.find(i, j) else { continue };
                    a.values_mut()[9 * k + 8] += sign * 1e3 * size;
                }
            }
            a
        };
        for (pairs, kept) in [(0, true), (2, true), (100, false)] {
            let a = tied(pairs);
            let weights = measure(&Thresholds::default(), 0).weights(&a).unwrap();
            let mut strong = measure(&Thresholds::default(), 0).strong(a.pattern(), &weights);
            let before = strong.clone();
            assert_eq!(
                keep_tied(&Thresholds::default(), a.pattern(), &weights, &mut strong),
                kept,
                "{pairs} pairs"
            );
            assert_eq!(strong == before, pairs != 2, "{pairs} pairs");
        }
    }

    #[test]
    fn leaving_weak_couplings_out_saves_iterations_and_entries() {
        for (spec, fewer) in [("anisotropic2d:150", 0.85), ("cloth:61", 1.0)] {
            let problem = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap();
            let (a, b) = (&problem.matrix, problem.right_hand_side(1));
            let system = System { near_kernel: Some(&problem.near_kernel), ..a.into() };
            let run = |filter: bool| {
                let mut recipe = Multigrid::tamstorf();
                recipe.coarsening.filter = filter;
                let mut m = recipe.build_from(system, &Cpu::new()).unwrap();
                let mut x = vec![0.0; b.len()];
                let report = Cg::new(Stop::relative(1e-8)).solve(a, &mut m, &b, &mut x).unwrap();
                (report.converged().unwrap().iterations as f64, m.operator_complexity())
            };
            let ((its, complexity), (its_of_all, complexity_of_all)) = (run(true), run(false));
            assert!(its <= fewer * its_of_all, "{spec}: {its} of {its_of_all}");
            assert!(complexity < 0.95 * complexity_of_all, "{spec}: {complexity} of {complexity_of_all}");
        }
    }
}
