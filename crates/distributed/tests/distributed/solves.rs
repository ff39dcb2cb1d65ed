//! Krylov methods run on distributed vectors unchanged. Several ranks equal one rank.

use coarsen_backend::SetupError;
use coarsen_core::{Error, Identity, Outcome, Preconditioner, PreconditionerKind, Report, Stop, Vector};
use coarsen_distributed::{
    CommError, DistError, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, SelfComm, Spmv,
    ThreadComm,
};
use coarsen_krylov::{BlockCg, Cg, Krylov, NullSpace, Projected};
use coarsen_sparse::assembly;

use crate::common::{
    GENERAL, LEAF, RANKS, bits, cut, distance, dominant, layouts, methods, noise, on_ranks, solve, systems,
};

/// Every method takes as many iterations as on one rank, up to one, and finds the same solution; reports are
/// equal on all ranks.
#[test]
fn krylov_methods_run_unchanged() {
    let stop = Stop::relative(1e-10);
    for symmetric in [true, false] {
        let a = dominant(symmetric);
        let b = noise(123, 3);
        for (k, (name, _)) in methods::<DistVector<SelfComm>>(stop).into_iter().enumerate() {
            if !symmetric && !GENERAL.contains(&name) {
                continue;
            }
            let one = solve(SelfComm, &Layout::even(41, 3, 1).unwrap(), &a, &b, k, stop);
            assert_eq!(one.0.outcome, Outcome::Converged, "{name}: {}", one.0);
            for ranks in RANKS {
                for layout in layouts(41, 3, ranks) {
                    let all = on_ranks(ranks, |comm| solve(comm, &layout, &a, &b, k, stop));
                    assert!(all.iter().all(|(report, x)| *report == all[0].0 && *x == all[0].1), "{name}");
                    let (report, x) = &all[0];
                    assert_eq!(report.outcome, Outcome::Converged, "{name} on {ranks}: {report}");
                    assert!(report.iterations.abs_diff(one.0.iterations) <= 1, "{name}: {report}");
                    assert!(distance(x, &one.1) < 1e-8, "{name} on {ranks} ranks");
                }
            }
        }
    }
}

type Build = fn(&DistMatrix<ThreadComm>) -> Box<dyn Preconditioner<DistVector<ThreadComm>>>;

const PRECONDITIONERS: [(&str, Build); 2] = [
    ("jacobi", |a| Box::new(DistJacobi::new(a, 1.0).unwrap())),
    ("block jacobi", |a| Box::new(DistJacobi::blocks(a, 1.0).unwrap())),
];

/// Conjugate gradients on the gallery: to round-off in the default mode, to the bit in reproducible mode.
#[test]
fn conjugate_gradients_equal_one_rank() {
    for (system, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let b = noise(rows * block, 5);
        for (name, build) in PRECONDITIONERS {
            let run = |ranks: usize, layout: &Layout, mode: &Spmv| {
                let all = on_ranks(ranks, |comm| {
                    let partition = Partition::new(comm, layout.clone()).unwrap();
                    let a = cut(&a, &partition, mode.clone());
                    let (mut m, b) = (build(&a), partition.part_of(&b).unwrap());
                    let (mut x, mut z) = (b.like().unwrap(), b.like().unwrap());
                    m.apply(&b, &mut z);
                    let report = Cg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
                    (report, x.gathered().unwrap(), bits(&z.gathered().unwrap()))
                });
                assert!(all.iter().all(|one| *one == all[0]), "ranks differ");
                assert_eq!(all[0].0.outcome, Outcome::Converged, "{name} on {system}: {}", all[0].0);
                all.into_iter().next().unwrap()
            };
            let even = |ranks| Layout::even(rows as u64, block, ranks).unwrap();
            let leaves = |ranks| Layout::reproducible(rows as u64, block, ranks, LEAF).unwrap();
            let (one, fixed) = (run(1, &even(1), &Spmv::Halo), run(1, &leaves(1), &Spmv::Reproducible));
            assert!(distance(&fixed.1, &one.1) < 1e-8);
            for ranks in RANKS {
                let found = run(ranks, &even(ranks), &Spmv::Halo);
                assert!(
                    found.0.iterations.abs_diff(one.0.iterations) <= 1,
                    "{name} on {system}: {}",
                    found.0
                );
                assert!(distance(&found.1, &one.1) < 1e-8, "{name} on {system}, {ranks} ranks");
                assert_eq!(found.2, one.2, "{name} is the same operator on {ranks} ranks");
                let found = run(ranks, &leaves(ranks), &Spmv::Reproducible);
                assert_eq!(found.0, fixed.0, "{name} on {system}, {ranks} ranks");
                assert_eq!(bits(&found.1), bits(&fixed.1), "{name} on {system}, {ranks} ranks");
            }
        }
    }
}

