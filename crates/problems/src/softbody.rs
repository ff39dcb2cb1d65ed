//! One implicit step of a soft body of tetrahedra: linear, or neo-Hookean at a deformed state.
//!
//! > A = M + Δt² K,  K_ab = V Σ C_(ij)(kl) ∇N_a,j ∇N_b,l    (1)
//!
//! with C = ∂P/∂F at the deformation gradient F of each element. For the energy μ/2 (tr FᵀF − 3) − μ ln J + λ/2 ln² J (Bonet & Wood 2008,
//! *Nonlinear Continuum Mechanics for Finite Element Analysis*, §6.4.3), with G = F⁻¹,
//!
//! > C_(ij)(kl) = μ δ_ik δ_jl + (μ − λ ln J) G_li G_jk + λ G_ji G_lk    (2)
//!
//! Its negative eigenvalues become zero, element by element (Teran et al. 2005, *Robust Quasistatic Finite Elements and Flesh
//! Simulation*), so that A is positive definite. At F = I it is linear elasticity, up to the rotations that (2) does not see.

use coarsen_core::parallel::{self, each};
use coarsen_mesh::Mesh;
use coarsen_sparse::NearKernel;

use crate::grid::Grid;
use crate::{Problem, ProblemError};

/// E, Pa.
const YOUNG: f64 = 5e5;
/// ν.
const POISSON: f64 = 0.4;
/// Density, kg/m³.
const DENSITY: f64 = 1000.0;
/// The longest side of a body of a file, m.
const SIDE: f64 = 1.0;
/// How far the deformed state is bent, in units of the body.
const BEND: f64 = 0.15;

/// The material of a soft body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Material {
    /// Linear elasticity at rest.
    Linear,
    /// Neo-Hookean, bent and twisted.
    NeoHookean,
}

