//! Ranks as threads, systems and layouts, for all tests.

use std::sync::Arc;
use std::time::Duration;

use coarsen_backend::conformance::ring;
use coarsen_core::{Report, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, Schedule, Spmv,
    ThreadComm,
};
use coarsen_krylov::{
    BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, Richardson, SingleReductionCg,
};
use coarsen_problems::{cloth, elasticity3d, poisson2d};
use coarsen_sparse::{Bsr, assembly};

pub(crate) use coarsen_backend::conformance::noise;

/// The numbers of ranks of most tests.
pub(crate) const RANKS: [usize; 5] = [1, 2, 3, 4, 7];

/// The number of block rows per leaf of reproducible reductions; small, so that tests have many leaves.
pub(crate) const LEAF: usize = 4;

/// Runs `f` on every rank and returns the results; a rank that panics fails the test.
pub(crate) fn on_ranks<R: Send>(ranks: usize, f: impl Fn(ThreadComm) -> R + Sync) -> Vec<R> {
    let all = ThreadComm::run(ranks, Duration::from_secs(60), f);
    all.into_iter().map(|one| one.unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Symmetric positive definite systems with blocks of 1 and 3.
pub(crate) fn systems() -> Vec<(&'static str, Bsr<f64>)> {
    vec![
        ("poisson2d", poisson2d(13).unwrap().matrix),
        ("elasticity3d", elasticity3d(4, 1.0).unwrap().matrix),
        ("cloth", cloth(11, 0.002).unwrap().matrix),
    ]
}

/// Layouts of `rows` block rows: even, uneven, and with empty ranks at both ends and in between.
pub(crate) fn layouts(rows: usize, block: usize, ranks: usize) -> Vec<Layout> {
    let n = rows as u64;
    let uneven = (0..=ranks as u64).map(|k| n * k * k / (ranks * ranks) as u64).collect();
    let empty = (0..=ranks)
        .map(|k| {
            if k <= ranks / 2 {
                0
            } else if k < ranks {
                n / 3
            } else {
                n
            }
        })
        .collect();
    let at_end = (0..=ranks).map(|k| if k == 0 { 0 } else { n }).collect();
    vec![
        Layout::even(n, block, ranks).unwrap(),
        Layout::new(uneven, block).unwrap(),
        Layout::new(empty, block).unwrap(),
        Layout::new(at_end, block).unwrap(),
    ]
}

/// All schedules for a number of ranks.
pub(crate) fn schedules(ranks: usize) -> Vec<(&'static str, Schedule)> {
    let mut all =
        vec![("ring", Schedule::ring(ranks).unwrap()), ("pairwise", Schedule::pairwise(ranks).unwrap())];
    if ranks.is_power_of_two() {
        all.push(("work queues", Schedule::work_queues(ranks).unwrap()));
    }
    all
}

/// All modes of products.
pub(crate) fn modes(ranks: usize) -> Vec<Spmv> {
    let whole =
        schedules(ranks).into_iter().flat_map(|(_, s)| [Spmv::Blocking(s.clone()), Spmv::Pipelined(s)]);
    whole.chain([Spmv::Halo, Spmv::Reproducible]).collect()
}

/// The rows of this rank of a matrix that every rank has.
pub(crate) fn cut<C: Communicator>(a: &Bsr<f64>, partition: &Arc<Partition<C>>, mode: Spmv) -> DistMatrix<C> {
    let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
    DistMatrix::new(partition, partition, &rows, mode).unwrap()
}

/// The largest difference, relative to the largest |y|.
pub(crate) fn distance(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    let largest = y.iter().fold(f64::MIN_POSITIVE, |m, y| m.max(y.abs()));
    x.iter().zip(y).fold(0.0_f64, |m, (x, y)| m.max((x - y).abs())) / largest
}

pub(crate) fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|v| v.to_bits()).collect()
}

/// Every Krylov method, with its name.
pub(crate) fn methods<V: Vector<Real = f64>>(stop: Stop<f64>) -> Vec<(&'static str, Box<dyn Krylov<V>>)> {
    let mut flexible = Gmres::new(stop);
    flexible.flexible = true;
    let mut damped = Richardson::new(stop);
    damped.omega = 0.5;
    vec![
        ("Cg", Box::new(Cg::new(stop))),
        ("SingleReductionCg", Box::new(SingleReductionCg::new(stop))),
        ("PipelinedCg", Box::new(PipelinedCg::new(stop))),
        ("FlexibleCg", Box::new(FlexibleCg::new(stop))),
        ("Minres", Box::new(Minres::new(stop))),
        ("Gmres", Box::new(Gmres::new(stop))),
        ("Gmres, flexible", Box::new(flexible)),
        ("BiCgStab", Box::new(BiCgStab::new(stop))),
        ("Richardson", Box::new(damped)),
    ]
}

/// Methods that accept unsymmetric matrices.
pub(crate) const GENERAL: [&str; 4] = ["Gmres", "Gmres, flexible", "BiCgStab", "Richardson"];

/// A diagonally dominant ring with distant couplings in 3x3 blocks, symmetric if asked for.
pub(crate) fn dominant(symmetric: bool) -> Bsr<f64> {
    let (a, nodes) = (ring(41, 3), 41);
    if !symmetric {
        return a;
    }
    let n = 3 * nodes;
    let half: Vec<(u32, u32, f64)> = (0..n)
        .flat_map(|i| (0..=i).map(move |j| (i, j)))
        .map(|(i, j)| (i as u32, j as u32, 0.5 * (a.get(i, j) + a.get(j, i))))
        .filter(|entry| entry.2 != 0.0)
        .collect();
    let scalar = assembly::from_half(n, &half, 1.0).unwrap();
    let entries: Vec<_> = (0..n)
        .flat_map(|i| scalar.row(i).map(move |(j, v)| (i as u32, j as u32, v[0])).collect::<Vec<_>>())
        .collect();
    assembly::from_triplets_blocked(n, n, (3, 3), &entries).unwrap()
}

/// Solves with method number `method` of [`methods`], with Jacobi.
pub(crate) fn solve<C: Communicator>(
    comm: C,
    layout: &Layout,
    a: &Bsr<f64>,
    b: &[f64],
    method: usize,
    stop: Stop<f64>,
) -> (Report<f64>, Vec<f64>) {
    let partition = Partition::new(comm, layout.clone()).unwrap();
    let a = cut(a, &partition, Spmv::default());
    let mut m = DistJacobi::new(&a, 1.0).unwrap();
    let b = partition.part_of(b).unwrap();
    let mut x = b.like().unwrap();
    let mut method = methods::<DistVector<C>>(stop).swap_remove(method).1;
    (method.solve(&a, &mut m, &b, &mut x).unwrap(), x.gathered().unwrap())
}
