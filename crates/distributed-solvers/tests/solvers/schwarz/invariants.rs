//! The operator of n ranks is that of one rank, to the bit; one chunk gives the method without ranks.

use coarsen_backend::{Cpu, SetupError};
use coarsen_core::{Error, Outcome, Preconditioner, PreconditionerKind, Scalar, Stop, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, DistMatrix, GlobalRows, Layout, Partition, SelfComm, Spmv,
};
use coarsen_distributed_solvers::{DistSchwarz, DistSubdomains};
use coarsen_krylov::Cg;
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d};
use coarsen_schwarz::{Coarse, Order, Schwarz};
use coarsen_sparse::{Bsr, SparseError};

use crate::common::{RANKS, bits, noise, on_ranks};

/// Small chunks and little gathered, so that tests have several chunks and levels on the ranks.
pub(crate) fn parameters() -> DistSchwarz {
    DistSchwarz { chunk: 50, gather_below: 20, ..DistSchwarz::default() }
}

fn problems() -> Vec<Problem> {
    vec![poisson2d(31).unwrap(), elasticity3d(7, 1.0).unwrap(), cloth(25, 0.01).unwrap()]
}

/// Even and uneven layouts, one with an empty rank in between, and all rows on the last rank.
pub(crate) fn layouts(a: &Bsr<f64>, ranks: usize) -> Vec<Layout> {
    let (n, block, last) = (a.pattern().rows() as u64, a.block().0, ranks as u64);
    let uneven = (0..=last).map(|k| n * k * k / (last * last)).collect();
    let empty = (0..=last).map(|k| if k == last { n } else { k / 2 * 2 * n / (last + 3) }).collect();
    let end = (0..=last).map(|k| if k == last { n } else { 0 }).collect();
    let mut all = vec![Layout::even(n, block, ranks).unwrap()];
    all.extend([uneven, empty, end].map(|starts| Layout::new(starts, block).unwrap()));
    all
}

pub(crate) fn build<C: Communicator>(
    parameters: &DistSchwarz,
    a: &Bsr<f64>,
    comm: C,
    layout: &Layout,
) -> (DistMatrix<C>, DistSubdomains<C>) {
    let partition = Partition::new(comm, layout.clone()).unwrap();
    let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
    let m = parameters.build(&partition, &rows).unwrap();
    (DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap(), m)
}

/// M r, and the number of divided levels.
fn applied<C: Communicator>(
    parameters: &DistSchwarz,
    a: &Bsr<f64>,
    comm: C,
    layout: &Layout,
) -> (Vec<u64>, usize) {
    let (here, mut m) = build(parameters, a, comm, layout);
    let r = here.rows().part_of(&noise(a.shape().0, 4)).unwrap();
    let mut z = r.like().unwrap();
    m.apply(&r, &mut z);
    assert_eq!((m.kind(), m.size()), (PreconditionerKind::Symmetric, Some(a.shape().0)));
    (bits(&z.gathered().unwrap()), m.divided())
}

/// Whatever the layout is.
#[test]
fn the_operator_has_the_same_bits_on_any_ranks() {
    for problem in problems() {
        let a = &problem.matrix;
        let one = applied(&parameters(), a, SelfComm, &layouts(a, 1)[0]);
        assert!(one.1 >= 2, "{}: {} levels on ranks", problem.name, one.1);
        for ranks in RANKS {
            for layout in layouts(a, ranks) {
                let all = on_ranks(ranks, |comm| applied(&parameters(), a, comm, &layout));
                assert!(all.iter().all(|found| *found == one), "{} on {layout:?}", problem.name);
            }
        }
    }
}

