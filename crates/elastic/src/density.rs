//! Isotropic energy densities and the eigensystem of their Hessians.
//!
//! | symbol | here | |
//! |---|---|---|
//! | F | `f` | deformation gradient |
//! | ψ | `energy` | energy per rest volume, Pa |
//! | P = ∂ψ/∂F | `stress` | first Piola-Kirchhoff stress, Pa |
//! | σᵢ | `sigma` | signed singular values of F = U diag(σ) Vᵀ |
//! | λ, μ | [`Lame`] | |

use crate::BodyError;
use crate::loops::Loops;
use crate::mat3::{Svd, eigen};
use crate::potential::Energy;
use crate::tetrahedra::Solid;

/// The Lamé moduli of an isotropic material, in Pa.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lame {
    /// λ.
    pub lambda: f64,
    /// μ, the shear modulus.
    pub mu: f64,
}

impl Lame {
    /// Returns the moduli for Young's modulus E > 0 in Pa and Poisson's ratio −1 < ν < 1/2. With other
    /// values, [`Tetrahedra::new`](crate::Tetrahedra::new) returns an error.
    ///
    /// ```
    /// let soft = coarsen_elastic::Lame::new(1e5, 0.25);
    /// assert_eq!((soft.lambda, soft.mu), (4e4, 4e4));
    /// ```
    pub fn new(young: f64, poisson: f64) -> Self {
        let mu = young / (2.0 * (1.0 + poisson));
        Self { lambda: young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson)), mu }
    }

    /// Returns the Frobenius norm of dP̂/dF̂ at F = I, the derivatives of the principal stresses by the principal
    /// stretches, 2 μ I + λ 1 1ᵀ: the characteristic stiffness ξ of a material in Pa.
    ///
    /// All densities agree at rest. Wang et al. 2020 (HOT), §5.2; the paper does not name the norm.
    ///
    /// ```
    /// let soft = coarsen_elastic::Lame { lambda: 0.0, mu: 0.5 };
    /// assert_eq!(soft.at_rest(), f64::sqrt(3.0));
    /// ```
    pub fn at_rest(self) -> f64 {
        let (own, other) = (2.0 * self.mu + self.lambda, self.lambda);
        (3.0 * own * own + 6.0 * other * other).sqrt()
    }

    /// Returns the parameters of an isotropic sheet in plane stress; `young` is Young's modulus times thickness, N/m.
    pub fn plane_stress(young: f64, poisson: f64) -> Self {
        let mu = young / (2.0 * (1.0 + poisson));
        Self { lambda: young * poisson / (1.0 - poisson * poisson), mu }
    }

    /// Checks that μ and the bulk modulus λ + 2/3 μ are positive, so that every small strain has positive
    /// energy, and that the density is bounded below.
    pub(crate) fn checked(self, index: usize, density: &impl Density) -> Result<Self, BodyError> {
        let Self { lambda, mu } = self;
        let good = |v: f64| v.is_finite() && v > 0.0;
        if !(good(mu) && good(lambda + mu * (2.0 / 3.0))) {
            Err(BodyError::Material { index, lambda, mu })
        } else if !density.is_bounded(self) {
            Err(BodyError::Unbounded { index, lambda, mu })
        } else {
            Ok(self)
        }
    }
}

