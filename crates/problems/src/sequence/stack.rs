//! Four sheets, one above the other, with springs between random vertices and faces of neighbouring sheets.
//! One spring of twenty changes in every step.

use std::f64::consts::PI;

use coarsen_sparse::Stencil;

use super::motion::Motion;
use crate::cloth::Sheet;
use crate::grid::Grid;
use crate::{NumpyRandom, ProblemError};

/// The number of sheets.
const LAYERS: usize = 4;

/// The distance between sheets, m.
const DISTANCE: f64 = 0.01;

/// The amplitude of the waves of the sheets, m.
const WAVE: f64 = 0.003;

/// The largest distance between the vertex and the face of a spring, in cells.
const REACH: usize = 2;

/// In every step one spring of `RENEWED` is drawn again.
const RENEWED: usize = 20;

/// The number of wavelengths that pass during all steps.
const WAVES: f64 = 0.25;

/// The seed of the springs.
const SEED: u64 = 11;

pub(super) struct Stack {
    side: usize,
    rest: Vec<[f64; 2]>,
    triangles: Vec<[u32; 3]>,
    random: NumpyRandom,
    springs: Vec<Stencil>,
}

impl Stack {
    pub(super) fn new(n: usize) -> Result<(Self, Sheet), ProblemError> {
        ProblemError::check_size("stack", n, 3, 1)?;
        Grid::new(("stack", n), [n, n, LAYERS], 3)?;
        let layer = Grid::new(("stack", n), [n, n, 1], 3)?;
        let sheet = Sheet::several(&[(layer, n, 1.0); LAYERS]);
        let (rest, triangles) = (sheet.rest.clone(), sheet.triangles.clone());
        let random = NumpyRandom::new(SEED);
        let mut stack = Self { side: n, rest, triangles, random, springs: Vec::new() };
        for k in 0..n * n {
            let spring = stack.draw(k);
            stack.springs.push(spring);
        }
        Ok((stack, sheet))
    }

    /// Draws spring number k, between sheet k mod 3 and the next sheet.
    fn draw(&mut self, k: usize) -> Stencil {
        let (n, layer) = (self.side, k % (LAYERS - 1));
        let mut below = |count: usize| ((self.random.uniform() * count as f64) as usize).min(count - 1);
        let [i, j] = [below(n), below(n)];
        let near = [i, j].map(|i| (i + below(2 * REACH + 1)).saturating_sub(REACH).min(n - 2));
        let cells = (n - 1) * (n - 1);
        let triangle = (layer + 1) * 2 * cells + below(2) * cells + near[0] * (n - 1) + near[1];
        let [p, q] = [self.random.uniform(), self.random.uniform()];
        let beta = if p + q < 1.0 { [p, q, 1.0 - p - q] } else { [1.0 - p, 1.0 - q, p + q - 1.0] };
        Stencil::vertex_face((layer * n * n + i * n + j) as u32, self.triangles[triangle], beta)
    }
}

impl Motion for Stack {
    fn place(&self, k: usize, steps: usize, positions: &mut [[f64; 3]]) {
        let phase = 2.0 * PI * WAVES * k as f64 / steps as f64;
        for (i, x) in positions.iter_mut().enumerate() {
            let ([u, v], layer) = (self.rest[i], (i / (self.side * self.side)) as f64);
            let z = WAVE * (12.0 * PI * v + 3.0 * u + phase).sin() - DISTANCE * layer;
            *x = [u, v, z];
        }
    }

    fn touch(&mut self, k: usize, _: usize, positions: &[[f64; 3]], contacts: &mut Vec<(Stencil, [f64; 3])>) {
        if k > 0 {
            for spring in (k % RENEWED..self.springs.len()).step_by(RENEWED) {
                self.springs[spring] = self.draw(spring);
            }
        }
        for spring in &self.springs {
            let gap: [f64; 3] = std::array::from_fn(|c| {
                let at = |(&i, w): (&u32, &f64)| w * positions[i as usize][c];
                spring.nodes().iter().zip(spring.weights()).map(at).sum()
            });
            let length = gap.iter().map(|g| g * g).sum::<f64>().sqrt();
            contacts.push((*spring, gap.map(|g| g / length)));
        }
    }
}
