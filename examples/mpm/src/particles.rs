//! Particles, and the bodies to which they belong.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x_p, v_p | `x`, `v` | position and velocity |
//! | C_p | `c` | the affine part of the velocity: v(x) = v_p + C_p (x − x_p) |
//! | F_p | `f` | elastic part of the deformation gradient |
//! | m_p, V_p | `mass`, `volume` | mass and rest volume |

use coarsen::elastic::{Density, FixedCoRotated, Lame};

use examples_scene::fields;

use crate::material::Plasticity;

/// A 3x3 matrix, row by row.
pub type Matrix = [[f64; 3]; 3];

/// The identity.
pub const IDENTITY: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Particle {
    /// x_p, m.
    pub x: [f64; 3],
    /// v_p, m/s.
    pub v: [f64; 3],
    /// C_p, 1/s.
    pub c: Matrix,
    /// F_p.
    pub f: Matrix,
    /// The number of its body.
    pub body: u32,
}

fields!(Particle { x, v, c, f, body });

impl Particle {
    /// Whether v_p, C_p and F_p are finite.
    pub fn moves_finitely(&self) -> bool {
        let Self { v, c, f, .. } = self;
        v.iter().chain(c.as_flattened()).chain(f.as_flattened()).all(|number| number.is_finite())
    }
}

/// What the particles of a body have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Body {
    /// m_p of each particle, kg.
    pub mass: f64,
    /// V_p of each particle, m³.
    pub volume: f64,
    /// The moduli of the fixed co-rotated energy.
    pub lame: Lame,
    /// The plastic flow.
    pub plasticity: Plasticity,
}

/// Sums over all particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Mass, kg.
    pub mass: f64,
    /// Momentum, kg m/s.
    pub momentum: [f64; 3],
    /// Angular momentum about the origin with the affine parts, kg m²/s.
    pub angular: [f64; 3],
    /// Kinetic energy with the affine parts, J.
    pub kinetic: f64,
    /// Elastic energy, J.
    pub elastic: f64,
    /// −Σ m g·x, J.
    pub height: f64,
}

impl Totals {
    /// The sums over particles on a grid with spacing Δx.
    pub fn of(particles: &[Particle], bodies: &[Body], dx: f64, gravity: [f64; 3]) -> Self {
        let inertia = 0.25 * dx * dx; // Σ w (x_i − x_p)(x_i − x_p)ᵀ = Δx²/4 I
        let mut sum = Self::default();
        for Particle { x, v, c, f, body } in particles {
            let &Body { mass, volume, lame, .. } = &bodies[*body as usize];
            sum.mass += mass;
            sum.elastic += volume * FixedCoRotated.energy(lame, f).value;
            for k in 0..3 {
                let (i, j) = ((k + 1) % 3, (k + 2) % 3);
                sum.momentum[k] += mass * v[k];
                sum.angular[k] += mass * (x[i] * v[j] - x[j] * v[i] + inertia * (c[j][i] - c[i][j]));
                let affine: f64 = c[k].iter().map(|c| c * c).sum();
                sum.kinetic += 0.5 * mass * (v[k] * v[k] + inertia * affine);
                sum.height -= mass * gravity[k] * x[k];
            }
        }
        sum
    }

    /// Kinetic, elastic and gravitational energy, J.
    pub fn energy(&self) -> f64 {
        self.kinetic + self.elastic + self.height
    }
}

/// A B.
#[inline(always)]
pub fn mul(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j])
    })
}

/// A Bᵀ.
#[inline(always)]
pub fn mul_transposed(a: &Matrix, b: &Matrix) -> Matrix {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| a[i][0] * b[j][0] + a[i][1] * b[j][1] + a[i][2] * b[j][2])
    })
}

/// A x.
#[inline(always)]
pub fn apply(a: &Matrix, x: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|i| a[i][0] * x[0] + a[i][1] * x[1] + a[i][2] * x[2])
}
