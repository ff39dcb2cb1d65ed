//! The weights of least energy, from the work and the energies of the corrections of the levels.

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

/// Solves E w = g on the levels `kept`, by elimination; `None` if a pivot is not positive.
fn solve(g: &[f64], e: &[Vec<f64>], kept: &[usize]) -> Option<Vec<f64>> {
    let n = kept.len();
    let mut a: Vec<Vec<f64>> =
        kept.iter().map(|&k| kept.iter().map(|&l| e[k][l]).chain([g[k]]).collect()).collect();
    for k in 0..n {
        let pivot = a[k][k];
        if pivot.is_nan() || pivot <= f64::EPSILON * e[kept[k]][kept[k]] {
            return None;
        }
        for i in k + 1..n {
            let factor = a[i][k] / pivot;
            for j in k..=n {
                a[i][j] -= factor * a[k][j];
            }
        }
    }
    let mut w = vec![0.0; n];
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k][j] * w[j]).sum();
        w[k] = (a[k][n] - sum) / a[k][k];
    }
    Some(w)
}
