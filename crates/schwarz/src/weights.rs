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

use crate::backend::{Changed, SchwarzBackend};
use crate::least_energy::least_energy;
use crate::options::Weights;
use crate::subdomains::Subdomains;

impl<T: Real, B: SchwarzBackend> Subdomains<T, B> {
    pub(crate) fn weigh(&mut self, system: System<'_, T>) -> Result<(), SetupError> {
        if self.parameters().weights == Weights::Ones {
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
        let backend = self.backend().clone();
        let (r, mut z) = (backend.vector(&probe)?, backend.vector(&probe)?);
        let (mut said, mut product) = (Vec::new(), vec![zero(); n]);
        for level in 0..count {
            let alone: Vec<f64> = (0..count).map(|l| f64::from(u8::from(l == level))).collect();
            self.set_weights(&alone)?;
            coarsen_core::Preconditioner::apply(self, &r, &mut z);
            let mut host = vec![zero(); n];
            backend.read(&z, &mut host)?;
            said.push(host);
        }
        let (mut work, mut energy) = (vec![0.0; count], vec![vec![0.0; count]; count]);
        for k in 0..count {
            match system.contact {
                None => system.matrix.apply(&said[k], &mut product),
                Some(contact) => Sum { elastic: system.matrix, contact }.apply(&said[k], &mut product),
            }
            work[k] = said[k].dot(&probe).as_f64();
            (0..=k).for_each(|l| energy[k][l] = said[l].dot(&product).as_f64());
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
        let of_domains = &mut self.backend.inverses(&mut self.domains).weights;
        of_domains.iter_mut().zip(weights).for_each(|(to, &w)| *to = w); // without that of the coarsest level
        self.backend.upload(&mut self.domains, Changed::Weights)
    }
}
