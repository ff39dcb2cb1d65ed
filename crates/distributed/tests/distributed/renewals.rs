//! Matrices whose patterns change: halo lists that stay are not sent again.

use std::collections::BTreeSet;

use coarsen_core::{LinearOperator, Scalar, Vector};
use coarsen_distributed::{Counted, DistError, DistMatrix, GlobalRows, Layout, Partition, Spmv};
use coarsen_problems::cloth;
use coarsen_sparse::{Bsr, assembly};

use crate::common::{RANKS, bits, layouts, modes, noise, on_ranks};

const NODES: usize = 81;

/// A piece of cloth, with springs between some nodes, as contact has them.
fn touching(pairs: &[(usize, usize)]) -> Bsr<f64> {
    let a = cloth(9, 0.01).unwrap().matrix;
    let mut entries = Vec::new();
    for i in 0..NODES {
        for (j, v) in a.row(i) {
            entries.extend((0..9).map(|k| ((3 * i + k / 3) as u32, (3 * j + k % 3) as u32, v[k])));
        }
    }
    for &(i, j) in pairs {
        entries.extend([(i, j), (j, i)].map(|(i, j)| ((3 * i) as u32, (3 * j) as u32, -1.0)));
    }
    assembly::from_triplets_blocked(3 * NODES, 3 * NODES, (3, 3), &entries).unwrap()
}

/// Contact that comes, moves and goes, cloth alone, and no coupling at all between nodes.
fn patterns() -> Vec<Bsr<f64>> {
    let nodes: Vec<_> = (0..3 * NODES as u32).map(|i| (i, i, 2.0)).collect();
    let apart = assembly::from_triplets_blocked(3 * NODES, 3 * NODES, (3, 3), &nodes).unwrap();
    let [none, few, others, many] =
        [&[][..], &[(3, 77)], &[(5, 77), (40, 2)], &[(0, 80), (1, 50), (20, 70), (33, 60), (8, 44)]]
            .map(touching);
    vec![none.clone(), few.clone(), few.clone(), others, many, none, apart, few]
}

/// The columns of rank `owner` in the rows of a rank.
fn needed(a: &Bsr<f64>, layout: &Layout, rank: usize, owner: usize) -> BTreeSet<usize> {
    let [rows, columns] =
        [rank, owner].map(|of| layout.range(of).start as usize..layout.range(of).end as usize);
    rows.flat_map(|i| a.row(i).map(|(j, _)| j)).filter(|j| rank != owner && columns.contains(j)).collect()
}

/// The lists of a rank that another matrix changes and does not empty.
fn changed(of: [&Bsr<f64>; 2], layout: &Layout, rank: usize) -> u64 {
    let lists = |owner: usize| of.map(|a| needed(a, layout, rank, owner));
    let sent = |[before, after]: &[BTreeSet<usize>; 2]| before != after && !after.is_empty();
    (0..layout.ranks()).map(lists).filter(sent).count() as u64
}

/// A matrix that is renewed has the bits, the ghosts and the messages of a new one, in every mode.
#[test]
fn a_renewed_matrix_is_a_new_one() {
    let (all, x) = (patterns(), noise(3 * NODES, 4));
    for ranks in RANKS {
        for (mode, layout) in
            modes(ranks).iter().flat_map(|mode| layouts(NODES, 3, ranks).into_iter().map(move |l| (mode, l)))
        {
            on_ranks(ranks, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let rows = |a| GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
                let new = |a| DistMatrix::new(&partition, &partition, &rows(a), mode.clone()).unwrap();
                let x = partition.part_of(&x).unwrap();
                let mut here = new(&all[0]);
                for a in &all {
                    here.renew(&rows(a)).unwrap();
                    let expected = new(a);
                    let [mut y, mut z] = [0, 1].map(|_| x.like().unwrap());
                    let [one, other] = [here.apply_dot(&x, &mut y), expected.apply_dot(&x, &mut z)];
                    assert_eq!(bits(y.own()), bits(z.own()), "{mode:?} on {layout:?}");
                    assert_eq!(one.value.read().to_bits(), other.value.read().to_bits());
                    assert_eq!(
                        (here.ghosts(), here.bytes_sent()),
                        (expected.ghosts(), expected.bytes_sent())
                    );
                    here.residual(&x, &x, &mut y);
                    expected.residual(&x, &x, &mut z);
                    assert_eq!(bits(y.own()), bits(z.own()), "{mode:?} on {layout:?}");
                }
            });
        }
    }
}

/// Only lists that have changed are sent.
#[test]
fn only_changed_lists_are_sent() {
    let all = patterns();
    for layout in RANKS.into_iter().flat_map(|ranks| layouts(NODES, 3, ranks)) {
        let sent = on_ranks(layout.ranks(), |comm| {
            let comm = Counted::new(comm);
            let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
            let lists = || {
                let all = comm.traffic();
                all.iter().find(|stage| stage.stage == "the halo lists").map_or(0, |stage| stage.messages)
            };
            let rows = |a| GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
            let mut here = DistMatrix::new(&partition, &partition, &rows(&all[0]), Spmv::Halo).unwrap();
            let mut before = lists();
            let mut renewed = |a| {
                here.renew(&rows(a)).unwrap();
                let sent = lists() - before;
                before += sent;
                sent
            };
            all.iter().map(&mut renewed).collect::<Vec<_>>()
        });
        for (rank, sent) in sent.iter().enumerate() {
            let mut before = &all[0];
            for (a, sent) in all.iter().zip(sent) {
                assert_eq!(*sent, changed([before, a], &layout, rank), "rank {rank} of {layout:?}");
                before = a;
            }
        }
    }
}

/// Rows that do not fit on one rank are an error on every rank, and the old rows stay.
#[test]
fn invalid_rows_leave_a_matrix_as_it_was() {
    let (a, x) = (touching(&[(3, 77)]), noise(3 * NODES, 4));
    on_ranks(3, |comm| {
        let partition = Partition::new(comm, layouts(NODES, 3, 3)[0].clone()).unwrap();
        let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
        let mut here = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap();
        let x = partition.part_of(&x).unwrap();
        let [mut y, mut z] = [0, 1].map(|_| x.like().unwrap());
        here.apply(&x, &mut y);
        let column = if partition.rank() == 1 { NODES as u64 } else { partition.first() };
        let mut offsets = vec![1; partition.count() + 1];
        offsets[0] = 0;
        let wrong = GlobalRows::new(partition.first(), (3, 3), offsets, vec![column], vec![1.0; 9]).unwrap();
        let refused = here.renew(&wrong).unwrap_err();
        match partition.rank() {
            1 => assert!(matches!(refused, DistError::Column { column: 81, .. }), "{refused}"),
            _ => assert!(matches!(refused, DistError::Elsewhere { rank: 1, .. }), "{refused}"),
        }
        here.apply(&x, &mut z);
        assert_eq!(bits(y.own()), bits(z.own()));
    });
}
