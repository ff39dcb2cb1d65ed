//! The jelly of the tutorial: `book/src/tutorials/jelly.md` shows the parts of this file.

// ANCHOR: uses
use std::error::Error;

use coarsen::descent::{Driver, TimeStepper};
use coarsen::node_embedding::{NodeEmbedding, Nodes};
use mpm::collider::Obstacle;
use mpm::constraints::Constraints;
use mpm::energy::{Given, Increment};
use mpm::grid::{self, Grid};
use mpm::particles::{IDENTITY, mul};
use mpm::scene::Setting;
use mpm::seed::Seeds;
// ANCHOR_END: uses

/// The scene of the tutorial, step by step: the jelly falls as a point until it meets the wire, which then carries it
/// and dents it.
#[test]
fn a_jelly_falls_on_a_wire() -> Result<(), Box<dyn Error + Send + Sync>> {
    // ANCHOR: fill
    let setting = Setting::read("scenes/jelly.toml", None, 1, None)?;
    let (dx, gravity) = (2.0 * setting.dx, setting.gravity); // a coarse grid
    let (mut particles, bodies) = Seeds::new(&setting)?.fill(dx)?;
    let obstacles = Obstacle::all(&setting.collider, dx)?;
    // ANCHOR_END: fill

    // ANCHOR: loop
    let mut driver = TimeStepper::new(Driver::Hot);
    let (mut time, mut pressures) = (0.0, Vec::new());
    // ANCHOR_END: loop
    let mut heights = Vec::new();
    // ANCHOR: steps
    for _ in 0..24 {
        let dt = 0.01;
        // ANCHOR_END: steps
        // ANCHOR: grid
        let grid = Grid::around(&mut particles, dx)?;
        let nodes = grid::Nodes::from_particles(&grid, &particles, &bodies);
        let mut constraints = Constraints::new(&nodes, &obstacles, [time, dt], gravity);
        constraints.press(&nodes, dx, dt, &pressures);
        let (particles_then, constraints) = (&particles, &constraints);
        let given = Given {
            grid: &grid,
            nodes: &nodes,
            particles: particles_then,
            bodies: &bodies,
            constraints,
            dt,
            gravity,
        };
        // ANCHOR_END: grid
        // ANCHOR: solve
        let mut f = Increment::new(given)?;
        let mut z = f.start();
        let (weights, _) = f.weights()?;
        let constraints = f.node_constraints().into();
        let places = Nodes::OfSystem { spacing: dx, origin: [0.0; 3] };
        let method = NodeEmbedding { constraints, ..NodeEmbedding::new(places) };
        let report = driver.minimize(&mut f, &method, &mut z, Some(&weights), None)?;
        report.converged()?;
        // ANCHOR_END: solve
        // ANCHOR: back
        pressures = f.pressures(&z);
        let velocities = Increment::velocities_of(&given, &z);
        nodes.to_particles(&grid, &velocities, &mut particles, |p, gradient| {
            let entry = |i: usize, j: usize| IDENTITY[i][j] + dt * gradient[i][j];
            let growth = std::array::from_fn(|i| std::array::from_fn(|j| entry(i, j)));
            p.f = mul(&growth, &p.f);
            (0..3).for_each(|k| p.x[k] += dt * p.v[k]);
        });
        time += dt;
        // ANCHOR_END: back
        heights.push(particles.iter().map(|p| p.x[1]).sum::<f64>() / particles.len() as f64);
        // ANCHOR: end
    }
    // ANCHOR_END: end
    // Implicit Euler: the height after n steps of free fall is h − g Δt² n (n + 1) / 2.
    assert!((heights[2] - (heights[0] - 9.8 * 1e-4 * 5.0)).abs() < 1e-12, "{heights:?}");
    assert!((heights[4] - (0.34 - 9.8 * 1e-4 * 15.0)).abs() < 1e-3, "{heights:?}");
    // Free fall would end at 0.046 m; the top of the wire is at 0.22 m.
    assert!(heights[23] > 0.18, "{heights:?}");
    let dent = particles.iter().map(|p| (p.f[1][1] - 1.0).abs()).fold(0.0, f64::max);
    assert!(dent > 0.05 && particles.iter().all(|p| p.x[1] > -0.1), "{dent}");
    Ok(())
}
