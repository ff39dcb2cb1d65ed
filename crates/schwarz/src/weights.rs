//! The weights of the levels, computed from the remaining energy of the error.
//!
//! For one residual r, level l gives the correction z_l = C_lᵀ (Σ_d S_dᵀ A_d⁻¹ S_d) C_l r. The correction Σ
//! w_l z_l reduces the error e of A e = r to the energy ‖e − Σ w_l z_l‖²_A = ‖e‖²_A − 2 Σ w_l z_l·r + Σ w_l
//! w_k z_l·A z_k. The minimum is computed from products with A; e is not needed.
//!
//! | symbol | here |
//! |---|---|
//! | z_l·r | `work[l]` |
//! | z_l·A z_k | `energy[l][k]` |

use coarsen_backend::SetupError;
use coarsen_core::{LinearOperator, Real, Vector};
use coarsen_krylov::start_vector;
use coarsen_sparse::{Sum, System};
use num_traits::zero;

use crate::options::Weights;
use crate::place::{Changed, Place};
use crate::subdomains::Subdomains;

impl<T: Real, B: Place> Subdomains<T, B> {
    /// Sets the weights of the recipe.
    pub(crate) fn weigh(&mut self, system: System<'_, T>) -> Result<(), SetupError> {
        if self.recipe().weights == Weights::Ones {
            return Ok(());
        }
        let before = self.weights.clone();
        match self.least_energy(system) {
            Ok(weights) => Ok(self.set_weights(&weights)?),
            Err(error) => {
                self.set_weights(&before)?;
                Err(error)
            }
        }
    }

    /// Returns the best weights for one random residual, from the separate correction of each level.
    /// Afterwards the domains have the weights of the last separate correction.
    fn least_energy(&mut self, system: System<'_, T>) -> Result<Vec<f64>, SetupError> {
        let count = self.weights.len();
        let (b, n) = (self.plan().block(), self.plan().nodes(0) * self.plan().block());
        let mut probe = start_vector::<B::Real>(n);
        for &i in self.plan().left_out() {
            probe[i as usize * b..(i as usize + 1) * b].fill(zero()); // no level corrects these rows
        }
        let on = self.place().clone();
        let (r, mut z) = (on.vector(&probe)?, on.vector(&probe)?);
        let (mut said, mut product) = (Vec::new(), vec![zero(); n]);
        for level in 0..count {
            let alone: Vec<f64> = (0..count).map(|l| f64::from(u8::from(l == level))).collect();
            self.set_weights(&alone)?;
            coarsen_core::Preconditioner::apply(self, &r, &mut z);
            let mut host = vec![zero(); n];
            on.read(&z, &mut host)?;
            said.push(host);
        }
        let (mut work, mut energy) = (vec![0.0; count], vec![vec![0.0; count]; count]);
        for k in 0..count {
            match system.contact {
                None => system.matrix.apply(&said[k], &mut product),
                Some(contact) => Sum { elastic: system.matrix, contact }.apply(&said[k], &mut product),
            }
            work[k] = said[k].dot(&probe).wide();
            (0..=k).for_each(|l| energy[k][l] = said[l].dot(&product).wide());
            (0..k).for_each(|l| energy[l][k] = energy[k][l]);
        }
        Ok(least_energy(&work, &energy))
    }

    /// Returns the weight of each level; the weight of the level solved as one system comes last.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn set_weights(&mut self, weights: &[f64]) -> Result<(), coarsen_core::Error> {
        self.weights.copy_from_slice(weights);
        self.domains.edit(Changed::Weights, &mut |inverses| {
            let count = inverses.weights.len();
            inverses.weights.copy_from_slice(&weights[..count]);
        })
    }
}

/// Returns the w ≥ 0 that minimises wᵀ E w − 2 w·g. The weight of the finest level is positive, which makes
/// the operator definite. For every subset of the other levels, E w = g is solved, and a positive solution is
/// a candidate. For more than a dozen levels all weights are 1.
fn least_energy(g: &[f64], e: &[Vec<f64>]) -> Vec<f64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_energy_by_hand() {
        assert_eq!(least_energy(&[2.0, 3.0], &[vec![1.0, 0.0], vec![0.0, 2.0]]), [2.0, 1.5]);
        // The correction of the second level has the same direction and another length: candidates are 1 x 1
        // and x² − 2 x.
        assert_eq!(least_energy(&[4.0, 1.0], &[vec![2.0, 3.0], vec![3.0, 5.0]]), [2.0, 0.0]);
        assert_eq!(least_energy(&[1.0, 1.0], &[vec![1.0, 1.0], vec![1.0, 1.0]]), [1.0, 0.0], "singular");
        assert_eq!(
            least_energy(&[0.0, 1.0], &[vec![1.0, 0.0], vec![0.0, 1.0]]),
            [1.0, 1.0],
            "none is positive"
        );
    }

    /// All subsets of the levels are tried: here the third level without the second is best.
    #[test]
    fn every_choice_of_levels_is_tried() {
        let e =
            [[9.7145, 10.6766, 8.5360], [10.6766, 13.3162, 8.1564], [8.5360, 8.1564, 9.9847]].map(Vec::from);
        let w = least_energy(&[8.4912, 9.9277, 9.2064], &e);
        assert!((w[0] - 0.257).abs() < 1e-3 && w[1] == 0.0 && (w[2] - 0.703).abs() < 1e-3, "{w:?}");
    }
}
