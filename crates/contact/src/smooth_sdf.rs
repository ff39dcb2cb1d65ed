//! A closed surface by a smooth signed distance.
//!
//! | symbol | here | |
//! |---|---|---|
//! | d_c | `samples` | the distance at sample c of a grid, as of [`SdfGrid`] |
//! | h, f | `h`, `offsets` | the spacing, and the position relative to the nearest sample in units of h |
//! | w | [`weights`] | quadratic B-splines |
//! | s | `shift` | how far a point of the surface is outside of Σ w_c d_c = 0 at most |
//!
//! > d(x) = Σ w_c d_c − s,  w(f) = (½ − f)²/2, ¾ − f², (½ + f)²/2 on each axis    (1)
//! >
//! > ∇d = Σ ∇w_c d_c,  ∇²d = Σ ∇²w_c d_c    (2)
//!
//! The sum smooths: it is d plus h²/8 of its Laplacian, which is large at convex edges. They are cut, and s grows the
//! solid by that much. At a point x of the surface |d_c| ≤ ‖x − x_c‖, and the weights have the variance h²/4 on each axis,
//! so that
//!
//! > s ≤ Σ w_c ‖x − x_c‖ ≤ (Σ w_c ‖x − x_c‖²)^½ = (3/4)^½ h    (3)
//!
//! The grid ends 2.5 h outside of the box of the surface, where Σ w_c d_c ≥ 2.5 h, since d_c is at least the distance to the box.
//! Solids that are grown by less than (2.5 − (3/4)^½) h end before. *Reference* the weights: de Boor 2001, "A practical guide
//! to splines", chapter IX.

use std::ops::Range;
use std::sync::Arc;

use coarsen_mesh::vector::{cross, sub};

use crate::shape::norm;
use crate::{ContactError, SdfGrid, Shape};

/// A closed surface of triangles as a solid whose distance has a continuous gradient.
///
/// [`gradient`](Shape::gradient) and [`curvature`](Shape::curvature) are those of the distance itself, so an
/// [`Obstacle`](crate::Obstacle) of this shape has forces that are exact gradients of its energy, and Newton's method
/// converges. The solid is a little larger than the surface: it contains points of the surface that are at most the
/// spacing apart, among them all vertices. It is larger by half of the spacing for a cube, by less if no corner is sharp,
/// and by 0.87 of the spacing at most, whatever the corners. *Use* for contact of nodes with a solid of any form, grown by
/// up to 1.5 samples. *Not* for exact distances: see [`SdfGrid`]. *Not* for features thinner than two samples, nor farther
/// away from the box of the surface than 2.5 samples, where the gradient jumps. *Cost* of a distance: 27 samples; of the
/// setup: that of [`SdfGrid`], and a distance for each square of the spacing on the surface and each spacing on the sides
/// of triangles. *Memory*: 8 bytes for each sample, shared by all clones.
///
/// ```
/// use coarsen_contact::{Shape, SmoothSdf};
/// let corners = [[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
/// let triangles = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
/// let inside = |x: [f64; 3]| x.iter().all(|x| *x > 0.0) && x.iter().sum::<f64>() < 1.0;
/// let solid = SmoothSdf::new(&corners, &triangles, 0.05, inside)?;
/// assert!(solid.distance([0.0, 0.2, 0.2]) <= 0.0 && solid.distance([-0.05, 0.2, 0.2]) > 0.02);
/// assert!((solid.normal([-0.05, 0.2, 0.2])[0] + 1.0).abs() < 1e-9);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SmoothSdf {
    grid: Arc<SdfGrid>,
    /// s, and the distance by which the solid is grown.
    shift: f64,
}

/// The weights of three samples, and their first and second derivatives in units of 1/h and 1/h².
fn weights(f: f64) -> [[f64; 3]; 3] {
    let (left, right) = (0.5 - f, 0.5 + f);
    [[0.5 * left * left, 0.75 - f * f, 0.5 * right * right], [-left, -2.0 * f, right], [1.0, -2.0, 1.0]]
}

/// Points of a triangle in rows along its longest side, and of its sides; neighbours are at most h apart.
fn points(corners: [[f64; 3]; 3], h: f64) -> impl Iterator<Item = [f64; 3]> {
    let between =
        |from: [f64; 3], to: [f64; 3], part: f64| [0, 1, 2].map(|c| from[c] + part * (to[c] - from[c]));
    let line = move |from: [f64; 3], to: [f64; 3]| {
        let parts = (norm(sub(to, from)) / h).ceil().max(1.0) as usize;
        (0..=parts).map(move |i| between(from, to, i as f64 / parts as f64))
    };
    let length = |k: &usize| norm(sub(corners[(k + 1) % 3], corners[*k]));
    let longest = (0..3).max_by(|a, b| length(a).total_cmp(&length(b))).unwrap_or(0);
    let [left, right, top] = [0, 1, 2].map(|k| corners[(longest + k) % 3]);
    let height = norm(cross(sub(right, left), sub(top, left))) / norm(sub(right, left));
    let rows = (height / h).ceil().max(1.0) as usize; // 1 if the triangle is a point
    let row = move |j: usize| {
        let up = j as f64 / rows as f64;
        line(between(left, top, up), between(right, top, up))
    };
    (0..rows).flat_map(row).chain(line(left, top)).chain(line(right, top))
}

