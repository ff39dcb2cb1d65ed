//! Bending by the angles of hinges: discrete shells, Grinspun, Hirani, Desbrun & Schröder 2003.
//!
//! For two triangles over the edge e = x₁ − x₀ with tips x₂ and x₃, θ is the angle between their normals, positive
//! if the tips rise along them, and θ̄ is θ at rest. With A₀ and A₁ the areas at rest
//!
//! > E = ½ k w (θ − θ̄)²,  w = ‖ē‖² / (A₀ + A₁)    (1)
//!
//! k is the modulus of a plate, as in [`Bending`](crate::Bending), with the same dependence on direction; the paper has 3 ‖ē‖²,
//! so its constant is k/3.
//!
//! With N₀ = e × (x₂ − x₀), N₁ = (x₃ − x₀) × e, and the feet of the tips on the edge at t_i = (x_i − x₀)·e / ‖e‖²
//!
//! > ∂θ/∂x₂ = ‖e‖ N₀ / ‖N₀‖²,  ∂θ/∂x₃ = ‖e‖ N₁ / ‖N₁‖²    (2)
//! > ∂θ/∂x₀ = −Σ (1 − t_i) ∂θ/∂x_i,  ∂θ/∂x₁ = −Σ t_i ∂θ/∂x_i    (3)
//! > ∇²E = k w (∇θ ∇θᵀ + (θ − θ̄) ∇²θ)    (4)
//!
//! With a = x₂ − x₀, b = x₃ − x₀, g_i = ∂θ/∂x_i, the cross matrix [v] w = v × w, and P_i = ‖e‖ (I − 2 N_i N_iᵀ / ‖N_i‖²) / ‖N_i‖²
//!
//! > ∂g₂/∂a = P₀ [e],  ∂g₂/∂e = N₀ eᵀ / (‖e‖ ‖N₀‖²) − P₀ [a],  ∂g₃/∂b = −P₁ [e],  ∂g₃/∂e = N₁ eᵀ / (‖e‖ ‖N₁‖²) + P₁ [b]    (5)
//! > ∂g₁/∂e = −Σ (g_i (x_i − x₀ − 2 t_i e)ᵀ / ‖e‖² + t_i ∂g_i/∂e)    (6)
//!
//! (5) and (6) differentiate (2) and (3). The other blocks of ∇²θ follow, since it is symmetric and translations do not
//! change θ. The projected Hessian keeps the first term of (4).

use std::f64::consts::TAU;

use coarsen_mesh::vector::{cross, dot, sub};

use crate::bending::Hinge;
use crate::elements::{Element, Elements, Stiffness, add_outer, check_corners};
use crate::kernel::kernel;
use crate::loops::Loops;
use crate::{BodyError, Curvature, Energy};

type Matrix = [[f64; 3]; 3];

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
/// onto the nearest one. *Cost* of an exact Hessian per hinge: about 1,200 flops. *Reference*
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
/// assert!((hinge.energy(folded.as_flattened()).value - right * right).abs() < 1e-12); // 2/2 · 1/1 · θ²
/// # Ok::<(), coarsen_elastic::BodyError>(())
/// ```
pub type Shell = Elements<Vec<Angle>, 4>;

impl Elements<Vec<Angle>, 4> {
    /// Returns the bending energy of `triangles` with the bending modulus k of a plate in N m. It is 0 if all nodes are at `rest`,
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
        Hinge::check_stiffness(k)?;
        Self::by_hinge(|_| k, triangles, rest, held, positions)
    }

    /// As [`new`](Self::new), with a modulus for each hinge: `k` is given the ends of the edge and both tips. *Use* for
    /// cloth that bends along its threads in another way than across them.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn by_hinge(
        k: impl Fn([u32; 4]) -> f64,
        triangles: &[[u32; 3]],
        rest: &[[f64; 3]],
        held: &[bool],
        positions: &[[f64; 3]],
    ) -> Result<Self, BodyError> {
        let hinges = Hinge::checked(1.0, triangles, rest)?;
        let angle = |hinge: &Hinge| -> Result<Angle, BodyError> {
            let x = hinge.corners.map(|i| rest[i as usize]);
            let k = Hinge::check_stiffness(k(hinge.corners))?;
            Ok(Angle { stiffness: k * hinge.of_angle(&x), rest: angle(&x) })
        };
        let angles = hinges.iter().map(angle).collect::<Result<_, _>>()?;
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

/// What ∇θ and ∇²θ of a hinge share.
struct Slopes {
    /// e, and x_i − x₀ of both tips.
    edge: [f64; 3],
    arms: [[f64; 3]; 2],
    /// ‖e‖², N_i, ‖N_i‖² and t_i.
    square: f64,
    normals: [[f64; 3]; 2],
    squares: [f64; 2],
    feet: [f64; 2],
    /// g₂ and g₃.
    tips: [[f64; 3]; 2],
}

impl Slopes {
    /// `None` for a triangle that has collapsed, which has no normal.
    fn of([x0, x1, x2, x3]: &[[f64; 3]; 4]) -> Option<Self> {
        let (edge, arms) = (sub(*x1, *x0), [sub(*x2, *x0), sub(*x3, *x0)]);
        let (square, normals) = (dot(edge, edge), [cross(edge, arms[0]), cross(arms[1], edge)]);
        let squares = normals.map(|n| dot(n, n));
        if square == 0.0 || squares.contains(&0.0) {
            return None;
        }
        let feet = arms.map(|arm| dot(arm, edge) / square);
        let tips = [0, 1].map(|i| normals[i].map(|n| square.sqrt() * n / squares[i])); // (2)
        Some(Self { edge, arms, square, normals, squares, feet, tips })
    }

    /// ∇θ.
    fn gradient(&self) -> [[f64; 3]; 4] {
        let balance = |shares: [f64; 2]| -> [f64; 3] {
            std::array::from_fn(|k| -(shares[0] * self.tips[0][k] + shares[1] * self.tips[1][k])) // (3)
        };
        [balance(self.feet.map(|t| 1.0 - t)), balance(self.feet), self.tips[0], self.tips[1]]
    }

    /// ∂g_i/∂(x_i − x₀) and ∂g_i/∂e of both tips, and ∂g₁/∂e.
    fn turning(&self) -> ([[Matrix; 2]; 2], Matrix) {
        let (e, length) = (self.edge, self.square.sqrt());
        // N₁ = b × e = −e × b, so that both tips differ in the sign of cross products alone.
        let of = |i: usize, sign: f64| {
            let (n, square, arm) = (self.normals[i], self.squares[i], self.arms[i]);
            // P_i [v] has the columns P_i (v × unit vector).
            let along = |v: [f64; 3]| {
                let columns = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|unit| {
                    let d = cross(v, unit);
                    let share = 2.0 * dot(n, d) / square;
                    [0, 1, 2].map(|k| sign * length * (d[k] - share * n[k]) / square)
                });
                matrix(|p, q| columns[q][p])
            };
            let (by_arm, turned) = (along(e), along(arm));
            [by_arm, matrix(|p, q| n[p] * e[q] / (length * square) - turned[p][q])] // (5)
        };
        let blocks = [of(0, 1.0), of(1, -1.0)];
        let by_edge = matrix(|p, q| {
            let term = |i: usize| {
                let turn = (self.arms[i][q] - 2.0 * self.feet[i] * e[q]) / self.square;
                self.tips[i][p] * turn + self.feet[i] * blocks[i][1][p][q]
            };
            -(term(0) + term(1)) // (6)
        });
        (blocks, by_edge)
    }
}

