//! A closed surface by its signed distance at the points of a grid.
//!
//! > d(x) = Σ w_c d_c over the eight corners c of the cell around x,  |d_c| = min over triangles t of ‖x_c − t‖
//! >
//! > ‖∇d‖² ≤ Σ_k m_k²,  m_k ≥ 1 and ≥ |d_c − d_c'| / h for neighbours c, c' along axis k        (1)
//!
//! Samples near a triangle compare it with all triangles near them. The nearest triangles then spread from
//! neighbour to neighbour: forward and backward over the grid, twice. Outside the grid, the distance to the grid is
//! added. *Reference* nearest points by sweeps: Bærentzen & Aanæs 2005, "Signed distance computation using the angle
//! weighted pseudonormal", §2.

use coarsen_mesh::vector::sub;

use crate::error::{finite, positive};
use crate::shape::{norm, size};
use crate::triangle::{combine, nearest};
use crate::{ContactError, Shape};

/// Triangles reach samples up to this many samples from their box before the sweeps.
const BAND: f64 = 1.5;

/// The number of samples around the box of the surface: a [`SmoothSdf`](crate::SmoothSdf) solid ends within them.
const MARGIN: f64 = 3.0;

/// The rounds of sweeps.
const ROUNDS: usize = 2;

/// The largest number of samples.
const LIMIT: usize = 1 << 28;

/// A closed surface of triangles as a solid, by samples of its signed distance.
///
/// The distance is exact at samples near the surface up to the sampling of nearest triangles, and interpolated between
/// them. *Use* to ask for distances and normals of solids of any form. *Not* in an [`Obstacle`](crate::Obstacle): the
/// gradient jumps from cell to cell, and the curvature is given as 0; take [`SmoothSdf`](crate::SmoothSdf). *Not* for
/// features thinner than two samples. *Cost* of a distance: eight
/// samples, for any number of triangles; of the setup: about 60 distances to a triangle for each sample. *Memory*: 8
/// bytes for each sample.
///
/// ```
/// use coarsen_contact::{SdfGrid, Shape};
/// let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
/// let inside = |x: [f64; 3]| x.iter().all(|x| *x > 0.0) && x.iter().sum::<f64>() < 1.0;
/// let solid = SdfGrid::new(&corners, &triangles, 0.05, inside)?;
/// assert!((solid.distance([-0.03, 0.2, 0.2]) - 0.03).abs() < 1e-9);
/// assert!((solid.distance([0.02, 0.3, 0.3]) + 0.02).abs() < 1e-9);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SdfGrid {
    low: [f64; 3],
    h: f64,
    counts: [usize; 3],
    /// d_c; the first axis varies fastest.
    samples: Vec<f64>,
    /// The bound (1).
    lipschitz: f64,
}

/// No triangle yet.
const NONE: u32 = u32::MAX;

/// A surface while it is sampled.
struct Sampling<'a> {
    grid: SdfGrid,
    positions: &'a [[f64; 3]],
    triangles: &'a [[u32; 3]],
    nearest: Vec<u32>,
}

