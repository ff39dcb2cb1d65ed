//! Multilevel Schwarz with the finest level on a device in each rank, compared with the CPU over ranks.

use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Class, Preconditioner, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistMatrix, GlobalRows, Layout, Partition, RankPlace, Spmv, ThreadComm,
};
use coarsen_distributed_device::{DistDeviceMatrix, RankDevice};
use coarsen_distributed_schwarz::DistSchwarz;
use coarsen_krylov::{Cg, Krylov};
use coarsen_opencl::OpenCl;
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d};
use coarsen_sparse::Bsr;

use crate::{DEADLINE, gap, place, place_as, with_memory};

/// Small chunks and little gathered, so that there are several levels on the ranks.
fn recipe() -> DistSchwarz {
    DistSchwarz { chunk: 50, gather_below: 20, ..DistSchwarz::default() }
}

/// Ranks whose rows begin inside chunks, an empty rank, and all rows on the last one.
fn layouts(problem: &Problem) -> Vec<Layout> {
    let (n, block) = (problem.matrix.pattern().rows() as u64, problem.matrix.block().0);
    let starts = [vec![0, n], vec![0, n / 2 + 7, n], vec![0, 60, 60, n], vec![0, 0, n]];
    starts.into_iter().map(|starts| Layout::new(starts, block).unwrap()).collect()
}

pub(crate) fn rows<C: Communicator>(a: &Bsr<f64>, on: &Partition<C>) -> GlobalRows<f64> {
    GlobalRows::of(a, on.layout().range(on.rank())).unwrap()
}

