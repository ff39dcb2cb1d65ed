//! Weights and transfers.

use coarsen::prelude::*;
use coarsen_core::SplitMix64;
use mpm::grid::{Grid, Nodes};
use mpm::particles::{Particle, Totals};
use mpm::weights::{NODES, Weights, corner};

use super::{DX, bodies, cloud};

/// Weights add up to 1, their mean place is that of the particle, and their second moment is Δx²/4 I.
#[test]
fn weights_reproduce_linear_functions() {
    let mut random = SplitMix64::new(1);
    for _ in 0..200 {
        let x = [0; 3].map(|_| 3.0 * random.number());
        let weights = Weights::at(x, DX);
        let (mut sum, mut mean, mut moment, mut slope) = (0.0, [0.0; 3], [[0.0; 3]; 3], [[0.0; 3]; 3]);
        for k in 0..NODES {
            let (w, g, d) =
                (weights.weight(corner(k)), weights.gradient(corner(k)), weights.arm(corner(k), x, DX));
            assert!(w >= 0.0, "{w}");
            sum += w;
            for i in 0..3 {
                mean[i] += w * d[i];
                for j in 0..3 {
                    moment[i][j] += w * d[i] * d[j];
                    slope[i][j] += d[i] * g[j]; // of the linear function x_i
                }
            }
        }
        assert!((sum - 1.0).abs() < 1e-14 && mean.iter().all(|m| m.abs() < 1e-14), "{sum} {mean:?}");
        for (i, j) in (0..9).map(|ij| (ij / 3, ij % 3)) {
            let one = f64::from(u8::from(i == j));
            assert!((moment[i][j] - one * 0.25 * DX * DX).abs() < 1e-14, "{moment:?}");
            assert!((slope[i][j] - one).abs() < 1e-12, "{slope:?}");
        }
    }
}

/// The sums of the nodes: mass, momentum, angular momentum, kinetic energy.
fn nodal(nodes: &Nodes, velocities: &[[f64; 3]]) -> Totals {
    let mut sum = Totals::default();
    for ((m, x), v) in nodes.masses.iter().zip(&nodes.positions).zip(velocities) {
        sum.mass += m;
        for k in 0..3 {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            sum.momentum[k] += m * v[k];
            sum.angular[k] += m * (x[i] * v[j] - x[j] * v[i]);
            sum.kinetic += 0.5 * m * v[k] * v[k];
        }
    }
    sum
}

fn close(a: &Totals, b: &Totals, size: f64) {
    let pairs = a.momentum.iter().chain(&a.angular).zip(b.momentum.iter().chain(&b.angular));
    for (x, y) in pairs.chain([(&a.mass, &b.mass)]) {
        assert!((x - y).abs() < 1e-13 * size, "{a:?} {b:?}");
    }
}

/// Both transfers keep mass, momentum and angular momentum, and neither adds kinetic energy.
#[test]
fn transfers_keep_momentum() {
    let bodies = bodies();
    for seed in 0..5 {
        let mut particles = cloud(400, 0.1, seed);
        let grid = Grid::around(&mut particles, DX).unwrap();
        let nodes = Nodes::from_particles(&grid, &particles, &bodies);
        let before = Totals::of(&particles, &bodies, DX, [0.0; 3]);
        let on_grid = nodal(&nodes, &nodes.velocities);
        let size = before.mass * (1.0 + before.kinetic / before.mass);
        close(&before, &on_grid, size);
        assert!(on_grid.kinetic <= before.kinetic * (1.0 + 1e-14), "{} {}", on_grid.kinetic, before.kinetic);
        // Any other velocities of the nodes come back as well.
        let mut random = SplitMix64::new(seed + 9);
        let velocities: Vec<[f64; 3]> =
            nodes.velocities.iter().map(|v| v.map(|v| v + random.number())).collect();
        nodes.to_particles(&grid, &velocities, &mut particles, |_, _| {});
        let (after, on_grid) = (Totals::of(&particles, &bodies, DX, [0.0; 3]), nodal(&nodes, &velocities));
        close(&after, &on_grid, size);
        assert!(after.kinetic <= on_grid.kinetic * (1.0 + 1e-14), "{} {}", after.kinetic, on_grid.kinetic);
    }
}

/// The affine part carries a rotation unchanged through both transfers, and the gradient is that of the field.
#[test]
fn linear_velocities_are_kept() {
    let (bodies, spin) = (bodies(), [[0.3, -2.0, 0.5], [2.0, -0.1, 1.0], [0.4, 0.7, 0.2]]);
    let mut particles = cloud(300, 0.1, 3);
    let at = |x: [f64; 3]| [0, 1, 2].map(|i| 0.5 + (0..3).map(|j| spin[i][j] * x[j]).sum::<f64>());
    particles.iter_mut().for_each(|p| (p.v, p.c) = (at(p.x), spin));
    let grid = Grid::around(&mut particles, DX).unwrap();
    let nodes = Nodes::from_particles(&grid, &particles, &bodies);
    for (x, v) in nodes.positions.iter().zip(&nodes.velocities) {
        assert!((0..3).all(|k| (v[k] - at(*x)[k]).abs() < 1e-12), "{v:?}");
    }
    nodes.to_particles(&grid, &nodes.velocities, &mut particles, |p, gradient| {
        let c = p.c.as_flattened().iter().zip(gradient.as_flattened());
        assert!(c.zip(spin.as_flattened()).all(|((c, g), s)| (c - s).abs() < 1e-11 && (g - s).abs() < 1e-11));
    });
}

/// The numbers of the nodes do not depend on the order of the particles or on the number of threads.
#[test]
fn the_map_of_nodes_is_unique() {
    let bodies = bodies();
    let build = |particles: &mut Vec<Particle>| {
        let grid = Grid::around(particles, DX).unwrap();
        Nodes::from_particles(&grid, particles, &bodies)
    };
    let mut particles = cloud(3000, 0.1, 4);
    let first = build(&mut particles.clone());
    particles.reverse();
    assert_eq!(build(&mut particles).positions, first.positions);
    for count in [1, 2, 7] {
        let mut particles = cloud(3000, 0.1, 4);
        let nodes = threads(count, || build(&mut particles)).unwrap();
        assert!(nodes.velocities == first.velocities && nodes.stiffness == first.stiffness, "{count}");
    }
}
