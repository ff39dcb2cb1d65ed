//! Table 1 and 2: time of a frame and its parts, for the eleven set-ups of the paper.

use std::time::{Duration, Instant};

use coarsen::elastic::{Curvature, Potential};
use coarsen::multigrid::{Grid, PerLevel, SmootherParameters, Smoothing};
use coarsen::prelude::*;
use coarsen_core::Objective;
use coarsen_relax::DampedJacobi;

use crate::Outcome;
use crate::body::{Body, armadillo};

/// The number of frames, after one that is not measured.
const FRAMES: u32 = 10;

/// A smoother with its number of symmetric steps, as in the table.
#[derive(Clone, Copy)]
enum Steps {
    /// GS(k).
    GaussSeidel(usize),
    /// J(k).
    Jacobi(usize),
}

impl Steps {
    /// k symmetric sweeps before and k after the correction cost as much as 2 k forward and 2 k backward ones.
    fn smoothing(self) -> (Smoothing, usize) {
        match self {
            Self::GaussSeidel(k) => {
                let sweeps = GaussSeidel { sweeps: 2 * k, ..GaussSeidel::default() };
                (Smoothing::GaussSeidel(sweeps), 1)
            }
            Self::Jacobi(k) => (Smoothing::DampedJacobi(DampedJacobi::default()), k),
        }
    }
}

/// A row of Table 1: levels from fine to coarse, iterations of a frame, frames per second of the paper.
struct Row {
    name: &'static str,
    control_points: &'static [usize],
    steps: &'static [Steps],
    /// Whether the matrix changes in each iteration, as in Newton's method.
    changes: bool,
    iterations: u32,
    paper: f64,
}

use Steps::{GaussSeidel as G, Jacobi as J};

/// Armadillos by the number of cubes along the longest side.
const BODIES: [(usize, f64, Row); 8] = [
    (21, 500.0, row("armadillo", &[10], &[G(3)], 1, 303.0)),
    (40, 500.0, row("armadillo", &[25], &[G(3)], 1, 232.6)),
    (54, 500.0, row("armadillo", &[50], &[G(3)], 1, 181.8)),
    (84, 500.0, row("armadillo", &[500, 25], &[G(3)], 1, 86.2)),
    (105, 500.0, row("armadillo", &[1000, 50], &[G(3)], 1, 55.2)),
    (117, 500.0, row("armadillo", &[2000, 300, 25], &[G(3)], 1, 41.0)),
    (138, 250.0, row("for the dragon", &[1000, 50], &[G(2)], 1, 39.4)),
    (77, 1000.0, row("for the octopus", &[1000, 100], &[G(2)], 3, 43.2)),
];

/// Sheets by their vertices along a side.
const SHEETS: [(usize, Row); 3] = [
    (201, row("sheet", &[1000, 100, 25], &[J(5), J(5), J(10)], 4, 74.8)),
    (201, Row { changes: true, ..row("sheet", &[1000, 100, 25], &[J(5), J(5), J(10)], 4, 35.7) }),
    (251, Row { changes: true, ..row("sheet", &[1000, 100], &[J(5), J(10)], 3, 31.5) }),
];

const fn row(
    name: &'static str,
    control_points: &'static [usize],
    steps: &'static [Steps],
    iterations: u32,
    paper: f64,
) -> Row {
    Row { name, control_points, steps, changes: false, iterations, paper }
}

pub(crate) fn run() -> Outcome<()> {
    println!(
        "| body | vertices | elements | control points | matrix | setup s | finest matrix | all levels | gradient | \
         smoothing | rest of the cycles | frames per second | paper |\n|---|{}",
        "---:|".repeat(12)
    );
    for (cells, mu, row) in BODIES {
        measure(Body::new(armadillo(Some(cells))?, mu)?, &row)?;
    }
    for (n, row) in SHEETS {
        measure(Body::sheet(n)?, &row)?;
    }
    Ok(())
}

fn at_rest<'a>(a: &'a Bsr<f64>, rest: &'a [[f64; 3]]) -> System<'a, f64> {
    System { positions: Some(rest), ..System::from(a) }
}

/// Prints a row. The times are milliseconds per frame.
fn measure<P: Potential>(mut body: Body<P>, row: &Row) -> Outcome<()> {
    let (a, rest, backend) = (body.matrix(), body.mesh.positions.clone(), Cpu::mixed());
    let steps: Vec<_> = row.steps.iter().map(|steps| steps.smoothing()).collect();
    let parameters = skinning_levels(row.control_points).smoothed_by(PerLevel { steps: steps.clone() });
    let begin = Instant::now();
    let mut m = parameters.build(at_rest(&a, &rest), &backend)?;
    let setup = begin.elapsed();
    body.f.curvature = if row.changes { Curvature::Projected } else { Curvature::Constant };

    let [mut finest, mut levels, mut gradient, mut cycles] = [Duration::ZERO; 4];
    for frame in 0..=FRAMES {
        body.begin()?;
        let start = body.start();
        let (mut x, mut g, mut z) = (start.clone(), vec![0.0; start.len()], vec![0.0; start.len()]);
        for _ in 0..row.iterations {
            if frame == 1 {
                [finest, levels, gradient, cycles] = [Duration::ZERO; 4];
            }
            if row.changes {
                let begin = Instant::now();
                let a = body.f.hessian(&x);
                finest += begin.elapsed();
                let begin = Instant::now();
                m.update(at_rest(a, &rest))?;
                levels += begin.elapsed();
            }
            let begin = Instant::now();
            body.f.gradient(&x, &mut g);
            gradient += begin.elapsed();
            g.iter_mut().for_each(|g| *g = -*g);
            let begin = Instant::now();
            m.apply(&g, &mut z);
            cycles += begin.elapsed();
            x.iter_mut().zip(&z).for_each(|(x, z)| *x += z);
        }
        if x.iter().any(|x| !x.is_finite()) {
            return Err(format!("{} is not finite after frame {frame}", row.name).into());
        }
        let moved: Vec<f64> = x.iter().zip(&start).map(|(x, start)| x - start).collect();
        body.end(&moved);
    }

    let mut smoothing = Duration::ZERO;
    for level in 0..m.levels() - 1 {
        let matrix = m.matrix_with_term(level).or(m.matrix(level)).unwrap_or(&a);
        let own = PerLevel { steps: vec![*steps.get(level).unwrap_or(&steps[steps.len() - 1])] };
        let mut smoother = own.smoother(&Grid::new(matrix), &backend)?;
        let (b, mut x) = (vec![1.0; matrix.shape().0], vec![0.0; matrix.shape().0]);
        let begin = Instant::now();
        for _ in 0..FRAMES * row.iterations {
            smoother.pre_smooth(matrix, &b, &mut x);
            smoother.post_smooth(matrix, &b, &mut x);
        }
        smoothing += begin.elapsed();
    }

    let frame = finest + levels + gradient + cycles;
    let ms = |time: Duration| 1e3 * time.as_secs_f64() / f64::from(FRAMES);
    println!(
        "| {} | {} | {} | {:?} | {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {} |",
        row.name,
        rest.len(),
        body.elements,
        row.control_points,
        if row.changes { "dynamic" } else { "static" },
        setup.as_secs_f64(),
        ms(finest),
        ms(levels),
        ms(gradient),
        ms(smoothing),
        ms(cycles.saturating_sub(smoothing)),
        1e3 / ms(frame),
        row.paper
    );
    Ok(())
}
