//! Fixed co-rotated elasticity.
//!
//! > ψ = μ ‖F − R‖² + λ/2 (J − 1)²,    R the rotation nearest to F, J = det F    (1)
//! > P = 2 μ (F − R) + λ (J − 1) ∂J/∂F    (2)
//!
//! In singular values ψ = μ Σ (σᵢ − 1)² + λ/2 (σ₀ σ₁ σ₂ − 1)². ψ and P need R alone, and the Hessian the singular values.

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, cofactor, determinant, products};
use crate::polar::rotation;
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// Fixed co-rotated elasticity: the co-rotational energy with the exact change of volume J − 1.
///
/// *Use* for large deformations of soft bodies: its resistance to a change of volume grows with the change.
/// *Not* where an element must never become flat: ψ is finite there. λ must not be negative, since ψ is then
/// unbounded below. The Hessian is indefinite under
/// compression: project it. *Reference* Stomakhin, Howes, Schroeder & Teran 2012, "Energetically consistent
/// invertible elasticity", SCA; eigensystem by the method of Smith, de Goes & Kim 2019, §4.
///
/// ```
/// use coarsen_elastic::{Density, FixedCoRotated, Lame};
/// let flat = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let energy = FixedCoRotated.energy(Lame { lambda: 2.0, mu: 3.0 }, &flat).value;
/// assert!((energy - 4.0).abs() < 1e-14); // 3 · 1² + 2/2 · 1²
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct FixedCoRotated;

impl Density for FixedCoRotated {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<FixedCoRotated>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, material: Lame, f: &[[f64; 3]; 3]) -> Energy {
        energy(material, f, &rotation(f))
    }

    fn stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        stress(material, f, &rotation(f))
    }

    fn energy_and_stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> (Energy, [[f64; 3]; 3]) {
        let r = rotation(f);
        (energy(material, f, &r), stress(material, f, &r))
    }

    /// λ ≥ 0: otherwise λ/2 (J − 1)² tends to −∞ faster than the other term grows.
    fn is_bounded(&self, Lame { lambda, .. }: Lame) -> bool {
        lambda >= 0.0
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "polar", "fixed_corotated"))
    }

    fn modes(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let svd = Svd::of(f);
        let (s, sums) = (svd.sigma, svd.sums());
        let pressure = lambda * (s[0] * s[1] * s[2] - 1.0);
        let around = [s[1] * s[2], s[2] * s[0], s[0] * s[1]]; // dJ/dσᵢ
        let stretch: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                lambda * around[i] * around[j] + if i == j { 2.0 * mu } else { pressure * s[3 - i - j] }
            })
        });
        let turn = |k: usize| 2.0 * mu - 4.0 * mu / sums[k] + pressure * s[k];
        Modes::new(&svd, s.map(|s| 2.0 * mu - pressure * s), [0, 1, 2].map(turn), &stretch)
    }
}

fn energy(Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3], r: &[[f64; 3]; 3]) -> Energy {
    let growth = determinant(f) - 1.0;
    let (mut stretch, mut terms) = (0.0, 0.0);
    for (f, r) in f.as_flattened().iter().zip(r.as_flattened()) {
        let gap = f - r;
        stretch += gap * gap;
        terms += gap.abs() * (f.abs() + r.abs());
    }
    let value = mu * stretch + 0.5 * lambda * growth * growth; // (1)
    let volume = (lambda * growth).abs() * (products(f) + 1.0);
    Energy { value, magnitude: 2.0 * mu * terms + volume }
}

fn stress(Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3], r: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let cofactor = cofactor(f);
    let pressure = lambda * (determinant(f) - 1.0);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| 2.0 * mu * (f[i][j] - r[i][j]) + pressure * cofactor[i][j]) // (2)
    })
}
