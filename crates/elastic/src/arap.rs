//! As-rigid-as-possible elasticity.
//!
//! > ψ = μ ‖F − R‖²,    R the rotation nearest to F    (1)
//! > P = 2 μ (F − R)    (2)
//!
//! In singular values ψ = μ Σ (σᵢ − 1)².

use crate::density::{Density, Lame, Modes};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::mat3::{Svd, mul_transposed};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// As-rigid-as-possible elasticity: μ times the squared distance of F to the nearest rotation; λ is not used.
///
/// *Use* for Projective Dynamics: its global matrix is the Hessian with
/// [`Curvature::Constant`](crate::Curvature::Constant), and its weight is 2 μ. *Not* for materials that
/// preserve volume: for small strains ψ is Hooke's law with λ = 0, so a stretched body does not become
/// thinner. The Hessian is indefinite if the sum of two singular values is below 2. *Reference* Chao,
/// Pinkall, Sanan & Schröder 2010, "A simple geometric model for elastic deformations", ACM TOG 29(4);
/// Bouaziz et al. 2014; eigensystem: Smith, de Goes & Kim 2019.
///
/// ```
/// use coarsen_elastic::{Arap, Lame, Potential, Tetrahedra};
/// let mut mesh = coarsen_mesh::Mesh::bar([1, 1, 1], 1.0);
/// let mut cube = Tetrahedra::new(Arap, &mesh, &[false; 8], |_| Lame { lambda: 0.0, mu: 3.0 })?;
/// mesh.positions.iter_mut().for_each(|p| p[0] *= 2.0); // stretched along x to the double
/// assert!((cube.energy(mesh.positions.as_flattened()).value - 3.0).abs() < 1e-14); // 3 · 1²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Arap;

impl Density for Arap {
    fn loops() -> &'static Loops<Solid<Self>, 4> {
        static COMPILED: Loops<Solid<Arap>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, Lame { mu, .. }: Lame, f: &[[f64; 3]; 3]) -> Energy {
        let sigma = Svd::of(f).sigma;
        let value = mu * sigma.iter().map(|s| (s - 1.0).powi(2)).sum::<f64>(); // (1)
        let term = |s: &f64| 2.0 * mu * (s - 1.0).abs() * (s.abs() + 1.0);
        Energy { value, magnitude: sigma.iter().map(term).sum() }
    }

    fn stress(&self, Lame { mu, .. }: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let svd = Svd::of(f);
        let r = mul_transposed(&svd.u, &svd.v);
        std::array::from_fn(|i| std::array::from_fn(|j| 2.0 * mu * (f[i][j] - r[i][j]))) // (2)
    }

    fn kernel(&self) -> Option<&'static str> {
        Some(kernel!("vector", "mat3", "rest", "tetrahedra", "arap"))
    }

    fn modes(&self, Lame { mu, .. }: Lame, f: &[[f64; 3]; 3]) -> Modes {
        let svd = Svd::of(f);
        let stretch: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| if i == j { 2.0 * mu } else { 0.0 }));
        Modes::new(&svd, [2.0 * mu; 3], svd.sums().map(|sum| 2.0 * mu - 4.0 * mu / sum), &stretch)
    }
}
