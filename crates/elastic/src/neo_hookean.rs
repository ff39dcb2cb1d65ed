//! Stable neo-Hookean elasticity.
//!
//! > ψ = μ/2 (I − 3) + λ/2 (J − α)² − μ/2 log(I + 1),    α = 1 + μ/λ − μ/(4λ)    (14)
//!
//! with I = ‖F‖² and J = det F. With this α the stress is zero at rest. For small strains ψ is Hooke's law if
//! μ = 4/3 μ_Lamé and λ = λ_Lamé + 5/6 μ_Lamé (§3.4). Equation numbers are those of Smith, de Goes & Kim
//! 2018.

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, cofactor, determinant, excess, products, square};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// Stable neo-Hookean elasticity: resists compression, preserves volume, and is finite and smooth for
/// inverted elements.
///
/// *Use* as the default for soft bodies. The Hessian is indefinite under strong compression, so project it.
/// *Reference* Smith, de Goes & Kim 2018, "Stable Neo-Hookean flesh simulation", ACM TOG 37(2), Eq. 14 and
/// §4.
#[derive(Clone, Copy, Debug, Default)]
pub struct StableNeoHookean;

/// Returns μ, λ and α of (14) for the Lamé moduli.
fn parameters(Lame { lambda, mu }: Lame) -> [f64; 3] {
    let (mu, lambda) = (4.0 / 3.0 * mu, lambda + 5.0 / 6.0 * mu);
    [mu, lambda, 1.0 + 0.75 * mu / lambda]
}

impl Density for StableNeoHookean {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<StableNeoHookean>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, material: Lame, f: &[[f64; 3]; 3]) -> Energy {
        let [mu, lambda, _] = parameters(material);
        let (i, j) = (excess(f), determinant(f) - 1.0);
        // This is (14) minus its value at rest, in a form without cancellation near rest.
        let value = 0.5 * mu * (i - (0.25 * i).ln_1p()) + (0.5 * lambda * j - 0.75 * mu) * j;
        let magnitude = mu * square(f) + (lambda * j.abs() + mu) * products(f);
        Energy { value, magnitude }
    }

    fn stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let [mu, lambda, alpha] = parameters(material);
        let shear = mu * (1.0 - 1.0 / (square(f) + 1.0));
        let pressure = lambda * (determinant(f) - alpha);
        let cofactor = cofactor(f);
        std::array::from_fn(|i| std::array::from_fn(|j| shear * f[i][j] + pressure * cofactor[i][j])) // (18)
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "neo_hookean"))
    }

    fn modes(&self, material: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let [mu, lambda, alpha] = parameters(material);
        let svd = Svd::of(f);
        let s = svd.sigma;
        let i1 = square(f) + 1.0;
        let shear = mu * (1.0 - 1.0 / i1);
        let pressure = lambda * (s[0] * s[1] * s[2] - alpha);
        let around = [s[1] * s[2], s[2] * s[0], s[0] * s[1]]; // dJ/dσᵢ
        let stretch: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                let common = lambda * around[i] * around[j] + 2.0 * mu * s[i] * s[j] / (i1 * i1);
                common + if i == j { shear } else { pressure * s[3 - i - j] }
            })
        });
        Modes::new(&svd, s.map(|s| shear - pressure * s), s.map(|s| shear + pressure * s), &stretch)
    }
}
