//! Linear elasticity of a cube with one face held.
//!
//! Trilinear hexahedra (Q1) discretise −div σ = f, σ = λ tr(ε) I + 2 μ ε, ε = (∇u + ∇uᵀ)/2. The stiffness
//! between nodes a and b of an element is (Hughes 2000, *The Finite Element Method*, chapters 2 and 3)
//!
//! > K_ab = ∫ λ ∇N_a ∇N_bᵀ + μ ∇N_b ∇N_aᵀ + μ (∇N_a · ∇N_b) I    (1)
//!
//! The integral uses 2 x 2 x 2 Gauss points, which is exact on cubes. K_ba = K_abᵀ and A = Aᵀ hold bitwise.
//!
//! | symbol | name |
//! |---|---|
//! | E, ν | `young`, `POISSON` |
//! | λ, μ for E = 1 | `lambda`, `mu` |
//! | ∇N_a | `gradients[a]` |
//! | h | `h`, side of an element |

use crate::by_rows::ByRows;
use crate::grid::Grid;
use crate::{NumpyRandom, Problem, ProblemError, rows};

/// The smallest allowed `jump`; its inverse is the largest.
const LEAST_JUMP: f64 = 1e-12;

/// E of the soft elements, Pa.
const YOUNG: f64 = 1e5;

/// The Poisson ratio ν.
const POISSON: f64 = 0.3;

/// The number of elements along the side of a block of equal stiffness.
const BLOCK: usize = 5;

/// The seed of the matrices on which other libraries were measured.
const SEED: u64 = 11;

/// Returns linear elasticity of the unit cube of N³ trilinear hexahedra (E = 10⁵ Pa, ν = 0.3), with the face
/// x = 0 held and eliminated; 3x3 blocks.
///
/// The unknowns are the displacements of the N (N + 1)² free nodes. With `jump` ≠ 1, each block of 5³
/// elements is hard (E times `jump`) or soft with equal probability. [`NumpyRandom`] with seed 11 draws one
/// number per block, z fastest. The near-kernel consists of the six rigid-body modes about the centroid of
/// the free nodes.
///
/// ```
/// let p = coarsen_problems::elasticity3d(10, 1e4)?;
/// assert_eq!(p.matrix.shape(), (3630, 3630));
/// # Ok::<(), coarsen_problems::ProblemError>(())
/// ```
///
/// # Errors
/// [`ProblemError::Size`] for n = 0, or for `jump` ≠ 1 and n not a multiple of 5; [`ProblemError::Value`] for
/// a `jump` that is not positive and finite; [`ProblemError::Contrast`] for a `jump` above 1e12 or below
/// 1e-12, for which round-off of hard elements exceeds the stiffness of soft elements;
/// [`ProblemError::TooLarge`].
pub fn elasticity3d(n: usize, jump: f64) -> Result<Problem, ProblemError> {
    system(n, jump)?.whole()
}

/// The system of N elements per side, without its matrix.
pub(crate) fn system(n: usize, jump: f64) -> Result<ByRows<'static>, ProblemError> {
    ProblemError::check_positive("jump", jump)?;
    if !(LEAST_JUMP..=1.0 / LEAST_JUMP).contains(&jump) {
        return Err(ProblemError::Contrast { found: jump, limit: 1.0 / LEAST_JUMP });
    }
    let homogeneous = jump == 1.0;
    ProblemError::check_size("elasticity3d", n, 1, if homogeneous { 1 } else { BLOCK })?;
    let planes = n.saturating_add(1);
    // The free nodes: node x of this grid lies in plane x + 1.
    let grid = Grid::new(("elasticity3d", n), [n, planes, planes], 3)?;
    let (mut random, side) = (NumpyRandom::new(SEED), n / BLOCK);
    // Whether a block of elements is hard; empty if the body is homogeneous.
    let blocks = if homogeneous { 0 } else { side.pow(3) };
    let hard: Vec<bool> = (0..blocks).map(|_| random.uniform() < 0.5).collect();
    let young = move |element: [usize; 3]| {
        let [x, y, z] = element.map(|c| c / BLOCK);
        if hard.get((x * side + y) * side + z) == Some(&true) { YOUNG * jump } else { YOUNG }
    };
    let h = 1.0 / n as f64;
    let positions = grid.positions(|[x, y, z]| [x + 1, y, z].map(|c| c as f64 * h));
    let name = if blocks == 0 { String::new() } else { format!(" jump={jump}") };
    Ok(ByRows::new(format!("elasticity3d:{n}{name}"), 3, positions, move |_, nodes| {
        let element = stiffness(h);
        Ok(rows::assemble(nodes, 3, &|i, row| {
            let [x, y, z] = grid.at(i);
            let x = x + 1;
            let around = |c: usize| c.saturating_sub(1)..n.min(c + 1);
            for (ex, ey) in around(x).flat_map(|ex| around(y).map(move |ey| (ex, ey))) {
                for ez in around(z) {
                    let e = young([ex, ey, ez]);
                    let a = corner([x - ex, y - ey, z - ez]);
                    for (b, k) in element[a].iter().enumerate() {
                        let [dx, dy, dz] = offset(b);
                        if ex + dx > 0 {
                            row.add(grid.index([ex + dx - 1, ey + dy, ez + dz]), &k.map(|k| e * k));
                        }
                    }
                }
            }
        })?)
    }))
}

/// Returns the position of corner a of an element in units of h. z varies fastest, so that corners are in the
/// order of node numbers.
fn offset(a: usize) -> [usize; 3] {
    [a >> 2, a >> 1 & 1, a & 1]
}

/// Returns the corner at an offset.
fn corner([x, y, z]: [usize; 3]) -> usize {
    x << 2 | y << 1 | z
}

/// Returns K_ab of a cube of side h for E = 1, as row-major 3x3 matrices.
fn stiffness(h: f64) -> [[[f64; 9]; 8]; 8] {
    let lambda = POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON));
    let mu = 0.5 / (1.0 + POISSON);
    let weight = (h / 2.0).powi(3);
    let mut k = [[[0.0; 9]; 8]; 8];
    for point in 0..8 {
        let gradients = gradients(offset(point).map(|side| (2.0 * side as f64 - 1.0) / 3_f64.sqrt()), h);
        for (a, k) in k.iter_mut().enumerate() {
            for (b, k) in k.iter_mut().enumerate() {
                let (na, nb) = (gradients[a], gradients[b]);
                let dot = na[0] * nb[0] + na[1] * nb[1] + na[2] * nb[2];
                for (entry, k) in k.iter_mut().enumerate() {
                    let (p, q) = (entry / 3, entry % 3);
                    let isotropic = if p == q { mu * dot } else { 0.0 };
                    *k += weight * (lambda * (na[p] * nb[q]) + mu * (na[q] * nb[p]) + isotropic); // (1)
                }
            }
        }
    }
    k
}

/// Returns ∇N_a of the eight corners at a point of the reference cube [−1, 1]³.
fn gradients(point: [f64; 3], h: f64) -> [[f64; 3]; 8] {
    std::array::from_fn(|a| {
        let sign = offset(a).map(|side| 2.0 * side as f64 - 1.0);
        let hat: [f64; 3] = std::array::from_fn(|d| (1.0 + sign[d] * point[d]) / 2.0);
        let slope = sign.map(|s| s / h); // derivative of a hat function of width h
        [slope[0] * hat[1] * hat[2], hat[0] * slope[1] * hat[2], hat[0] * hat[1] * slope[2]]
    })
}
