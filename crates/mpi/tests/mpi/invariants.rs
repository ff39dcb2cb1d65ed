//! Invariants on every rank of a job. Each compares with one rank, which every process computes for itself.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use coarsen_core::{LinearOperator, Outcome, Preconditioner, Report, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, SelfComm, Spmv, Stage,
};
use coarsen_distributed_solvers::{DistMultigrid, DistSchwarz};
use coarsen_krylov::Cg;
use coarsen_mpi::{MpiComm, threads_per_rank};
use coarsen_problems::{Problem, cloth};
use coarsen_sparse::{Bsr, NearKernel};

use crate::common::{
    GENERAL, LEAF, bits, cut, distance, dominant, layouts, methods, modes, noise, solve, systems,
};

type Invariant = (&'static str, fn(&MpiComm));

const INVARIANTS: [Invariant; 10] = [
    ("messages", messages),
    ("tests of two messages", two_requests),
    ("collective operations", collectives),
    ("products", products),
    ("krylov methods", krylov),
    ("jacobi", jacobi),
    ("the same bits", same_bits),
    ("multilevel additive schwarz", schwarz),
    ("smoothed aggregation", aggregation),
    ("threads", threads),
];

pub(crate) fn run(role: &str) -> Option<ExitCode> {
    (role == "invariants").then(|| {
        let comm = MpiComm::world(Duration::from_secs(60)).unwrap();
        for (name, invariant) in INVARIANTS {
            let begun = Instant::now();
            invariant(&comm);
            if comm.rank() == 0 {
                println!("{name}: {:.2} s", begun.elapsed().as_secs_f64());
            }
        }
        ExitCode::SUCCESS
    })
}

/// Messages keep their order and their stage, also empty ones and those that MPI does not buffer.
fn messages(comm: &MpiComm) {
    let (first, second) = (Stage::new(1, "the first stage"), Stage::new(2, "the second stage"));
    let (rank, n) = (comm.rank(), comm.size());
    if n == 1 {
        return; // there is no other rank
    }
    let (next, before) = ((rank + 1) % n, (rank + n - 1) % n);
    let long = |rank: usize, k: usize| vec![(rank + k) as u8; k * 300_000];
    let receive = |k: usize| comm.receive(before, second, k * 300_000).unwrap();
    let requests: Vec<_> = (0..3).map(receive).collect();
    for k in 0..3 {
        comm.send(next, second, long(rank, k)).unwrap();
        comm.wait(comm.send(next, first, vec![k as u8]).unwrap()).unwrap();
    }
    for k in 0..3 {
        let mut request = comm.receive(before, first, 1).unwrap();
        while !comm.test(&mut request).unwrap() {
            std::thread::yield_now();
        }
        assert_eq!(comm.wait(request).unwrap(), [k]);
    }
    for (k, request) in requests.into_iter().enumerate() {
        assert!(comm.wait(request).unwrap() == long(before, k));
    }
}

/// Each message is tested on its own: one that never comes first hides no other, and one that has come stays so.
fn two_requests(comm: &MpiComm) {
    let (early, late) = (Stage::new(3, "an early stage"), Stage::new(4, "a late stage"));
    let (rank, n) = (comm.rank(), comm.size());
    if n == 1 {
        return;
    }
    let (next, before) = ((rank + 1) % n, (rank + n - 1) % n);
    comm.send(next, early, vec![1]).unwrap();
    let mut second = comm.receive(before, late, 1).unwrap();
    let mut first = comm.receive(before, early, 1).unwrap();
    let begun = Instant::now();
    loop {
        assert!(!comm.test(&mut second).unwrap(), "nobody has sent it");
        if comm.test(&mut first).unwrap() {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "the message is hidden by the other one");
        std::thread::yield_now();
    }
    assert!((0..100).all(|_| comm.test(&mut first).unwrap()), "a complete message stays complete");
    comm.barrier().unwrap(); // so that no rank tests for a late message after it was sent
    comm.send(next, late, vec![2]).unwrap();
    assert_eq!([comm.wait(first).unwrap(), comm.wait(second).unwrap()], [[1], [2]]);
}

/// Sums, gathers and broadcasts from every root.
fn collectives(comm: &MpiComm) {
    let (rank, n) = (comm.rank(), comm.size());
    let mut sums = [rank as f64, 1.0];
    comm.all_reduce(&mut sums).unwrap();
    assert_eq!(sums, [(n * (n - 1) / 2) as f64, n as f64]);
    let own = vec![rank as u8; rank % 3];
    let all: Vec<_> = (0..n).map(|rank| vec![rank as u8; rank % 3]).collect();
    assert_eq!(comm.all_gather(&own).unwrap(), all);
    for root in 0..n {
        assert_eq!(comm.gather(root, &own).unwrap(), (rank == root).then(|| all.clone()));
        let mut data = vec![rank as u8; 1 + rank];
        comm.broadcast(root, &mut data).unwrap();
        assert_eq!(data, vec![root as u8; 1 + root]);
    }
}

/// Products equal those of one rank in all modes, with even, uneven and empty ranks.
fn products(comm: &MpiComm) {
    for (system, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let (x, mut expected) = (noise(rows * block, 3), vec![0.0; rows * block]);
        a.apply(&x, &mut expected);
        for layout in layouts(rows, block, comm.size()) {
            let partition = Partition::new(comm.clone(), layout).unwrap();
            let x = partition.part_of(&x).unwrap();
            for mode in modes(comm.size()) {
                let (here, mut y) = (cut(&a, &partition, mode.clone()), x.like().unwrap());
                for _ in 0..2 {
                    here.apply(&x, &mut y);
                }
                let y = y.gathered().unwrap();
                assert!(distance(&y, &expected) < 1e-14, "{system}, {mode:?}");
                let same = mode != Spmv::Reproducible || bits(&y) == bits(&expected);
                assert!(same, "{system}: other bits than one rank");
            }
        }
    }
}

/// Every Krylov method takes as many iterations as one rank, up to one, and finds the same solution.
fn krylov(comm: &MpiComm) {
    let stop = Stop::relative(1e-10);
    for symmetric in [true, false] {
        let (a, b) = (dominant(symmetric), noise(123, 3));
        for (k, (name, _)) in methods::<DistVector<SelfComm>>(stop).into_iter().enumerate() {
            if !symmetric && !GENERAL.contains(&name) {
                continue;
            }
            let one = solve(SelfComm, &Layout::even(41, 3, 1).unwrap(), &a, &b, k, stop);
            for layout in layouts(41, 3, comm.size()).into_iter().take(3) {
                let (report, x) = solve(comm.clone(), &layout, &a, &b, k, stop);
                assert_eq!(report.outcome, Outcome::Converged, "{name}: {report}");
                assert!(report.iterations.abs_diff(one.0.iterations) <= 1, "{name}: {report}");
                assert!(distance(&x, &one.1) < 1e-8, "{name}");
            }
        }
    }
}

/// Jacobi and block Jacobi have the bits of one rank.
fn jacobi(comm: &MpiComm) {
    for (system, a) in systems() {
        let b = noise(a.shape().0, 5);
        let layout = Layout::even(a.pattern().rows() as u64, a.block().0, 1).unwrap();
        let one = applied(SelfComm, layout, &a, &b);
        for layout in layouts(a.pattern().rows(), a.block().0, comm.size()) {
            assert_eq!(applied(comm.clone(), layout, &a, &b), one, "{system}");
        }
    }
}

fn applied<C: Communicator>(comm: C, layout: Layout, a: &Bsr<f64>, b: &[f64]) -> [Vec<u64>; 2] {
    let partition = Partition::new(comm, layout).unwrap();
    let (a, b) = (cut(a, &partition, Spmv::Halo), partition.part_of(b).unwrap());
    let mut z = b.like().unwrap();
    DistJacobi::new(&a, 0.8).unwrap().apply(&b, &mut z);
    let jacobi = bits(&z.gathered().unwrap());
    DistJacobi::blocks(&a, 0.8).unwrap().apply(&b, &mut z);
    [jacobi, bits(&z.gathered().unwrap())]
}

/// In reproducible mode conjugate gradients have the bits of one rank.
fn same_bits(comm: &MpiComm) {
    for (system, a) in systems() {
        let b = noise(a.shape().0, 5);
        let (rows, block) = (a.pattern().rows() as u64, a.block().0);
        let leaves = |ranks| Layout::reproducible(rows, block, ranks, LEAF).unwrap();
        let one = reproducible(SelfComm, leaves(1), &a, &b);
        assert_eq!(reproducible(comm.clone(), leaves(comm.size()), &a, &b), one, "{system}");
    }
}

/// Multilevel additive Schwarz has the bits of one rank, and conjugate gradients in reproducible mode too.
fn schwarz(comm: &MpiComm) {
    for (system, a) in systems() {
        let (rows, block, b) = (a.pattern().rows(), a.block().0, noise(a.shape().0, 5));
        let leaves = |ranks| Layout::reproducible(rows as u64, block, ranks, LEAF).unwrap();
        let one = by_schwarz(SelfComm, leaves(1), &a, &b);
        assert_eq!(by_schwarz(comm.clone(), leaves(comm.size()), &a, &b), one, "{system}");
        for layout in layouts(rows, block, comm.size()) {
            assert_eq!(by_schwarz(comm.clone(), layout, &a, &b).0, one.0, "{system}");
        }
    }
}

/// Bits of M b and of x.
fn by_schwarz<C: Communicator>(comm: C, layout: Layout, a: &Bsr<f64>, b: &[f64]) -> (Vec<u64>, Vec<u64>) {
    let partition = Partition::new(comm, layout).unwrap();
    let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
    let parameters = DistSchwarz { chunk: 20, gather_below: 30, ..DistSchwarz::default() };
    let (a, mut m) = (cut(a, &partition, Spmv::Reproducible), parameters.build(&partition, &rows).unwrap());
    let b = partition.part_of(b).unwrap();
    let (mut x, mut z) = (b.like().unwrap(), b.like().unwrap());
    m.apply(&b, &mut z);
    let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report}");
    (bits(&z.gathered().unwrap()), bits(&x.gathered().unwrap()))
}

