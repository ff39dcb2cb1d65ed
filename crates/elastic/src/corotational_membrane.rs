//! A co-rotational membrane: the distance of F to a rotation, and the trace of the strain.
//!
//! F is the 3x2 matrix from the flat cloth to space, F = R S its polar decomposition with RᵀR = I, σ₁ and σ₂ are
//! the eigenvalues of S, v₁ and v₂ its eigenvectors, u_i = R v_i, n = u₁ × u₂ and s = σ₁ + σ₂.
//!
//! > ψ = μ ‖F − R‖² + λ/2 (s − 2)² = μ Σ (σ_i − 1)² + λ/2 (s − 2)²    (1)
//! > ∂ψ/∂F = 2 μ (F − R) + λ (s − 2) R    (2)
//!
//! The Hessian has six eigenvectors in the space of F:
//!
//! > both stretches u_i v_iᵀ: 2 μ I + λ R ⊗ R    (3)
//! > the flip (u₁ v₂ᵀ + u₂ v₁ᵀ)/√2: 2 μ    (4)
//! > the twist (u₁ v₂ᵀ − u₂ v₁ᵀ)/√2: 2 (μ + λ)(1 − 2/s)    (5)
//! > out of the plane, n v_iᵀ: (2 μ (σ_i − 1) + λ (s − 2)) / σ_i    (6)
//!
//! Only (5) and (6) may be negative; the projection sets them to 0.

use coarsen_mesh::vector::{cross, dot};

use crate::BodyError;
use crate::density::Lame;
use crate::elements::{Element, Elements, Stiffness, add_outer};
use crate::error::positive;
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::membrane::{Triangle, cloth};
use crate::potential::{Curvature, Energy};

/// Cloth that resists every stretch by the distance of F to a rotation, as Hooke's law in a frame that turns along.
///
/// The parameters are those of plane stress times the thickness, in N/m ([`Lame::plane_stress`]).
/// *Use* for sheets that resist stretching in all directions alike; [`Membrane`](crate::Membrane) has threads.
/// *Cost* of a Hessian per triangle: a polar decomposition of 3x2 and six outer products of 9 numbers.
/// *Reference* Etzmuß, Keckeisen & Straßer 2003, "A fast finite element solution for cloth modelling"; Wu, Wang &
/// Wang 2022, §4.2; eigensystem as in Smith, de Goes & Kim 2019, "Analytic eigensystems for isotropic distortion
/// energies", here for 3x2 matrices.
///
/// ```
/// use coarsen_elastic::{CoRotationalMembrane, Lame, Potential};
/// let (rest, held) = ([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [false; 3]);
/// let law = Lame { mu: 4.0, lambda: 2.0 };
/// let mut cloth = CoRotationalMembrane::new(law, &[[0, 1, 2]], &rest, &held, &[[0.0; 3]; 3])?;
/// let twice = [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0, 0.0]; // stretched along u to the double
/// assert_eq!(cloth.energy(&twice).value, 2.5); // 1/2 · (4 · 1² + 2/2 · 1²)
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type CoRotationalMembrane = Elements<Rotated, 3>;

/// The triangles of a flat cloth and their law.
pub struct Rotated {
    law: Lame,
    triangles: Vec<Triangle>,
}

cloth!(Rotated, Lame, |law, triangles| {
    positive("μ of a membrane", law.mu)?;
    positive("μ + λ of a membrane", law.mu + law.lambda)?;
    Ok(Rotated { law, triangles })
});

/// F = R S of a triangle.
struct Polar {
    /// σ₁ ≥ σ₂.
    sigma: [f64; 2],
    /// The columns u_i.
    u: [[f64; 3]; 2],
    /// The columns v_i.
    v: [[f64; 2]; 2],
}

impl Polar {
    /// The decomposition of the matrix with these columns.
    fn of(f: &[[f64; 3]; 2]) -> Self {
        let [a, b, c] = [dot(f[0], f[0]), dot(f[1], f[1]), dot(f[0], f[1])];
        if !(a + b).is_finite() {
            // Squares overflow: NaN lets a line search shorten its step.
            return Self { sigma: [f64::NAN; 2], u: [[f64::NAN; 3]; 2], v: [[f64::NAN; 2]; 2] };
        }
        let (sin, cos) = (0.5 * (2.0 * c).atan2(a - b)).sin_cos(); // FᵀF v₁ = σ₁² v₁
        let v = [[cos, sin], [-sin, cos]];
        let [first, second] =
            v.map(|v| -> [f64; 3] { std::array::from_fn(|p| v[0] * f[0][p] + v[1] * f[1][p]) });
        let u1 = unit(first).unwrap_or([1.0, 0.0, 0.0]);
        let along = dot(u1, second);
        let rest: [f64; 3] = std::array::from_fn(|p| second[p] - along * u1[p]);
        // In a collapsed triangle any direction orthogonal to u₁ is a limit.
        let least = (1..3).fold(0, |m, k| if u1[k].abs() < u1[m].abs() { k } else { m });
        let other = || unit(cross(u1, std::array::from_fn(|k| f64::from(k == least)))).expect("not parallel");
        let u = [u1, unit(rest).unwrap_or_else(other)];
        Self { sigma: [dot(u[0], first), dot(u[1], second)], u, v }
    }

