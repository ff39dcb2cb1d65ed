//! The hierarchy of n ranks against that of one rank.

use coarsen_backend::{Cpu, Setup};
use coarsen_core::{Outcome, Preconditioner, PreconditionerKind, Scalar, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistError, DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv,
};
use coarsen_distributed_solvers::{DistHierarchy, DistMultigrid};
use coarsen_krylov::Cg;
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d, poisson3d};
use coarsen_sparse::{NearKernel, System, assembly};

use crate::common::{RANKS, noise, on_ranks};

/// Levels of more than 300 unknowns stay on all ranks, so that the tests have several.
fn parameters() -> DistMultigrid {
    DistMultigrid { gather_below: 300, share: 0, ..DistMultigrid::default() }
}

pub(crate) fn layout(problem: &Problem, ranks: usize) -> Layout {
    Layout::even(problem.matrix.pattern().rows() as u64, problem.matrix.block().0, ranks).unwrap()
}

/// The own rows of the near-kernel.
fn kernel<C: Communicator>(problem: &Problem, partition: &Partition<C>) -> NearKernel {
    let (all, b) = (&problem.near_kernel, partition.layout().block());
    let range = partition.layout().range(partition.rank());
    let rows = range.start as usize * b * all.vectors()..range.end as usize * b * all.vectors();
    NearKernel::from_rows(all.vectors(), all.values()[rows].to_vec()).unwrap()
}

pub(crate) fn build<C: Communicator>(
    parameters: &DistMultigrid,
    problem: &Problem,
    comm: C,
    layout: Layout,
) -> (DistMatrix<C>, DistHierarchy<C>) {
    let partition = Partition::new(comm, layout).unwrap();
    let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
    let m = parameters.build(&partition, &rows, Some(&kernel(problem, &partition))).unwrap();
    (DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap(), m)
}

/// Iterations of conjugate gradients, and levels on ranks and in all.
pub(crate) fn iterations<C: Communicator>(
    parameters: &DistMultigrid,
    problem: &Problem,
    comm: C,
    layout: Layout,
) -> (usize, usize, usize) {
    let (a, mut m) = build(parameters, problem, comm, layout);
    let b = a.rows().part_of(&noise(problem.matrix.shape().0, 3)).unwrap();
    let mut x = b.like().unwrap();
    let report = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{}: {report}", problem.name);
    (report.iterations, m.divided(), m.levels())
}

fn problems() -> Vec<Problem> {
    vec![
        poisson2d(60).unwrap(),
        poisson3d(16).unwrap(),
        elasticity3d(9, 1.0).unwrap(),
        cloth(41, 0.01).unwrap(),
        with_centre(1.0),
        with_centre(1e-3),
    ]
}

/// A grid whose nodes are all coupled to one more node.
fn with_centre(weight: f64) -> Problem {
    let grid = poisson2d(60).unwrap();
    let n = grid.matrix.pattern().rows();
    let size = grid.matrix.values().iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let w = weight * size;
    let stored = |i: usize| grid.matrix.row(i).map(move |(j, v)| (i as u32, j as u32, v[0]));
    let mut entries: Vec<(u32, u32, f64)> = (0..n).flat_map(stored).collect();
    let centre = n as u32;
    entries
        .extend((0..centre).flat_map(|i| [(i, centre, -w), (centre, i, -w), (i, i, w), (centre, centre, w)]));
    let matrix = assembly::from_triplets(n + 1, n + 1, &entries).unwrap();
    let near_kernel = NearKernel::constants(n + 1, 1).unwrap();
    Problem { name: format!("centre {weight}"), matrix, near_kernel, positions: Vec::new(), ..grid }
}

/// 15 % more iterations than one rank takes, or one more.
pub(crate) fn limit(of: usize) -> usize {
    (of + 1).max((1.15 * of as f64).floor() as usize)
}

#[test]
fn iterations_do_not_depend_on_ranks() {
    check_iterations(&[2, 7]);
}

#[test]
#[ignore = "3 s: run by .ci/full"]
fn long_iterations_do_not_depend_on_ranks() {
    check_iterations(&RANKS);
}

