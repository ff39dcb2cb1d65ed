//! Products in every mode equal the product of one rank; the reproducible mode has the same bits.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use coarsen_backend::DenseBlocks;
use coarsen_core::{Dot, LinearOperator, Scalar, SplitMix64, Vector};
use coarsen_distributed::{
    CommError, Communicator, DistError, DistMatrix, GlobalRows, Layout, Partition, Schedule, SelfComm, Spmv,
    ThreadComm,
};
use coarsen_problems::{cloth, poisson2d};
use coarsen_sparse::{Permutation, TransposePlan};

use crate::common::{LEAF, RANKS, bits, cut, distance, layouts, modes, noise, on_ranks, systems};

#[test]
fn products_equal_those_of_one_rank() {
    for (name, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let x = noise(rows * block, 1);
        let expected = &a * &x;
        for ranks in RANKS {
            for layout in layouts(rows, block, ranks) {
                for mode in modes(ranks) {
                    let found = on_ranks(ranks, |comm| {
                        let partition = Partition::new(comm, layout.clone()).unwrap();
                        let a = cut(&a, &partition, mode.clone());
                        let x = partition.part_of(&x).unwrap();
                        let mut y = x.like().unwrap();
                        y.fill(f64::NAN); // the old y is not read
                        a.apply(&x, &mut y);
                        a.apply(&x, &mut y); // buffers are used again
                        y.gathered().unwrap()
                    });
                    assert!(found.iter().all(|y| bits(y) == bits(&found[0])), "{name}: ranks differ");
                    assert!(distance(&found[0], &expected) < 1e-14, "{name} on {ranks} ranks, {mode:?}");
                }
            }
        }
    }
}

/// The numbers of a sum.
fn read<S: Scalar>(dot: Dot<S>) -> [S::Real; 2] {
    [dot.value.read(), dot.magnitude.read()]
}

/// b − A x and xᵀA x in one pass equal those of plain operations, in every mode.
#[test]
fn fused_products_equal_plain_ones() {
    for (name, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let (x, b) = (noise(rows * block, 1), noise(rows * block, 2));
        for ranks in RANKS {
            let reproducible = Layout::reproducible(rows as u64, block, ranks, LEAF).unwrap();
            for layout in layouts(rows, block, ranks).into_iter().chain([reproducible]) {
                for mode in modes(ranks) {
                    on_ranks(ranks, |comm| {
                        let partition = Partition::new(comm, layout.clone()).unwrap();
                        let a = cut(&a, &partition, mode.clone());
                        let (x, b) = (partition.part_of(&x).unwrap(), partition.part_of(&b).unwrap());
                        let (mut ax, mut y, mut r) =
                            (x.like().unwrap(), x.like().unwrap(), x.like().unwrap());
                        a.apply(&x, &mut ax);
                        let expected = read(x.dot_magnitude(&ax));
                        for _ in 0..2 {
                            y.fill(f64::NAN);
                            let dot = read(a.apply_dot(&x, &mut y));
                            assert_eq!(bits(y.own()), bits(ax.own()), "{name} on {ranks} ranks, {mode:?}");
                            let error = (dot[0] - expected[0]).abs().max((dot[1] - expected[1]).abs());
                            assert!(
                                error < 1e-14 * expected[1],
                                "{name} on {ranks} ranks, {mode:?}: {error}"
                            );
                        }
                        r.fill(f64::NAN);
                        a.residual(&b, &x, &mut r);
                        let expected: Vec<f64> = b.own().iter().zip(ax.own()).map(|(b, ax)| b - ax).collect();
                        assert!(distance(r.own(), &expected) < 1e-13, "{name} on {ranks} ranks, {mode:?}");
                    });
                }
            }
        }
    }
}

