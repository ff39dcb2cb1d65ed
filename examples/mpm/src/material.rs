//! Materials by name, and plastic flow, which is applied once after each solve.
//!
//! Numbers of materials: Wang et al. 2020 (HOT), Table 1. Each value is the mean of its range there, the geometric
//! mean for moduli and yield stresses.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F = U diag(σ) Vᵀ | `f` | elastic deformation gradient |
//! | ε = ln σ | `strain` | Hencky strain |
//! | σ_y | `yield_stress` | yield stress |

use coarsen::elastic::{Lame, Svd};
pub use examples_scene::Material;

use crate::particles::{Matrix, mul_transposed};

/// The materials of Table 1: a name, kg/m³, Young's modulus in Pa, Poisson's ratio, and a yield stress in Pa.
pub const PRESETS: [(&str, [f64; 3], Option<f64>); 6] = [
    ("tissue", [650.0, 1e4, 0.45], None),   // 300 to 1000 kg/m³, 1e2 to 1e6 Pa
    ("rubber", [1750.0, 7e6, 0.4], None),   // 1000 to 2500 kg/m³, 1e6 to 5e7 Pa
    ("bone", [1400.0, 1.45e9, 0.25], None), // 800 to 2000 kg/m³, 7e7 to 3e10 Pa
    ("pvc", [1500.0, 2.8e9, 0.35], Some(2e7)), // 1000 to 2000 kg/m³, 2e9 to 4e9 Pa, yield 1e7 to 4e7 Pa
    ("metal", [10250.0, 6.3e10, 0.3], Some(6.3e8)), // 500 to 20000 kg/m³, although no metal is as light as 500
    ("ceramic", [4000.0, 2e11, 0.3], None),         // 2000 to 6000 kg/m³, 1e11 to 4e11 Pa
];

/// The material of a name.
pub fn preset(name: &str) -> Option<Material> {
    let (_, numbers, yield_stress) = PRESETS.into_iter().find(|(known, ..)| *known == name)?;
    let [density, young, poisson] = numbers.map(Some);
    Some(Material { density, young, poisson, yield_stress, ..Material::default() })
}

/// The density, Young's modulus, Poisson's ratio and the plastic flow of a material; the numbers of its name where a key is
/// missing.
pub fn numbers(of: &Material) -> (f64, f64, f64, Plasticity) {
    let preset = of.name.as_deref().and_then(preset).unwrap_or_default();
    let either = |own: Option<f64>, preset: Option<f64>| own.or(preset).unwrap_or(f64::NAN);
    let plasticity = match (of.granular, of.yield_stress.or(preset.yield_stress)) {
        (Some(bounds), _) => Plasticity::Granular { bounds },
        (None, Some(yield_stress)) => Plasticity::VonMises { yield_stress },
        (None, None) => Plasticity::Elastic,
    };
    let [density, young] = [either(of.density, preset.density), either(of.young, preset.young)];
    (density, young, either(of.poisson, preset.poisson), plasticity)
}

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
