//! Classes of nodes, and colourings.

use coarsen_core::Error;
use coarsen_sparse::coloring::greedy;
use coarsen_sparse::{Classes, Graph};

#[test]
fn members_list_every_node_once() {
    let c = Classes::new(4, vec![3, 0, 3, 1, 0]).unwrap();
    assert_eq!(c.members(), (vec![0, 2, 3, 3, 5], vec![1, 4, 3, 0, 2]));
    assert!(matches!(Classes::new(1, vec![0, 1]), Err(Error::Parameter { .. })));
}

#[test]
fn random_graphs_are_coloured_within_the_bound() {
    let n = 300_u32;
    for density in [1, 4, 30] {
        let mix = |k: u32| k.wrapping_mul(2_654_435_761) >> 7;
        let edges: Vec<(u32, u32)> =
            (0..n * density).map(|k| (mix(k) % n, mix(k.wrapping_mul(31) + 5) % n)).collect();
        let g = Graph::from_edges(n as usize, &edges).unwrap();
        let c = greedy(&g);
        let other = |i: usize| g.neighbours(i).iter().all(|&j| c.of()[j as usize] != c.of()[i]);
        assert!((0..g.nodes()).all(other));
        let degree = (0..g.nodes()).map(|i| g.degree(i)).max().unwrap();
        assert!(c.count() <= degree + 1);
        assert!(c.sizes().iter().all(|&s| s > 0));
    }
}

#[test]
fn small_graphs_are_coloured() {
    let triangle = Graph::from_edges(4, &[(0, 1), (1, 2), (2, 0)]).unwrap();
    assert_eq!(greedy(&triangle).of(), [0, 1, 2, 0]);
    assert_eq!(greedy(&Graph::from_edges(0, &[]).unwrap()).count(), 0);
}