/// If all nodes are in one chunk, the method is that of one rank in the given order, with a factor and with one level.
/// (With domains on coarse levels, these grow along the couplings of the coarse matrix.)
#[test]
fn one_chunk_is_the_method_without_ranks() {
    for problem in problems() {
        let (a, n) = (&problem.matrix, problem.matrix.shape().0);
        for (coarse, levels) in [(Coarse::Auto, 8), (Coarse::Exact { unknowns: n }, 8), (Coarse::Domains, 1)]
        {
            let schwarz = Schwarz { order: Order::Natural, coarse, levels, ..Schwarz::multilevel() };
            let parameters = DistSchwarz { schwarz, chunk: n, gather_below: n };
            let (r, mut z) = (noise(n, 4), vec![0.0; n]);
            schwarz.build(a, &Cpu::new()).unwrap().apply(&r, &mut z);
            let found = applied(&parameters, a, SelfComm, &layouts(a, 1)[0]).0;
            let largest = z.iter().fold(0.0_f64, |m, z| m.max(z.abs()));
            let off = found.iter().zip(&z).fold(0.0_f64, |m, (f, z)| m.max((f64::from_bits(*f) - z).abs()));
            assert!(off < 1e-12 * largest, "{}, {coarse:?}, {levels}: {off} of {largest}", problem.name);
        }
    }
}

/// ⟨M r, s⟩ = ⟨r, M s⟩ and ⟨M r, r⟩ > 0, with uneven and empty ranks.
#[test]
fn the_preconditioner_is_symmetric_and_positive() {
    for problem in problems() {
        let a = &problem.matrix;
        for layout in layouts(a, 3) {
            on_ranks(3, |comm| {
                let (here, mut m) = build(&parameters(), a, comm, &layout);
                let [r, s] = [5, 6].map(|seed| here.rows().part_of(&noise(a.shape().0, seed)).unwrap());
                let (mut mr, mut ms) = (r.like().unwrap(), r.like().unwrap());
                m.apply(&r, &mut mr);
                m.apply(&s, &mut ms);
                let (left, right) = (mr.dot(&s).read(), r.dot(&ms).read());
                assert!((left - right).abs() < 1e-10 * mr.norm() * s.norm(), "{left} {right}");
                assert!(mr.dot(&r).read() > 0.0);
            });
        }
    }
}

/// Iterations and x of conjugate gradients in reproducible mode.
fn solved<C: Communicator>(a: &Bsr<f64>, comm: C, layout: &Layout, mode: Spmv) -> (usize, Vec<u64>) {
    let (_, mut m) = build(&parameters(), a, comm.clone(), layout);
    let partition = Partition::new(comm, layout.clone()).unwrap();
    let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
    let here = DistMatrix::new(&partition, &partition, &rows, mode).unwrap();
    let b = partition.part_of(&noise(a.shape().0, 3)).unwrap();
    let mut x = b.like().unwrap();
    let report = Cg::new(Stop::relative(1e-8)).solve(&here, &mut m, &b, &mut x).unwrap();
    assert_eq!(report.outcome, Outcome::Converged, "{report}");
    (report.iterations, bits(&x.gathered().unwrap()))
}

/// In every mode iterations differ by at most 1; in reproducible mode x has the same bits. The method without ranks
/// takes fewer iterations: chunks of 50 nodes cut its domains, and it has a factor.
#[test]
fn conjugate_gradients_equal_one_rank() {
    for problem in problems() {
        let a = &problem.matrix;
        let (rows, block) = (a.pattern().rows() as u64, a.block().0);
        let even = |ranks| Layout::even(rows, block, ranks).unwrap();
        let leaves = |ranks| Layout::reproducible(rows, block, ranks, 32).unwrap();
        let one = solved(a, SelfComm, &even(1), Spmv::Halo);
        let fixed = solved(a, SelfComm, &leaves(1), Spmv::Reproducible);
        let mut serial = Schwarz::multilevel().build(problem.system(), &Cpu::new()).unwrap();
        let (b, mut x) = (noise(a.shape().0, 3), vec![0.0; a.shape().0]);
        let serial = Cg::new(Stop::relative(1e-8)).solve(a, &mut serial, &b, &mut x).unwrap().iterations;
        let (name, more) = (&problem.name, one.0);
        assert!(serial <= more && more <= 3 * serial, "{name}: {serial} without ranks, {more} on one");
        for ranks in RANKS {
            let found = &on_ranks(ranks, |comm| solved(a, comm, &even(ranks), Spmv::Halo))[0];
            assert!(found.0.abs_diff(one.0) <= 1, "{} on {ranks}: {} {}", problem.name, found.0, one.0);
            let found = &on_ranks(ranks, |comm| solved(a, comm, &leaves(ranks), Spmv::Reproducible))[0];
            assert_eq!(*found, fixed, "{} on {ranks}", problem.name);
        }
    }
}

