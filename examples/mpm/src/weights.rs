//! Quadratic B-splines: the weights of a particle on the 27 nodes around it.
//!
//! | symbol | here | |
//! |---|---|---|
//! | x_p | `x` | position of a particle |
//! | Δx | `dx` | spacing of the grid; node c is at Δx c |
//! | w_ip | [`Weights::weight`] | weight of node i |
//! | ∇w_ip | [`Weights::gradient`] | its gradient with respect to x_p |
//!
//! *Reference* Jiang, Schroeder, Teran, Stomakhin & Selle 2016, "The material point method for simulating
//! continuum materials", SIGGRAPH courses, Eq. 123.

/// The number of nodes around a particle.
pub const NODES: usize = 27;

/// The weights of a particle: products of three weights on each axis.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weights {
    /// The coordinates of the node with the lowest coordinates, in units of Δx: the cell of the particle.
    pub base: [i32; 3],
    /// The weights on each axis.
    pub w: [[f64; 3]; 3],
    /// Their derivatives, 1/m.
    pub dw: [[f64; 3]; 3],
}

/// The coordinates of node k of a particle relative to the base.
pub const fn corner(k: usize) -> [usize; 3] {
    [k % 3, k / 3 % 3, k / 9]
}

impl Weights {
    /// The weights of a particle at x.
    pub fn at(x: [f64; 3], dx: f64) -> Self {
        let mut weights = Self::default();
        for axis in 0..3 {
            let s = x[axis] / dx;
            let base = (s - 0.5).floor();
            let t = s - base; // from 1/2 to 3/2
            weights.base[axis] = base as i32;
            weights.w[axis] = [0.5 * (1.5 - t).powi(2), 0.75 - (t - 1.0).powi(2), 0.5 * (t - 0.5).powi(2)];
            weights.dw[axis] = [t - 1.5, 2.0 - 2.0 * t, t - 0.5].map(|slope| slope / dx);
        }
        weights
    }

    /// w_ip of the node at `corner`.
    #[inline(always)]
    pub fn weight(&self, [i, j, k]: [usize; 3]) -> f64 {
        self.w[0][i] * (self.w[1][j] * self.w[2][k])
    }

    /// ∇w_ip of the node at `corner`.
    #[inline(always)]
    pub fn gradient(&self, [i, j, k]: [usize; 3]) -> [f64; 3] {
        let Self { w, dw, .. } = self;
        [dw[0][i] * (w[1][j] * w[2][k]), w[0][i] * (dw[1][j] * w[2][k]), w[0][i] * (w[1][j] * dw[2][k])]
    }

    /// The coordinates of x_i − x_p of the three nodes on each axis.
    #[inline(always)]
    pub fn arms(&self, x: [f64; 3], dx: f64) -> [[f64; 3]; 3] {
        let mut arms = [[0.0; 3]; 3];
        for axis in 0..3 {
            for k in 0..3 {
                arms[axis][k] = dx * f64::from(self.base[axis] + k as i32) - x[axis];
            }
        }
        arms
    }

    /// x_i − x_p of the node at `corner`.
    #[inline(always)]
    pub fn arm(&self, corner: [usize; 3], x: [f64; 3], dx: f64) -> [f64; 3] {
        std::array::from_fn(|axis| dx * f64::from(self.base[axis] + corner[axis] as i32) - x[axis])
    }
}
