//! The factors of the levels, from the energy of what each of them says.
//!
//! With z_l = C_lᵀ (Σ_d S_dᵀ A_d⁻¹ S_d) C_l r for one residual r, the correction Σ w_l z_l leaves the error e of A e = r with the energy
//! ‖e − Σ w_l z_l‖²_A = ‖e‖²_A − 2 Σ w_l z_l·r + Σ w_l w_k z_l·A z_k. Its minimum needs products with A, not e itself.
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

use crate::place::{Domains, Place};
use crate::subdomains::Subdomains;

/// The factors of the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weights {
    /// 1 for each (§4.1).
    #[default]
    Ones,
    /// Those that leave the least energy of one random residual, none below 0: a level that says what others say already counts less, or
    /// not at all.
    ///
    /// A patch keeps them. *Cost* an application and a product with A for each level, in a build and in an update; a device, whose inverses are
    /// written anew for each, pays more.
    Energy,
}

impl<T: Real, B: Place> Subdomains<T, B> {
    /// Sets the factors that the recipe asks for.
    pub(crate) fn weigh(&mut self, system: System<'_, T>) -> Result<(), SetupError> {
        if self.recipe().weights == Weights::Ones {
            return Ok(());
        }
        let count = self.weights.len();
        let (b, n) = (self.plan().block(), self.plan().nodes(0) * self.plan().block());
        let mut probe = start_vector::<B::Real>(n);
        for &i in self.plan().left_out() {
            probe[i as usize * b..(i as usize + 1) * b].fill(zero()); // no level has a say there
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
        Ok(self.set_weights(&least_energy(&work, &energy))?)
    }

    /// The factor of each level, that which is solved as one system at the end.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn set_weights(&mut self, weights: &[f64]) -> Result<(), coarsen_core::Error> {
        self.weights.copy_from_slice(weights);
        self.domains.edit(&mut |inverses| {
            let count = inverses.weights.len();
            inverses.weights.copy_from_slice(&weights[..count]);
        })
    }
}

/// The w ≥ 0 of least wᵀ E w − 2 w·g; its first entry is above 0. Ones where E is not positive definite.
fn least_energy(g: &[f64], e: &[Vec<f64>]) -> Vec<f64> {
    let mut kept: Vec<usize> = (0..g.len()).collect();
    loop {
        let Some(w) = solve(g, e, &kept).filter(|w| w[0] > 0.0 || kept.len() > 1) else {
            return vec![1.0; g.len()];
        };
        // The finest level makes the operator definite, so it stays.
        let worst = (1..kept.len()).filter(|&k| w[k] <= 0.0).min_by(|&k, &l| w[k].total_cmp(&w[l]));
        match worst.or((w[0] <= 0.0).then_some(kept.len() - 1)) {
            Some(k) => drop(kept.remove(k)),
            None => {
                let mut all = vec![0.0; g.len()];
                kept.iter().zip(w).for_each(|(&l, w)| all[l] = w);
                return all;
            }
        }
    }
}

/// E w = g on the levels `kept`, by elimination; `None` where a pivot is not positive.
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
        // The second says what the first says, louder: 1 x 1 and x² − 2 x remain.
        assert_eq!(least_energy(&[4.0, 1.0], &[vec![2.0, 3.0], vec![3.0, 5.0]]), [2.0, 0.0]);
        assert_eq!(least_energy(&[1.0, 1.0], &[vec![1.0, 1.0], vec![1.0, 1.0]]), [1.0, 1.0], "singular");
    }
}
