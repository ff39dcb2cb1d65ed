//! St. Venant-Kirchhoff elasticity.
//!
//! > E = (FᵀF − I) / 2    (1)
//! > S = 2 μ E + λ tr(E) I    (2)
//! > ψ = μ ‖E‖² + λ/2 tr(E)² = ½ S : E,    P = F S    (3)
//!
//! | symbol | here | |
//! |---|---|---|
//! | E | `strain` | Green strain |
//! | S | `pull` | second Piola-Kirchhoff stress, Pa |
//! | eᵢ = (σᵢ² − 1) / 2 | | eigenvalues of E |
//!
//! With p = λ tr(E) − μ, the eigenvalues of ∂²ψ/∂F² for the symmetric and antisymmetric matrices of the pair
//! i, j are
//!
//! > p + μ (σᵢ² ± σᵢ σⱼ + σⱼ²)    (4)
//!
//! For the diagonal matrices they are the eigenvalues of p δᵢⱼ + 3 μ σᵢ² δᵢⱼ + λ σᵢ σⱼ (5).

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, mul_transposed, square, transpose};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// St. Venant-Kirchhoff elasticity: Hooke's law in the Green strain, a polynomial of degree 4 in F.
///
/// *Use* for large rotations with small strains; ψ and P need no singular values. *Not* for strong
/// compression, under which it becomes softer. The force of an element that is compressed along one axis is
/// largest at 58 % of its length (σ² = 1/3); beyond that the element yields and may invert. A mirrored
/// element has no energy, so it does not recover. The Hessian is indefinite under compression. *Reference*
/// Bonet & Wood 2008, *Nonlinear Continuum Mechanics for Finite Element Analysis*, §6.4.1; Sifakis & Barbič
/// 2012, §3.3; eigensystem by the method of Smith, de Goes & Kim 2019, §4.
///
/// ```
/// use coarsen_elastic::{Density, Lame, StVenantKirchhoff};
/// let stretched = [[3.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]; // E = (3² − 1) / 2 = 4 along x
/// let energy = StVenantKirchhoff.energy(Lame { lambda: 2.0, mu: 3.0 }, &stretched).value;
/// assert_eq!(energy, 64.0); // 3 · 4² + 2/2 · 4²
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct StVenantKirchhoff;

/// E, computed from D = F − I as (D + Dᵀ + DᵀD) / 2, so that small strains keep their digits.
fn strain(f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let columns: [[f64; 3]; 3] = transpose(f);
    let d: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|k| columns[i][k] - if i == k { 1.0 } else { 0.0 }) // rows are columns of D
    });
    let product = mul_transposed(&d, &d);
    std::array::from_fn(|i| std::array::from_fn(|j| 0.5 * (d[i][j] + d[j][i] + product[i][j]))) // (1)
}

fn pull(Lame { lambda, mu }: Lame, e: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    let pressure = lambda * (e[0][0] + e[1][1] + e[2][2]);
    std::array::from_fn(|i| {
        std::array::from_fn(|j| 2.0 * mu * e[i][j] + if i == j { pressure } else { 0.0 }) // (2)
    })
}

impl Density for StVenantKirchhoff {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<StVenantKirchhoff>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, material: Lame, f: &[[f64; 3]; 3]) -> Energy {
        let e = strain(f);
        let s = pull(material, &e);
        let mut energy = Energy::default();
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            let products: f64 = (0..3).map(|k| (f[k][i] * f[k][j]).abs()).sum();
            energy.value += 0.5 * s[i][j] * e[i][j]; // (3)
            energy.magnitude += s[i][j].abs() * (products + if i == j { 1.0 } else { 0.0 });
        }
        energy
    }

    fn stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        mul_transposed(f, &pull(material, &strain(f))) // (3), S is symmetric
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "st_venant_kirchhoff"))
    }

    fn modes(&self, Lame { lambda, mu }: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let svd = Svd::of(f);
        let s = svd.sigma;
        let p = 0.5 * lambda * (square(f) - 3.0) - mu;
        let pair = |sign: f64| {
            let of = |a: f64, b: f64| p + mu * (a * a + sign * a * b + b * b); // (4)
            [of(s[1], s[2]), of(s[2], s[0]), of(s[0], s[1])]
        };
        let stretch: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                lambda * s[i] * s[j] + if i == j { p + 3.0 * mu * s[i] * s[i] } else { 0.0 } // (5)
            })
        });
        Modes::new(&svd, pair(1.0), pair(-1.0), &stretch)
    }
}
