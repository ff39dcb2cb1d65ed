//! Partitions by positions and by the graph.

use coarsen_core::{Error, parallel};
use coarsen_sparse::Graph;
use coarsen_sparse::partition::{coordinate_bisection, cut, graph_growing};

/// A grid of w x h nodes and its positions.
fn grid(w: u32, h: u32) -> (Graph, Vec<[f64; 3]>) {
    let right = (0..w * h).filter(|i| i % w + 1 < w).map(|i| (i, i + 1));
    let up = (0..w * (h - 1)).map(|i| (i, i + w));
    let graph = Graph::from_edges((w * h) as usize, &right.chain(up).collect::<Vec<_>>()).unwrap();
    (graph, (0..w * h).map(|i| [f64::from(i % w), f64::from(i / w), 0.0]).collect())
}

#[test]
fn sizes_differ_by_at_most_one() {
    let (graph, positions) = grid(13, 11);
    for parts in [1, 2, 3, 7, 16, 100, 143, 200] {
        for p in [graph_growing(&graph, parts).unwrap(), coordinate_bisection(&positions, parts).unwrap()] {
            let sizes = p.sizes();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            assert!(sizes.len() == parts && most - least <= 1, "{parts} parts: {sizes:?}");
        }
    }
}

#[test]
fn counts_are_checked() {
    let (graph, positions) = grid(2, 2);
    assert!(matches!(graph_growing(&graph, 0), Err(Error::Parameter { .. })));
    assert!(matches!(coordinate_bisection(&positions, 0), Err(Error::Parameter { .. })));
    assert!(matches!(coordinate_bisection(&positions, 1 << 40), Err(Error::TooLarge { .. })));
    assert_eq!(coordinate_bisection(&[], 3).unwrap().sizes(), [0, 0, 0]);
    let many = u32::MAX as usize; // this would take seconds and gigabytes if every empty part had a cost
    assert_eq!(graph_growing(&graph, many).unwrap().count(), many);
    assert_eq!(coordinate_bisection(&positions, many).unwrap().count(), many);
}

#[test]
fn a_long_plate_is_cut_across() {
    let (graph, positions) = grid(40, 4);
    let parts = coordinate_bisection(&positions, 4).unwrap();
    assert_eq!(cut(&graph, &parts), 12);
}

#[test]
fn threads_do_not_change_parts() {
    let (_, positions) = grid(201, 97);
    let one = parallel::threads(1, || coordinate_bisection(&positions, 37).unwrap()).unwrap();
    let seven = parallel::threads(7, || coordinate_bisection(&positions, 37).unwrap()).unwrap();
    assert_eq!(one, seven);
}

#[test]
fn equal_points_are_told_apart() {
    assert_eq!(coordinate_bisection(&[[1.0; 3]; 5], 5).unwrap().sizes(), [1; 5]);
    let nan = [[0.0; 3], [f64::NAN, 0.0, 0.0]];
    assert!(matches!(coordinate_bisection(&nan, 2), Err(Error::NotFinite { index: 1, .. })));
}

#[test]
fn a_long_plate_is_cut_by_its_graph() {
    let (graph, _) = grid(40, 4);
    let parts = graph_growing(&graph, 4).unwrap();
    assert!(cut(&graph, &parts) <= 24, "cut {}", cut(&graph, &parts));
}

#[test]
fn components_are_not_torn() {
    let graph = Graph::from_edges(8, &[(0, 2), (2, 4), (4, 6), (1, 3), (3, 5), (5, 7)]).unwrap();
    let parts = graph_growing(&graph, 2).unwrap();
    assert_eq!((cut(&graph, &parts), parts.of()), (0, &[0, 1, 0, 1, 0, 1, 0, 1][..]));
}

#[test]
fn nodes_without_neighbours_are_spread() {
    let graph = Graph::from_edges(10, &[]).unwrap();
    assert_eq!(graph_growing(&graph, 5).unwrap().sizes(), [2; 5]);
}

/// A search in one half stays there. Otherwise the growth would start at a node of the other half, and the
/// parts of a path in scrambled order would be torn.
#[test]
fn searches_stay_inside() {
    let name = |i: u32| i * 5 % 12;
    let path: Vec<(u32, u32)> = (1..12).map(|i| (name(i - 1), name(i))).collect();
    let graph = Graph::from_edges(12, &path).unwrap();
    for parts in [2, 3, 4, 6, 12] {
        assert_eq!(cut(&graph, &graph_growing(&graph, parts).unwrap()), parts - 1, "{parts} parts");
    }
}