/// The matrix of an implicit Euler step of Δt = `dt` seconds for the tetrahedra of a file that [`coarsen_mesh::read`] knows; 3x3 blocks, no vertex held. The body is scaled to 1 m.
///
/// `young` scales the stiffness of each element by its number and centroid; `|_, _| 1.0` is a homogeneous body.
///
/// # Errors
/// [`ProblemError::Mesh`] for the file, [`ProblemError::Value`] for a `dt` that is not positive and finite.
pub fn softbody(
    file: &str,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<Problem, ProblemError> {
    let mesh = coarsen_mesh::read_tetrahedra(file)?.scaled(SIDE);
    let stem = file.rsplit('/').next().unwrap_or(file);
    body(format!("softbody:{stem} dt={dt}"), mesh, dt, material, young)
}

/// The same for a cube of N³ cells of five tetrahedra each.
///
/// ```
/// use coarsen_problems::{Material, softcube};
/// let p = softcube(4, 0.01, Material::NeoHookean, &|_, _| 1.0)?;
/// assert_eq!(p.matrix.shape(), (375, 375));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, [`ProblemError::TooLarge`], [`ProblemError::Value`].
pub fn softcube(
    n: usize,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<Problem, ProblemError> {
    ProblemError::check_size("softbody", n, 1, 1)?;
    let nodes = Grid::new("softbody", [n.saturating_add(1); 3], 3)?;
    let mut tetrahedra = Vec::with_capacity(5 * n * n * n);
    for (x, y, z) in (0..n * n * n).map(|c| (c / (n * n), c / n % n, c % n)) {
        let at = |k: usize| nodes.index([x + (k >> 2), y + (k >> 1 & 1), z + (k & 1)]) as u32;
        let five = if (x + y + z).is_multiple_of(2) {
            [[0, 1, 2, 4], [3, 1, 7, 2], [5, 1, 4, 7], [6, 2, 7, 4], [1, 2, 4, 7]]
        } else {
            [[1, 0, 5, 3], [2, 0, 3, 6], [4, 0, 6, 5], [7, 3, 5, 6], [0, 3, 6, 5]]
        };
        tetrahedra.extend(five.map(|t| t.map(at)));
    }
    let positions = nodes.positions(|[x, y, z]| [x, y, z].map(|c| c as f64 / n as f64));
    body(
        format!("softbody:{n} dt={dt}"),
        Mesh { positions, triangles: Vec::new(), tetrahedra },
        dt,
        material,
        young,
    )
}

fn body(
    name: String,
    mesh: Mesh,
    dt: f64,
    material: Material,
    young: &dyn Fn(usize, [f64; 3]) -> f64,
) -> Result<Problem, ProblemError> {
    ProblemError::check_positive("dt", dt)?;
    let Mesh { positions, tetrahedra: elements, .. } = mesh;
    let state = |p: [f64; 3]| match material {
        Material::Linear => p,
        Material::NeoHookean => bent(p),
    };
    let deformed: Vec<[f64; 3]> = positions.iter().map(|&p| state(p)).collect();
    let factor: Vec<f64> = elements
        .iter()
        .enumerate()
        .map(|(e, t)| {
            young(e, std::array::from_fn(|k| 0.25 * t.iter().map(|&i| positions[i as usize][k]).sum::<f64>()))
        })
        .collect();
    let n = positions.len();
    let mut blocks = vec![[0.0; 144]; elements.len()];
    let leaf = |(range, blocks): (std::ops::Range<usize>, &mut [[f64; 144]])| {
        for (e, block) in range.zip(blocks) {
            let corners = |x: &[[f64; 3]]| elements[e].map(|i| x[i as usize]);
            element(corners(&positions), corners(&deformed), dt, factor[e], material, block);
        }
    };
    each((0..elements.len(), &mut blocks[..]), 64, parallel::worth(5000 * elements.len()), &leaf);
    let mut places: Vec<(u32, u32)> = (0..n as u32).map(|i| (i, i)).collect();
    let mut values = vec![0.0; 9 * n];
    for (t, block) in elements.iter().zip(&blocks) {
        places.extend((0..16).map(|ab| (t[ab / 4], t[ab % 4])));
        values.extend_from_slice(block);
    }
    let matrix = coarsen_sparse::assembly::from_blocks(3 * n, 3 * n, (3, 3), &places, &values)?;
    matrix.check_finite()?;
    let near_kernel = NearKernel::rigid_body_modes(&deformed, 3)?;
    Ok(Problem { name, matrix, positions: deformed, near_kernel, constraints: None })
}

/// A smooth deformation with J > 0: bent along x, twisted along y.
fn bent([x, y, z]: [f64; 3]) -> [f64; 3] {
    let (s, c) = (BEND * 4.0 * y).sin_cos();
    let (x, z) = (x + BEND * (2.0 * z).sin(), z + BEND * (3.0 * y).cos());
    [c * x - s * z, 1.1 * y, s * x + c * z]
}

/// The sixteen 3x3 blocks of one element: masses on the diagonal, and Δt² K.
fn element(
    rest: [[f64; 3]; 4],
    x: [[f64; 3]; 4],
    dt: f64,
    young: f64,
    material: Material,
    out: &mut [f64; 144],
) {
    let columns = |p: [[f64; 3]; 4]| -> [[f64; 3]; 3] {
        std::array::from_fn(|i| std::array::from_fn(|k| p[k + 1][i] - p[0][i]))
    };
    let (inverse, det) = invert(columns(rest));
    if det == 0.0 || !inverse.as_flattened().iter().all(|v| v.is_finite()) {
        return;
    }
    let volume = det.abs() / 6.0;
    let gradient: [[f64; 3]; 4] = std::array::from_fn(|a| {
        if a == 0 {
            std::array::from_fn(|j| -(inverse[0][j] + inverse[1][j] + inverse[2][j]))
        } else {
            inverse[a - 1]
        }
    });
    let (young, nu) = (YOUNG * young, POISSON);
    let (mu, lambda) = (0.5 * young / (1.0 + nu), young * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)));
    let d = columns(x);
    let f: [[f64; 3]; 3] =
        std::array::from_fn(|i| std::array::from_fn(|j| (0..3).map(|k| d[i][k] * inverse[k][j]).sum()));
    let mut c = tangent(f, mu, lambda, material);
    project(&mut c);
    for (a, b) in (0..16).map(|ab| (ab / 4, ab % 4)) {
        for (i, k) in (0..9).map(|ik| (ik / 3, ik % 3)) {
            let sum: f64 = (0..9)
                .map(|jl| c[3 * i + jl / 3][3 * k + jl % 3] * gradient[a][jl / 3] * gradient[b][jl % 3])
                .sum();
            let mass = if a == b && i == k { 0.25 * DENSITY * volume } else { 0.0 };
            out[(4 * a + b) * 9 + 3 * i + k] = mass + dt * dt * volume * sum;
        }
    }
}

/// (2), rows (ij) and columns (kl); at rest that of linear elasticity.
fn tangent(f: [[f64; 3]; 3], mu: f64, lambda: f64, material: Material) -> [[f64; 9]; 9] {
    let delta = |i: usize, j: usize| f64::from(u8::from(i == j));
    let (g, det) = invert(f);
    std::array::from_fn(|ij| {
        std::array::from_fn(|kl| {
            let (i, j, k, l) = (ij / 3, ij % 3, kl / 3, kl % 3);
            match material {
                Material::Linear => {
                    lambda * delta(i, j) * delta(k, l)
                        + mu * (delta(i, k) * delta(j, l) + delta(i, l) * delta(j, k))
                }
                Material::NeoHookean => {
                    mu * delta(i, k) * delta(j, l)
                        + (mu - lambda * det.ln()) * g[l][i] * g[j][k]
                        + lambda * g[j][i] * g[l][k]
                }
            }
        })
    })
}