fn matrix(of: impl Fn(usize, usize) -> f64) -> Matrix {
    [0, 1, 2].map(|p| [0, 1, 2].map(|q| of(p, q)))
}

/// ∇θ; 0 for triangles that have collapsed.
fn gradient(x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
    Slopes::of(x).map_or([[0.0; 3]; 4], |slopes| slopes.gradient())
}

/// θ − θ̄ within ±π, so that a hinge that passes π has no jump of its energy.
fn between(theta: f64, rest: f64) -> f64 {
    let bend = theta - rest;
    bend - TAU * (bend / TAU).round()
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
        let slopes = gradient(x);
        let moved = (0..12).map(|k| (slopes[k / 3][k % 3] * x[k / 3][k % 3]).abs()).sum::<f64>();
        let magnitude = bend.abs() * (moved + theta.abs() + hinge.rest.abs());
        hinge.stiffness * Energy { value: 0.5 * bend * bend, magnitude } // (1)
    }

    fn gradient(&self, e: usize, x: &[[f64; 3]; 4]) -> [[f64; 3]; 4] {
        let moment = self[e].stiffness * between(angle(x), self[e].rest);
        gradient(x).map(|g| g.map(|g| moment * g))
    }

    fn add_hessian(&self, e: usize, x: &[[f64; 3]; 4], curvature: Curvature, h: &mut Stiffness<4>) {
        let Angle { stiffness, rest } = self[e];
        let Some(slopes) = Slopes::of(x) else { return };
        add_outer(stiffness, &slopes.gradient(), h); // (4)
        if curvature != Curvature::Exact {
            return;
        }
        let moment = stiffness * between(angle(x), rest);
        let ([[by_a, a_by_e], [by_b, b_by_e]], by_e) = slopes.turning();
        // ∇²θ of x₁, x₂ and x₃ relative to x₀; the mean of both halves is symmetric without round-off.
        let zero = [[0.0; 3]; 3];
        let lower = [[by_e, zero, zero], [a_by_e, by_a, zero], [b_by_e, zero, by_b]];
        let relative = |i: usize, j: usize, p: usize, q: usize| match i == j {
            true => 0.5 * (lower[i][i][p][q] + lower[i][i][q][p]),
            false if i > j => lower[i][j][p][q],
            false => lower[j][i][q][p],
        };
        let sum =
            |i: usize, p: usize, q: usize| relative(i, 0, p, q) + relative(i, 1, p, q) + relative(i, 2, p, q);
        for (p, q) in (0..9).map(|k| (k / 3, k % 3)) {
            for i in 0..3 {
                (0..3).for_each(|j| h[i + 1][p][j + 1][q] += moment * relative(i, j, p, q));
                let balance = moment * sum(i, p, q);
                h[i + 1][p][0][q] -= balance;
                h[0][q][i + 1][p] -= balance;
            }
            let all = |p: usize, q: usize| sum(0, p, q) + sum(1, p, q) + sum(2, p, q);
            h[0][p][0][q] += moment * 0.5 * (all(p, q) + all(q, p));
        }
    }

    fn kernel(&self) -> Option<(&'static str, Vec<f64>, Vec<f64>)> {
        let data = self.iter().flat_map(|hinge| [hinge.stiffness, hinge.rest]).collect();
        Some((kernel!("vector", "shell"), data, Vec::new()))
    }
}
