//! The reach of aggregates: they are widened if aggregates of strong neighbours make the coarse matrix too
//! full.
//!
//! PᵀAP couples aggregates whose nodes are up to three edges apart, because P, A and Pᵀ add one edge each. In
//! 2D rows do not become longer. In 3D a stencil of 7 becomes a stencil of 27, and a coarse matrix with an
//! eighth of the nodes has half of the entries. In this case aggregates of twice the width need up to two
//! more iterations and save a third of the setup time.

use std::ops::Range;

use coarsen_core::parallel::tree;
use coarsen_sparse::Pattern;

use super::aggregate::Couplings;
use super::thresholds::Thresholds;

/// The number of rows per task.
const LEAF: usize = 1024;

/// The number of sampled coarse rows.
const SAMPLES: usize = 32;

/// Whether a matrix of scalars should get wider aggregates than `aggregates`.
///
/// *Cost*: a pass over the aggregates and the strong flags, and 32 coarse rows.
pub(super) fn too_full(at: &Thresholds, a: &Couplings<'_>, aggregates: &[u32], count: usize) -> bool {
    let look = |rows: Range<usize>| {
        let couplings = rows.flat_map(|i| a.of(i));
        couplings.fold([0_usize; 2], |[strong, all], (_, _, s)| [strong + usize::from(s), all + 1])
    };
    let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [strong, all] = tree(0..a.pattern.rows(), LEAF, a.worth(), &look, &add);
    strong as f64 > at.even * all as f64 && filled(a.pattern, aggregates, count) > at.full
}

/// Estimates the entries of PᵀAP divided by the entries of A from a few coarse rows.
fn filled(pattern: &Pattern, aggregates: &[u32], count: usize) -> f64 {
    let step = count.div_ceil(SAMPLES).max(1);
    let mut samples = vec![Vec::new(); count.div_ceil(step)];
    for (i, &g) in aggregates.iter().enumerate().filter(|(_, g)| **g % step as u32 == 0 && **g != u32::MAX) {
        samples[g as usize / step].push(i as u32);
    }
    let mut entries = 0;
    let rows = samples.len();
    for mut nodes in samples {
        for _ in 0..3 {
            nodes = nodes.iter().flat_map(|&i| pattern.row(i as usize).iter().copied()).collect();
            nodes.retain(|&i| aggregates[i as usize] != u32::MAX); // the row of such a node in P is empty
            nodes.sort_unstable();
            nodes.dedup();
        }
        let mut columns: Vec<u32> = nodes.iter().map(|&i| aggregates[i as usize]).collect();
        columns.sort_unstable();
        columns.dedup();
        entries += columns.len();
    }
    entries as f64 / rows.max(1) as f64 * count as f64 / pattern.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::aggregate;
    use super::*;
    use crate::{Multigrid, Spread};
    use coarsen_backend::{Cpu, Setup};
    use coarsen_sparse::{Bsr, Strength};

    fn look(a: &Bsr<f64>) -> (f64, bool) {
        let strength = Strength::SpectralRadius { theta: 0.48 };
        let weights = strength.weights(a).unwrap();
        let strong = strength.strong(a.pattern(), &weights);
        let couplings = Couplings { pattern: a.pattern(), weights: &weights, strong: &strong };
        let special = vec![false; a.pattern().rows()];
        let (aggregates, count) = aggregate(&couplings, &special, false, 3);
        (
            filled(a.pattern(), &aggregates, count),
            too_full(&Thresholds::default(), &couplings, &aggregates, count),
        )
    }

    fn problem(spec: &str) -> Bsr<f64> {
        coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix
    }

    #[test]
    fn space_fills_planes_do_not() {
        for (spec, range, wide) in [
            ("poisson3d:24", 0.45..0.8, true),
            ("jump3d:24", 0.45..0.8, true),
            ("poisson2d:90", 0.1..0.4, false),
            ("anisotropic2d:60", 0.1..0.45, false),
        ] {
            let (filled, found) = look(&problem(spec));
            assert!(range.contains(&filled) && found == wide, "{spec}: {filled}, {found}");
        }
    }

    #[test]
    fn the_recipe_follows_on_scalars() {
        for (spec, fewer) in [("poisson3d:24", true), ("poisson2d:40", false), ("elasticity3d:6", false)] {
            let a = problem(spec);
            let coarse = |spread: Spread| {
                let mut recipe = Multigrid::tamstorf();
                recipe.coarsening.spread = spread;
                recipe.build(&a, &Cpu::new()).unwrap().matrix(1).unwrap().shape().0
            };
            let (near, fitted) = (coarse(Spread::Neighbours), coarse(Spread::Fitted));
            assert!(if fewer { 3 * fitted < 2 * near } else { fitted == near }, "{spec}: {fitted} of {near}");
        }
    }

    #[test]
    fn uneven_couplings_and_none_stay_narrow() {
        let mut a = problem("poisson3d:24");
        let pattern = a.pattern().clone();
        for i in 0..pattern.rows() {
            for k in pattern.range(i) {
                let j = pattern.indices()[k] as usize;
                if i.abs_diff(j) == 24 * 24 {
                    a.values_mut()[k] = -0.01; // along the third axis
                }
            }
        }
        assert!(!look(&a).1);
        assert!(!look(&problem("poisson2d:1")).1);
    }
}