/// On these numbers of ranks, iterations lie within 15 % of those of one rank (or are one more), and those of one
/// rank are close to those of the hierarchy without ranks.
fn check_iterations(numbers: &[usize]) {
    for problem in problems() {
        let system = System { near_kernel: Some(&problem.near_kernel), ..System::from(&problem.matrix) };
        let mut serial = parameters().multigrid.build_from(system, &Cpu::new()).unwrap();
        let (b, mut x) = (noise(problem.matrix.shape().0, 3), vec![0.0; problem.matrix.shape().0]);
        let serial =
            Cg::new(Stop::relative(1e-8)).solve(&problem.matrix, &mut serial, &b, &mut x).unwrap().iterations;
        let one = iterations(&parameters(), &problem, SelfComm, layout(&problem, 1));
        assert!(one.1 >= 1 && one.2 >= 2, "{}: {one:?}", problem.name);
        println!("{}: serial {serial}, one rank {one:?}", problem.name);
        assert!(one.0 <= limit(serial), "{}: {} on one rank, {serial} without", problem.name, one.0);
        for &ranks in numbers {
            let all =
                on_ranks(ranks, |comm| iterations(&parameters(), &problem, comm, layout(&problem, ranks)));
            println!("  {ranks} ranks: {:?}", all[0]);
            assert!(all.iter().all(|found| *found == all[0]));
            assert!(all[0].0 <= limit(one.0), "{} on {ranks}: {} against {}", problem.name, all[0].0, one.0);
        }
    }
}

/// Ranks without rows before, between and after the others change nothing: iterations and levels are those of the ranks that
/// have rows, and iterations lie within 15 % of those of one rank (or are one more).
#[test]
fn iterations_do_not_depend_on_empty_ranks() {
    for problem in [poisson2d(60).unwrap(), cloth(41, 0.01).unwrap()] {
        let n = problem.matrix.pattern().rows() as u64;
        let one = iterations(&parameters(), &problem, SelfComm, layout(&problem, 1));
        for starts in [
            vec![0, n, n, n],
            vec![0, 0, 0, n],
            vec![0, 0, n / 2, n / 2, n, n],
            vec![0, n / 3, n / 3, n / 3 * 2, n / 3 * 2, n],
        ] {
            let mut full = starts.clone();
            full.dedup();
            let [few, all] = [full, starts.clone()].map(|starts| {
                let layout = Layout::new(starts, problem.matrix.block().0).unwrap();
                on_ranks(layout.ranks(), |comm| iterations(&parameters(), &problem, comm, layout.clone()))
            });
            println!("{}, {starts:?}: {:?}, one rank {one:?}", problem.name, all[0]);
            assert!(all.iter().all(|found| *found == few[0]), "{}: {all:?} {few:?}", problem.name);
            assert!(all[0].0 <= limit(one.0), "{}: {all:?}, one rank {one:?}", problem.name);
        }
    }
}

/// A rank with one row, one with three in the middle, and parts that grow: iterations lie within 15 % of those of one rank
/// (or are one more).
#[test]
fn iterations_do_not_depend_on_uneven_cuts() {
    for problem in [poisson2d(60).unwrap(), cloth(41, 0.01).unwrap()] {
        let n = problem.matrix.pattern().rows() as u64;
        let one = iterations(&parameters(), &problem, SelfComm, layout(&problem, 1));
        let growing = |ranks: u64| (0..=ranks).map(|k| n * k * k / (ranks * ranks)).collect::<Vec<_>>();
        for starts in [
            vec![0, 1, n],
            vec![0, n - 1, n],
            vec![0, n / 2, n / 2 + 3, n],
            vec![0, n / 10, n],
            growing(3),
            growing(4),
            growing(7),
        ] {
            let layout = Layout::new(starts.clone(), problem.matrix.block().0).unwrap();
            let all =
                on_ranks(layout.ranks(), |comm| iterations(&parameters(), &problem, comm, layout.clone()));
            println!("{}, {starts:?}: {:?}, one rank {one:?}", problem.name, all[0]);
            assert!(all.iter().all(|found| *found == all[0]));
            assert!(all[0].0 <= limit(one.0), "{}, {starts:?}: {:?}, {one:?}", problem.name, all[0]);
        }
    }
}

/// The preconditioner is symmetric and positive, also with uneven and empty ranks: ⟨M r, s⟩ = ⟨r, M s⟩.
#[test]
fn the_cycle_is_symmetric_and_positive() {
    let problem = cloth(25, 0.01).unwrap();
    let (rows, n) = (625, 1875);
    for starts in [vec![0, 625], vec![0, 100, 625], vec![0, 0, 300, 300, 625], vec![0, 625, 625, 625]] {
        let layout = Layout::new(starts.clone(), 3).unwrap();
        assert_eq!(layout.rows(), rows);
        on_ranks(layout.ranks(), |comm| {
            let (a, mut m) = build(&parameters(), &problem, comm, layout.clone());
            let [r, s] = [5, 6].map(|seed| a.rows().part_of(&noise(n, seed)).unwrap());
            let (mut mr, mut ms) = (r.like().unwrap(), r.like().unwrap());
            m.apply(&r, &mut mr);
            m.apply(&s, &mut ms);
            let (left, right) = (mr.dot(&s).read(), r.dot(&ms).read());
            assert!((left - right).abs() < 1e-10 * mr.norm() * s.norm(), "{starts:?}: {left} {right}");
            assert!(
                mr.dot(&r).read() > 0.0 && m.kind() == PreconditionerKind::Symmetric && m.size() == Some(n)
            );
        });
    }
}