/// y + A x and a step of relaxation in one pass equal those of plain operations, in every mode.
#[test]
fn sums_and_steps_with_products_equal_plain_ones() {
    for (name, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let n = rows * block;
        let [x, b, y] = [1, 2, 3].map(|seed| noise(n, seed));
        for ranks in RANKS {
            for layout in layouts(rows, block, ranks) {
                for mode in modes(ranks) {
                    on_ranks(ranks, |comm| {
                        let what = format!("{name} on {ranks} ranks, {mode:?}");
                        let partition = Partition::new(comm, layout.clone()).unwrap();
                        let a = cut(&a, &partition, mode.clone());
                        let [x, b, y] = [&x, &b, &y].map(|v| partition.part_of(v).unwrap());
                        let mut ax = x.like().unwrap();
                        a.apply(&x, &mut ax);
                        let mut sum = x.like().unwrap();
                        sum.copy(&y);
                        a.add_to(&x, &mut sum);
                        ax.axpy(&1.0.into(), &y);
                        assert!(distance(sum.own(), ax.own()) < 1e-13, "{what}");

                        let d = DenseBlocks::new(block, noise(partition.count() * block * block, 4)).unwrap();
                        let mut r = x.like().unwrap();
                        a.residual(&b, &x, &mut r);
                        let [mut s, mut found] = [x.like().unwrap(), x.like().unwrap()];
                        let mut old = vec![f64::NAN; r.own().len()]; // the old s is not read
                        s.own_mut().copy_from_slice(&old);
                        for (omega, beta) in [(0.7, 0.0), (0.3, -0.2)] {
                            a.relax_into(&d, [omega, beta], &b, &x, &mut s, &mut found);
                            let mut step = vec![0.0; old.len()];
                            d.multiply(r.own(), &mut step);
                            let kept = |old: f64| if beta == 0.0 { 0.0 } else { beta * old };
                            step.iter_mut().zip(&old).for_each(|(s, &old)| *s = omega * *s + kept(old));
                            assert!(distance(s.own(), &step) < 1e-13, "{what}");
                            let next: Vec<f64> = x.own().iter().zip(&step).map(|(x, s)| x + s).collect();
                            assert!(distance(found.own(), &next) < 1e-13, "{what}");
                            old = step;
                        }
                    });
                }
            }
        }
    }
}

/// Two ranks, with half of all entries in columns of the other, and with few: products, y + A x, xᵀA x and steps of relaxation
/// have the same bits on any number of threads.
#[test]
fn parts_of_other_ranks_have_the_same_bits_on_any_number_of_threads() {
    let sheet = cloth(151, 0.002).unwrap().matrix;
    let nodes = sheet.pattern().rows();
    let mut order: Vec<u32> = (0..nodes as u32).collect();
    order.sort_by_key(|&node| SplitMix64::at(u64::from(node)).number().to_bits());
    let scattered = sheet.permute(&Permutation::new(order).unwrap()).unwrap();
    let (x, b) = (noise(3 * nodes, 1), noise(3 * nodes, 2));
    for a in [scattered, sheet] {
        let found = [1, 2, 7].map(|threads| {
            on_ranks(2, |comm| {
                let found = coarsen_core::parallel::threads(threads, || {
                    let partition = Partition::new(comm, Layout::even(nodes as u64, 3, 2).unwrap()).unwrap();
                    let a = cut(&a, &partition, Spmv::Halo);
                    let (x, b) = (partition.part_of(&x).unwrap(), partition.part_of(&b).unwrap());
                    let [mut ax, mut sum, mut s, mut y] = [(); 4].map(|()| x.like().unwrap());
                    a.apply(&x, &mut ax);
                    sum.copy(&b);
                    a.add_to(&x, &mut sum);
                    let d = DenseBlocks::new(3, noise(9 * partition.count(), 4)).unwrap();
                    a.relax_into(&d, [0.7, 0.0], &b, &x, &mut s, &mut y);
                    let mut again = x.like().unwrap();
                    let [found, expected] = [read(a.apply_dot(&x, &mut again)), read(x.dot_magnitude(&ax))];
                    assert!((found[0] - expected[0]).abs() < 1e-13 * expected[1]);
                    assert!(bits(again.own()) == bits(ax.own()));
                    ([ax, sum, s, y].map(|v| bits(v.own())), found.map(f64::to_bits))
                });
                found.unwrap()
            })
        });
        assert!(found.iter().all(|one| *one == found[0]));
    }
}

/// Rank 1 waits for a sum whose last message rank 0 sends during its products, before it reads the sum.
#[test]
fn sums_go_on_during_products() {
    let (a, read_it) = (poisson2d(8).unwrap().matrix, AtomicBool::new(false));
    on_ranks(2, |comm| {
        // All rows are on rank 0, so its products exchange nothing.
        let partition = Partition::new(comm, Layout::new(vec![0, 64, 64], 1).unwrap()).unwrap();
        let a = cut(&a, &partition, Spmv::Halo);
        let x = partition.part_of(&noise(64, 1)).unwrap();
        let (sum, mut y) = (x.dot(&x), x.like().unwrap());
        if partition.rank() == 1 {
            assert!(sum.read() > 0.0);
            read_it.store(true, Ordering::Relaxed);
            return;
        }
        let begun = Instant::now();
        while !read_it.load(Ordering::Relaxed) {
            assert!(begun.elapsed() < Duration::from_secs(20), "products do not carry the sum");
            a.apply(&x, &mut y);
        }
        assert!(sum.read() > 0.0);
    });
}