/// An isotropic energy density ψ(F), finite for every F unless [`inverts`](Self::inverts) returns false.
pub trait Density: Sync + 'static {
    /// ψ(F), the energy per rest volume.
    fn energy(&self, material: Lame, f: &[[f64; 3]; 3]) -> Energy;

    /// P(F), the first Piola-Kirchhoff stress.
    fn stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> [[f64; 3]; 3];

    /// ψ(F) and P(F), for callers that need both: densities that decompose F do so once.
    fn energy_and_stress(&self, material: Lame, f: &[[f64; 3]; 3]) -> (Energy, [[f64; 3]; 3]) {
        (self.energy(material, f), self.stress(material, f))
    }

    /// The loops over tetrahedra with this density, as [`Element::loops`](crate::Element::loops). The default is right
    /// for every density.
    fn loops() -> &'static Loops<Solid<Self>, 4>
    where
        Self: Sized,
    {
        &Loops::GENERIC
    }

    /// Whether ψ is finite for inverted elements. If not, steps are limited so that no element becomes flat.
    fn inverts(&self) -> bool {
        true
    }

    /// Whether ψ is bounded below for moduli with μ > 0 and λ + 2/3 μ > 0; if not,
    /// [`Tetrahedra::new`](crate::Tetrahedra::new) refuses the moduli.
    fn is_bounded(&self, material: Lame) -> bool {
        let _ = material;
        true
    }

    /// The source of a device that computes ψ, P and the derivatives by singular values from λ and μ; `None` if there is none.
    /// `tetrahedra.cl` of this crate declares the functions. Unless the density [inverts](Self::inverts), `max_step.cl`
    /// follows. See [`ElementKernel`](crate::ElementKernel).
    fn kernel(&self) -> Option<&'static str> {
        None
    }

    /// The eigenvalues and eigenmatrices of ∂²ψ/∂F².
    fn modes(&self, material: Lame, f: &[[f64; 3]; 3]) -> Modes;
}

/// The eigensystem ∂²ψ/∂F² = Σ valueₖ vec(Qₖ) vec(Qₖ)ᵀ with orthonormal Qₖ.
///
/// For an isotropic density it is known in closed form, except for a 3x3 eigenproblem. Each pair of singular
/// directions gives a symmetric and an antisymmetric Q; the 3x3 matrix gives three diagonal Q. Setting
/// negative eigenvalues to 0 gives the projection of Teran et al. 2005. *Reference* Smith, de Goes & Kim
/// 2019, "Analytic eigensystems for isotropic distortion energies", ACM TOG 38(1), §4.
#[derive(Clone, Copy, Debug)]
pub struct Modes {
    /// Eigenvalues, Pa.
    pub values: [f64; 9],
    /// Eigenmatrices.
    pub matrices: [[[f64; 3]; 3]; 9],
}

impl Modes {
    /// Returns the modes from derivatives of ψ with respect to the singular values, ψᵢ = ∂ψ/∂σᵢ. With i and j
    /// the two directions other than k, `symmetric[k]` = (ψᵢ − ψⱼ) / (σᵢ − σⱼ) and `antisymmetric[k]` = (ψᵢ +
    /// ψⱼ) / (σᵢ + σⱼ); `stretch` = ∂²ψ/∂σᵢ∂σⱼ.
    pub(crate) fn new(
        svd: &Svd,
        symmetric: [f64; 3],
        antisymmetric: [f64; 3],
        stretch: &[[f64; 3]; 3],
    ) -> Self {
        let column = |m: &[[f64; 3]; 3], k: usize| [m[0][k], m[1][k], m[2][k]];
        let (u, v) = (&svd.u, &svd.v);
        let outer = |a: &[f64; 3], b: &[f64; 3]| -> [[f64; 3]; 3] { a.map(|x| b.map(|y| x * y)) };
        let mut modes = Self { values: [0.0; 9], matrices: [[[0.0; 3]; 3]; 9] };
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            let ij = outer(&column(u, i), &column(v, j));
            let ji = outer(&column(u, j), &column(v, i));
            modes.values[k] = symmetric[k];
            modes.values[3 + k] = antisymmetric[k];
            for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
                modes.matrices[k][p][q] = (ij[p][q] + ji[p][q]) * std::f64::consts::FRAC_1_SQRT_2;
                modes.matrices[3 + k][p][q] = (ij[p][q] - ji[p][q]) * std::f64::consts::FRAC_1_SQRT_2;
            }
        }
        let (values, vectors) = eigen(stretch);
        let diagonals: [[[f64; 3]; 3]; 3] = std::array::from_fn(|i| outer(&column(u, i), &column(v, i)));
        for k in 0..3 {
            modes.values[6 + k] = values[k];
            for (p, q) in (0..9).map(|pq| (pq / 3, pq % 3)) {
                modes.matrices[6 + k][p][q] = (0..3).map(|i| vectors[k][i] * diagonals[i][p][q]).sum();
            }
        }
        modes
    }
}