/// The same operator up to round-off, symmetric and positive; iterations differ by at most 1. With `card` the device
/// is treated as a graphics card.
fn equals(problem: &Problem, layout: &Layout, card: bool) {
    let (a, b) = (&problem.matrix, [1, 2].map(|seed| problem.right_hand_side(seed)));
    let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
        let Some(device) = place_as(card) else { return };
        let there = RankDevice::new(&device);
        let on = Partition::new(comm, layout.clone()).unwrap();
        let rows = rows(a, &on);
        let mut expected = recipe().build(&on, &rows).unwrap();
        let mut found = recipe().build_at(&on, &rows, &there).unwrap();
        assert!(found.divided() > 1 && found.to_string() == expected.to_string(), "{found}");
        let [r, s] = [&b[0], &b[1]].map(|b| on.part_of(b).unwrap());
        let [rd, sd] = [&r, &s].map(|v| there.vector(&on, v.own()).unwrap());
        let (mut z, mut mr, mut ms) = (r.like().unwrap(), rd.like().unwrap(), rd.like().unwrap());
        expected.apply(&r, &mut z);
        // An application must not depend on what the last one left.
        found.apply(&sd, &mut ms);
        found.apply(&rd, &mut mr);
        found.apply(&sd, &mut ms);
        if !r.own().is_empty() {
            assert!(gap(&mr.read().unwrap(), z.own()) < 1e-13, "{}, {layout:?}", problem.name);
        }
        let (left, right) = (mr.dot(&sd), rd.dot(&ms));
        assert!((left - right).abs() < 1e-10 * mr.norm() * sd.norm(), "{left} {right}");
        assert!(mr.dot(&rd) > 0.0);
        assert_eq!((found.class(), found.size()), (Class::Symmetric, Some(a.shape().0)));

        let (mut x, mut xd) = (r.like().unwrap(), rd.like().unwrap());
        let here = DistMatrix::new(&on, &on, &rows, Spmv::Halo).unwrap();
        let mut cg = Cg::new(Stop::relative(1e-8));
        let expected = cg.solve(&here, &mut expected, &r, &mut x).unwrap().converged().unwrap();
        let a = DistDeviceMatrix::new(&device, &on, &rows).unwrap();
        let mut cg = Cg::new(Stop::relative(1e-8));
        let found = cg.solve(&a, &mut found, &rd, &mut xd).unwrap().converged().unwrap();
        assert!(found.iterations.abs_diff(expected.iterations) <= 1, "{found} {expected}");
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

#[test]
fn equals_the_cpu() {
    for problem in [poisson2d(31).unwrap(), elasticity3d(7, 1.0).unwrap(), cloth(25, 0.01).unwrap()] {
        layouts(&problem).iter().for_each(|layout| equals(&problem, layout, false));
    }
}

#[test]
fn a_card_equals_the_cpu() {
    let problem = cloth(25, 0.01).unwrap();
    layouts(&problem)[1..].iter().for_each(|layout| equals(&problem, layout, true));
}

/// From the second application on, no device memory is allocated. The sums over domains and the rows that change
/// their rank leave a device, and as many come; nothing else does.
#[test]
fn an_application_moves_borders_alone() {
    let problem = cloth(40, 0.01).unwrap();
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = place() else { return };
        let there = RankDevice::new(&device);
        let on = Partition::new(comm, Layout::new(vec![0, 790, 1600], 3).unwrap()).unwrap();
        let recipe = DistSchwarz { chunk: 400, ..DistSchwarz::default() };
        let mut m = recipe.build_at(&on, &rows(&problem.matrix, &on), &there).unwrap();
        assert_eq!(m.divided(), 1);
        let r = there.vector(&on, &vec![1.0; 3 * on.count()]).unwrap();
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

/// A device that the build has filled has room for every application. A device of one rank without room for the build is
/// an error on all ranks, wherever the build ends.
#[test]
fn an_application_fits_where_the_build_fits() {
    let problem = cloth(25, 0.01).unwrap();
    let (layout, all) = (&layouts(&problem)[1], problem.right_hand_side(3));
    let on_ranks = |with: &(dyn Fn(Arc<Partition<ThreadComm>>, OpenCl<f64>) + Sync)| {
        let done = ThreadComm::run(2, DEADLINE, |comm| {
            let Some(device) = place_as(true) else { return };
            with(Partition::new(comm, layout.clone()).unwrap(), device);
        });
        done.into_iter().for_each(|rank| rank.unwrap());
    };
    let build = |on: &Arc<Partition<_>>, device: &OpenCl<f64>| {
        recipe().build_at(on, &rows(&problem.matrix, on), &RankDevice::new(device))
    };
    on_ranks(&|on, device| {
        let r = on.part_of(&all).unwrap();
        let applied = |device: &OpenCl<f64>| {
            let r = RankDevice::new(device).vector(&on, r.own()).unwrap();
            let (mut z, mut m) = (r.like().unwrap(), build(&on, device).unwrap());
            let built = device.counters().bytes;
            m.apply(&r, &mut z);
            (built, z.read().unwrap())
        };
        let (built, expected) = applied(&device);
        assert_eq!(applied(&with_memory(&device, built)), (built, expected));
    });
    for part in [1, 4, 6, 7] {
        on_ranks(&|on, device| {
            let least = device.counters().bytes;
            let built = build(&on, &device).map(|_built| device.counters().bytes - least).unwrap();
            let room = least + built * part / 8;
            let memory = if on.rank() == 1 { room } else { device.device().memory };
            let refused = build(&on, &with_memory(&device, memory)).map(drop);
            assert!(refused.is_err(), "{part} of 8 parts of {built} bytes");
        });
    }
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
            let Some(device) = place() else { return };
            let there = RankDevice::new(&device);
            let on = Partition::new(comm, layout.clone()).unwrap();
            let r = there.vector(&on, on.part_of(&r).unwrap().own()).unwrap();
            let mut z = r.like().unwrap();
            let mut m = recipe().build_at(&on, &rows(a, &on), &there).unwrap();
            for (a, reused) in [
                (&scaled, Reused::Structure),
                (a, Reused::Structure),
                (&other, Reused::Nothing),
                (a, Reused::Nothing),
            ] {
                assert_eq!(m.update(&rows(a, &on)).unwrap(), reused);
                m.apply(&r, &mut z);
                let found = z.read().unwrap();
                let mut fresh = recipe().build_at(&on, &rows(a, &on), &there).unwrap();
                fresh.apply(&r, &mut z);
                assert_eq!(found, z.read().unwrap());
                let error = m.update(&rows(&broken, &on)).unwrap_err();
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
