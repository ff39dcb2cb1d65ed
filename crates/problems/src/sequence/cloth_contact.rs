//! A sheet pressed on a rotating sphere: the example of Wu, Wang & Wang 2022, Fig. 21.
//!
//! The sheet is 1 m x 1 m. Within arc length ρ of its centre it is pressed on the sphere; elsewhere it is 4
//! mm above the sphere and wrinkled. ρ grows so that in step k of n the share k / (n − 1) of the vertices is
//! in contact. Each of them touches the face of the sphere below it. The sphere is represented by a shell
//! below the sheet, with half as many vertices per side. The mass of the shell is so large that it moves as
//! prescribed. It rotates slowly, so that vertices slide from face to face.
//!
//! | symbol | name |
//! |---|---|
//! | R, δ | `RADIUS`, `GAP`: the pressed part of the sheet has radius R + δ |
//! | s, φ | polar coordinates of a vertex in the flat sheet |
//! | ρ | `rim` |
//! | θ | `turned` |

use std::f64::consts::PI;

use coarsen_sparse::Stencil;

use super::motion::Motion;
use crate::cloth::Sheet;
use crate::grid::Grid;
use crate::{NumpyRandom, ProblemError};

/// The radius R, m.
const RADIUS: f64 = 0.5;

/// The gap δ, m.
const GAP: f64 = 1e-3;

/// The side of the shell, m: the side of the sheet plus the distance by which the sphere rotates.
const SHELL: f64 = 1.06;

/// The angle θ in the last step.
const TURN: f64 = 0.02;

/// The height of the sheet outside the pressed part, m.
const LIFT: f64 = 4e-3;

/// The width of the transition from pressed to lifted beyond ρ, m.
const FRONT: f64 = 0.1;

/// The amplitude of the wrinkles outside the pressed part, m.
const WRINKLE: f64 = 5e-4;

/// The noise on each coordinate, in units of the spacing.
const NOISE: f64 = 0.02;

/// The seed of the noise.
const SEED: u64 = 3;

pub(super) struct ClothContact {
    /// The number of vertices along a side of the sheet.
    side: usize,
    /// The number of vertices along a side of the shell.
    shell: usize,
    /// (u, v) of every vertex, relative to the centre of its sheet.
    flat: Vec<[f64; 2]>,
    noise: Vec<[f64; 3]>,
    /// The vertices of the sheet, sorted by s in increasing order.
    inside_out: Vec<u32>,
}

impl ClothContact {
    pub(super) fn new(n: usize) -> Result<(Self, Sheet), ProblemError> {
        ProblemError::check_size("cloth-contact", n, 3, 1)?;
        let shell = n / 2 + 2;
        let grid = Grid::new(("cloth-contact", n), [n, n, 1], 3)?;
        let under = Grid::new(("cloth-contact", n), [shell, shell, 1], 3)?;
        let sheet = Sheet::several(&[(grid, n, 1.0), (under, shell, SHELL)]);
        let half = |i: usize| if i < n * n { 0.5 } else { 0.5 * SHELL };
        let flat: Vec<[f64; 2]> =
            sheet.rest.iter().enumerate().map(|(i, p)| p.map(|x| x - half(i))).collect();
        let mut random = NumpyRandom::new(SEED);
        let spacing = |i: usize| 2.0 * half(i) / (if i < n * n { n } else { shell } - 1) as f64;
        let noise = (0..flat.len()).map(|i| [0; 3].map(|_| random.between(-1.0, 1.0) * NOISE * spacing(i)));
        let noise = noise.collect();
        let mut inside_out: Vec<u32> = (0..(n * n) as u32).collect();
        inside_out.sort_by(|&i, &j| length(flat[i as usize]).total_cmp(&length(flat[j as usize])));
        Ok((Self { side: n, shell, flat, noise, inside_out }, sheet))
    }

    /// The number of vertices in contact in step k.
    fn touching(&self, k: usize, steps: usize) -> usize {
        self.inside_out.len() * k / (steps - 1).max(1)
    }

    /// Returns the triangle of the shell below a point of the flat sheet, and the barycentric coordinates of
    /// the point.
    fn below(&self, [x, y]: [f64; 2]) -> ([u32; 3], [f64; 3]) {
        let cells = self.shell - 1;
        let scaled = |x: f64| ((x / SHELL + 0.5) * cells as f64).clamp(0.0, cells as f64);
        let (x, y) = (scaled(x), scaled(y));
        let [i, j] = [x, y].map(|x| (x as usize).min(cells - 1));
        let (xi, eta) = (x - i as f64, y - j as f64);
        let first = self.side * self.side;
        let [a, b, c, d] = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]]
            .map(|[i, j]| (first + i * self.shell + j) as u32);
        match ((i + j).is_multiple_of(2), xi >= eta, xi + eta <= 1.0) {
            (true, true, _) => ([a, b, c], [1.0 - xi, xi - eta, eta]),
            (true, false, _) => ([a, c, d], [1.0 - eta, xi, eta - xi]),
            (false, _, true) => ([a, b, d], [1.0 - xi - eta, xi, eta]),
            (false, _, false) => ([b, c, d], [1.0 - eta, xi + eta - 1.0, 1.0 - xi]),
        }
    }
}

impl Motion for ClothContact {
    fn place(&self, k: usize, steps: usize, positions: &mut [[f64; 3]]) {
        let (turned, touching) = (turned(k, steps), self.touching(k, steps));
        let rim = match touching.checked_sub(1) {
            None => 0.0,
            Some(last) => length(self.flat[self.inside_out[last] as usize]),
        };
        let sheet = self.side * self.side;
        for (i, x) in positions.iter_mut().enumerate() {
            let p = if i < sheet { self.flat[i] } else { rotate(self.flat[i], turned) };
            let s = length(p);
            let lifted = if i < sheet { ((s - rim) / FRONT).clamp(0.0, 1.0) } else { 0.0 };
            let wrinkle = WRINKLE * (12.0 * PI * p[1] + 3.0 * p[0]).sin();
            let gap = if i < sheet { GAP } else { 0.0 };
            let r = RADIUS + gap + lifted * lifted * (3.0 - 2.0 * lifted) * (LIFT + wrinkle);
            let (sin, cos) = (s / RADIUS).sin_cos();
            let out = p.map(|p| if s > 0.0 { p / s } else { 0.0 });
            let smooth = [r * sin * out[0], r * sin * out[1], r * cos];
            *x = std::array::from_fn(|c| smooth[c] + self.noise[i][c]);
        }
    }

    fn touch(
        &mut self,
        k: usize,
        steps: usize,
        positions: &[[f64; 3]],
        contacts: &mut Vec<(Stencil, [f64; 3])>,
    ) {
        let turned = turned(k, steps);
        let mut touching = self.inside_out[..self.touching(k, steps)].to_vec();
        touching.sort_unstable();
        for vertex in touching {
            let (face, beta) = self.below(rotate(self.flat[vertex as usize], -turned));
            let x = positions[vertex as usize];
            let r = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            contacts.push((Stencil::vertex_face(vertex, face, beta), x.map(|x| x / r)));
        }
    }
}

/// The angle θ of the sphere in step k.
fn turned(k: usize, steps: usize) -> f64 {
    TURN * k as f64 / (steps - 1).max(1) as f64
}

fn length([x, y]: [f64; 2]) -> f64 {
    (x * x + y * y).sqrt()
}

fn rotate([x, y]: [f64; 2], angle: f64) -> [f64; 2] {
    let (sin, cos) = angle.sin_cos();
    [cos * x - sin * y, sin * x + cos * y]
}
