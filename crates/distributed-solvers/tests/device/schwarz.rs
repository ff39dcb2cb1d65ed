//! Multilevel Schwarz with the finest level on a device in each rank, compared with the CPU over ranks.

use coarsen_backend::Reused;
use coarsen_core::{Preconditioner, Vector};
use coarsen_distributed::{Layout, Partition, RankBackend, ThreadComm};
use coarsen_distributed_solvers::{DistSchwarz, RankDevice};
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d};
use coarsen_sparse::Bsr;

use crate::invariants::{self, rows};
use crate::{DEADLINE, backend};

/// Small chunks and little gathered, so that there are several levels on the ranks.
fn parameters() -> DistSchwarz {
    DistSchwarz { chunk: 50, gather_below: 20, ..DistSchwarz::default() }
}

/// Ranks whose rows begin inside chunks, an empty rank, and all rows on the last one.
fn layouts(problem: &Problem) -> Vec<Layout> {
    let (n, block) = (problem.matrix.pattern().rows() as u64, problem.matrix.block().0);
    let starts = [vec![0, n], vec![0, n / 2 + 7, n], vec![0, 60, 60, n], vec![0, 0, n]];
    starts.into_iter().map(|starts| Layout::new(starts, block).unwrap()).collect()
}

fn equals(problem: &Problem, layout: &Layout, gpu: bool) {
    invariants::equals(problem, layout, gpu, 1e-13, &|partition, there| {
        let rows = rows(&problem.matrix, partition);
        let here = parameters().build(partition, &rows).unwrap();
        let found = parameters().build_at(partition, &rows, there).unwrap();
        assert!(found.divided() > 1 && found.to_string() == here.to_string(), "{found}");
        (Box::new(here), Box::new(found))
    });
}

#[test]
fn equals_the_cpu() {
    for problem in [poisson2d(31).unwrap(), elasticity3d(7, 1.0).unwrap(), cloth(25, 0.01).unwrap()] {
        layouts(&problem).iter().for_each(|layout| equals(&problem, layout, false));
    }
}

#[test]
fn a_gpu_equals_the_cpu() {
    let problem = cloth(25, 0.01).unwrap();
    layouts(&problem)[1..].iter().for_each(|layout| equals(&problem, layout, true));
}

/// From the second application on, no device memory is allocated. The sums over domains and the rows that change
/// their rank leave a device, and as many come; nothing else does.
#[test]
fn an_application_moves_borders_alone() {
    let problem = cloth(40, 0.01).unwrap();
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let there = RankDevice::new(&device);
        let partition = Partition::new(comm, Layout::new(vec![0, 790, 1600], 3).unwrap()).unwrap();
        let parameters = DistSchwarz { chunk: 400, ..DistSchwarz::default() };
        let mut m = parameters.build_at(&partition, &rows(&problem.matrix, &partition), &there).unwrap();
        assert_eq!(m.divided(), 1);
        let r = there.vector(&partition, &vec![1.0; 3 * partition.count()]).unwrap();
        let mut z = r.like().unwrap();
        m.apply(&r, &mut z);
        let before = device.counters();
        m.apply(&r, &mut z);
        let after = device.counters();
        assert_eq!(after.allocations, before.allocations);
        // Rows 790 to 800 go to rank 0, and back; chunks of 400 nodes have at least 13 domains each.
        let moved = [after.received - before.received, after.sent - before.sent];
        let most = 24 * (10 + 100);
        assert!(moved.iter().all(|&bytes| bytes >= 24 * 26 && bytes < most), "{moved:?}, {most}");
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

#[test]
fn an_application_fits_where_the_build_fits() {
    let problem = cloth(25, 0.01).unwrap();
    invariants::fits(&problem, &layouts(&problem)[1], &|partition, there| {
        Ok(Box::new(parameters().build_at(partition, &rows(&problem.matrix, partition), there)?))
    });
}

/// An update gives the bits of a build if that chooses the same domains. Refused values leave the old ones on all ranks.
#[test]
fn an_update_equals_a_build() {
    let first = cloth(25, 0.01).unwrap();
    let (a, r) = (&first.matrix, first.right_hand_side(4));
    let (mut scaled, mut broken) = (a.clone(), a.clone());
    scaled.values_mut().iter_mut().for_each(|v| *v *= 4.0);
    let at = a.pattern().find(600, 600).unwrap() * 9;
    broken.values_mut()[at] = -1.0;
    let other = chain(a);
    for layout in layouts(&first) {
        let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
            let Some(device) = backend() else { return };
            let there = RankDevice::new(&device);
            let partition = Partition::new(comm, layout.clone()).unwrap();
            let r = there.vector(&partition, partition.part_of(&r).unwrap().own()).unwrap();
            let mut z = r.like().unwrap();
            let mut m = parameters().build_at(&partition, &rows(a, &partition), &there).unwrap();
            for (a, reused) in [
                (&scaled, Reused::Structure),
                (a, Reused::Structure),
                (&other, Reused::Nothing),
                (a, Reused::Nothing),
            ] {
                assert_eq!(m.update(&rows(a, &partition)).unwrap(), reused);
                m.apply(&r, &mut z);
                let found = z.read().unwrap();
                let mut rebuilt = parameters().build_at(&partition, &rows(a, &partition), &there).unwrap();
                rebuilt.apply(&r, &mut z);
                assert_eq!(found, z.read().unwrap());
                let error = m.update(&rows(&broken, &partition)).unwrap_err();
                assert!(error.to_string().contains("row 1800"), "{error}");
                m.apply(&r, &mut z);
                assert_eq!(found, z.read().unwrap());
            }
        });
        done.into_iter().for_each(|rank| rank.unwrap());
    }
}

/// A chain of as many nodes: another pattern.
pub(crate) fn chain(a: &Bsr<f64>) -> Bsr<f64> {
    let n = a.shape().0 as u32;
    let chained = (0..n - 3).flat_map(|i| [(i, i + 3, -1.0), (i + 3, i, -1.0)]);
    let entries: Vec<_> = (0..n).map(|i| (i, i, 2.1)).chain(chained).collect();
    coarsen_sparse::assembly::from_triplets_blocked(n as usize, n as usize, (3, 3), &entries).unwrap()
}
