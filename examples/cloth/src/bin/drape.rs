//! The program of the tutorial "A cloth that droops": a sheet hangs from two sides.
//!
//! ```text
//! cargo run --release -p cloth --bin drape
//! ```

// ANCHOR: head
use std::error::Error;
use std::path::Path;

use coarsen::descent::{CachedPreconditioner, HostObjective};
use coarsen::elastic::{Bending, Fabric, ImplicitEuler, Membrane, Nodes, Plus};
use coarsen::optimize::Forcing;
use coarsen::prelude::*;
use examples_render::Stage;
use examples_render::gif_of_files;
use examples_scene::View;
use examples_scene::shape::GROUND;

fn main() -> Result<(), Box<dyn Error>> {
    run(51, 30, Path::new("drape-out"), 640).map(drop)
}

/// Computes frames of a sheet with n x n vertices, and writes pictures of a
/// width in pixels into a folder. Returns the iterations of each frame, and the
/// height of the free corner after it.
fn run(
    n: usize,
    frames: usize,
    folder: &Path,
    width: usize,
) -> Result<Vec<([usize; 2], f64)>, Box<dyn Error>> {
    // ANCHOR_END: head
    // ANCHOR: sheet
    // A square of 1 m: the pattern (u, v), the positions at the start, and two
    // triangles for each cell.
    let pattern: Vec<[f64; 2]> = (0..n * n)
        .map(|i| [i % n, i / n].map(|k| k as f64 / (n - 1) as f64))
        .collect();
    let start: Vec<[f64; 3]> =
        pattern.iter().map(|[u, v]| [u - 0.5, 1.0, v - 0.5]).collect();
    let mut triangles = Vec::new();
    for (i, j) in (0..(n - 1) * (n - 1)).map(|c| (c % (n - 1), c / (n - 1))) {
        let [a, b, c, d] = [(i, j), (i + 1, j), (i, j + 1), (i + 1, j + 1)]
            .map(|(i, j)| (j * n + i) as u32);
        // Diagonals alternate, so that the sheet has no preferred direction.
        triangles.extend(if (i + j) % 2 == 0 {
            [[a, c, b], [b, c, d]]
        } else {
            [[a, d, b], [a, c, d]]
        });
    }
    let held: Vec<bool> =
        pattern.iter().map(|[u, v]| *u == 0.0 || *v == 0.0).collect();
    // ANCHOR_END: sheet

    // ANCHOR: energy
    let cotton = Fabric { stretch: 5e3, coupling: 0.0, shear: 1e3 }; // N/m
    let flat: Vec<[f64; 3]> =
        pattern.iter().map(|&[u, v]| [u, v, 0.0]).collect();
    let membrane = Membrane::new(cotton, &triangles, &pattern, &held, &start)?;
    let masses = membrane.masses(0.2); // kg/m²
    let bending = Bending::new(1.5e-4, &triangles, &flat, &held, &start)?; // N m
    let cloth = Plus::new(bending, membrane)?;
    // ANCHOR_END: energy

    // ANCHOR: step
    let h = 1.0 / 240.0; // ten steps for each frame
    let nodes = Nodes::new(&held, &start)?;
    let mut x = nodes.gather(&start); // the free vertices, three numbers for each
    let mut v = vec![0.0; x.len()];
    let mut step = ImplicitEuler::new(cloth, &masses, h)?;
    // ANCHOR_END: step

    // ANCHOR: solver
    let inverse = CachedPreconditioner::build(&mut step, &x, |system| {
        Ok(Box::new(smoothed_aggregation().build_from(system, &Cpu::new())?))
    })?;
    let mut f = HostObjective::new(step, inverse).projecting_on_demand();
    let mut newton =
        Newton::with(Cg::new(Stop::relative(0.1)), Forcing::AsGiven);
    let weight = 9.81 * masses.norm();
    let stop = Stop { max_iterations: 100, ..Stop::absolute(1e-2 * weight) };
    let mut descent = Descent::new(MoreThuente::default(), stop);
    descent.refresh = Refresh::AtStart;
    // ANCHOR_END: solver

    // ANCHOR: pictures
    std::fs::create_dir_all(folder)?;
    let view = View {
        corners: Some([[-0.6, 0.0, -0.6], [0.6, 1.0, 0.6]]),
        azimuth: 25.0,
        elevation: 18.0,
        cut: false,
    };
    let stage = Stage::new(&view, &[GROUND], vec![triangles], &start, width);
    let draw = |frame: usize, x: &[f64]| {
        let all: Vec<f64> = (0..nodes.count() as u32)
            .flat_map(|node| nodes.at(node, x))
            .collect();
        stage.write(
            folder,
            frame,
            &all,
            &format!("t = {:.2} s", frame as f64 / 24.0),
        )
    };
    draw(0, &x)?;
    // ANCHOR_END: pictures

    // ANCHOR: frames
    let mut results = Vec::new();
    for frame in 1..=frames {
        let mut counts = [0, 0];
        for _ in 0..10 {
            v.iter_mut().for_each(|v| *v *= 1.0 - 0.5 * h); // drag of air
            let before = x.clone();
            f.objective.begin(&before, &v, [0.0, -9.81, 0.0])?;
            (0..x.len()).for_each(|k| x[k] += h * v[k]);
            newton.forget();
            let report = descent.minimize(&mut f, &mut newton, &mut x)?;
            let report = report
                .converged()
                .map_err(|error| format!("frame {frame}: {error}"))?;
            (0..x.len()).for_each(|k| v[k] = (x[k] - before[k]) / h);
            counts = [counts[0] + report.iterations, counts[1] + report.inner];
        }
        draw(frame, &x)?;
        let corner = x[x.len() - 2];
        println!(
            "frame {frame:2}: {:3} Newton, {:4} CG, corner at {corner:.3} m",
            counts[0], counts[1]
        );
        results.push((counts, corner));
    }
    let pictures: Vec<_> = (0..=frames)
        .map(|k| folder.join(format!("frame_{k:04}.png")))
        .collect();
    gif_of_files(&pictures, 4, folder.join("drape.gif"))?; // 0.04 s a frame
    Ok(results)
}
// ANCHOR_END: frames

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../book/src/tutorials/cloth.md");

    /// The corner swings down as far as a stiff square can, and the lines of the page are those of a run.
    #[test]
    fn the_corner_droops() {
        let folder = std::env::temp_dir()
            .join(format!("coarsen-drape-{}", std::process::id()));
        let results = run(13, 9, &folder, 64).unwrap();
        let heights: Vec<f64> = results.iter().map(|frame| frame.1).collect();
        assert!(folder.join("drape.gif").exists());
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(
            heights[0] < 1.0
                && heights.windows(2).all(|pair| pair[1] < pair[0]),
            "{heights:?}"
        );
        assert!(*heights.last().unwrap() > 1.0 - 2.0_f64.sqrt());
    }

    /// Round-off on another machine may change the counts a little.
    #[test]
    fn the_page_shows_a_run() {
        let folder = std::env::temp_dir()
            .join(format!("coarsen-drape-page-{}", std::process::id()));
        let results = run(51, 5, &folder, 32).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let lines = PAGE.lines().filter(|line| line.starts_with("frame "));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), results.len());
        for (line, (counts, height)) in lines.iter().zip(&results) {
            let words = line.split([' ', ':']);
            let then: Vec<f64> = words.filter_map(|w| w.parse().ok()).collect();
            assert_eq!(then.len(), 4, "{line}"); // the first is the frame
            let now = [counts[0] as f64, counts[1] as f64, *height];
            let allowed = [2.0, 5.0 + then[2] / 20.0, 2e-3];
            assert!(
                (0..3).all(|k| (now[k] - then[k + 1]).abs() <= allowed[k]),
                "{line}: {now:?}"
            );
        }
    }
}
