//! An update equals a build; unconstrained bodies.

use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Outcome, Preconditioner, Scalar, Stop, Vector};
use coarsen_distributed::{DistMatrix, GlobalRows, Partition, Spmv};
use coarsen_distributed_solvers::{DistSchwarz, DistSubdomains};
use coarsen_krylov::{Cg, NullSpace, Projected};
use coarsen_problems::{cloth, poisson2d};
use coarsen_sparse::{Bsr, Pattern, assembly};

use super::invariants::{build, layouts, parameters};
use crate::common::{bits, noise, on_ranks};

/// The Laplacian of a grid with natural borders: constants are in its kernel.
fn free(side: u32) -> Bsr<f64> {
    let at = |i: u32, j: u32| i * side + j;
    let mut entries = Vec::new();
    for i in 0..side {
        for j in 0..side {
            for (a, b) in [(i + 1, j), (i, j + 1)].into_iter().filter(|&(a, b)| a < side && b < side) {
                let (p, q) = (at(i, j), at(a, b));
                entries.extend([(p, p, 1.1), (q, q, 1.1), (p, q, -1.1), (q, p, -1.1)]);
            }
        }
    }
    let n = (side * side) as usize;
    assembly::from_triplets(n, n, &entries).unwrap()
}

/// The same pattern with other values.
fn changed(a: &Bsr<f64>) -> Bsr<f64> {
    let mut a = a.clone();
    a.values_mut().iter_mut().for_each(|v| *v *= 1.5);
    let b = a.block().0;
    for i in (0..a.pattern().rows()).step_by(3) {
        let at = a.pattern().find(i, i).unwrap() * b * b;
        (0..b).for_each(|k| a.values_mut()[at + k * (b + 1)] *= 1.2);
    }
    a
}

/// All values times a power of two: domains and the order of round-off stay.
fn scaled(a: &Bsr<f64>) -> Bsr<f64> {
    let mut a = a.clone();
    a.values_mut().iter_mut().for_each(|v| *v *= 4.0);
    a
}

/// A spring between two nodes that are not coupled: another pattern.
fn linked(a: &Bsr<f64>, nodes: [usize; 2]) -> Bsr<f64> {
    let (n, b) = (a.pattern().rows(), a.block().0);
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let other = nodes.iter().position(|&node| node == i).map(|at| nodes[1 - at]);
        let mut row: Vec<(u32, Vec<f64>)> =
            a.pattern().range(i).zip(a.pattern().row(i)).map(|(k, &j)| (j, a.value(k).to_vec())).collect();
        if let Some(other) = other {
            let own = row.iter().position(|(j, _)| *j as usize == i).unwrap();
            let stiffness = row[own].1[0];
            let mut block = vec![0.0; b * b];
            for k in 0..b {
                row[own].1[k * (b + 1)] += stiffness;
                block[k * (b + 1)] = -stiffness;
            }
            row.push((other as u32, block));
            row.sort_by_key(|(j, _)| *j);
        }
        row.into_iter().for_each(|(j, block)| {
            indices.push(j);
            values.extend(block);
        });
        offsets.push(indices.len());
    }
    Bsr::new(Arc::new(Pattern::new(n, offsets, indices).unwrap()), (b, b), values).unwrap()
}

/// The structure is kept if and only if the pattern is. Bits of M r after an update are those after a build, if a build
/// chooses the same domains: after the first values times 4, the first values, and another pattern. After other values
/// of the same pattern, the domains are those of the first values: the system is solved, in about as many iterations.
#[test]
fn an_update_equals_a_build() {
    updates_equal_builds(&[1, 3]);
}

#[test]
#[ignore = "5 s: run by .ci/full"]
fn long_an_update_equals_a_build() {
    updates_equal_builds(&[2, 7]);
}

fn updates_equal_builds(numbers: &[usize]) {
    let first = cloth(25, 0.01).unwrap().matrix;
    let (second, third) = (changed(&first), cloth(25, 0.002).unwrap().matrix);
    let (fourth, fifth) = (scaled(&first), linked(&first, [12, 600]));
    let kept = Reused::Structure;
    for &ranks in numbers {
        for layout in layouts(&first, ranks) {
            on_ranks(ranks, |comm| {
                let (_, mut m) = build(&parameters(), &first, comm.clone(), &layout);
                for (a, reused, same) in [
                    (&fourth, kept, true),
                    (&second, kept, false),
                    (&first, kept, true),
                    (&third, kept, false),
                    (&fifth, Reused::Nothing, true),
                    (&first, Reused::Nothing, true),
                ] {
                    let (here, mut rebuilt) = build(&parameters(), a, comm.clone(), &layout);
                    let partition = here.rows();
                    let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
                    assert_eq!(m.update(&rows).unwrap(), reused);
                    let r = partition.part_of(&noise(a.shape().0, 4)).unwrap();
                    let (mut z, mut expected) = (r.like().unwrap(), r.like().unwrap());
                    m.apply(&r, &mut z);
                    rebuilt.apply(&r, &mut expected);
                    assert!(!same || bits(z.own()) == bits(expected.own()), "other bits than a build");
                    if !same {
                        let solve = |m: &mut DistSubdomains<_>| {
                            let mut x = r.like().unwrap();
                            let report = Cg::new(Stop::relative(1e-8)).solve(&here, m, &r, &mut x).unwrap();
                            assert_eq!(report.outcome, Outcome::Converged, "{report}");
                            report.iterations
                        };
                        let [after, of_build] = [&mut m, &mut rebuilt].map(solve);
                        assert!(10 * after.abs_diff(of_build) <= 2 * of_build, "{after} and {of_build}");
                    }
                }
            });
        }
    }
}