impl SmoothSdf {
    /// Samples a surface as [`SdfGrid::new`] does, and grows the solid so that it contains the vertices and other points
    /// of the surface that are at most `h` apart.
    ///
    /// # Errors
    /// As [`SdfGrid::new`].
    pub fn new(
        positions: &[[f64; 3]],
        triangles: &[[u32; 3]],
        h: f64,
        inside: impl Fn([f64; 3]) -> bool,
    ) -> Result<Self, ContactError> {
        let grid = Arc::new(SdfGrid::new(positions, triangles, h, inside)?);
        let mut solid = Self { grid, shift: 0.0 };
        for corners in triangles.iter().map(|t| t.map(|v| positions[v as usize])) {
            for at in points(corners, h) {
                solid.shift = solid.shift.max(solid.smooth(at));
            }
        }
        Ok(solid)
    }

    /// The same solid, larger by this distance on all sides: by up to 1.5 samples, since the gradient jumps at the surface
    /// of larger ones.
    #[must_use]
    pub fn grown(&self, by: f64) -> Self {
        Self { grid: self.grid.clone(), shift: self.shift + by }
    }

    /// The nearest sample to the nearest point of the grid, the position of that point relative to it in units of h,
    /// and the displacement from the point to x.
    fn place(&self, x: [f64; 3]) -> ([usize; 3], [f64; 3], [f64; 3]) {
        let (mut sample, mut offset, mut away) = ([0; 3], [0.0; 3], [0.0; 3]);
        let (low, h, counts) = self.grid.extent();
        for k in 0..3 {
            let along = (x[k] - low[k]) / h;
            let at = along.clamp(0.5, counts[k] as f64 - 1.5);
            sample[k] = (at.round() as usize).clamp(1, counts[k] - 2);
            offset[k] = at - sample[k] as f64;
            away[k] = h * (along - at);
        }
        (sample, offset, away)
    }

    /// Σ over the samples around a place of their distance, times a product of derivatives of weights; `orders` are the
    /// orders of the derivatives.
    fn sum(&self, sample: [usize; 3], offset: [f64; 3], orders: [usize; 3]) -> f64 {
        let [u, v, w] = [0, 1, 2].map(|k| weights(offset[k])[orders[k]]);
        let around = |at: usize| -> Range<usize> { at - 1..at + 2 };
        let mut sum = 0.0;
        for (k, w) in around(sample[2]).zip(w) {
            for (j, v) in around(sample[1]).zip(v) {
                let row: f64 = around(sample[0]).zip(u).map(|(i, u)| u * self.grid.sample([i, j, k])).sum();
                sum += w * v * row;
            }
        }
        sum
    }

    /// Σ w_c d_c.
    fn smooth(&self, x: [f64; 3]) -> f64 {
        let (sample, offset, away) = self.place(x);
        self.sum(sample, offset, [0; 3]) + norm(away) // (1)
    }
}

impl Shape for SmoothSdf {
    fn distance(&self, x: [f64; 3]) -> f64 {
        if x.iter().any(|x| x.is_nan()) { f64::NAN } else { self.smooth(x) - self.shift }
    }

    /// The direction of the gradient; the y axis where the gradient is 0.
    fn normal(&self, x: [f64; 3]) -> [f64; 3] {
        let gradient = self.gradient(x);
        let length = norm(gradient);
        if length > 0.0 { gradient.map(|g| g / length) } else { [0.0, 1.0, 0.0] }
    }

    /// ∇d of (2), outside the grid the direction of the displacement from it.
    fn gradient(&self, x: [f64; 3]) -> [f64; 3] {
        let (sample, offset, away) = self.place(x);
        let (far, h) = (norm(away), self.grid.extent().1);
        if far > 0.0 {
            return away.map(|a| a / far);
        }
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map(|orders| self.sum(sample, offset, orders) / h)
    }

    /// ∇²d of (2); 0 outside the grid.
    fn curvature(&self, x: [f64; 3]) -> [[f64; 3]; 3] {
        let (sample, offset, away) = self.place(x);
        if norm(away) > 0.0 {
            return [[0.0; 3]; 3];
        }
        let h = self.grid.extent().1;
        let entry = |p: usize, q: usize| {
            let mut orders = [0; 3];
            orders[p] += 1;
            orders[q] += 1;
            self.sum(sample, offset, orders) / (h * h)
        };
        std::array::from_fn(|p| std::array::from_fn(|q| entry(p, q)))
    }

    /// That of the samples: slopes of (1) are means of differences between neighbours.
    fn lipschitz(&self) -> f64 {
        self.grid.lipschitz()
    }

    fn magnitude(&self, x: [f64; 3]) -> f64 {
        self.grid.magnitude(x) + self.shift.abs()
    }
}
