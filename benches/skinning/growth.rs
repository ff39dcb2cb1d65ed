//! Fig. 6 and 7, Table 1: armadillos of 1.2K to 127K vertices.

use std::time::Instant;

use coarsen::multigrid::{Cycle, Grid, PerLevel, SmootherParameters, Smoothing};
use coarsen::prelude::*;
use coarsen::skinning::Skinning;

use crate::Outcome;
use crate::body::{Body, armadillo};

/// For each size: the number of cubes along the longest side; the numbers of control points in the paper, from fine
/// to coarse; and the ms per frame in the paper (RTX 2080).
const SIZES: [(usize, &[usize], f64); 6] = [
    (21, &[10], 3.3),
    (40, &[25], 4.3),
    (54, &[50], 5.5),
    (84, &[500, 25], 11.6),
    (105, &[1000, 50], 18.1),
    (117, &[2000, 300, 25], 24.4),
];

/// Iterations of CG to 1e-6 with other settings than the default, for all sizes or those up to `most` cubes along the
/// longest side.
pub(crate) fn settings(most: usize) -> Outcome<()> {
    let base = skinning();
    let control_points = |nodes_per_control_point: usize, coarsening_ratio: usize| Multigrid {
        coarsening: Skinning { nodes_per_control_point, coarsening_ratio, ..Skinning::default() },
        ..base.clone()
    };
    let gauss_seidel = |counts: &[usize]| {
        let step =
            |sweeps: usize| (Smoothing::GaussSeidel(GaussSeidel { sweeps, ..GaussSeidel::default() }), 1);
        PerLevel { steps: counts.iter().map(|&sweeps| step(sweeps)).collect() }
    };
    let one = PerLevel { steps: vec![(Smoothing::Fitted, 1)] };
    let two = PerLevel { steps: vec![(Smoothing::Fitted, 2)] };
    let coarse = PerLevel { steps: vec![(Smoothing::Fitted, 1), (Smoothing::Fitted, 3)] };
    let w = Multigrid { cycle: Cycle::W, ..base.clone() };
    let settings = [
        ("default", base.clone().smoothed_by(one.clone())),
        ("W-cycle", w.clone().smoothed_by(one.clone())),
        ("3 sweeps on coarse levels", base.clone().smoothed_by(coarse.clone())),
        ("W-cycle, 3 sweeps on coarse levels", w.smoothed_by(coarse)),
        ("40 nodes per control point", control_points(40, 8).smoothed_by(one.clone())),
        ("coarsening ratio 4", control_points(80, 4).smoothed_by(one.clone())),
        ("coarsening ratio 16", control_points(80, 16).smoothed_by(one)),
        ("2 sweeps", base.clone().smoothed_by(two)),
        ("3 symmetric sweeps", base.smoothed_by(gauss_seidel(&[6]))),
    ];
    let sizes: Vec<usize> = SIZES.iter().map(|(cells, ..)| *cells).filter(|cells| *cells <= most).collect();
    let mut counts = vec![Vec::new(); settings.len()];
    let mut nodes = Vec::new();
    for cells in sizes {
        let mut body = Body::new(armadillo(Some(cells))?, 500.0)?;
        let a = body.matrix();
        let rest = body.mesh.positions.clone();
        nodes.push(rest.len().to_string());
        let b = body.begin()?;
        for ((_, parameters), counts) in settings.iter().zip(&mut counts) {
            let system = System { positions: Some(&rest), ..System::from(&a) };
            let mut m = parameters.build(system, &Cpu::mixed())?;
            let mut x = vec![0.0; b.len()];
            let begin = Instant::now();
            let report = Cg::new(Stop::relative(1e-6)).solve(&a, &mut m, &b, &mut x)?.converged()?;
            counts.push((report.iterations, begin.elapsed().as_secs_f64()));
        }
    }
    println!(
        "| setting | {} | growth | s of the last |\n|---|{}---:|---:|",
        nodes.join(" | "),
        "---:|".repeat(nodes.len())
    );
    for ((name, _), counts) in settings.iter().zip(&counts) {
        let iterations: Vec<String> = counts.iter().map(|(count, _)| count.to_string()).collect();
        let (Some(first), Some(last)) = (counts.first(), counts.last()) else { continue };
        let growth = last.0 as f64 / first.0 as f64;
        println!("| {name} | {} | {growth:.2} | {:.2} |", iterations.join(" | "), last.1);
    }
    Ok(())
}

pub(crate) fn run() -> Outcome<()> {
    println!("| vertices | elements | control points | bytes | iterations | setup s | frame ms | paper ms |");
    println!("|---:|---:|---|---:|---:|---:|---:|---:|");
    let mut points = Vec::new();
    for (cells, paper, paper_ms) in SIZES {
        let mut body = Body::new(armadillo(Some(cells))?, 500.0)?;
        let a = body.matrix();
        for (control_points, cycle) in [(paper, Cycle::V), (&[], Cycle::V), (&[], Cycle::W)] {
            let (nodes, elements) = (body.mesh.positions.len(), body.mesh.tetrahedra.len());
            let rest = body.mesh.positions.clone();
            let system = System { positions: Some(&rest), ..System::from(&a) };
            let parameters =
                if control_points.is_empty() { skinning() } else { skinning_levels(control_points) };
            let parameters = Multigrid { cycle, ..parameters };
            let begin = Instant::now();
            let mut m = parameters.build(system, &Cpu::mixed())?;
            let setup = begin.elapsed().as_secs_f64();
            let smoother = parameters.smoothing.smoother(&Grid::new(&a), &Cpu::mixed())?;
            let bytes = m.bytes() - smoother.bytes();
            let b = body.begin()?;
            let mut x = vec![0.0; b.len()];
            let report = Cg::new(Stop::relative(1e-6)).solve(&a, &mut m, &b, &mut x)?.converged()?;
            let (begin, frames) = (Instant::now(), 5);
            for _ in 0..frames {
                let b = body.begin()?;
                m.apply(&b, &mut x); // one cycle, as in the paper
                body.end(&x);
            }
            let frame = 1e3 * begin.elapsed().as_secs_f64() / f64::from(frames);
            let name = if control_points.is_empty() {
                format!("fitted, {cycle:?}-cycle")
            } else {
                format!("{control_points:?}")
            };
            println!(
                "| {nodes} | {elements} | {name} | {bytes} | {} | {setup:.3} | {frame:.1} | {paper_ms} |",
                report.iterations
            );
            if cycle == Cycle::W {
                points.push(((elements as f64).ln(), (bytes as f64).ln()));
            }
        }
    }
    println!("\nslope of bytes against elements, fitted control points: {:.3} (paper 1.012)", slope(&points));
    Ok(())
}

/// The slope of a line through points, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = points.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
    let (xy, xx) = points.iter().fold((0.0, 0.0), |s, p| {
        let (x, y) = (p.0 - mean.0, p.1 - mean.1);
        (s.0 + x * y, s.1 + x * x)
    });
    xy / xx
}
