//! An update equals a build; free bodies.

use coarsen_backend::Reused;
use coarsen_core::{Outcome, Preconditioner, Stop, Vector};
use coarsen_distributed::{DistMatrix, GlobalRows, Partition, Spmv};
use coarsen_krylov::{Cg, Krylov, NullSpace, Projected};
use coarsen_problems::cloth;
use coarsen_sparse::{Bsr, assembly};

use crate::laws::{bits, build, layouts, noise, on_ranks, recipe};

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

/// Bits of M r after updates are those after a build; the structure is kept if the pattern is.
#[test]
fn an_update_equals_a_build() {
    let (first, grid) = (cloth(25, 0.01).unwrap().matrix, free(25));
    let second = changed(&first);
    let third = cloth(25, 0.002).unwrap().matrix;
    assert_eq!(grid.pattern().rows(), first.pattern().rows());
    for ranks in [1, 2, 3, 7] {
        for layout in layouts(&first, ranks) {
            on_ranks(ranks, |comm| {
                let (_, mut m) = build(&recipe(), &first, comm.clone(), &layout);
                for a in [&second, &first, &third] {
                    let (here, mut fresh) = build(&recipe(), a, comm.clone(), &layout);
                    let on = here.rows();
                    let rows = GlobalRows::of(a, on.layout().range(on.rank())).unwrap();
                    let reused = m.update(&rows).unwrap();
                    let r = on.part_of(&noise(a.shape().0, 4)).unwrap();
                    let (mut z, mut expected) = (r.like().unwrap(), r.like().unwrap());
                    m.apply(&r, &mut z);
                    fresh.apply(&r, &mut expected);
                    let same = bits(z.own()) == bits(expected.own());
                    match reused {
                        // Domains are those of the first values, which other values may change.
                        Reused::Structure => assert!(same || !std::ptr::eq(a, &first)),
                        _ => assert!(same),
                    }
                }
            });
        }
    }
}

/// A free body: M is finite and positive on any number of ranks, with the same bits, and the system is solved.
#[test]
fn free_bodies_are_solved() {
    let a = free(30);
    let n = a.shape().0;
    let mut b = noise(n, 3);
    let mean = b.iter().sum::<f64>() / n as f64;
    b.iter_mut().for_each(|b| *b -= mean);
    let mut before = None;
    for ranks in [1, 2, 4] {
        let layout = &layouts(&a, ranks)[0];
        let all = on_ranks(ranks, |comm| {
            let (_, mut m) = build(&recipe(), &a, comm.clone(), layout);
            let on = Partition::new(comm, layout.clone()).unwrap();
            let rows = GlobalRows::of(&a, on.layout().range(on.rank())).unwrap();
            let here = DistMatrix::new(&on, &on, &rows, Spmv::Halo).unwrap();
            let b = on.part_of(&b).unwrap();
            let (mut x, mut z) = (b.like().unwrap(), b.like().unwrap());
            m.apply(&b, &mut z);
            let ones = on.vector(vec![1.0; on.count()]).unwrap();
            let mut of_ones = ones.like().unwrap();
            m.apply(&ones, &mut of_ones);
            assert!(of_ones.dot(&ones) > 0.0 && of_ones.norm().is_finite());
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
