//! Bending by the angles of hinges: discrete shells, Grinspun, Hirani, Desbrun & Schröder 2003.
//!
//! For two triangles over the edge e = x₁ − x₀ with tips x₂ and x₃, θ is the angle between their normals, positive
//! if the tips rise along them, and θ̄ is θ at rest. With A₀ and A₁ the areas at rest
//!
//! > E = ½ k w (θ − θ̄)²,  w = 3 ‖ē‖² / (A₀ + A₁)    (1)
//!
//! With N₀ = e × (x₂ − x₀), N₁ = (x₃ − x₀) × e, and the feet of the tips on the edge at t_i = (x_i − x₀)·e / ‖e‖²
//!
//! > ∂θ/∂x₂ = ‖e‖ N₀ / ‖N₀‖²,  ∂θ/∂x₃ = ‖e‖ N₁ / ‖N₁‖²    (2)
//! > ∂θ/∂x₀ = −Σ (1 − t_i) ∂θ/∂x_i,  ∂θ/∂x₁ = −Σ t_i ∂θ/∂x_i    (3)
//! > ∇²E = k w (∇θ ∇θᵀ + (θ − θ̄) ∇²θ)    (4)
//!
//! The exact Hessian differentiates (2) and (3) by dual numbers; the projected one keeps the first term of (4).

use std::f64::consts::TAU;

use coarsen_core::Dual;
use coarsen_mesh::vector::{cross, dot, sub};

use crate::bending::Hinge;
use crate::elements::{Element, Elements, Stiffness, add_outer, check_corners};
use crate::loops::Loops;
use crate::{BodyError, Curvature, Energy};

type D = Dual<f64>;

/// A hinge of a shell.
#[derive(Clone, Copy, Debug)]
pub struct Angle {
    /// k w.
    stiffness: f64,
    /// θ̄.
    rest: f64,
}

/// The bending energy of cloth or a thin shell that may be curved at rest, a sum over hinges.
///
/// *Use* where cloth is curved at rest, or bends far; [`Bending`](crate::Bending) is quadratic, agrees to second
/// order for flat cloth, and costs a tenth. A Hessian that is projected is positive semidefinite but no projection
/// onto the nearest one. *Cost* of an exact Hessian per hinge: twelve gradients with dual numbers. *Reference*
/// Grinspun et al. 2003, "Discrete shells", SCA; gradient: Bridson, Marino & Fedkiw 2003, "Simulation of clothing
/// with folds and wrinkles", SCA; the same angle is the bend condition of Baraff & Witkin 1998, §4.
///
/// ```
/// use coarsen_elastic::{Potential, Shell};
/// let flat = [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 0.0]];
/// let mut hinge = Shell::new(2.0, &[[0, 1, 2], [1, 0, 3]], &flat, &[false; 4], &flat)?;
/// let mut folded = flat;
/// folded[3] = [0.0, 0.0, 1.0]; // by a right angle
/// let right = std::f64::consts::FRAC_PI_2;
/// assert!((hinge.energy(folded.as_flattened()).value - 3.0 * right * right).abs() < 1e-12); // 2/2 · 3/1 · θ²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type Shell = Elements<Vec<Angle>, 4>;

