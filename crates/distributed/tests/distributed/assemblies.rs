//! Both ways of assembly give the matrix of one host; bits do not depend on ranks; who sends what.

use coarsen_core::SplitMix64;
use coarsen_distributed::simulation::{Machine, SimComm, Topology};
use coarsen_distributed::{DistError, Entries, GlobalRows, Layout, OwnerFill, Partition, SelfComm};
use coarsen_sparse::{Bsr, assembly};

use crate::common::{RANKS, layouts, on_ranks};

/// The triangles of a grid of n x n nodes, and some contact pairs across it.
fn stencils(n: u64) -> Vec<Vec<u64>> {
    let mut all = Vec::new();
    for i in 0..n - 1 {
        for j in 0..n - 1 {
            let at = i * n + j;
            all.push(vec![at, at + 1, at + n]);
            all.push(vec![at + n + 1, at + n, at + 1]);
        }
    }
    all.extend((0..n / 2).map(|k| vec![k * (n + 1), (n * n - 1) - k]));
    all
}

/// The matrix of an element: numbers that depend on the element only.
fn hessian(element: usize, to: &mut [f64]) {
    let numbers = SplitMix64::new(element as u64).numbers(to.len());
    to.copy_from_slice(&numbers);
}

/// The blocks of an element with b unknowns per node: (i, j, block).
fn blocks(element: usize, stencil: &[u64], b: usize) -> Vec<(u64, u64, Vec<f64>)> {
    let width = stencil.len() * b;
    let mut matrix = vec![0.0; width * width];
    hessian(element, &mut matrix);
    let mut all = Vec::new();
    for (r, &i) in stencil.iter().enumerate() {
        for (c, &j) in stencil.iter().enumerate() {
            let block = (0..b * b).map(|k| matrix[(r * b + k / b) * width + c * b + k % b]).collect();
            all.push((i, j, block));
        }
    }
    all
}

/// The matrix of all elements, assembled on the host.
fn expected(n: u64, b: usize) -> Bsr<f64> {
    let (mut places, mut values) = (Vec::new(), Vec::new());
    for (element, stencil) in stencils(n).iter().enumerate() {
        for (i, j, block) in blocks(element, stencil, b) {
            places.push((i as u32, j as u32));
            values.extend(block);
        }
    }
    let size = (n * n) as usize;
    assembly::from_blocks((size, size), (b, b), &places, &values).unwrap()
}

/// With consecutive elements on each rank, the bits are those of one host.
#[test]
fn entries_of_any_rank_reach_their_owners() {
    let (n, b) = (9, 3);
    let (a, all) = (expected(n, b), stencils(n));
    for ranks in RANKS {
        for layout in layouts(81, b, ranks) {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let mut entries = Entries::new(&partition, 81, b);
                let share = |rank: usize| all.len() * rank / ranks;
                for element in share(partition.rank())..share(partition.rank() + 1) {
                    for (i, j, block) in blocks(element, &all[element], b) {
                        entries.add(i, j, &block).unwrap();
                    }
                }
                let rows = entries.finish().unwrap();
                assert_eq!(rows, GlobalRows::of(&a, layout.range(partition.rank())).unwrap());
            });
        }
    }
}

/// The bits are those of one host; every element is computed by the owners of its nodes and by no other rank.
#[test]
fn owners_compute_their_elements_redundantly() {
    let (n, b) = (9, 3);
    let (a, all) = (expected(n, b), stencils(n));
    for ranks in RANKS {
        for layout in layouts(81, b, ranks) {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let fill = OwnerFill::new(&partition, &all).unwrap();
                let touches =
                    |stencil: &[u64]| stencil.iter().any(|&node| layout.owner(node) == partition.rank());
                let touched: Vec<usize> = (0..all.len()).filter(|&e| touches(&all[e])).collect();
                assert_eq!(fill.elements(), touched);
                for _ in 0..2 {
                    let mut computed = Vec::new();
                    let rows = fill.fill(|element, to| {
                        computed.push(element);
                        assert!(to.iter().all(|v| *v == 0.0));
                        hessian(element, to);
                    });
                    assert_eq!(rows.unwrap(), GlobalRows::of(&a, layout.range(partition.rank())).unwrap());
                    assert_eq!(computed, touched);
                }
            });
        }
    }
}

