//! How far aggregates should reach: whether those of strong neighbours leave a coarse matrix that is too full.
//!
//! PᵀAP couples aggregates whose nodes are up to three neighbours apart, since P and A reach one each. In a plane that is as many as before; in space a
//! stencil of 7 becomes one of 27, and a coarse matrix of an eighth of the nodes has half of the entries. Aggregates twice as wide cost an iteration
//! or two there and halve the setup.

use coarsen_sparse::Pattern;

use super::aggregate::Couplings;

/// Share of the finer matrix that a coarser one may fill before wider aggregates pay.
const FULL: f64 = 0.45;

/// Share of couplings that must be strong: where coefficients jump, wide aggregates cost twice the iterations.
const SMOOTH: f64 = 0.9;

/// Coarse rows that are looked at.
const SAMPLES: usize = 32;

/// Whether a matrix of scalars should be coarsened by wider aggregates than these.
///
/// *Cost* a pass over the aggregates and the flags; 32 coarse rows.
pub(super) fn too_full(a: &Couplings<'_>, aggregates: &[u32], count: usize) -> bool {
    let n = a.pattern.rows();
    let (strong, off) = (a.strong.iter().filter(|s| **s).count(), a.weights.len() - n.min(a.weights.len()));
    strong as f64 > SMOOTH * off as f64 && filled(a.pattern, aggregates, count) > FULL
}

/// Entries of PᵀAP as a share of those of A, estimated from a few coarse rows.
fn filled(pattern: &Pattern, aggregates: &[u32], count: usize) -> f64 {
    let step = count.div_ceil(SAMPLES).max(1);
    let mut samples = vec![Vec::new(); count.div_ceil(step)];
    for (i, &g) in
        aggregates.iter().enumerate().filter(|(_, g)| **g != u32::MAX && (**g as usize).is_multiple_of(step))
    {
        samples[g as usize / step].push(i as u32);
    }
    let mut entries = 0;
    let rows = samples.len();
    for mut nodes in samples {
        for _ in 0..3 {
            nodes = nodes.iter().flat_map(|&i| pattern.row(i as usize).iter().copied()).collect();
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
    use crate::Spread;
    use coarsen_sparse::Strength;

    fn of(spec: &str) -> (f64, bool) {
        let a = coarsen_problems::Problem::parse(spec, &Default::default()).unwrap().matrix;
        let strength = Strength::SpectralRadius { theta: 0.48 };
        let weights = strength.weights(&a).unwrap();
        let strong = strength.strong(a.pattern(), &weights);
        let couplings = Couplings { pattern: a.pattern(), weights: &weights, strong: &strong };
        let special = vec![false; a.pattern().rows()];
        let (aggregates, count) = aggregate(&couplings, &special, Spread::Neighbours);
        (filled(a.pattern(), &aggregates, count), too_full(&couplings, &aggregates, count))
    }

    #[test]
    fn space_fills_planes_do_not_and_jumps_count() {
        assert!(matches!(of("poisson3d:24"), (0.45..0.8, true)), "{:?}", of("poisson3d:24"));
        assert!(matches!(of("poisson2d:90"), (0.1..0.4, false)), "{:?}", of("poisson2d:90"));
        assert!(matches!(of("anisotropic2d:60"), (_, false)));
        assert!(matches!(of("jump3d:24"), (0.45..0.9, false)), "{:?}", of("jump3d:24"));
    }

    #[test]
    fn a_matrix_without_couplings_is_not_full() {
        assert!(!of("poisson2d:1").1);
    }
}