/// The bits of a reproducible product are those of the matrix on one host, for any layout.
#[test]
fn reproducible_products_have_the_same_bits() {
    for (name, a) in systems() {
        let (rows, block) = (a.pattern().rows(), a.block().0);
        let (x, d) = (noise(rows * block, 2), noise(rows * block * block, 4));
        let expected = bits(&(&a * &x));
        let mut others = None; // y + A x and a step of relaxation on one rank
        for ranks in RANKS {
            for layout in layouts(rows, block, ranks) {
                let found = on_ranks(ranks, |comm| {
                    let partition = Partition::new(comm, layout.clone()).unwrap();
                    let a = cut(&a, &partition, Spmv::Reproducible);
                    let x = partition.part_of(&x).unwrap();
                    let [mut y, mut sum, mut s, mut next] = [(); 4].map(|()| x.like().unwrap());
                    a.apply(&x, &mut y);
                    sum.copy(&x);
                    a.add_to(&x, &mut sum);
                    let at = partition.layout().range(partition.rank());
                    let at = at.start as usize * block * block..at.end as usize * block * block;
                    let d = DenseBlocks::new(block, d[at].to_vec()).unwrap();
                    a.relax_into(&d, [0.7, 0.0], &x, &x, &mut s, &mut next);
                    (bits(&y.gathered().unwrap()), [sum, s, next].map(|v| bits(&v.gathered().unwrap())))
                });
                let others = others.get_or_insert_with(|| found[0].1.clone());
                let same = |(y, found): &(_, _)| *y == expected && found == others;
                assert!(found.iter().all(same), "{name} on {ranks} ranks");
            }
        }
    }
}

/// In single precision, with sums in double precision.
#[test]
fn products_in_f32_equal_one_rank() {
    let a = cloth(9, 0.002).unwrap().matrix.to::<f32>();
    let x: Vec<f32> = noise(243, 1).iter().map(|v| *v as f32).collect();
    let expected = &a * &x;
    for mode in modes(4) {
        on_ranks(4, |comm| {
            let partition = Partition::new(comm, layouts(81, 3, 4)[1].clone()).unwrap();
            let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
            let here = DistMatrix::new(&partition, &partition, &rows, mode.clone()).unwrap();
            let x = partition.part_of(&x).unwrap();
            let mut y = x.like().unwrap();
            here.apply(&x, &mut y);
            let largest = expected.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
            for (found, expected) in y.gathered().unwrap().iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-6 * largest, "{mode:?}");
            }
            let mut ax = x.like().unwrap();
            let [dot, magnitude] = read(here.apply_dot(&x, &mut ax));
            assert!((dot - x.dot(&y).read()).abs() <= 1e-6 * magnitude, "{mode:?}");
            let mut r = x.like().unwrap();
            here.residual(&x, &x, &mut r);
            let errors = r.own().iter().zip(x.own()).zip(y.own()).map(|((r, x), y)| (r - (x - y)).abs());
            assert!(errors.fold(0.0, f32::max) <= 1e-6 * largest, "{mode:?}");
            let norm = x.own().iter().map(|v| f64::from(*v).powi(2)).sum::<f64>();
            let mut norm = [norm];
            partition.comm().all_reduce(&mut norm).unwrap();
            assert!((f64::from(x.norm()) - norm[0].sqrt()).abs() < 1e-7);
        });
    }
}

