//! Neo-Hookean elasticity with the logarithm of J.
//!
//! > ψ = μ/2 (I − 3) − μ ln J + λ/2 ln² J    (6.27)
//!
//! with I = ‖F‖² and J = det F > 0. Its stress is P = μ F + (λ ln J − μ) F⁻ᵀ.

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, cofactor, determinant, excess, products, square};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// Neo-Hookean elasticity with unbounded resistance to compression: ψ is infinite for flat and inverted
/// elements.
///
/// *Use* if no element may invert, with a line search that respects the largest step; the start must not have
/// inverted elements. Otherwise use [`StableNeoHookean`](crate::StableNeoHookean). λ must not be negative,
/// since ψ is then unbounded below.
/// *Reference* Bonet & Wood 2008, *Nonlinear Continuum Mechanics for Finite Element Analysis*, §6.4.3.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeoHookean;

impl Density for NeoHookean {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<NeoHookean>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Energy {
        let (i, j) = (excess(f), determinant(f) - 1.0);
        if j.is_nan() || j <= -1.0 {
            return Energy { value: f64::INFINITY, magnitude: 0.0 };
        }
        let log = j.ln_1p();
        let value = 0.5 * mu * i - mu * log + 0.5 * lambda * log * log;
        let magnitude = mu * square(f) + ((lambda * log).abs() + mu) * products(f) / (1.0 + j);
        Energy { value, magnitude }
    }

    fn stress(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let (j, cofactor) = (determinant(f), cofactor(f));
        let pressure = (lambda * j.ln() - mu) / j;
        std::array::from_fn(|p| std::array::from_fn(|q| mu * f[p][q] + pressure * cofactor[p][q]))
    }

    fn inverts(&self) -> bool {
        false
    }

    /// λ ≥ 0: otherwise λ/2 ln² J tends to −∞ with J → 0.
    fn is_bounded(&self, Lame { lambda, .. }: Lame) -> bool {
        lambda >= 0.0
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "neo_hookean_log", "max_step"))
    }

    fn modes(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let svd = Svd::of(f);
        let s = svd.sigma;
        let log = determinant(f).ln();
        let push = mu - lambda * log;
        let pair = [s[1] * s[2], s[2] * s[0], s[0] * s[1]];
        let stretch: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                (lambda + if i == j { push } else { 0.0 }) / (s[i] * s[j]) + if i == j { mu } else { 0.0 }
            })
        });
        Modes::new(&svd, pair.map(|pair| mu + push / pair), pair.map(|pair| mu - push / pair), &stretch)
    }
}
