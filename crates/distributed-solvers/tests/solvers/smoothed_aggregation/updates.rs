//! New values; unconstrained bodies; nodes that are tied behind the border of a rank.

use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Outcome, Preconditioner, Stop, Vector};
use coarsen_distributed::{Communicator, DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv};
use coarsen_distributed_solvers::{DistHierarchy, DistMultigrid};
use coarsen_krylov::{Cg, NullSpace, Projected};
use coarsen_problems::cloth;
use coarsen_sparse::{Bsr, assembly};

use crate::common::{noise, on_ranks};

fn even<C: Communicator>(a: &Bsr<f64>, comm: C) -> Arc<Partition<C>> {
    let layout = Layout::even(a.pattern().rows() as u64, a.block().0, comm.size()).unwrap();
    Partition::new(comm, layout).unwrap()
}

fn own<C: Communicator>(a: &Bsr<f64>, partition: &Partition<C>) -> GlobalRows<f64> {
    GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap()
}

fn parameters(gather_below: usize) -> DistMultigrid {
    DistMultigrid { gather_below, share: 0, ..DistMultigrid::default() }
}

/// The own part of M r.
fn applied<C: Communicator>(m: &mut DistHierarchy<C>, partition: &Arc<Partition<C>>) -> Vec<f64> {
    let r = partition.part_of(&noise(partition.layout().unknowns(), 4)).unwrap();
    let mut z = r.like().unwrap();
    m.apply(&r, &mut z);
    z.own().to_vec()
}

/// Values that are all multiplied by 4 divide M by 4 to the bit; the first values give the first operator again. New
/// values take about as many iterations as a build, and another pattern is built again.
#[test]
fn an_update_follows_the_values() {
    let (first, second) = (cloth(33, 0.01).unwrap().matrix, cloth(33, 0.006).unwrap().matrix);
    let mut scaled = first.clone();
    scaled.values_mut().iter_mut().for_each(|v| *v *= 4.0);
    let n = 3 * 33 * 33;
    let chained = (0..n - 3).flat_map(|i| [(i, i + 3, -1.0), (i + 3, i, -1.0)]);
    let entries: Vec<_> = (0..n).map(|i| (i, i, 2.1)).chain(chained).collect();
    let other = assembly::from_triplets_blocked(n as usize, n as usize, (3, 3), &entries).unwrap();
    for ranks in [1, 2, 3] {
        on_ranks(ranks, |comm| {
            let partition = even(&first, comm);
            let mut m = parameters(300).build(&partition, &own(&first, &partition), None).unwrap();
            assert!(m.divided() > 0);
            let before = applied(&mut m, &partition);
            assert_eq!(m.update(&own(&scaled, &partition)).unwrap(), Reused::Structure);
            assert!(applied(&mut m, &partition).iter().zip(&before).all(|(z, b)| 4.0 * z == *b));
            assert_eq!(m.update(&own(&second, &partition)).unwrap(), Reused::Structure);
            let mut rebuilt = parameters(300).build(&partition, &own(&second, &partition), None).unwrap();
            let a = DistMatrix::new(&partition, &partition, &own(&second, &partition), Spmv::Halo).unwrap();
            let b = partition.part_of(&noise(3 * 33 * 33, 3)).unwrap();
            let iterations = [&mut m, &mut rebuilt].map(|m| {
                let mut x = b.like().unwrap();
                let report = Cg::new(Stop::relative(1e-8)).solve(&a, m, &b, &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::Converged, "{report}");
                report.iterations
            });
            assert!(10 * iterations[0] <= 12 * iterations[1], "{iterations:?}");
            m.update(&own(&first, &partition)).unwrap();
            assert_eq!(applied(&mut m, &partition), before);
            assert_eq!(m.update(&own(&other, &partition)).unwrap(), Reused::Nothing);
            let mut rebuilt = parameters(300).build(&partition, &own(&other, &partition), None).unwrap();
            assert_eq!(applied(&mut m, &partition), applied(&mut rebuilt, &partition));
        });
    }
}

/// Values that one rank refuses, on the finest level or on a coarse one, are an error on all ranks, and the operator keeps
/// its bits.
#[test]
fn refused_values_change_nothing() {
    let first = cloth(33, 0.01).unwrap().matrix;
    let at = first.pattern().find(1000, 1000).unwrap() * 9;
    let changed = |change: &dyn Fn(&mut [f64])| {
        let mut a = first.clone();
        change(a.values_mut());
        a
    };
    // The last one has positive diagonal blocks, but is indefinite: a coarse diagonal block is not positive.
    let all = [
        changed(&|v| v[at] = -1.0),
        changed(&|v| v[at + 9] = f64::NAN),
        changed(&|v| v.iter_mut().filter(|v| **v < 0.0).for_each(|v| *v *= 3.0)),
    ];
    for ranks in [1, 2, 3] {
        on_ranks(ranks, |comm| {
            let partition = even(&first, comm);
            let mut m = parameters(300).build(&partition, &own(&first, &partition), None).unwrap();
            let before = applied(&mut m, &partition);
            for (k, refused) in all.iter().enumerate() {
                assert!(m.update(&own(refused, &partition)).is_err(), "{k}");
                assert_eq!(applied(&mut m, &partition), before, "{k}");
            }
        });
    }
}

