//! Plastic flow, applied once after each solve.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F = U diag(σ) Vᵀ | `f` | elastic deformation gradient |
//! | ε = ln σ | `strain` | Hencky strain |
//! | σ_y | `yield_stress` | yield stress |

use coarsen::elastic::{Lame, Svd};

use crate::particles::{Matrix, mul_transposed};

/// A particle with a stretch up to this one is flat or inverted, and does not flow.
const LEAST: f64 = 1e-4;

/// A rule for plastic flow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Plasticity {
    /// None.
    #[default]
    Elastic,
    /// Von Mises: the deviator of the Kirchhoff stress is at most √(2/3) σ_y. In Hencky strain the return is
    /// radial, and the volume stays: Gao, Tampubolon, Jiang & Sifakis 2017, "An adaptive generalized
    /// interpolation material point method". At the yield strains of metals, below 1 %, the Hencky stress is
    /// that of the fixed co-rotated energy up to terms of second order. At large strains the return may raise that energy.
    VonMises {
        /// σ_y, Pa.
        yield_stress: f64,
    },
    /// Granular flow: stretches are clamped. Stomakhin et al. 2013; Wang et al. 2020, Table 2: [0.99, 1.001].
    Granular {
        /// The bounds of the stretches.
        bounds: [f64; 2],
    },
}

impl Plasticity {
    /// The bounds of Wang et al. 2020, Table 2.
    pub const GRANULAR: Self = Self::Granular { bounds: [0.99, 1.001] };

    /// Returns F after the flow; F itself where nothing flows.
    pub fn project(self, lame: Lame, f: Matrix) -> Matrix {
        match self {
            Self::Elastic => f,
            Self::VonMises { yield_stress } => {
                let svd = Svd::of(&f);
                if svd.sigma.iter().any(|s| *s <= LEAST) {
                    return f; // ln σ does not exist; the energy itself drives the particle back
                }
                let strain = svd.sigma.map(f64::ln);
                let mean = strain.iter().sum::<f64>() / 3.0;
                let deviator = strain.map(|e| e - mean);
                let size = deviator.iter().map(|e| e * e).sum::<f64>().sqrt();
                let most = (2.0_f64 / 3.0).sqrt() * yield_stress / (2.0 * lame.mu);
                if size <= most {
                    return f;
                }
                compose(&svd, deviator.map(|e| (mean + e * most / size).exp()))
            }
            Self::Granular { bounds: [low, high] } => {
                let svd = Svd::of(&f);
                if svd.sigma.iter().all(|s| (low..=high).contains(s)) {
                    return f;
                }
                compose(&svd, svd.sigma.map(|s| s.clamp(low, high)))
            }
        }
    }
}

/// U diag(σ) Vᵀ.
fn compose(svd: &Svd, sigma: [f64; 3]) -> Matrix {
    mul_transposed(&svd.u.map(|row| std::array::from_fn(|k| row[k] * sigma[k])), &svd.v)
}
