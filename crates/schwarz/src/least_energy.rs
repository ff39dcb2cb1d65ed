//! The weights of least energy, from the work and the energies of the corrections of the levels.

use coarsen_core::small_dense::Cholesky;

/// Returns the w ≥ 0 that minimises wᵀ E w − 2 w·g. The weight of the finest level is positive, which makes
/// the operator definite. For every subset of the other levels, E w = g is solved, and a positive solution is
/// a candidate. For more than a dozen levels all weights are 1.
pub(crate) fn least_energy(g: &[f64], e: &[Vec<f64>]) -> Vec<f64> {
    let n = g.len();
    let (mut gain, mut best) = (0.0, vec![1.0; n]);
    for choice in 0..if n <= 12 { 1_u32 << (n - 1) } else { 0 } {
        let kept: Vec<usize> = (0..n).filter(|&l| l == 0 || choice >> (l - 1) & 1 == 1).collect();
        let Some(w) = solve(g, e, &kept).filter(|w| w.iter().all(|&w| w > 0.0)) else { continue };
        let energy: f64 = kept.iter().zip(&w).map(|(&l, w)| g[l] * w).sum();
        if energy > gain {
            (gain, best) = (energy, vec![0.0; n]);
            kept.iter().zip(w).for_each(|(&l, w)| best[l] = w);
        }
    }
    best
}

/// Solves E w = g on the levels `kept`; `None` if a pivot is not positive.
fn solve(g: &[f64], e: &[Vec<f64>], kept: &[usize]) -> Option<Vec<f64>> {
    let rows: Vec<f64> = kept.iter().flat_map(|&k| kept.iter().map(move |&l| e[k][l])).collect();
    let factor = Cholesky::pivoted(&rows, kept.len(), f64::EPSILON);
    let mut w: Vec<f64> = kept.iter().map(|&k| g[k]).collect();
    if factor.rank < kept.len() {
        return None;
    }
    factor.solve(&mut w);
    Some(w)
}