    /// The columns of Σ weights_ij u_i v_jᵀ.
    fn mode(&self, weights: [[f64; 2]; 2]) -> [[f64; 3]; 2] {
        let entry = |p: usize, s: usize| {
            (0..4).map(|k| weights[k / 2][k % 2] * self.u[k / 2][p] * self.v[k % 2][s]).sum()
        };
        [0, 1].map(|s| std::array::from_fn(|p| entry(p, s)))
    }
}

fn unit(v: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(v, v).sqrt();
    (length > 0.0).then(|| v.map(|v| v / length))
}

impl Rotated {
    /// ∂ψ/∂σ_i.
    fn pulls(&self, [a, b]: [f64; 2]) -> [f64; 2] {
        [a, b].map(|sigma| 2.0 * self.law.mu * (sigma - 1.0) + self.law.lambda * (a + b - 2.0))
    }
}

impl Element<3> for Rotated {
    const WORK: usize = 200;

    fn loops() -> &'static Loops<Self, 3> {
        static COMPILED: Loops<Rotated, 3> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 3]) -> Energy {
        let Polar { sigma: [a, b], .. } = Polar::of(&self.triangles[e].columns(x));
        let Lame { mu, lambda } = self.law;
        let density = mu * ((a - 1.0).powi(2) + (b - 1.0).powi(2)) + 0.5 * lambda * (a + b - 2.0).powi(2); // (1)
        let [p, q] = self.pulls([a, b]);
        let magnitude = p.abs() * (a + 1.0) + q.abs() * (b + 1.0);
        let area = self.triangles[e].area;
        Energy { value: area * density, magnitude: area * magnitude }
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
        let triangle = &self.triangles[e];
        let polar = Polar::of(&triangle.columns(x));
        let [p, q] = self.pulls(polar.sigma);
        let stress = polar.mode([[p, 0.0], [0.0, q]]); // (2)
        triangle.spread(&stress).map(|g| g.map(|g| triangle.area * g))
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 3], curvature: Curvature, h: &mut Stiffness<3>) {
        let triangle = &self.triangles[e];
        let (Lame { mu, lambda }, area) = (self.law, triangle.area);
        let mut add = |weight: f64, columns: &[[f64; 3]; 2]| {
            add_outer(area * weight, &triangle.spread(columns), h);
        };
        if curvature == Curvature::Constant {
            let bound = 2.0 * (mu + lambda.max(0.0)); // of (3) to (6) at rest
            for k in 0..6 {
                add(bound, &[0, 1].map(|s| std::array::from_fn(|p| f64::from(3 * s + p == k))));
            }
            return;
        }
        let polar = Polar::of(&triangle.columns(x));
        let [a, b] = polar.sigma;
        let sum = a + b;
        let above = |value: f64| if curvature == Curvature::Exact { value } else { value.max(0.0) };
        let half = std::f64::consts::FRAC_1_SQRT_2;
        add(2.0 * mu, &polar.mode([[1.0, 0.0], [0.0, 0.0]])); // (3)
        add(2.0 * mu, &polar.mode([[0.0, 0.0], [0.0, 1.0]]));
        add(lambda, &polar.mode([[1.0, 0.0], [0.0, 1.0]]));
        add(2.0 * mu, &polar.mode([[0.0, half], [half, 0.0]])); // (4)
        // A collapsed triangle has no derivative; its negative eigenvalues are left out.
        if sum > 0.0 {
            let twist = 2.0 * (mu + lambda) * (1.0 - 2.0 / sum);
            add(above(twist), &polar.mode([[0.0, half], [-half, 0.0]])); // (5)
        }
        let n = cross(polar.u[0], polar.u[1]);
        for ((pull, sigma), v) in self.pulls(polar.sigma).into_iter().zip(polar.sigma).zip(polar.v) {
            if sigma > 0.0 {
                add(above(pull / sigma), &v.map(|v| n.map(|n| n * v))); // (6)
            }
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let Lame { lambda, mu } = self.law;
        let data = self.triangles.iter().flat_map(Triangle::data).collect();
        Some((kernel!("vector", "triangle", "corotational_membrane"), data, vec![mu, lambda]))
    }

    /// The characteristic force is 2 μ + λ times the total length of the edges opposite to the node.
    fn characteristic(&self, around: &mut dyn Iterator<Item = (usize, usize)>) -> f64 {
        let modulus = 2.0 * self.law.mu + self.law.lambda;
        around.map(|(e, corner)| modulus * self.triangles[e].opposite(corner)).sum()
    }
}