/// Four columns of unequal length at once, of which the last is the sum of two others: the solutions, the iterations of one
/// rank up to one, and in reproducible mode its bits.
#[test]
fn block_conjugate_gradients_equal_one_rank() {
    let a = dominant(true);
    let scaled = |(&s, k): (&f64, u64)| noise(123, k).iter().map(|v| s * v).collect();
    let mut exact: Vec<Vec<f64>> = [1.0, 1e3, 1e-3].iter().zip(1..).map(scaled).collect();
    exact.push(exact[0].iter().zip(&exact[2]).map(|(x, y)| x + y).collect());
    let b: Vec<Vec<f64>> = exact.iter().map(|x| &a * x).collect();
    let run = |layout: &Layout, mode: &Spmv| -> Vec<(Report<f64>, Vec<f64>)> {
        let all = on_ranks(layout.ranks(), |comm| {
            let partition = Partition::new(comm, layout.clone()).unwrap();
            let a = cut(&a, &partition, mode.clone());
            let mut m = DistJacobi::blocks(&a, 1.0).unwrap();
            let b: Vec<_> = b.iter().map(|b| partition.part_of(b).unwrap()).collect();
            let mut x: Vec<_> = b.iter().map(|b| b.like().unwrap()).collect();
            let reports = BlockCg::new(Stop::relative(1e-10)).solve(&a, &mut m, &b, &mut x).unwrap();
            reports.into_iter().zip(x.iter().map(|x| x.gathered().unwrap())).collect::<Vec<_>>()
        });
        assert!(all.iter().all(|rank| *rank == all[0]), "ranks differ");
        all.into_iter().next().unwrap()
    };
    let leaves = |ranks| Layout::reproducible(41, 3, ranks, LEAF).unwrap();
    let (one, fixed) = (run(&layouts(41, 3, 1)[0], &Spmv::Halo), run(&leaves(1), &Spmv::Reproducible));
    for ranks in RANKS {
        for layout in layouts(41, 3, ranks) {
            for (((report, x), (alone, _)), exact) in run(&layout, &Spmv::Halo).iter().zip(&one).zip(&exact) {
                assert_eq!(report.outcome, Outcome::Converged, "{layout:?}: {report}");
                assert!(report.iterations.abs_diff(alone.iterations) <= 1, "{layout:?}: {report} {alone}");
                assert!(distance(x, exact) < 1e-8, "{layout:?}");
            }
        }
        assert_eq!(run(&leaves(ranks), &Spmv::Reproducible), fixed, "{ranks} ranks");
    }
}

/// A rank that is lost before or during a solve of several columns: an error that names it, on every other rank.
#[test]
fn a_lost_rank_ends_a_solve_of_several_columns() {
    let a = dominant(true);
    for late in [false, true] {
        let ready = std::sync::Barrier::new(3); // the preconditioner is set up by all ranks before one is lost
        let results = ThreadComm::run(3, std::time::Duration::from_secs(60), |comm| {
            let partition = Partition::new(comm, Layout::even(41, 3, 3).unwrap()).unwrap();
            let (a, b) = (cut(&a, &partition, Spmv::default()), partition.part_of(&noise(123, 3)).unwrap());
            let mut m = DistJacobi::new(&a, 1.0).unwrap();
            let (mut x, b) =
                ([b.like().unwrap(), b.like().unwrap()], [b, partition.part_of(&noise(123, 4)).unwrap()]);
            ready.wait();
            assert!(late || partition.rank() != 2, "a panic for this test");
            let mut leave = |_: &[f64]| {
                assert!(partition.rank() != 2, "a panic for this test");
                std::ops::ControlFlow::Continue(())
            };
            BlockCg::new(Stop::relative(1e-300)).solve_with(&a, &mut m, &b, &mut x, &mut leave).map(drop)
        });
        assert_eq!(results[2], Err(CommError::Panicked { rank: 2 }));
        for result in &results[..2] {
            assert!(matches!(result, Ok(Err(Error::Ranks { rank: 2, .. }))), "late: {late}: {result:?}");
        }
    }
}