/// Assembly by owners on a simulated machine: four ranks are at least 3.2 times as fast as one, and no clock
/// waits for a message.
#[test]
fn assembly_by_owners_scales() {
    let (n, all) = (64, stencils(64));
    let slowest = |ranks: usize| {
        let topology = Topology::switch(ranks).unwrap();
        let machine = Machine { alpha: 1.0, beta: 1.0, per_scalar: 1e-9, topology };
        let clocks = SimComm::run(&machine, |comm| {
            let partition = Partition::new(comm, Layout::even(n * n, 3, ranks).unwrap()).unwrap();
            partition.comm().restart().unwrap();
            OwnerFill::new(&partition, &all).unwrap().fill(hessian).unwrap();
            assert_eq!(partition.comm().clock(), partition.comm().computing());
            partition.comm().clock()
        });
        clocks.into_iter().map(Result::unwrap).fold(0.0, f64::max)
    };
    let (one, two, four) = (slowest(1), slowest(2), slowest(4));
    println!("assembly by owners: {:.2} times on 2 ranks, {:.2} times on 4", one / two, one / four);
    assert!(one / four >= 3.2 && one / two >= 1.8, "{} {}", one / two, one / four);
}

#[test]
fn entries_outside_the_matrix_are_refused() {
    let partition = Partition::new(SelfComm, Layout::even(4, 2, 1).unwrap()).unwrap();
    let mut entries = Entries::<_, f64>::new(&partition, 3, 1);
    assert!(matches!(entries.add(4, 0, &[1.0, 1.0]), Err(DistError::Row { row: 4, .. })));
    assert!(matches!(entries.add(0, 3, &[1.0, 1.0]), Err(DistError::Column { column: 3, .. })));
    assert!(matches!(entries.add(0, 0, &[1.0]), Err(DistError::Length { expected: 2, found: 1, .. })));
    entries.add(2, 1, &[1.0, 2.0]).unwrap();
    let rows = entries.finish().unwrap();
    assert_eq!((0..4).map(|k| rows.row(k).count()).collect::<Vec<_>>(), [0, 0, 1, 0]);
    let refused = OwnerFill::new(&partition, [[0_u64, 4]]).map(drop);
    assert_eq!(refused, Err(DistError::Column { row: 0, column: 4, columns: 4 }));
}

/// Rows of two patterns are added block by block; other shapes are refused.
#[test]
fn rows_are_added() {
    let (a, all) = (expected(9, 2), stencils(9));
    let partition = Partition::new(SelfComm, Layout::even(81, 2, 1).unwrap()).unwrap();
    let part = |keep: fn(usize) -> bool| {
        let own: Vec<(usize, &Vec<u64>)> = all.iter().enumerate().filter(|(e, _)| keep(*e)).collect();
        let fill = OwnerFill::new(&partition, own.iter().map(|(_, stencil)| stencil)).unwrap();
        fill.fill(|k, to| hessian(own[k].0, to)).unwrap()
    };
    let sum = part(|e| e % 3 == 0).plus(&part(|e| e % 3 != 0)).unwrap();
    let whole = GlobalRows::of(&a, 0..81).unwrap();
    assert_eq!((sum.offsets(), sum.columns()), (whole.offsets(), whole.columns()));
    assert!(sum.values().iter().zip(whole.values()).all(|(a, b)| (a - b).abs() < 1e-14));
    // In one pass as one after another, to the bit; some rows of the third are empty.
    let (one, two, three) = (part(|e| e % 3 == 0), part(|e| e % 3 == 1), part(|e| e % 9 == 8));
    let together = GlobalRows::sum(&one, &[&two, &three]).unwrap();
    assert_eq!(together, one.plus(&two).unwrap().plus(&three).unwrap());
    assert!((0..81).any(|k| three.row(k).count() == 0));
    let shorter = GlobalRows::of(&a, 0..80).unwrap();
    assert!(matches!(whole.plus(&shorter), Err(DistError::Length { expected: 81, found: 80, .. })));
    let later = GlobalRows::of(&a, 1..81).unwrap();
    assert!(matches!(shorter.plus(&later), Err(DistError::Value { found: 1, .. })));
    let scalar = GlobalRows::of(&expected(9, 1), 0..81).unwrap();
    assert!(matches!(whole.plus(&scalar), Err(DistError::Length { expected: 2, found: 1, .. })));
}