/// Faults are errors on every rank, with rows of the whole matrix.
#[test]
fn faults_are_errors_on_every_rank() {
    let a = poisson2d(12).unwrap().matrix;
    let broken = |row: usize, value: f64| {
        let mut a = a.clone();
        let at = a.pattern().find(row, row).unwrap();
        a.values_mut()[at] = value;
        let layout = layouts(&a, 3)[0].clone();
        on_ranks(3, |comm| {
            let partition = Partition::new(comm, layout.clone()).unwrap();
            let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
            parameters().build(&partition, &rows).map(drop).unwrap_err()
        })
    };
    for (row, value) in [(100, -1.0), (100, 0.0), (70, f64::NAN)] {
        let errors = broken(row, value);
        let text = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        assert_eq!(text.matches(&format!("row {row}")).count(), 3, "{text}");
        let own = errors.iter().filter(|error| match error {
            DistError::Setup(SetupError::NotPositive { row: found, .. }) => *found == row,
            DistError::Setup(SetupError::ZeroDiagonal { row: found, .. }) => *found == row,
            DistError::Sparse(SparseError::NotFinite { row: found, .. }) => *found == row,
            _ => false,
        });
        assert_eq!(own.count(), 1, "{text}");
    }
    let partition = Partition::new(SelfComm, Layout::even(144, 1, 1).unwrap()).unwrap();
    let rows = GlobalRows::of(&a, 0..144).unwrap();
    let refused = DistSchwarz { chunk: 0, ..parameters() }.build(&partition, &rows).map(drop).unwrap_err();
    let parameter = Error::Parameter { name: "DistSchwarz::chunk", value: 0.0, range: "1 or more" };
    assert_eq!(refused, DistError::Setup(parameter.into()));
    for (schwarz, name, value, range) in [
        (Schwarz { levels: 0, ..Schwarz::multilevel() }, "Schwarz::levels", 0.0, "1 or more"),
        (Schwarz { domain: 1, ..Schwarz::multilevel() }, "Schwarz::domain", 1.0, "2 or more"),
    ] {
        let refused = DistSchwarz { schwarz, ..parameters() }.build(&partition, &rows).map(drop).unwrap_err();
        assert_eq!(refused, DistError::Setup(Error::Parameter { name, value, range }.into()));
    }
    let short = GlobalRows::of(&a, 0..143).unwrap();
    let refused = parameters().build(&partition, &short).map(drop).unwrap_err();
    assert_eq!(refused, DistError::Row { row: 143, rank: 0, first: 0, end: 144 });
}

/// One rank has other parameters: every rank returns the same error, and none waits.
#[test]
fn parameters_that_differ_are_an_error_on_every_rank() {
    let a = poisson2d(31).unwrap().matrix;
    let layout = &layouts(&a, 3)[0];
    let of = |schwarz| DistSchwarz { schwarz, ..parameters() };
    let schwarz = parameters().schwarz;
    let others = [
        DistSchwarz { chunk: 64, ..parameters() },
        DistSchwarz { chunk: 0, ..parameters() },
        DistSchwarz { gather_below: 2000, ..parameters() },
        of(Schwarz { levels: 1, ..schwarz }),
        of(Schwarz { domain: 16, ..schwarz }),
        of(Schwarz { coarse: Coarse::Exact { unknowns: 1 }, ..schwarz }),
    ];
    for other_parameters in others {
        for odd in [0, 2] {
            let errors = on_ranks(3, |comm| {
                let partition = Partition::new(comm, layout.clone()).unwrap();
                let rows = GlobalRows::of(&a, layout.range(partition.rank())).unwrap();
                let parameters = if partition.rank() == odd { other_parameters } else { parameters() };
                parameters.build(&partition, &rows).map(drop).unwrap_err()
            });
            let (other, stage) = (if odd == 0 { 1 } else { odd }, "the parameters of multilevel Schwarz");
            let expected = DistError::Comm(CommError::Disagree { rank: 0, other, stage });
            assert!(errors.iter().all(|error| *error == expected), "{other_parameters:?}: {errors:?}");
        }
    }
}
