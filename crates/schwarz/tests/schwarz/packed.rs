//! Packed inverses: the order of tiles and entries, and the product with a vector, on a backend.

use std::sync::Arc;

use coarsen_backend::Cpu;
use coarsen_backend::conformance::noise;
use coarsen_schwarz::{Coarse, Inverses, Order, Packed, Plan, Schwarz, SchwarzBackend};
use coarsen_sparse::System;

use crate::common::adjacent;
use crate::links::graph_of;

const SIDE: usize = 8;

/// Returns the plan of chains of the given numbers of nodes, with domains of up to `most` nodes.
fn chains(sizes: &[u32], most: usize) -> Arc<Plan> {
    let (mut couplings, mut first) = (Vec::new(), 0);
    for size in sizes {
        couplings.extend((first..first + size - 1).map(|i| (i, i + 1, -0.5)));
        first += size;
    }
    let parameters = Schwarz { order: Order::Natural, ..adjacent(most, 1, Coarse::Domains) };
    Arc::new(parameters.plan(System::from(&graph_of(first, &couplings))).unwrap())
}

/// Returns the application of packed values to r.
fn product(plan: &Arc<Plan>, packed: Packed, r: &Vec<f64>) -> Vec<f64> {
    let inverses = Inverses { packed: vec![packed], left_out: Vec::new(), weights: vec![1.0] };
    let mut z = vec![f64::NAN; r.len()];
    let top = &mut |_: &Vec<f64>, _: &mut Vec<f64>| unreachable!("there is one level");
    let backend = Cpu::<f64, f64>::default();
    backend.apply_domains(&mut backend.domains(plan, inverses).unwrap(), r, top, &mut z);
    z
}

fn unit(n: usize, at: usize) -> Vec<f64> {
    (0..n).map(|i| f64::from(u8::from(i == at))).collect()
}

#[test]
fn tiles_lie_one_after_the_other() {
    for (m, values) in [(17, 6 * 64), (24, 6 * 64), (96, 4992)] {
        assert_eq!(chains(&[m], 96).values(), values);
    }
    let plan = chains(&[24], 24);
    assert_eq!(plan.members(0, 0), (0..24).collect::<Vec<u32>>());
    let response = |at: usize, column: usize| {
        let mut packed = vec![0.0; plan.values()];
        packed[at] = 1.0;
        product(&plan, Packed::Double(packed), &unit(24, column))
    };
    for (k, (i, j)) in [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)].into_iter().enumerate() {
        assert_eq!(response(64 * k, SIDE * j), unit(24, SIDE * i), "tile {k}");
    }
    // Entry (9, 2) stands for both triangles.
    assert_eq!(response(64 + 2 * 8 + 1, 2), unit(24, 9));
    assert_eq!(response(64 + 2 * 8 + 1, 9), unit(24, 2));
}

/// Domains of other sizes are multiplied by the same task, so that padding would be seen.
#[test]
fn products_are_those_of_the_whole_matrix() {
    let sizes = [3, 8, 9, 48, 96, 100];
    let plans = sizes.map(|m| chains(&[100, m], 100)).into_iter().chain([chains(&[3], 2)]);
    let mut seen = Vec::new();
    for plan in plans {
        let (n, mut packed) = (plan.nodes(0), vec![0.0_f64; plan.values()]);
        let values = noise(n * n, 5);
        let at = |i: usize, j: usize| values[i.max(j) * n + i.min(j)];
        for d in 0..plan.domains(0) {
            let m = plan.members(0, d).len();
            let (side, first) = (m.div_ceil(SIDE), plan.offsets(0)[d]);
            let tile = |i: usize, j: usize| first + (j * (2 * side + 1 - j) / 2 + (i - j)) * SIDE * SIDE;
            for (i, j) in (0..m).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                let tile = tile(i / SIDE, j / SIDE);
                packed[tile + j % SIDE * SIDE + i % SIDE] = at(i, j);
                if i / SIDE == j / SIDE {
                    packed[tile + i % SIDE * SIDE + j % SIDE] = at(i, j);
                }
            }
        }
        let x = noise(n, 6);
        let single = Packed::Single(packed.iter().map(|&v| v as f32).collect());
        let (y, z) = (product(&plan, Packed::Double(packed), &x), product(&plan, single, &x));
        for d in 0..plan.domains(0) {
            let nodes: Vec<usize> = plan.members(0, d).iter().map(|&i| i as usize).collect();
            let m = nodes.len();
            seen.push(m);
            for (i, &node) in nodes.iter().enumerate() {
                let sum: f64 = nodes.iter().enumerate().map(|(j, &other)| at(i, j) * x[other]).sum();
                assert!((y[node] - sum).abs() < 1e-13 * m as f64, "{m}: row {i}");
                assert!((y[node] - z[node]).abs() < 1e-5 * m as f64, "{m}: row {i} in f32");
            }
        }
    }
    assert!([1, 3, 8, 9, 48, 96, 100].iter().all(|m| seen.contains(m)), "{seen:?}");
}