/// The formulas: ω / aᵢᵢ, and ω times the inverse of each diagonal block.
#[test]
fn preconditioners_invert_the_diagonal() {
    let a = dominant(true);
    let r = noise(123, 7);
    on_ranks(3, |comm| {
        let partition = Partition::new(comm, layouts(41, 3, 3)[1].clone()).unwrap();
        for mode in [Spmv::Halo, Spmv::Reproducible] {
            let here = cut(&a, &partition, mode);
            let part = partition.part_of(&r).unwrap();
            let mut z = part.like().unwrap();
            let mut m = DistJacobi::new(&here, 0.5).unwrap();
            assert_eq!((m.kind(), m.size()), (PreconditionerKind::Symmetric, Some(123)));
            m.apply(&part, &mut z);
            let expected: Vec<f64> = (0..123).map(|i| 0.5 * r[i] / a.get(i, i)).collect();
            assert!(distance(&z.gathered().unwrap(), &expected) < 1e-15);
            let mut m = DistJacobi::blocks(&here, 0.5).unwrap();
            assert_eq!((m.kind(), m.size()), (PreconditionerKind::Symmetric, Some(123)));
            m.apply(&part, &mut z);
            let z = z.gathered().unwrap();
            for i in 0..123 {
                let first = i / 3 * 3;
                let product: f64 = (first..first + 3).map(|j| a.get(i, j) * z[j]).sum();
                assert!((product - 0.5 * r[i]).abs() < 1e-14);
            }
        }
    });
}

#[test]
fn a_zero_diagonal_is_an_error_on_every_rank() {
    let errors = on_ranks(3, |comm| {
        let partition = Partition::new(comm, Layout::even(6, 1, 3).unwrap()).unwrap();
        let value = if partition.rank() == 1 { 0.0 } else { -1.0 };
        let columns = vec![partition.first(), partition.first() + 1];
        let rows =
            GlobalRows::new(partition.first(), (1, 1), vec![0, 1, 2], columns, vec![1.0, value]).unwrap();
        let a = DistMatrix::new(&partition, &partition, &rows, Spmv::default()).unwrap();
        [DistJacobi::new(&a, 1.0).map(drop), DistJacobi::blocks(&a, 1.0).map(drop)]
    });
    for (k, method) in ["jacobi", "block-jacobi"].into_iter().enumerate() {
        let zero = DistError::Setup(SetupError::ZeroDiagonal { row: 3, method });
        let told = DistError::Elsewhere { rank: 1, reason: zero.to_string() };
        assert_eq!(errors[1][k], Err(zero));
        assert_eq!((&errors[0][k], &errors[2][k]), (&Err(told.clone()), &Err(told)));
    }
    let partition = Partition::new(SelfComm, Layout::even(2, 1, 1).unwrap()).unwrap();
    let rows = GlobalRows::new(0, (1, 1), vec![0, 1, 2], vec![0, 1], vec![1.0, -1.0]).unwrap();
    let a = DistMatrix::new(&partition, &partition, &rows, Spmv::default()).unwrap();
    assert_eq!(DistJacobi::new(&a, 1.0).unwrap().kind(), PreconditionerKind::Linear);
    assert_eq!(DistJacobi::blocks(&a, 1.0).unwrap().kind(), PreconditionerKind::Linear);
    for omega in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(DistJacobi::new(&a, omega).is_err() && DistJacobi::blocks(&a, omega).is_err());
    }
    // ω / d underflows.
    let rows = GlobalRows::new(0, (1, 1), vec![0, 1, 2], vec![0, 1], vec![3e38_f32, 1.0]).unwrap();
    let a = DistMatrix::new(&partition, &partition, &rows, Spmv::default()).unwrap();
    assert!(DistJacobi::new(&a, 1e-8).is_err() && DistJacobi::blocks(&a, 1e-8).is_err());
    let partition = Partition::new(SelfComm, Layout::even(1, 2, 1).unwrap()).unwrap();
    let rows = GlobalRows::new(0, (2, 2), vec![0, 1], vec![0], vec![3e38_f32, 0.0, 0.0, 1.0]).unwrap();
    let a = DistMatrix::new(&partition, &partition, &rows, Spmv::default()).unwrap();
    assert!(DistJacobi::blocks(&a, 1e-8).is_err());
}