impl SdfGrid {
    /// Samples a surface at the spacing `h`, in m. `inside` tells whether a point is in the solid, for example by its
    /// winding number.
    ///
    /// # Errors
    /// [`ContactError::Value`] for a spacing that is not positive and a surface without triangles,
    /// [`ContactError::Position`] for positions that are not finite, [`ContactError::TooMany`] for more than 2²⁸
    /// samples.
    pub fn new(
        positions: &[[f64; 3]],
        triangles: &[[u32; 3]],
        h: f64,
        inside: impl Fn([f64; 3]) -> bool,
    ) -> Result<Self, ContactError> {
        let h = positive("the spacing of samples", h)?;
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for &node in triangles.as_flattened() {
            let Some(&x) = positions.get(node as usize) else {
                return Err(ContactError::Position { node: node as usize });
            };
            finite("a vertex", x).map_err(|_| ContactError::Position { node: node as usize })?;
            low = std::array::from_fn(|k| low[k].min(x[k] - MARGIN * h));
            high = std::array::from_fn(|k| high[k].max(x[k] + MARGIN * h));
        }
        if triangles.is_empty() {
            let (what, range) = ("the number of triangles of a surface", "1 or more");
            return Err(ContactError::Value { what, found: 0.0, range });
        }
        let sides: [f64; 3] = std::array::from_fn(|k| ((high[k] - low[k]) / h).ceil() + 1.0);
        let count = sides.iter().product::<f64>();
        if count > LIMIT as f64 {
            return Err(ContactError::TooMany {
                what: "samples of a surface",
                count: count as usize,
                limit: LIMIT,
            });
        }
        let counts = sides.map(|side| side as usize);
        let samples = vec![f64::INFINITY; counts.iter().product()];
        let nearest = vec![NONE; samples.len()];
        let mut sampling = Sampling {
            grid: Self { low, h, counts, samples, lipschitz: 1.0 },
            positions,
            triangles,
            nearest,
        };
        sampling.start();
        (0..ROUNDS).for_each(|_| sampling.sweep());
        let mut grid = sampling.grid;
        for at in 0..grid.samples.len() {
            if inside(grid.point(at)) {
                grid.samples[at] = -grid.samples[at];
            }
        }
        grid.lipschitz = norm([0, 1, 2].map(|axis| grid.steepest(axis)));
        Ok(grid)
    }

    /// m of (1). The 1 is for the distance to the grid, which is across the face of the grid where it ends.
    fn steepest(&self, axis: usize) -> f64 {
        let beside = |at: usize| {
            let mut next = self.coordinates(at);
            next[axis] += 1;
            (next[axis] < self.counts[axis]).then(|| self.samples[self.index(next)] - self.samples[at])
        };
        (0..self.samples.len()).filter_map(beside).fold(1.0, |most, change| most.max(change.abs() / self.h))
    }

    fn coordinates(&self, at: usize) -> [usize; 3] {
        [at % self.counts[0], at / self.counts[0] % self.counts[1], at / (self.counts[0] * self.counts[1])]
    }

    fn index(&self, [i, j, k]: [usize; 3]) -> usize {
        i + self.counts[0] * (j + self.counts[1] * k)
    }

    /// The first sample, the spacing and the number of samples along each axis, which is five or more.
    pub(crate) fn extent(&self) -> ([f64; 3], f64, [usize; 3]) {
        (self.low, self.h, self.counts)
    }

    /// d_c.
    pub(crate) fn sample(&self, at: [usize; 3]) -> f64 {
        self.samples[self.index(at)]
    }

    fn point(&self, at: usize) -> [f64; 3] {
        let c = self.coordinates(at);
        std::array::from_fn(|k| self.low[k] + self.h * c[k] as f64)
    }

    /// The cell around the nearest point of the grid, the weights in it, and the displacement from there to x.
    fn cell(&self, x: [f64; 3]) -> ([usize; 3], [f64; 3], [f64; 3]) {
        let (mut cell, mut part, mut away) = ([0; 3], [0.0; 3], [0.0; 3]);
        for k in 0..3 {
            let along = (x[k] - self.low[k]) / self.h;
            let at = along.clamp(0.0, (self.counts[k] - 1) as f64);
            cell[k] = (at as usize).min(self.counts[k] - 2);
            part[k] = at - cell[k] as f64;
            away[k] = self.h * (along - at);
        }
        (cell, part, away)
    }

    fn corner(&self, [i, j, k]: [usize; 3], corner: usize) -> f64 {
        self.samples[self.index([i + (corner & 1), j + (corner >> 1 & 1), k + (corner >> 2)])]
    }
}