/// Rectangular matrices: rows and columns have layouts and blocks of their own. The columns of one rank
/// become rows of another.
#[test]
fn rows_and_columns_may_have_different_layouts() {
    let full = cloth(9, 0.002).unwrap().matrix;
    let kept: Vec<(u32, u32, f64)> = (0..120_u32)
        .flat_map(|i| (0..243_u32).map(move |j| (i, j)))
        .map(|(i, j)| (i, j, full.get(i as usize, j as usize)))
        .filter(|entry| entry.2 != 0.0)
        .collect();
    let a = coarsen_sparse::assembly::from_triplets(120, 243, &kept).unwrap();
    let transposed = TransposePlan::new(a.pattern()).unwrap().build(&a).unwrap();
    let (x, z) = (noise(243, 1), noise(120, 2));
    for ranks in RANKS {
        for mode in modes(ranks) {
            on_ranks(ranks, |comm| {
                let rows = Partition::new(comm.clone(), Layout::even(120, 1, ranks).unwrap()).unwrap();
                let columns = Partition::new(comm, layouts(243, 1, ranks)[1].clone()).unwrap();
                for (a, x, from, to) in [(&a, &x, &columns, &rows), (&transposed, &z, &rows, &columns)] {
                    let own = GlobalRows::of(a, to.layout().range(to.rank())).unwrap();
                    let here = DistMatrix::new(to, from, &own, mode.clone()).unwrap();
                    let mut y = to.vector(vec![0.0; to.count()]).unwrap();
                    here.apply(&from.part_of(x).unwrap(), &mut y);
                    assert!(distance(&y.gathered().unwrap(), &(a * x)) < 1e-14);
                }
            });
        }
    }
}

/// Every sub-vector is sent n − 1 times; a halo contains each block column that a rank needs, once.
#[test]
fn halos_send_fewer_bytes() {
    let a = cloth(32, 0.002).unwrap().matrix;
    let n = a.shape().0;
    let sent = |mode: &Spmv| -> usize {
        let all = on_ranks(4, |comm| {
            let partition = Partition::new(comm, Layout::even(n as u64 / 3, 3, 4).unwrap()).unwrap();
            cut(&a, &partition, mode.clone()).bytes_sent()
        });
        all.iter().sum()
    };
    let whole = sent(&Spmv::Pipelined(Schedule::work_queues(4).unwrap()));
    assert_eq!(whole, 8 * n * 3);
    assert_eq!(sent(&Spmv::Blocking(Schedule::ring(4).unwrap())), whole);
    assert_eq!(sent(&Spmv::Halo), sent(&Spmv::Reproducible));
    let needed = |rows: std::ops::Range<usize>| {
        let columns = rows.clone().flat_map(|i| a.row(i).map(|(j, _)| j));
        columns.filter(|j| !rows.contains(j)).collect::<HashSet<_>>().len()
    };
    let blocks: usize = (0..4).map(|rank| needed(256 * rank..256 * (rank + 1))).sum();
    assert_eq!(sent(&Spmv::Halo), 8 * 3 * blocks);
    assert!(10 * sent(&Spmv::Halo) < whole);
}

#[test]
fn invalid_rows_are_errors_on_every_rank() {
    let errors = on_ranks(3, |comm| {
        let partition = Partition::new(comm, Layout::even(6, 1, 3).unwrap()).unwrap();
        let column = if partition.rank() == 1 { 6 } else { 5 };
        let rows = GlobalRows::new(partition.first(), (1, 1), vec![0, 1, 2], vec![0, column], vec![1.0, 2.0])
            .unwrap();
        DistMatrix::new(&partition, &partition, &rows, Spmv::default()).map(drop).unwrap_err()
    });
    let wrong = DistError::Column { row: 3, column: 6, columns: 6 };
    let told = DistError::Elsewhere { rank: 1, reason: wrong.to_string() };
    assert_eq!(errors, [told.clone(), wrong, told]);

    let partition = Partition::new(SelfComm, Layout::even(2, 1, 1).unwrap()).unwrap();
    let rows = |first| GlobalRows::new(first, (1, 1), vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0]).unwrap();
    let refused = |rows: &GlobalRows<f64>, mode| {
        DistMatrix::new(&partition, &partition, rows, mode).map(drop).unwrap_err()
    };
    assert_eq!(refused(&rows(1), Spmv::Halo), DistError::Row { row: 1, rank: 0, first: 0, end: 2 });
    let ring = Spmv::Pipelined(Schedule::ring(2).unwrap());
    assert_eq!(refused(&rows(0), ring), DistError::Ranks { parts: 2, ranks: 1 });
    let blocks = GlobalRows::new(0, (1, 2), vec![0, 1, 1], vec![0], vec![1.0, 2.0]).unwrap();
    assert!(matches!(refused(&blocks, Spmv::Halo), DistError::Length { expected: 1, found: 2, .. }));
}

