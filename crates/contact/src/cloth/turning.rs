//! The exact Hessian of the energy of a pair.
//!
//! | symbol | here | |
//! |---|---|---|
//! | d, n, w, m | [`Touch`] | distance, direction, weights of the nearest points, and the share of nearly parallel edges |
//! | β | | the freedoms of the nearest points: two in a triangle, one along an edge, none at a corner |
//! | r | | Σ w_a(β) x_a, of the length d |
//! | D | `by` | ∂w/∂β |
//! | t | `along` | ∂r/∂β = Σ D_a x_a, orthogonal to n |
//! | F | `mixed` | ∂²\|r\|/∂x∂β, for each β a vector of all nodes |
//! | G | `gram` | d ∂²\|r\|/∂β² |
//! | c, ε | `crossing`, `soft` | m depends on c/ε, the squared cross product of both edges |
//!
//! > ∇²E = m φ'' ∇d ∇dᵀ + m φ' ∇²d + φ' (∇m ∇dᵀ + ∇d ∇mᵀ) + φ ∇²m    (1)
//! >
//! > ∇²d = w wᵀ ⊗ (I − n nᵀ)/d − d Σ_jk F_j (G⁻¹)_jk F_kᵀ,  F = D ⊗ n + w ⊗ t/d,  G = tᵀ t    (2)
//!
//! (2) is the second derivative of min_β |r|, by the implicit function theorem. The nearest points are those of
//! `distance`; a β at an end of its range does not move.

use coarsen_mesh::vector::{cross, dot, sub};

use super::narrow_phase::Touch;
use crate::Pair;

/// Below this share of the Gram determinant of orthogonal tangents, two freedoms count as one.
const FLAT: f64 = 1e-12;

/// A matrix of 3x3 blocks for pairs of the four nodes.
pub(super) type Blocks = [[[[f64; 3]; 3]; 4]; 4];

/// ∇²E of a pair with nodes at x and the potential [φ, φ', φ''].
pub(super) fn hessian(touch: &Touch, x: &[[f64; 3]; 4], [value, slope, bend]: [f64; 3]) -> Blocks {
    let Touch { weights: w, normal: n, distance, share, .. } = *touch;
    let (frees, count) = freedoms(touch, x);
    let inverse = inverse(&frees, count);
    let mixed = |j: usize, a: usize, p: usize| frees[j].by[a] * n[p] + w[a] * frees[j].along[p] / distance; // F
    let turn = |a: usize, b: usize, p: usize, q: usize| {
        let across = f64::from(u8::from(p == q)) - n[p] * n[q];
        let moving = |j: usize, k: usize| mixed(j, a, p) * inverse[j][k] * mixed(k, b, q);
        let all = (0..count).map(|j| (0..count).map(|k| moving(j, k)).sum::<f64>()).sum::<f64>();
        w[a] * w[b] * across / distance - distance * all // (2)
    };
    let first = touch.share_gradient(x);
    let soft = first.map(|first| (first, touch.share_hessian(x)));
    let block = |a: usize, b: usize, p: usize, q: usize| {
        let (na, nb) = (w[a] * n[p], w[b] * n[q]);
        let shared = soft.map_or(0.0, |(first, second)| {
            slope * (first[a][p] * nb + na * first[b][q]) + value * second[a][b][p][q]
        });
        share * (bend * na * nb + slope * turn(a, b, p, q)) + shared // (1)
    };
    // The upper half, so that round-off does not make it unsymmetric.
    let half = |a: usize, b: usize, p: usize, q: usize| {
        if (a, p) <= (b, q) { block(a, b, p, q) } else { block(b, a, q, p) }
    };
    std::array::from_fn(|a| {
        std::array::from_fn(|b| std::array::from_fn(|p| std::array::from_fn(|q| half(a, b, p, q))))
    })
}

/// D and t of a freedom β.
#[derive(Clone, Copy, Default)]
struct Free {
    by: [f64; 4],
    along: [f64; 3],
}

/// The freedoms of the nearest points, and their number.
fn freedoms(touch: &Touch, x: &[[f64; 3]; 4]) -> ([Free; 2], usize) {
    let (mut frees, mut count) = ([Free::default(); 2], 0);
    let mut slide = |from: usize, to: usize, sign: f64| {
        let by =
            std::array::from_fn(|a| sign * (f64::from(u8::from(a == to)) - f64::from(u8::from(a == from))));
        frees[count] = Free { by, along: sub(x[to], x[from]).map(|t| sign * t) };
        count += 1;
    };
    match touch.pair {
        Pair::VertexFace { .. } => {
            let mut live = (1..4).filter(|&a| touch.weights[a] != 0.0);
            if let Some(base) = live.next() {
                live.for_each(|a| slide(base, a, -1.0));
            }
        }
        Pair::EdgeEdge { .. } => {
            for (from, sign) in [(0, 1.0), (2, -1.0)] {
                if touch.weights[from] != 0.0 && touch.weights[from + 1] != 0.0 {
                    slide(from, from + 1, sign);
                }
            }
        }
    }
    (frees, count)
}

/// G⁻¹; of the first freedom alone if both are parallel.
fn inverse(frees: &[Free; 2], count: usize) -> [[f64; 2]; 2] {
    let gram = |j: usize, k: usize| dot(frees[j].along, frees[k].along);
    let alone = [[if count > 0 { 1.0 / gram(0, 0) } else { 0.0 }, 0.0], [0.0; 2]];
    if count < 2 {
        return alone;
    }
    let [a, b, c] = [gram(0, 0), gram(0, 1), gram(1, 1)];
    let n = cross(frees[0].along, frees[1].along);
    let determinant = dot(n, n);
    if determinant <= FLAT * a * c {
        return alone;
    }
    [[c / determinant, -b / determinant], [-b / determinant, a / determinant]]
}