/// Smoothed aggregation finds the solution of one rank, in iterations within 15 % of it, rounded up.
fn aggregation(comm: &MpiComm) {
    let problem = cloth(31, 0.01).unwrap();
    let layout = |ranks| Layout::even(31 * 31, 3, ranks).unwrap();
    let (one, expected) = by_aggregation(SelfComm, layout(1), &problem);
    let (found, x) = by_aggregation(comm.clone(), layout(comm.size()), &problem);
    let within = |of: usize| (115 * of).div_ceil(100);
    assert!(found <= within(one) && one <= within(found), "{found} for {one}");
    assert!(distance(&x, &expected) < 1e-6);
}

/// Iterations and x.
fn by_aggregation<C: Communicator>(comm: C, layout: Layout, problem: &Problem) -> (usize, Vec<f64>) {
    let partition = Partition::new(comm, layout).unwrap();
    let (own, size) = (partition.layout().range(partition.rank()), partition.layout().block());
    let rows = GlobalRows::of(&problem.matrix, own.clone()).unwrap();
    let kernel = &problem.near_kernel;
    let part = |node: u64| size * kernel.vectors() * node as usize;
    let near = kernel.values()[part(own.start)..part(own.end)].to_vec();
    let near = NearKernel::from_rows(kernel.vectors(), near).unwrap();
    let parameters = DistMultigrid { gather_below: 300, share: 0, ..DistMultigrid::default() };
    let mut m = parameters.build(&partition, &rows, Some(&near)).unwrap();
    assert!(m.divided() > 0, "a level on all ranks");
    let (a, b) = (
        DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap(),
        noise(problem.matrix.shape().0, 5),
    );
    let b = partition.part_of(&b).unwrap();
    let mut x = b.like().unwrap();
    let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{}: {report}", problem.name);
    (report.iterations, x.gathered().unwrap())
}

fn reproducible<C: Communicator>(
    comm: C,
    layout: Layout,
    a: &Bsr<f64>,
    b: &[f64],
) -> (Report<f64>, Vec<u64>) {
    let partition = Partition::new(comm, layout).unwrap();
    let (a, b) = (cut(a, &partition, Spmv::Reproducible), partition.part_of(b).unwrap());
    let (mut x, mut m) = (b.like().unwrap(), DistJacobi::blocks(&a, 1.0).unwrap());
    let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
    (report, bits(&x.gathered().unwrap()))
}

/// All ranks together use at most as many threads as there are cores, or one each.
fn threads(comm: &MpiComm) {
    let own = threads_per_rank(comm).unwrap();
    let mut all = [own as f64];
    comm.all_reduce(&mut all).unwrap();
    let listed = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cores = listed.lines().filter(|line| line.starts_with("processor")).count();
    assert!(
        own >= 1 && all[0] <= cores.max(comm.size()) as f64,
        "{own} of {} threads on {cores} cores",
        all[0]
    );
}