/// Each error names its own cause.
#[test]
fn invalid_rows_are_refused_with_their_cause() {
    let rows = |offsets: &[usize], columns: &[u64], values: &[f64]| {
        GlobalRows::new(5, (1, 1), offsets.to_vec(), columns.to_vec(), values.to_vec()).map(drop)
    };
    let (two, order) = ([1.0, 2.0], |row, before, column| Err(DistError::Order { row, before, column }));
    assert_eq!(rows(&[0, 2], &[1, 1], &two), order(5, 1, 1));
    assert_eq!(rows(&[0, 0, 2], &[7, 3], &two), order(6, 7, 3));
    let text = rows(&[0, 2], &[7, 3], &two).unwrap_err().to_string();
    assert!(text.contains("column 3 after column 7"), "{text}");
    let offset = |row, found, range| Err(DistError::Offset { row, found, range });
    assert_eq!(rows(&[1, 2], &[0, 1], &two), offset(0, 1, "0, where the columns begin"));
    assert_eq!(rows(&[0, 2, 1, 2], &[0, 1], &two), offset(2, 1, "at least the offset before it"));
    assert_eq!(rows(&[0, 1], &[0, 1], &two), offset(1, 1, "the number of columns, after the last row"));
    let length = |what, expected, found| Err(DistError::Length { what, expected, found });
    assert_eq!(rows(&[], &[], &[]), length("the offsets of block rows, one more than rows", 1, 0));
    assert_eq!(rows(&[0, 2], &[0, 1], &[1.0]), length("block values", 2, 1));
    let a = poisson2d(3).unwrap().matrix;
    for (range, start, end) in [(3..10, 3, 10), (std::ops::Range { start: 4, end: 2 }, 4, 2)] {
        assert_eq!(GlobalRows::of(&a, range).map(drop), Err(DistError::Range { start, end, rows: 9 }));
    }
    assert!(GlobalRows::<f64>::new(0, (1, 1), vec![0, 2, 1], vec![0], vec![1.0]).is_err());
}

/// A rank that is lost during a product: NaN, and a typed error from `sync` on the others.
#[test]
fn a_lost_rank_ends_a_product() {
    let a = cloth(9, 0.002).unwrap().matrix;
    for mode in modes(3) {
        let ready = std::sync::Barrier::new(3);
        let results = ThreadComm::run(3, std::time::Duration::from_secs(60), |comm| {
            let partition = Partition::new(comm, Layout::reproducible(81, 3, 3, LEAF).unwrap()).unwrap();
            let a = cut(&a, &partition, mode.clone());
            let x = partition.part_of(&noise(243, 1)).unwrap();
            ready.wait(); // every rank has its matrix
            assert!(partition.rank() != 1, "a panic for this test");
            let mut y = x.like().unwrap();
            a.apply(&x, &mut y);
            (y.norm().is_nan(), y.sync().unwrap_err(), partition.comm().failure())
        });
        for (rank, result) in results.into_iter().enumerate() {
            if rank == 1 {
                assert_eq!(result, Err(CommError::Panicked { rank: 1 }));
                continue;
            }
            let (nan, error, failure) = result.unwrap();
            assert!(nan && failure.is_some(), "{mode:?}");
            assert!(matches!(error, coarsen_core::Error::Ranks { rank: 1, stage: "a panic", .. }), "{error}");
        }
    }
}

/// Ranks that pass different modes, or different schedules, get an error; none waits for the others.
#[test]
fn ranks_agree_on_the_mode() {
    let a = cloth(4, 0.01).unwrap().matrix;
    let [ring, pairwise] = [Schedule::ring(3).unwrap(), Schedule::pairwise(3).unwrap()];
    let pairs = [
        [Spmv::Halo, Spmv::Pipelined(ring.clone())],
        [Spmv::Halo, Spmv::Reproducible],
        [Spmv::Blocking(ring.clone()), Spmv::Pipelined(ring.clone())],
        [Spmv::Pipelined(ring), Spmv::Pipelined(pairwise)],
    ];
    for pair in pairs {
        let errors = on_ranks(3, |comm| {
            let mode = pair[usize::from(comm.rank() == 2)].clone();
            let partition = Partition::new(comm, Layout::even(16, 3, 3).unwrap()).unwrap();
            let own = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
            DistMatrix::new(&partition, &partition, &own, mode).err()
        });
        let stage = "the mode of products";
        let expected = Some(DistError::Comm(CommError::Disagree { rank: 0, other: 2, stage }));
        assert!(errors.iter().all(|error| *error == expected), "{pair:?}: {errors:?}");
    }
}
