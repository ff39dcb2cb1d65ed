//! Updates of a filtered system with new values and constraints do not allocate, with one or several threads.

use coarsen_constraints::{Constraints, prefilter};
use coarsen_core::{LinearOperator, parallel};
use coarsen_sparse::{Bsr, System, assembly};

use crate::counting::bytes;

/// Full 3 x 3 blocks that couple each node with `reach` neighbours on both sides.
fn band(nodes: u32, reach: u32) -> Bsr<f64> {
    let places: Vec<(u32, u32)> = (0..nodes)
        .flat_map(|i| (i.saturating_sub(reach)..=(i + reach).min(nodes - 1)).map(move |j| (i, j)))
        .collect();
    let values: Vec<f64> = (0..places.len() * 9).map(|k| (k as f64 * 0.7).sin()).collect();
    assembly::from_blocks((nodes as usize, nodes as usize), (3, 3), &places, &values).unwrap()
}

/// Constraints on every eighth node from `first` on: points, planes, and vertices on faces.
fn constrain(c: &mut Constraints, first: usize) {
    c.clear();
    for (k, i) in (first..c.nodes() - 8).step_by(8).enumerate() {
        let normal = [(i as f64).sin(), 0.5, 1.0];
        match k % 3 {
            0 => c.point(i, &normal).unwrap(),
            1 => c.plane(i, &normal, 0.1).unwrap(),
            _ => c.vertex_face(i, [i + 2, i + 4, i + 5], [0.2, 0.3, 0.5], &normal, 0.1).unwrap(),
        }
    }
}

pub(crate) fn run() {
    for threads in [1, 3] {
        parallel::threads(threads, || {
            let n = if threads > 1 { 12_000 } else { 1000 }; // large enough for several threads
            let a = band(n, 3);
            let x = vec![1.0; 3 * n as usize];
            let points = vec![[0.0, 1.0, 2.0]; n as usize];
            let mut constraints = Constraints::new(n as usize, 3).unwrap();
            constrain(&mut constraints, 0);
            let mut filtered = prefilter(&a, &constraints).unwrap();
            let mut solution = x.clone();

            let mut numeric = || {
                for first in [1, 0, 5] {
                    constrain(&mut constraints, first);
                    let mut system = System::from(&a);
                    system.positions = Some(&points);
                    filtered.update(system, &constraints).unwrap();
                    filtered.solve(&x, &mut solution, |a, c, y| a.apply(c, y)).unwrap();
                }
            };
            numeric();
            // A repeated allocation occurs in every run. A pool thread that starts late allocates only once.
            let least = (0..5).map(|_| bytes(&mut numeric)).min();
            assert_eq!(least, Some(0), "{threads} threads");
        })
        .unwrap();
    }
    assert!(bytes(|| drop(std::hint::black_box(vec![0_u8; 100]))) >= 100, "the counter counts");
}