impl Elements<Vec<Angle>, 4> {
    /// Returns the bending energy of `triangles` with the stiffness k in N m. It is 0 if all nodes are at `rest`,
    /// which may be curved. `held` nodes stay at their `positions`.
    ///
    /// # Errors
    /// [`BodyError`] if a corner is no node, a rest position is not finite, or k is not positive.
    pub fn new(
        k: f64,
        triangles: &[[u32; 3]],
        rest: &[[f64; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
        let hinges = Hinge::checked(k, triangles, rest)?;
        let angle = |hinge: &Hinge| {
            let x = hinge.corners.map(|i| rest[i as usize]);
            Angle { stiffness: hinge.of_angle(&x), rest: angle(&x) }
        };
        let angles = hinges.iter().map(angle).collect();
        let corners: Vec<[u32; 4]> = hinges.iter().map(|hinge| hinge.corners).collect();
        check_corners("hinge", &corners, positions.len())?;
        Self::of("hinge", angles, corners, held, positions)
    }
}

/// θ; 0 for an edge that has collapsed, whose triangles have no normals.
fn angle([x0, x1, x2, x3]: &[[f64; 3]; 4]) -> f64 {
    let e = sub(*x1, *x0);
    let (first, second) = (cross(e, sub(*x2, *x0)), cross(sub(*x3, *x0), e));
    let length = dot(e, e).sqrt();
    let sine = if length > 0.0 { -dot(cross(first, second), e) / length } else { 0.0 };
    sine.atan2(dot(first, second))
}

/// ∇θ, by (2) and (3). Triangles that have collapsed have none.
fn gradient(x: &[[D; 3]; 4]) -> [[D; 3]; 4] {
    let less = |a: [D; 3], b: [D; 3]| -> [D; 3] { std::array::from_fn(|k| a[k] - b[k]) };
    let inner = |a: [D; 3], b: [D; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let outer =
        |a: [D; 3], b: [D; 3]| -> [D; 3] { [(1, 2), (2, 0), (0, 1)].map(|(i, j)| a[i] * b[j] - a[j] * b[i]) };
    let [e, first, second] = [1, 2, 3].map(|i| less(x[i], x[0]));
    let (square, normals) = (inner(e, e), [outer(e, first), outer(second, e)]);
    if square.value == 0.0 || normals.iter().any(|n| inner(*n, *n).value == 0.0) {
        return [[D::default(); 3]; 4];
    }
    let feet = [first, second].map(|tip| inner(tip, e) / square);
    let tips = normals.map(|n| n.map(|c| square.sqrt() * c / inner(n, n))); // (2)
    let balance = |shares: [D; 2]| -> [D; 3] {
        std::array::from_fn(|k| -(shares[0] * tips[0][k] + shares[1] * tips[1][k])) // (3)
    };
    [balance(feet.map(|t| D::constant(1.0) - t)), balance(feet), tips[0], tips[1]]
}

/// θ − θ̄ within ±π, so that a hinge that passes π has no jump of its energy.
fn between(theta: f64, rest: f64) -> f64 {
    let bend = theta - rest;
    bend - TAU * (bend / TAU).round()
}

fn constant(x: &[[f64; 3]; 4]) -> [[D; 3]; 4] {
    x.map(|x| x.map(D::constant))
}

impl Element<4> for Vec<Angle> {
    const WORK: usize = 400;

    fn loops() -> &'static Loops<Self, 4> {
        static COMPILED: Loops<Vec<Angle>, 4> = Loops::GENERIC;
        &COMPILED
    }

    fn energy(&self, e: usize, x: &[[f64; 3]; 4]) -> Energy {
        let (hinge, theta) = (&self[e], angle(x));
        let bend = between(theta, hinge.rest);
        let slopes = gradient(&constant(x));
        let moved = (0..12).map(|k| (slopes[k / 3][k % 3].value * x[k / 3][k % 3]).abs()).sum::<f64>();
        let magnitude = bend.abs() * (moved + theta.abs() + hinge.rest.abs());
        hinge.stiffness * Energy { value: 0.5 * bend * bend, magnitude } // (1)
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let moment = self[e].stiffness * between(angle(x), self[e].rest);
        gradient(&constant(x)).map(|g| g.map(|g| moment * g.value))
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 4], curvature: Curvature, h: &mut Stiffness<4>) {
        let Angle { stiffness, rest } = self[e];
        add_outer(stiffness, &gradient(&constant(x)).map(|g| g.map(|g| g.value)), h); // (4)
        if curvature != Curvature::Exact {
            return;
        }
        let moment = stiffness * between(angle(x), rest);
        for (b, q) in (0..12).map(|k| (k / 3, k % 3)) {
            let mut along = constant(x);
            along[b][q].slope = 1.0;
            let column = gradient(&along);
            // The upper half twice, so that the Hessian is symmetric without round-off.
            for (a, p) in (0..=3 * b + q).map(|k| (k / 3, k % 3)) {
                let entry = moment * column[a][p].slope;
                h[a][p][b][q] += entry;
                if (a, p) != (b, q) {
                    h[b][q][a][p] += entry;
                }
            }
        }
    }
}