/// The inverse and the determinant.
fn invert(m: [[f64; 3]; 3]) -> ([[f64; 3]; 3], f64) {
    let minor = |i: usize, j: usize| {
        let (r, s, c, d) = ((i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3);
        m[r][c] * m[s][d] - m[r][d] * m[s][c]
    };
    let det = (0..3).map(|j| m[0][j] * minor(0, j)).sum::<f64>();
    (std::array::from_fn(|i| std::array::from_fn(|j| minor(j, i) / det)), det)
}

/// Makes the negative eigenvalues of a symmetric matrix zero, by Jacobi rotations (Golub & Van Loan 2013, §8.5).
fn project(m: &mut [[f64; 9]; 9]) {
    let (mut a, mut v) = (*m, [[0.0; 9]; 9]);
    (0..9).for_each(|i| v[i][i] = 1.0);
    let size: f64 = a.as_flattened().iter().map(|x| x * x).sum();
    for _ in 0..30 {
        let off: f64 = (0..9).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| a[i][j] * a[i][j]).sum();
        if off <= 1e-28 * size {
            break;
        }
        for (p, q) in (0..9).flat_map(|q| (0..q).map(move |p| (p, q))) {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
            let c = 1.0 / (t * t + 1.0).sqrt();
            let s = t * c;
            for k in 0..9 {
                let (x, y) = (a[k][p], a[k][q]);
                (a[k][p], a[k][q]) = (c * x - s * y, s * x + c * y);
            }
            for k in 0..9 {
                let (x, y) = (a[p][k], a[q][k]);
                (a[p][k], a[q][k]) = (c * x - s * y, s * x + c * y);
                let (x, y) = (v[k][p], v[k][q]);
                (v[k][p], v[k][q]) = (c * x - s * y, s * x + c * y);
            }
        }
    }
    if (0..9).all(|k| a[k][k] >= 0.0) {
        return;
    }
    for (i, j) in (0..81).map(|ij| (ij / 9, ij % 9)) {
        m[i][j] = (0..9).map(|k| a[k][k].max(0.0) * v[i][k] * v[j][k]).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_core::LinearOperator;

    #[test]
    fn negative_eigenvalues_become_zero() {
        let mut m = [[0.0; 9]; 9];
        (m[0][1], m[1][0], m[2][2]) = (2.0, 2.0, 3.0); // eigenvalues 2, -2, 3
        project(&mut m);
        for (i, j, expected) in [(0, 0, 1.0), (0, 1, 1.0), (1, 1, 1.0), (2, 2, 3.0), (3, 3, 0.0)] {
            assert!((m[i][j] - expected).abs() < 1e-12, "{i} {j}: {}", m[i][j]);
        }
    }

    /// (2) is the derivative of P = μ (F − F⁻ᵀ) + λ ln J F⁻ᵀ, by differences.
    #[test]
    fn the_tangent_is_the_derivative_of_the_stress() {
        let f = [[1.1, 0.2, 0.0], [-0.1, 0.9, 0.3], [0.0, 0.1, 1.2]];
        let stress = |f: [[f64; 3]; 3]| -> [[f64; 3]; 3] {
            let (g, det) = invert(f);
            std::array::from_fn(|i| {
                std::array::from_fn(|j| 2.0 * (f[i][j] - g[j][i]) + 5.0 * det.ln() * g[j][i])
            })
        };
        let c = tangent(f, 2.0, 5.0, Material::NeoHookean);
        let h = 1e-6;
        for kl in 0..9 {
            let moved = |by: f64| {
                let mut f = f;
                f[kl / 3][kl % 3] += by;
                stress(f)
            };
            let (more, less) = (moved(h), moved(-h));
            for ij in 0..9 {
                let slope = (more[ij / 3][ij % 3] - less[ij / 3][ij % 3]) / (2.0 * h);
                assert!((slope - c[ij][kl]).abs() < 1e-6, "{ij} {kl}");
            }
        }
    }

    #[test]
    fn rigid_motions_of_a_linear_body_cost_only_mass() {
        let p = softcube(3, 1e3, Material::Linear, &|_, _| 1.0).unwrap();
        let total: f64 = DENSITY;
        for mode in 0..6 {
            let u = p.near_kernel.column(mode);
            let mut f = vec![0.0; u.len()];
            p.matrix.apply(&u, &mut f);
            let energy: f64 = u.iter().zip(&f).map(|(u, f)| u * f).sum();
            let size: f64 = u.iter().map(|u| u * u).sum::<f64>();
            assert!(energy > 0.0 && energy < total * size, "mode {mode}: {energy}");
        }
        assert!(p.matrix.asymmetric_pair(1e-10).is_none());
    }

    #[test]
    fn bent_bodies_are_positive_definite() {
        let p =
            softcube(4, 0.01, Material::NeoHookean, &|e, _| if e.is_multiple_of(2) { 1.0 } else { 100.0 })
                .unwrap();
        for seed in 0..5 {
            let x = crate::random_vector(p.matrix.shape().0, seed);
            let mut y = x.clone();
            p.matrix.apply(&x, &mut y);
            assert!(x.iter().zip(&y).map(|(x, y)| x * y).sum::<f64>() > 0.0);
        }
    }
}