/// Values that one rank refuses are an error on all ranks, and the operator keeps its bits.
#[test]
fn refused_values_change_nothing() {
    let first = cloth(25, 0.01).unwrap().matrix;
    let mut broken = scaled(&first);
    let at = first.pattern().find(600, 600).unwrap() * 9;
    for ranks in [1, 2, 3] {
        for (value, layout) in [-1.0, f64::NAN].into_iter().zip(layouts(&first, ranks)) {
            broken.values_mut()[at] = value;
            on_ranks(ranks, |comm| {
                let (here, mut m) = build(&parameters(), &first, comm, &layout);
                let partition = here.rows();
                let r = partition.part_of(&noise(first.shape().0, 4)).unwrap();
                let (mut z, mut after) = (r.like().unwrap(), r.like().unwrap());
                m.apply(&r, &mut z);
                let rows = GlobalRows::of(&broken, partition.layout().range(partition.rank())).unwrap();
                let error = m.update(&rows).unwrap_err().to_string();
                assert!(error.contains("row 1800"), "{error}");
                m.apply(&r, &mut after);
                assert_eq!(bits(after.own()), bits(z.own()));
            });
        }
    }
}

/// New values for which the gathered level has no factor: it is divided into domains, and the table says so on all ranks.
#[test]
fn a_factor_that_fails_becomes_domains() {
    let first = poisson2d(31).unwrap().matrix;
    let mut second = first.clone();
    second.values_mut().iter_mut().filter(|v| **v < 0.0).for_each(|v| *v *= 20.0);
    let parameters = DistSchwarz { gather_below: 200, ..parameters() };
    for ranks in [1, 3] {
        let layout = &layouts(&first, ranks)[0];
        on_ranks(ranks, |comm| {
            let (here, mut m) = build(&parameters, &first, comm, layout);
            assert!(m.to_string().contains("a factor"), "{m}");
            let own = here.rows().layout().range(here.rows().rank());
            let (rows, before) = (GlobalRows::of(&second, own.clone()).unwrap(), m.levels());
            assert_eq!(m.update(&rows).unwrap(), Reused::Structure);
            assert!(m.to_string().contains("domains") && !m.to_string().contains("a factor"), "{m}");
            assert!(m.levels() >= before);
            m.update(&GlobalRows::of(&first, own).unwrap()).unwrap();
            assert!(m.to_string().contains("domains"), "domains stay: {m}");
        });
    }
}

/// An unconstrained body: M is finite and positive on any number of ranks, with the same bits, and the system is
/// solved.
#[test]
fn unconstrained_bodies_are_solved() {
    let a = free(30);
    let n = a.shape().0;
    let mut b = noise(n, 3);
    let mean = b.iter().sum::<f64>() / n as f64;
    b.iter_mut().for_each(|b| *b -= mean);
    let mut before = None;
    for ranks in [1, 2, 4] {
        let layout = &layouts(&a, ranks)[0];
        let all = on_ranks(ranks, |comm| {
            let (_, mut m) = build(&parameters(), &a, comm.clone(), layout);
            let partition = Partition::new(comm, layout.clone()).unwrap();
            let rows = GlobalRows::of(&a, partition.layout().range(partition.rank())).unwrap();
            let here = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap();
            let b = partition.part_of(&b).unwrap();
            let (mut x, mut z) = (b.like().unwrap(), b.like().unwrap());
            m.apply(&b, &mut z);
            let ones = partition.vector(vec![1.0; partition.count()]).unwrap();
            let mut of_ones = ones.like().unwrap();
            m.apply(&ones, &mut of_ones);
            assert!(of_ones.dot(&ones).read() > 0.0 && of_ones.norm().is_finite());
            let kernel = NullSpace::new(vec![ones]).unwrap();
            let mut cg = Projected::new(Cg::new(Stop::relative(1e-8)), kernel);
            let report = cg.solve(&here, &mut m, &b, &mut x).unwrap();
            assert_eq!(report.outcome, Outcome::Converged, "{report}");
            (report.iterations, bits(&z.gathered().unwrap()))
        });
        let (iterations, z) = &all[0];
        assert!(*iterations < 120, "{iterations}");
        assert!(before.as_ref().is_none_or(|before| before == z), "{ranks} ranks");
        before = Some(z.clone());
    }
}
