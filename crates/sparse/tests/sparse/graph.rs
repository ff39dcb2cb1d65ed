//! Graphs: edges, breadth-first levels, Cuthill-McKee.

use coarsen_core::Error;
use coarsen_sparse::{Graph, Pattern, SparseError};

/// A path through n nodes.
fn path(n: u32) -> Graph {
    Graph::from_edges(n as usize, &(1..n).map(|i| (i - 1, i)).collect::<Vec<_>>()).unwrap()
}

#[test]
fn edges_are_symmetric_sorted_and_unique() {
    let g = Graph::from_edges(4, &[(2, 0), (0, 2), (3, 3), (1, 0), (2, 0)]).unwrap();
    assert_eq!((g.nodes(), g.edges()), (4, 2));
    assert_eq!(g.neighbours(0), [1, 2]);
    assert_eq!((g.degree(3), g.neighbours(1)), (0, &[0][..]));
    assert_eq!(g, Graph::from_edges(4, &[(0, 1), (0, 2)]).unwrap());
    assert_eq!(Graph::from_edges(0, &[]).unwrap().nodes(), 0);
}

#[test]
fn bad_input_is_named() {
    let outside = Graph::from_edges(2, &[(0, 1), (0, 2)]);
    assert_eq!(outside, Err(SparseError::Row { entry: 1, row: 2, rows: 2 }));
    let wide = Pattern::new(3, vec![0, 1], vec![2]).unwrap();
    assert_eq!(Graph::of(&wide), Err(Error::NotSquare { rows: 1, columns: 3 }));
}

#[test]
fn levels_are_distances() {
    let g = path(5);
    let levels = g.levels(1);
    assert_eq!(levels.count(), 4);
    assert_eq!((levels.level(0), levels.level(1), levels.level(3)), (&[1][..], &[0, 2][..], &[4][..]));
    assert_eq!(levels.order(), [1, 0, 2, 3, 4]);
}

/// A grid of `w` x `h` nodes with a fixed scrambled numbering.
fn scrambled_grid(w: u32, h: u32) -> Graph {
    let n = w * h;
    let name = |i: u32| (i * 37 + 11) % n; // the tests use values of n without a common factor with 37
    let mut edges = vec![];
    for i in 0..n {
        if i % w + 1 < w {
            edges.push((name(i), name(i + 1)));
        }
        if i + w < n {
            edges.push((name(i), name(i + w)));
        }
    }
    Graph::from_edges(n as usize, &edges).unwrap()
}

#[test]
fn a_scrambled_grid_gets_its_band_back() {
    let g = scrambled_grid(8, 25);
    let natural: Vec<u32> = (0..200).collect();
    assert!(g.bandwidth(&natural) > 100);
    let order = g.cuthill_mckee();
    assert!(g.bandwidth(&order) <= 9, "bandwidth {}", g.bandwidth(&order));
    assert_eq!(g.bandwidth(&order), g.bandwidth(&g.reverse_cuthill_mckee()));
}

#[test]
fn every_component_is_ordered() {
    let g = Graph::from_edges(6, &[(5, 1), (2, 4)]).unwrap();
    let mut order = g.reverse_cuthill_mckee();
    assert_eq!(g.bandwidth(&order), 1);
    order.sort_unstable();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}
