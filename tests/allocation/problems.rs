//! A part of a problem takes a part of the memory: no process of several holds the whole matrix.

use coarsen_core::parallel;
use coarsen_problems::{Options, Parts, Problem};

use crate::counting::bytes;

pub(crate) fn run() {
    let outcome = parallel::threads(1, || {
        for spec in [
            "poisson2d:300",
            "poisson3d:40",
            "elasticity3d:20",
            "cloth:120",
            "softbody:20",
            "jump3d:40",
            "graph:50000",
        ] {
            let usual = Options::default();
            let mut n = 0;
            // All that is allocated, freed or not.
            let whole = bytes(|| n = Problem::parse(spec, &usual).unwrap().positions.len() as u32);
            let nodes: Vec<u32> = (3 * n / 8..4 * n / 8).collect();
            let part = bytes(|| {
                Parts::parse(spec, &usual).unwrap().part(&nodes).unwrap();
            });
            let share = part as f64 / whole as f64;
            println!("{spec}: {part} bytes for an eighth of the nodes, {whole} for all: {share:.2}");
            // Positions, of all nodes, take as much as two blocks of a scalar matrix.
            let most = if matches!(spec, "elasticity3d:20" | "cloth:120") { 0.25 } else { 0.5 };
            assert!(share < most, "{spec}: {part} bytes for an eighth of the nodes, {whole} for all");
        }
    });
    outcome.unwrap();
}
