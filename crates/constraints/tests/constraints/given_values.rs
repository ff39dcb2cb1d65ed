//! Prescribed values compared with their formulas.

use coarsen_constraints::Dirichlet;
use coarsen_sparse::Bsr;
use coarsen_sparse::assembly::from_triplets;

/// A path of n nodes whose first node is fixed.
fn path(n: u32) -> Bsr<f64> {
    let entries: Vec<_> = (1..n)
        .flat_map(|i| [(i, i, 1.0), (i - 1, i - 1, 1.0), (i, i - 1, -1.0), (i - 1, i, -1.0)])
        .chain([(0, 0, 1.0)])
        .collect();
    from_triplets(n as usize, n as usize, &entries).unwrap()
}

#[test]
fn free_unknowns_are_listed_in_order() {
    let free = Dirichlet::new(5, [(3, 1.0), (0, 2.0)]).unwrap().eliminate(&path(5), &[0.0; 5]).unwrap();
    assert_eq!(free.free(), [1, 2, 4]);
}
