//! A cut through half of a sheet (§4.1): the time of a build, of its sampling, and of sampling after the cut.

use std::time::Instant;

use coarsen::multigrid::{Coarsening, Grid};
use coarsen::prelude::*;
use coarsen::problems::cloth;
use coarsen::skinning::{Controlled, Cut, Skinning};
use coarsen::sparse::assembly;

use crate::Outcome;

/// The time step of the sheets, s.
const STEP: f64 = 0.01;

/// Prints one row for each sheet of n x n vertices.
pub(crate) fn run(sizes: &[usize]) -> Outcome<()> {
    println!(
        "| vertices | cut edges at | build ms | sampling ms | after the cut ms | share of the build | new control points | iterations, sampled anew |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for &n in sizes {
        let p = cloth(n, STEP)?;
        let (after, touched) = halved(&p.matrix, n)?;
        let backend = Cpu::mixed();
        let (build, before) = fastest(|| Ok(skinning().build(whole(&p.matrix, &p.positions), &backend)?))?;
        let control_points = before.state::<Controlled>(0).ok_or("no coarse level")?.control_points().clone();
        let grid = Grid { positions: Some(&p.positions), ..Grid::new(&after) };
        let (old, nodes) = (control_points.order.len(), touched.len());
        let again = Skinning { cut: Some(Cut { control_points, touched }), ..Skinning::default() };
        let (anew, _) = fastest(|| Ok(Skinning::default().coarsen(&grid, None)?))?;
        let (patched, coarse) = fastest(|| Ok(again.coarsen(&grid, None)?))?;
        let new = coarse.ok_or("no coarse level")?.state.control_points().order.len() - old;
        let mut iterations = [0; 2];
        for (k, coarsening) in [again, Skinning::default()].into_iter().enumerate() {
            let parameters = Multigrid { coarsening, ..skinning() };
            let mut m = parameters.build(whole(&after, &p.positions), &backend)?;
            let (b, mut x) = (p.right_hand_side(1), vec![0.0; 3 * n * n]);
            iterations[k] =
                Cg::new(Stop::relative(1e-6)).solve(&after, &mut m, &b, &mut x)?.converged()?.iterations;
        }
        println!(
            "| {} | {nodes} | {build:.1} | {anew:.1} | {patched:.1} | {:.3} | {new} | {}, {} |",
            n * n,
            patched / build,
            iterations[0],
            iterations[1]
        );
    }
    Ok(())
}

/// The matrix without the couplings across a cut from one side to the middle, and the nodes that lost some.
fn halved(a: &Bsr<f64>, n: usize) -> Outcome<(Bsr<f64>, Vec<u32>)> {
    let apart = |i: usize, j: usize| (i / n < n / 2) != (j / n < n / 2) && i % n < n / 2 && j % n < n / 2;
    let (mut places, mut values, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n * n {
        for (j, block) in a.row(i) {
            if apart(i, j) {
                touched.push(i as u32);
            } else {
                places.push((i as u32, j as u32));
                values.extend_from_slice(block);
            }
        }
    }
    touched.dedup();
    Ok((assembly::from_blocks((n * n, n * n), (3, 3), &places, &values)?, touched))
}

fn whole<'a>(a: &'a Bsr<f64>, positions: &'a [[f64; 3]]) -> System<'a, f64> {
    System { positions: Some(positions), ..System::from(a) }
}

/// The result of a function, and the least of five times in milliseconds.
pub(crate) fn fastest<T>(run: impl FnMut() -> Outcome<T>) -> Outcome<(f64, T)> {
    fastest_of(5, run)
}

/// The result of a function, and the least of `runs` times in milliseconds.
pub(crate) fn fastest_of<T>(runs: usize, mut run: impl FnMut() -> Outcome<T>) -> Outcome<(f64, T)> {
    let mut time = || {
        let begin = Instant::now();
        run().map(|done| (1e3 * begin.elapsed().as_secs_f64(), done))
    };
    let mut best = time()?;
    for _ in 1..runs {
        let next = time()?;
        best = if next.0 < best.0 { next } else { best };
    }
    Ok(best)
}