/// Grids with natural borders, one of `sides[k]` by `sides[k]` nodes for each body, and the kernel of their matrix.
fn bodies(sides: &[u32]) -> (Bsr<f64>, Vec<Vec<f64>>) {
    let (mut entries, mut first, mut starts) = (Vec::new(), 0, vec![0]);
    for &side in sides {
        for i in 0..side {
            for j in 0..side {
                let next = [(i + 1, j), (i, j + 1)].into_iter().filter(|&(a, b)| a < side && b < side);
                for (a, b) in next {
                    let (p, q) = (first + i * side + j, first + a * side + b);
                    entries.extend([(p, p, 1.1), (q, q, 1.1), (p, q, -1.1), (q, p, -1.1)]);
                }
            }
        }
        first += side * side;
        starts.push(first as usize);
    }
    let n = first as usize;
    let inside = |body: usize, i: usize| (starts[body]..starts[body + 1]).contains(&i);
    let constant = |body: usize| (0..n).map(|i| f64::from(u8::from(inside(body, i)))).collect();
    (assembly::from_triplets(n, n, &entries).unwrap(), (0..sides.len()).map(constant).collect())
}

/// Unconstrained bodies: one of many coarse nodes, with a singular coarsest level, and bodies that become one coarse node on a
/// level of the ranks. Iterations are those of one rank up to 15 %.
#[test]
fn unconstrained_bodies_are_solved() {
    for (sides, gather_below) in [(&[30][..], 100), (&[2, 3, 30, 2, 3, 24, 2][..], 60)] {
        let (a, kernel) = bodies(sides);
        let mut b = noise(a.shape().0, 3);
        for ones in &kernel {
            let count = ones.iter().sum::<f64>();
            let mean = b.iter().zip(ones).map(|(b, one)| b * one).sum::<f64>() / count;
            b.iter_mut().zip(ones).for_each(|(b, one)| *b -= mean * one);
        }
        let mut one = 0;
        for ranks in [1, 2, 3, 4] {
            let iterations = on_ranks(ranks, |comm| {
                let partition = even(&a, comm);
                let mut m = parameters(gather_below).build(&partition, &own(&a, &partition), None).unwrap();
                assert!(m.divided() > 0, "{m}");
                let here = DistMatrix::new(&partition, &partition, &own(&a, &partition), Spmv::Halo).unwrap();
                let kernel = kernel.iter().map(|ones| partition.part_of(ones).unwrap()).collect();
                let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), NullSpace::new(kernel).unwrap());
                let b = partition.part_of(&b).unwrap();
                let mut x = b.like().unwrap();
                let report = cg.solve(&here, &mut m, &b, &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::Converged, "{sides:?} on {ranks}: {report}");
                report.iterations
            })[0];
            one = if ranks == 1 { iterations } else { one };
            assert!(
                iterations <= (one + 1).max(115 * one / 100),
                "{sides:?} on {ranks}: {iterations}, {one}"
            );
        }
    }
}

/// Groups of three nodes in a chain, strongly coupled inside and weakly to the next group. In group `tied`, nodes 0
/// and 1 are tied by a stiff coupling. Node 2 of a group couples to node 0 of the next one, and so on, so that node 1
/// of a group is not coupled to the group before.
fn chain(groups: u32, tied: u32) -> Bsr<f64> {
    let mut couplings: Vec<(u32, u32, f64)> = Vec::new();
    for g in 0..groups {
        let node = |k: u32| 3 * g + k;
        couplings.extend([(node(0), node(1), 1.0), (node(1), node(2), 1.0), (node(0), node(2), 1.0)]);
        if g == tied {
            couplings.push((node(0), node(1), 1000.0));
        }
        if g + 1 < groups {
            couplings.extend([0, 1, 2].map(|k| (node(k), node(3), 0.05)));
        }
    }
    let mut entries = Vec::new();
    for &(i, j, s) in &couplings {
        for k in 0..2 {
            let (p, q) = (2 * i + k, 2 * j + k);
            entries.extend([(p, p, s), (q, q, s), (p, q, -s), (q, p, -s)]);
        }
    }
    let n = 6 * groups;
    entries.extend((0..n).map(|i| (i, i, 0.01)));
    assembly::from_triplets_blocked(n as usize, n as usize, (2, 2), &entries).unwrap()
}

/// The border of the ranks lies between groups, before the group with the tie. Aggregates are then those of one rank,
/// and so is the operator: the first rank must know that the node beyond the border is tied to a node that it does
/// not see.
#[test]
fn ties_behind_the_border_count() {
    let a = chain(300, 150);
    let apply = |one: &Arc<Partition<_>>, rows: &GlobalRows<f64>| {
        let mut m = parameters(1000).build(one, rows, None).unwrap();
        assert_eq!(m.divided(), 1, "{m}");
        applied(&mut m, one)
    };
    let whole = even(&a, SelfComm);
    let expected = apply(&whole, &own(&a, &whole));
    let found = on_ranks(2, |comm| {
        let partition = even(&a, comm);
        let mut m = parameters(1000).build(&partition, &own(&a, &partition), None).unwrap();
        applied(&mut m, &partition)
    });
    let largest = expected.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
    for (k, (z, e)) in found.concat().iter().zip(&expected).enumerate() {
        assert!((z - e).abs() < 1e-9 * largest, "unknown {k}: {z} on two ranks, {e} on one");
    }
}
