//! Smoothed aggregation with its levels on a device in each rank, compared with the CPU over ranks.

use std::sync::Arc;

use coarsen_backend::Reused;
use coarsen_core::{Class, Preconditioner, Stop, Vector};
use coarsen_distributed::{Communicator, DistMatrix, Layout, Partition, RankPlace, Spmv, ThreadComm};
use coarsen_distributed_device::{DistDeviceMatrix, RankDevice};
use coarsen_distributed_multigrid::DistMultigrid;
use coarsen_krylov::{Cg, Krylov};
use coarsen_opencl::OpenCl;
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d};
use coarsen_sparse::NearKernel;

use crate::schwarz::{chain, rows};
use crate::{DEADLINE, gap, place, place_as, with_memory};

/// Several levels on the ranks, on fewer ranks where these would have fewer than 150 unknowns.
fn recipe() -> DistMultigrid {
    DistMultigrid { gather_below: 100, share: 150, ..DistMultigrid::default() }
}

fn layouts(problem: &Problem) -> Vec<Layout> {
    let (n, block) = (problem.matrix.pattern().rows() as u64, problem.matrix.block().0);
    let starts = [vec![0, n], vec![0, n / 2 + 7, n], vec![0, n / 3, n / 3, n]];
    starts.into_iter().map(|starts| Layout::new(starts, block).unwrap()).collect()
}

/// The own rows of the near-kernel.
fn kernel<C: Communicator>(problem: &Problem, on: &Partition<C>) -> NearKernel {
    let (all, range) = (&problem.near_kernel, on.layout().range(on.rank()));
    let width = on.layout().block() * all.vectors();
    let own = all.values()[range.start as usize * width..range.end as usize * width].to_vec();
    NearKernel::from_rows(all.vectors(), own).unwrap()
}

/// The same operator up to round-off, symmetric and positive, and the same iterations up to one. With `card` the device
/// is treated as a graphics card.
fn equals(problem: &Problem, layout: &Layout, card: bool) {
    let (a, b) = (&problem.matrix, [1, 2].map(|seed| problem.right_hand_side(seed)));
    let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
        let Some(device) = place_as(card) else { return };
        let there = RankDevice::new(&device);
        let on = Partition::new(comm, layout.clone()).unwrap();
        let (rows, kernel) = (rows(a, &on), kernel(problem, &on));
        let mut expected = recipe().build(&on, &rows, Some(&kernel)).unwrap();
        let mut found = recipe().build_at(&on, &rows, Some(&kernel), &there).unwrap();
        assert!(found.divided() > 1 && found.to_string() == expected.to_string(), "{found}");
        let [r, s] = [&b[0], &b[1]].map(|b| on.part_of(b).unwrap());
        let [rd, sd] = [&r, &s].map(|v| there.vector(&on, v.own()).unwrap());
        let (mut z, mut mr, mut ms) = (r.like().unwrap(), rd.like().unwrap(), rd.like().unwrap());
        expected.apply(&r, &mut z);
        found.apply(&sd, &mut ms);
        let before = device.counters().allocations;
        found.apply(&rd, &mut mr);
        assert_eq!(device.counters().allocations, before);
        if !r.own().is_empty() {
            assert!(gap(&mr.read().unwrap(), z.own()) < 1e-12, "{}, {layout:?}", problem.name);
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
    for problem in [poisson2d(40).unwrap(), elasticity3d(8, 1.0).unwrap(), cloth(33, 0.01).unwrap()] {
        layouts(&problem).iter().for_each(|layout| equals(&problem, layout, false));
    }
}

#[test]
fn a_card_equals_the_cpu() {
    let problem = cloth(33, 0.01).unwrap();
    layouts(&problem)[1..].iter().for_each(|layout| equals(&problem, layout, true));
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
        recipe().build_at(on, &rows(&problem.matrix, on), None, &RankDevice::new(device))
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

/// Values times 4 divide M by 4 to the bit, the first values give the first bits again, and another pattern is built
/// again. Refused values leave the old ones on all ranks.
#[test]
fn an_update_follows_the_values() {
    let first = cloth(33, 0.01).unwrap();
    let (a, r) = (&first.matrix, first.right_hand_side(4));
    let (mut scaled, mut negative, mut infinite) = (a.clone(), a.clone(), a.clone());
    scaled.values_mut().iter_mut().for_each(|v| *v *= 4.0);
    let at = a.pattern().find(1000, 1000).unwrap() * 9;
    negative.values_mut()[at] = -1.0;
    infinite.values_mut()[at + 9] = f64::INFINITY;
    let other = chain(a);
    for layout in layouts(&first) {
        let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
            let Some(device) = place() else { return };
            let there = RankDevice::new(&device);
            let on = Partition::new(comm, layout.clone()).unwrap();
            let r = there.vector(&on, on.part_of(&r).unwrap().own()).unwrap();
            let build = |a| recipe().build_at(&on, &rows(a, &on), None, &there).unwrap();
            let (mut z, mut m) = (r.like().unwrap(), build(a));
            let mut applied = |m: &mut dyn Preconditioner<_>| {
                m.apply(&r, &mut z);
                z.read().unwrap()
            };
            let before = applied(&mut m);
            assert_eq!(m.update(&rows(&scaled, &on)).unwrap(), Reused::Structure);
            assert!(applied(&mut m).iter().zip(&before).all(|(z, b)| 4.0 * z == *b));
            for broken in [&negative, &infinite] {
                let error = m.update(&rows(broken, &on)).unwrap_err();
                assert!(error.to_string().contains("row 300"), "{error}");
                assert!(applied(&mut m).iter().zip(&before).all(|(z, b)| 4.0 * z == *b));
            }
            assert_eq!(m.update(&rows(a, &on)).unwrap(), Reused::Structure);
            assert_eq!(applied(&mut m), before);
            assert_eq!(m.update(&rows(&other, &on)).unwrap(), Reused::Nothing);
            assert_eq!(applied(&mut m), applied(&mut build(&other)));
        });
        done.into_iter().for_each(|rank| rank.unwrap());
    }
}