/// Constants are projected out of a free chain.
#[test]
fn singular_systems_are_solved() {
    let n = 120_u32;
    let springs: Vec<(u32, u32, f64)> = (0..n - 1)
        .flat_map(|i| [(i, i, 1.0), (i + 1, i + 1, 1.0), (i, i + 1, -1.0), (i + 1, i, -1.0)])
        .collect();
    let a = assembly::from_triplets(120, 120, &springs).unwrap();
    let mut b = noise(120, 5);
    let mean = b.iter().sum::<f64>() / 120.0;
    b.iter_mut().for_each(|b| *b -= mean);
    let run = |ranks: usize| {
        let all = on_ranks(ranks, |comm| {
            let partition = Partition::new(comm, Layout::even(120, 1, ranks).unwrap()).unwrap();
            let (a, b) = (cut(&a, &partition, Spmv::default()), partition.part_of(&b).unwrap());
            let mut method = Projected::new(Cg::default(), NullSpace::constants(&b).unwrap());
            let mut x = b.like().unwrap();
            let mut m = DistJacobi::new(&a, 1.0).unwrap();
            method.solve(&a, &mut m, &b, &mut x).unwrap().converged().unwrap();
            x.gathered().unwrap()
        });
        all.into_iter().next().unwrap()
    };
    let one = run(1);
    RANKS.iter().for_each(|&ranks| assert!(distance(&run(ranks), &one) < 1e-6, "{ranks} ranks"));
}

/// A rank that drops out during a solve: an error that names it, on every other rank, for every method.
#[test]
fn a_lost_rank_ends_every_solve() {
    let a = dominant(true);
    for (k, (name, _)) in methods::<DistVector<ThreadComm>>(Stop::default()).into_iter().enumerate() {
        let results = ThreadComm::run(3, std::time::Duration::from_secs(60), |comm| {
            let partition = Partition::new(comm, Layout::even(41, 3, 3).unwrap()).unwrap();
            let (a, b) = (cut(&a, &partition, Spmv::default()), partition.part_of(&noise(123, 3)).unwrap());
            let mut x = b.like().unwrap();
            let stop = Stop::relative(1e-300);
            let mut method = methods(stop).swap_remove(k).1;
            let mut left = 5;
            let mut leave = coarsen_core::every(1, |_| {
                left -= 1;
                assert!(left > 0 || partition.rank() != 2, "a panic for this test");
            });
            let mut m = DistJacobi::new(&a, 1.0).unwrap();
            method.solve_with(&a, &mut m, &b, &mut x, &mut leave).map(drop)
        });
        assert_eq!(results[2], Err(CommError::Panicked { rank: 2 }), "{name}");
        for result in &results[..2] {
            assert!(matches!(result, Ok(Err(Error::Ranks { rank: 2, .. }))), "{name}: {result:?}");
        }
    }
}

/// A rank that hangs during a solve: an error of the deadline on every rank, also on the one that hung.
#[test]
fn a_hanging_rank_ends_a_solve() {
    let a = dominant(true);
    let deadline = std::time::Duration::from_millis(200);
    let results = ThreadComm::run(3, deadline, |comm| {
        let partition = Partition::new(comm, Layout::even(41, 3, 3).unwrap()).unwrap();
        let (a, b) = (cut(&a, &partition, Spmv::default()), partition.part_of(&noise(123, 3)).unwrap());
        let mut x = b.like().unwrap();
        let mut hang = coarsen_core::every(1, |it: &coarsen_core::Iteration<'_, DistVector<ThreadComm>>| {
            if it.number == 3 && partition.rank() == 1 {
                std::thread::sleep(4 * deadline);
            }
        });
        Cg::new(Stop::relative(1e-300)).solve_with(&a, &mut Identity, &b, &mut x, &mut hang).map(drop)
    });
    for result in results {
        let error = result.unwrap().unwrap_err();
        assert!(matches!(&error, Error::Ranks { reason, .. } if reason.contains("waited 0.2 s")), "{error}");
    }
}
