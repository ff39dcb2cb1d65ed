//! The sheet: a square grid of cells, divided into triangles along alternating diagonals.

use std::f64::consts::PI;

use coarsen_elastic::{Curved, Hinge, Triangle};

use super::{BENDING, FABRIC};
use crate::NumpyRandom;
use crate::grid::Grid;

/// The sag of the middle line between the bars, m.
const SAG: f64 = -0.06;

/// The amplitude of the wrinkles, m.
const WRINKLE: f64 = 0.003;

/// The noise on each coordinate in units of the grid spacing.
const NOISE: f64 = 0.02;

/// The seed of the matrices on which other libraries were measured.
const SEED: u64 = 3;

/// A triangulated sheet at rest and in space.
pub(crate) struct Sheet {
    /// The number of held vertices at either end.
    bar: usize,
    /// (u, v): positions in the flat cloth, m.
    pub(crate) rest: Vec<[f64; 2]>,
    /// x: positions in space, m.
    pub(crate) positions: Vec<[f64; 3]>,
    /// The vertices of each triangle, counter-clockwise in (u, v).
    pub(crate) triangles: Vec<[u32; 3]>,
}

impl Sheet {
    /// Returns the sheet of N x N vertices, v fastest.
    pub(crate) fn new(grid: Grid, n: usize) -> Self {
        let h = 1.0 / (n - 1) as f64;
        let at = |i: usize| {
            let [u, v, _] = grid.at(i);
            [u as f64 * h, v as f64 * h]
        };
        let rest: Vec<[f64; 2]> = (0..grid.len()).map(at).collect();
        let mut random = NumpyRandom::new(SEED);
        let mut place = |&[u, v]: &[f64; 2]| {
            let z = SAG * (PI * u).sin() + WRINKLE * (12.0 * PI * v + 3.0 * u).sin();
            [u, v, z].map(|x| x + random.between(-1.0, 1.0) * NOISE * h)
        };
        let positions = rest.iter().map(&mut place).collect();
        Self { bar: n, rest, positions, triangles: triangles(&grid, n) }
    }

    /// Returns several flat sheets of free vertices, numbered consecutively. An entry of `sheets` is the
    /// grid, the number of vertices per side, and the side length of one sheet.
    pub(crate) fn several(sheets: &[(Grid, usize, f64)]) -> Self {
        let mut all = Self { bar: 0, rest: Vec::new(), positions: Vec::new(), triangles: Vec::new() };
        for (grid, n, length) in sheets {
            let (first, h) = (all.rest.len() as u32, length / (n - 1) as f64);
            all.rest.extend((0..grid.len()).map(|i| [grid.at(i)[0] as f64 * h, grid.at(i)[1] as f64 * h]));
            all.triangles.extend(triangles(grid, *n).iter().map(|corners| corners.map(|i| first + i)));
        }
        all.positions = all.rest.iter().map(|&[u, v]| [u, v, 0.0]).collect();
        all
    }

    /// Returns the projected second derivatives of a triangle.
    pub(crate) fn triangle(&self, t: usize) -> Curved {
        self.curved(self.triangles[t])
    }

    /// Returns the projected second derivatives of the triangle with these vertices.
    pub(super) fn curved(&self, corners: [u32; 3]) -> Curved {
        let corners = corners.map(|i| i as usize);
        Triangle::new(corners.map(|i| self.rest[i]))
            .at(FABRIC, &corners.map(|i| self.positions[i]))
            .curvature(false)
    }

    /// Returns one hinge for each inner edge, sorted by edge.
    pub(crate) fn hinges(&self) -> Vec<Hinge> {
        self.hinges_of(&self.triangles)
    }

    /// Returns the hinges between some triangles, sorted by edge.
    pub(super) fn hinges_of(&self, triangles: &[[u32; 3]]) -> Vec<Hinge> {
        let flat = |i: u32| {
            let [u, v] = self.rest[i as usize];
            [u, v, 0.0]
        };
        Hinge::all(triangles, flat, BENDING)
    }

    /// Whether vertex i is on a bar, u = 0 or u = 1.
    pub(super) fn held(&self, i: usize) -> bool {
        i < self.bar || i + self.bar >= self.rest.len()
    }
}

/// Returns the first triangles of all cells, then the second triangles. The directions of diagonals alternate
/// as on a chessboard.
fn triangles(grid: &Grid, n: usize) -> Vec<[u32; 3]> {
    let corners = |cell: usize| {
        let (i, j) = (cell / (n - 1), cell % (n - 1));
        let [a, b, c, d] =
            [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(|[i, j]| grid.index([i, j, 0]) as u32);
        if (i + j).is_multiple_of(2) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] }
    };
    let cells = 0..(n - 1) * (n - 1);
    cells.clone().map(|c| corners(c)[0]).chain(cells.map(|c| corners(c)[1])).collect()
}