impl Sampling<'_> {
    /// Compares a sample with a triangle.
    fn offer(&mut self, at: usize, t: u32) {
        let corners = self.triangles[t as usize].map(|v| self.positions[v as usize]);
        let x = self.grid.point(at);
        let distance = norm(sub(x, combine(&nearest(x, corners), &corners)));
        if distance < self.grid.samples[at] {
            (self.grid.samples[at], self.nearest[at]) = (distance, t);
        }
    }

    /// The samples near each triangle.
    fn start(&mut self) {
        let SdfGrid { low, h, counts, .. } = self.grid;
        for (t, triangle) in self.triangles.iter().enumerate() {
            let corners = triangle.map(|v| self.positions[v as usize]);
            let ends: [[usize; 2]; 3] = std::array::from_fn(|k| {
                let least = corners.iter().fold(f64::INFINITY, |m, x| m.min(x[k]));
                let most = corners.iter().fold(f64::NEG_INFINITY, |m, x| m.max(x[k]));
                let first = ((least - low[k]) / h - BAND).ceil().max(0.0) as usize;
                [first, (((most - low[k]) / h + BAND).floor() as usize + 1).min(counts[k])]
            });
            for k in ends[2][0]..ends[2][1] {
                for j in ends[1][0]..ends[1][1] {
                    for i in ends[0][0]..ends[0][1] {
                        self.offer(self.grid.index([i, j, k]), t as u32);
                    }
                }
            }
        }
    }

    /// Offers each sample the nearest triangles of the samples before it, and then of those after it.
    fn sweep(&mut self) {
        let count = self.grid.samples.len();
        for at in (0..count).chain((0..count).rev()) {
            let here = self.grid.coordinates(at);
            for side in (0..27).filter(|side| *side != 13) {
                let step = [side % 3, side / 3 % 3, side / 9];
                let beside: [usize; 3] = std::array::from_fn(|k| (here[k] + step[k]).wrapping_sub(1));
                if (0..3).all(|k| beside[k] < self.grid.counts[k]) {
                    let t = self.nearest[self.grid.index(beside)];
                    if t != NONE && t != self.nearest[at] {
                        self.offer(at, t);
                    }
                }
            }
        }
    }
}

impl Shape for SdfGrid {
    fn distance(&self, x: [f64; 3]) -> f64 {
        if x.iter().any(|x| x.is_nan()) {
            return f64::NAN;
        }
        let (cell, part, away) = self.cell(x);
        let weight = |corner: usize| {
            (0..3).map(|k| if corner >> k & 1 == 1 { part[k] } else { 1.0 - part[k] }).product::<f64>()
        };
        (0..8).map(|corner| weight(corner) * self.corner(cell, corner)).sum::<f64>() + norm(away)
    }

    /// The direction of the gradient of the interpolated distance, outside the grid that of the displacement from it; the y axis
    /// where the gradient is 0.
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let (cell, part, away) = self.cell(x);
        let slope = |axis: usize| {
            let one = |corner: usize| {
                let sign = if corner >> axis & 1 == 1 { 1.0 } else { -1.0 };
                let others = (0..3).filter(|k| *k != axis);
                let weight: f64 =
                    others.map(|k| if corner >> k & 1 == 1 { part[k] } else { 1.0 - part[k] }).product();
                sign * weight * self.corner(cell, corner)
            };
            (0..8).map(one).sum::<f64>() / self.h
        };
        let far = norm(away);
        let gradient = if far > 0.0 { away } else { [0, 1, 2].map(slope) };
        let length = norm(gradient);
        if length > 0.0 { gradient.map(|g| g / length) } else { [0.0, 1.0, 0.0] }
    }

    /// 0: the curvature of samples is not the curvature of the surface.
    fn curvature(&self, _: [f64; 3]) -> [[f64; 3]; 3] {
        [[0.0; 3]; 3]
    }

    /// √3 for exact samples of a surface that is large beside the spacing: interpolation is steepest at sharp corners.
    fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        size(x) + size(self.low) + self.h * self.counts.iter().sum::<usize>() as f64
    }
}
