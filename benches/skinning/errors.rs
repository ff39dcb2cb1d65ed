//! Table 3 and Fig. 3: how much an exact coarse solve reduces the error that three symmetric Gauss-Seidel
//! sweeps leave.
//!
//! ρ = ‖ε̃‖ / ‖ε‖ with ε = A⁻¹b − x₁ after the sweeps and ε̃ = ε − U (UᵀAU)⁻¹ Uᵀ A ε.

use std::time::Instant;

use coarsen::direct::Factor;
use coarsen::multigrid::Coarsening;
use coarsen::prelude::*;
use coarsen::skinning::{Coordinates, Skinning, Weights};

use crate::Outcome;
use crate::body::{Body, armadillo};

const FRAMES: usize = 10;

/// The rows of the table: number of control points, coordinates, weights, and ρ of the paper.
const TESTS: [(usize, Coordinates, Weights, &str); 6] = [
    (100, Coordinates::Affine, Weights::Constant, "0.058"),
    (100, Coordinates::Affine, Weights::Harmonic, "0.019"),
    (100, Coordinates::Constant, Weights::Constant, "0.494"),
    (400, Coordinates::Constant, Weights::Constant, "0.407"),
    (400, Coordinates::Affine, Weights::Constant, ""),
    (400, Coordinates::Affine, Weights::Harmonic, ""),
];

struct Coarse {
    u: Bsr<f64>,
    transpose: Bsr<f64>,
    factor: Factor,
    /// The sums over frames of the squares of ρ in the 2-norm and in the energy norm.
    squares: [f64; 2],
    cells: String,
}

/// Prints the table for a body of this height.
pub(crate) fn run(height: f64) -> Outcome<()> {
    let mut body = Body::new(armadillo(None)?.scaled(height), 500.0)?;
    let a = body.matrix();
    println!("height {height}, {} vertices, {} nonzeros of A\n", body.mesh.positions.len(), a.nnz());
    let mut coarse = Vec::new();
    for (control_points, coordinates, weights, paper) in TESTS {
        coarse.push((coarsen(&a, &body.mesh.positions, (control_points, coordinates, weights))?, paper));
    }
    let mut exact = Direct::default().factor(&a)?;
    let mut sweeps = GaussSeidel { sweeps: 3, ..GaussSeidel::default() }.build(&a, &Cpu::new())?;
    let n = a.shape().0;
    let (mut direction, mut x1, mut epsilon) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut r = vec![0.0; n];
    for _ in 0..FRAMES {
        let b = body.begin()?;
        exact.solve(&b, &mut direction)?;
        sweeps.apply(&b, &mut x1); // from a zero guess
        epsilon.iter_mut().zip(&direction).zip(&x1).for_each(|((e, x), y)| *e = x - y);
        a.apply(&epsilon, &mut r);
        for (coarse, _) in &mut coarse {
            let left = coarse.correct(&epsilon, &r)?;
            let mut al = vec![0.0; n];
            a.apply(&left, &mut al);
            coarse.squares[0] += dot(&left, &left) / dot(&epsilon, &epsilon);
            coarse.squares[1] += dot(&left, &al) / dot(&epsilon, &r);
        }
        body.end(&direction);
    }
    println!("| control points, unknowns of each, weights | nonzeros | MiB | ms | ρ | ρ in energy | paper |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (coarse, paper) in &coarse {
        let [two, energy] = coarse.squares.map(|sum| (sum / FRAMES as f64).sqrt());
        println!("{} {two:.3} | {energy:.3} | {paper} |", coarse.cells);
    }
    Ok(())
}

fn coarsen(
    a: &Bsr<f64>,
    rest: &[[f64; 3]],
    (control_points, coordinates, weights): (usize, Coordinates, Weights),
) -> Outcome<Coarse> {
    let coarsening =
        Skinning { control_points: vec![control_points], coordinates, weights, ..Skinning::default() };
    let parameters = Multigrid { coarse_size: 0, ..Multigrid::of(coarsening) };
    let system = System { positions: Some(rest), ..System::from(a) };
    let mut m = parameters.build(system, &Cpu::new())?;
    let begin = Instant::now();
    m.update(system)?;
    let ms = 1e3 * begin.elapsed().as_secs_f64();
    let (p, ac) = (m.prolongation(0).ok_or("one level")?, m.matrix(1).ok_or("one level")?);
    let bytes = p.bytes() + ac.bytes();
    let unknowns = p.block().1;
    let cells = format!(
        "| {control_points}, {unknowns}, {weights:?} | {} | {:.1} | {ms:.1} |",
        ac.nnz(),
        bytes as f64 / f64::from(1 << 20)
    );
    let u = p.to_matrix()?.into_owned();
    let transpose = u.transpose()?;
    let mut regular = ac.clone();
    m.state(0).map_or(Ok(()), |state| parameters.coarsening.add_term(&mut regular, state))?; // directions that move no node (§4.4)
    let factor = Direct::default().factor(&regular)?;
    Ok(Coarse { transpose, u, factor, squares: [0.0; 2], cells })
}

impl Coarse {
    /// ε̃ for an error ε and its residual r = A ε.
    fn correct(&mut self, epsilon: &[f64], r: &[f64]) -> Outcome<Vec<f64>> {
        let k = self.u.shape().1;
        let (mut coarse_r, mut coarse_x) = (vec![0.0; k], vec![0.0; k]);
        self.transpose.apply(&r.to_vec(), &mut coarse_r);
        self.factor.solve(&coarse_r, &mut coarse_x)?;
        let mut left = epsilon.to_vec();
        self.u.apply_add(-1.0, &coarse_x, 1.0, &mut left);
        Ok(left)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
