//! Co-rotational linear elasticity.
//!
//! > ψ = μ ‖F − R‖² + λ/2 tr(RᵀF − I)²,    F = R S with a rotation R    (1)
//!
//! In singular values ψ = μ Σ (σᵢ − 1)² + λ/2 (Σ σᵢ − 3)².

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, mul_transposed};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// Co-rotational linear elasticity: linear in strain, invariant under rotations.
///
/// *Use* for moderate strains. *Not* for strong compression, to which it does not become stiffer: use
/// [`StableNeoHookean`](crate::StableNeoHookean). The Hessian is indefinite if the sum of two singular values
/// is small. *Reference* Müller & Gross 2004; Sifakis & Barbič 2012, "FEM simulation of 3D deformable
/// solids", §3.4; eigensystem: Smith, de Goes & Kim 2019, §5.1.
#[derive(Clone, Copy, Debug, Default)]
pub struct CoRotational;

impl Density for CoRotational {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<CoRotational>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Energy {
        let sigma = Svd::of(f).sigma;
        let strain: f64 = sigma.iter().sum::<f64>() - 3.0;
        let value =
            mu * sigma.iter().map(|s| (s - 1.0).powi(2)).sum::<f64>() + 0.5 * lambda * strain * strain; // (1)
        let term = |s: &f64| (2.0 * mu * (s - 1.0).abs() + (lambda * strain).abs()) * (s.abs() + 1.0);
        Energy { value, magnitude: sigma.iter().map(term).sum() }
    }

    fn stress(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let svd = Svd::of(f);
        let strain: f64 = svd.sigma.iter().sum::<f64>() - 3.0;
        let r = mul_transposed(&svd.u, &svd.v);
        std::array::from_fn(|i| {
            std::array::from_fn(|j| 2.0 * mu * (f[i][j] - r[i][j]) + lambda * strain * r[i][j])
        })
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "corotational"))
    }

    fn modes(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let svd = Svd::of(f);
        let push = 2.0 * lambda * (svd.sigma.iter().sum::<f64>() - 3.0) - 4.0 * mu;
        let turn = |sum: f64| 2.0 * mu + push / sum; // (ψᵢ + ψⱼ) / (σᵢ + σⱼ)
        let stretch: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| lambda + if i == j { 2.0 * mu } else { 0.0 }));
        Modes::new(&svd, [2.0 * mu; 3], svd.sums().map(turn), &stretch)
    }
}