/// Without a near-kernel, constants are used; a near-kernel of another length is an error on every rank.
#[test]
fn a_near_kernel_is_checked() {
    let problem = poisson2d(30).unwrap();
    let errors = on_ranks(2, |comm| {
        let partition = Partition::new(comm, layout(&problem, 2)).unwrap();
        let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
        let m = parameters().build(&partition, &rows, None).unwrap();
        assert!(m.operator_complexity() < 2.0 && m.to_string().lines().count() == m.divided() + 2);
        let short = NearKernel::constants(449 + partition.rank(), 1).unwrap();
        parameters().build(&partition, &rows, Some(&short)).map(drop)
    });
    let short = DistError::Length { what: "the rows of the near-kernel", expected: 450, found: 449 };
    let told = DistError::Elsewhere { rank: 0, reason: short.to_string() };
    assert_eq!(errors, [Err(short), Err(told)]);
}

/// A diagonal block that is not positive is an error on every rank.
#[test]
fn an_indefinite_block_is_an_error_on_every_rank() {
    let errors = on_ranks(3, |comm| {
        let partition = Partition::new(comm, Layout::even(600, 1, 3).unwrap()).unwrap();
        let sign = if partition.rank() == 1 { -1.0 } else { 1.0 };
        let own = partition.layout().range(partition.rank());
        let rows = GlobalRows::new(own.start, (1, 1), (0..=200).collect(), own.collect(), vec![sign; 200]);
        parameters().build(&partition, &rows.unwrap(), None).map(drop)
    });
    assert!(errors.iter().all(Result::is_err), "{errors:?}");
}

/// A graph with couplings of -1.
fn graph(name: &str, n: u32, diagonal: f64, edges: impl Iterator<Item = (u32, u32)>) -> Problem {
    let own = (0..n).map(|i| (i, i, diagonal));
    let entries: Vec<_> = own.chain(edges.flat_map(|(i, j)| [(i, j, -1.0), (j, i, -1.0)])).collect();
    let (n, name, positions, constraints) = (n as usize, name.to_owned(), Vec::new(), None);
    let matrix = assembly::from_triplets(n, n, &entries).unwrap();
    Problem { name, matrix, positions, near_kernel: NearKernel::constants(n, 1).unwrap(), constraints }
}

/// A level that would have nearly as many unknowns as the finer one, or make all levels together too dense, is made on no rank;
/// the table says why, and the finer level is gathered.
#[test]
fn coarsening_ends_at_its_bounds() {
    // Neighbours in this chain are on different ranks, except for 20 pairs: aggregates are single nodes and these pairs.
    let row = |k: u32| k % 2 * 1000 + k / 2;
    let pairs = (0..20).map(|k| (100 * k, 100 * k + 1));
    let chain = graph("chain", 2000, 5.0, (1..2000).map(|k| (row(k - 1), row(k))).chain(pairs));
    // The aggregates of a random graph have nearly all others as neighbours.
    let ends = noise(6000, 9).into_iter().map(|end| ((end + 1.0) / 2.0 * 1999.0) as u32);
    let random = graph("random", 2000, 10.0, ends.enumerate().map(|(k, end)| (k as u32 / 3, end)));
    for (problem, ranks, said) in [
        (
            chain,
            2,
            "coarsening over ranks ends here: the next level would have 1980 unknowns, more than 0.95 times 2000\n",
        ),
        (random, 4, "coarsening over ranks ends here: the next level would make the operator complexity "),
    ] {
        let layout = layout(&problem, ranks);
        let tables = on_ranks(ranks, |comm| {
            let (_, m) = build(&parameters(), &problem, comm, layout.clone());
            assert_eq!((m.divided(), m.ranks(), m.operator_complexity()), (0, vec![1], 1.0), "{m}");
            m.to_string()
        });
        assert!(tables.iter().all(|table| *table == tables[0]), "{tables:?}");
        assert!(tables[0].contains(said), "{}", tables[0]);
        on_ranks(ranks, |comm| iterations(&parameters(), &problem, comm, layout.clone()));
    }
}
