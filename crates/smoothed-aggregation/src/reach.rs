//! The reach of aggregates: they are widened if aggregates of strong neighbours make the coarse matrix too
//! full.
//!
//! PᵀAP couples aggregates whose nodes are up to three edges apart, because P, A and Pᵀ add one edge each. In
//! 2D rows do not become longer. In 3D a stencil of 7 becomes a stencil of 27, and a coarse matrix with an
//! eighth of the nodes has half of the entries. In this case aggregates of twice the width need up to two
//! more iterations and save a third of the setup time.

use std::ops::Range;

use coarsen_core::parallel::tree;

use super::aggregate::Couplings;
use super::share::Share;

/// The number of rows per task.
const LEAF: usize = 1024;

/// The number of sampled coarse rows.
const SAMPLES: usize = 32;

/// Aggregates are widened if the coarse matrix would have more than this fraction of the entries of the finer matrix.
const FILL_FRACTION: f64 = 0.45;

/// They are widened only if more than this fraction of the couplings are strong. If couplings are strong in one direction only,
/// such aggregates would be long and thin.
const STRENGTH_FRACTION: f64 = 0.8;

/// Whether a matrix of scalars should get wider aggregates than `aggregates`.
///
/// *Cost*: a pass over the aggregates and the strong flags, and 32 coarse rows.
pub(super) fn too_full(a: &Couplings<'_>, aggregates: &[u32], count: usize, share: &Share<'_>) -> bool {
    let counts = |rows: Range<usize>| {
        let [mut strong, mut all] = [0_usize; 2];
        for i in rows.filter(|&i| !a.high_degree.contains(i)) {
            for (&s, &j) in a.strong[a.pattern.range(i)].iter().zip(a.pattern.row(i)) {
                let counted = (j as usize != i) & !a.high_degree.contains(j as usize);
                strong += usize::from(counted & s);
                all += usize::from(counted);
            }
        }
        [strong, all]
    };
    let add = |a: [usize; 2], b: [usize; 2]| [a[0] + b[0], a[1] + b[1]];
    let [strong, all] = share.sums(tree(share.own.clone(), LEAF, a.worth(), &counts, &add));
    if strong <= STRENGTH_FRACTION * all {
        return false;
    }
    let of_high_degree: usize = a.high_degree.rows().map(|node| a.pattern.range(node).len()).sum();
    let own = a.pattern.len().saturating_sub(2 * of_high_degree); // without the rows and columns of high-degree nodes
    let [coarse, fine] = share.sums_of([entries(a, aggregates, count), own as f64]);
    coarse / fine.max(1.0) > FILL_FRACTION
}

/// Estimates the entries of PᵀAP from a few coarse rows. High-degree nodes, whose rows of P are not smoothed, couple no two
/// others.
fn entries(a: &Couplings<'_>, aggregates: &[u32], count: usize) -> f64 {
    let ordinary = |i: u32| aggregates[i as usize] != u32::MAX && !a.high_degree.contains(i as usize);
    let step = count.div_ceil(SAMPLES).max(1);
    let mut samples = vec![Vec::new(); count.div_ceil(step)];
    let sampled = |nodes: Range<usize>| -> Vec<u32> {
        let nodes = nodes.map(|i| i as u32);
        nodes.filter(|&i| aggregates[i as usize].is_multiple_of(step as u32) && ordinary(i)).collect()
    };
    let append = |mut nodes: Vec<u32>, later: Vec<u32>| {
        nodes.extend(later);
        nodes
    };
    for i in tree(0..aggregates.len(), LEAF, a.worth(), &sampled, &append) {
        samples[aggregates[i as usize] as usize / step].push(i);
    }
    let mut entries = 0;
    let rows = samples.len();
    for mut nodes in samples {
        for _ in 0..3 {
            nodes = nodes.iter().flat_map(|&i| a.pattern.row(i as usize).iter().copied()).collect();
            nodes.retain(|&i| ordinary(i)); // the row of a decoupled node in P is empty
            nodes.sort_unstable();
            nodes.dedup();
        }
        let mut columns: Vec<u32> = nodes.iter().map(|&i| aggregates[i as usize]).collect();
        columns.sort_unstable();
        columns.dedup();
        entries += columns.len();
    }
    entries as f64 / rows.max(1) as f64 * count as f64
}
