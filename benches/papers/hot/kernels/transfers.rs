//! Particles to nodes and back.

use mpm::grid::{Grid, Nodes};

use crate::stage::Stage;
use crate::{Outcome, fastest, on_threads};

/// Prints particles per second.
pub(crate) fn run(stage: &Stage) -> Outcome<()> {
    let mut particles = stage.state.particles.clone();
    let bodies = &stage.bodies;
    let grid = Grid::around(&mut particles, stage.dx)?;
    let nodes = Nodes::from_particles(&grid, &particles, bodies);
    println!(
        "\n{} nodes\n\n| transfer | one thread, 1e6 particles/s | two threads | gain |\n|---|---:|---:|---:|",
        nodes.len()
    );
    let line = |name: &str, seconds: [f64; 2]| {
        let [one, two] = seconds.map(|s| particles.len() as f64 / s * 1e-6);
        println!("| {name} | {one:.2} | {two:.2} | {:.2} |", two / one);
    };
    let there = on_threads(|_| {
        fastest(|| {
            std::hint::black_box(Nodes::from_particles(&grid, &particles, bodies));
        })
    })?;
    line("particles to nodes", there);
    let back = on_threads(|_| {
        let mut moved = particles.clone();
        fastest(|| {
            nodes.to_particles(&grid, &nodes.velocities, &mut moved, |p, gradient| {
                let f = p.f;
                (0..9).for_each(|e| p.f[e / 3][e % 3] += 1e-9 * gradient[e / 3][e % 3] * f[e % 3][e / 3]);
            });
        })
    })?;
    line("nodes to particles", back);
    let sorted = on_threads(|_| {
        let mut moved = particles.clone();
        fastest(|| drop(std::hint::black_box(Grid::around(&mut moved, stage.dx))))
    })?;
    line("sorting, blocks and weights", sorted);
    Ok(())
}
