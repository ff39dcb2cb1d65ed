//! Invariants of a preconditioner that ranks build on the CPU and on devices.

use std::sync::Arc;

use coarsen_core::{Preconditioner, PreconditionerKind, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistError, DistMatrix, DistVector, GlobalRows, Layout, Partition, RankBackend, Spmv,
    ThreadComm,
};
use coarsen_distributed_solvers::{DistDeviceMatrix, DistDeviceVector, RankDevice};
use coarsen_krylov::Cg;
use coarsen_opencl::OpenCl;
use coarsen_problems::Problem;
use coarsen_sparse::Bsr;

use crate::{DEADLINE, backend_as, gap, with_memory};

pub(crate) type Ranks = Arc<Partition<ThreadComm>>;
pub(crate) type Here = Box<dyn Preconditioner<DistVector<ThreadComm>>>;
pub(crate) type There = Box<dyn Preconditioner<DistDeviceVector<ThreadComm>>>;

pub(crate) fn rows<C: Communicator>(a: &Bsr<f64>, partition: &Partition<C>) -> GlobalRows<f64> {
    GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap()
}

/// The same operator up to round-off, symmetric and positive; iterations differ by at most 1. From the second application on
/// no device memory is allocated. With `gpu` the device is treated as a GPU.
pub(crate) fn equals(
    problem: &Problem,
    layout: &Layout,
    gpu: bool,
    tolerance: f64,
    build: &(dyn Fn(&Ranks, &RankDevice) -> (Here, There) + Sync),
) {
    let (a, b) = (&problem.matrix, [1, 2].map(|seed| problem.right_hand_side(seed)));
    let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
        let Some(device) = backend_as(gpu) else { return };
        let there = RankDevice::new(&device);
        let partition = Partition::new(comm, layout.clone()).unwrap();
        let (mut expected, mut found) = build(&partition, &there);
        let [r, s] = [&b[0], &b[1]].map(|b| partition.part_of(b).unwrap());
        let [rd, sd] = [&r, &s].map(|v| there.vector(&partition, v.own()).unwrap());
        let (mut z, mut mr, mut ms) = (r.like().unwrap(), rd.like().unwrap(), rd.like().unwrap());
        expected.apply(&r, &mut z);
        // An application must not depend on what the last one left.
        found.apply(&sd, &mut ms);
        let before = device.counters().allocations;
        found.apply(&rd, &mut mr);
        assert_eq!(device.counters().allocations, before);
        if !r.own().is_empty() {
            assert!(gap(&mr.read().unwrap(), z.own()) < tolerance, "{}, {layout:?}", problem.name);
        }
        let (left, right) = (mr.dot(&sd), rd.dot(&ms));
        assert!((left - right).abs() < 1e-10 * mr.norm() * sd.norm(), "{left} {right}");
        assert!(mr.dot(&rd) > 0.0);
        assert_eq!((found.kind(), found.size()), (PreconditionerKind::Symmetric, Some(a.shape().0)));

        let (mut x, mut xd) = (r.like().unwrap(), rd.like().unwrap());
        let rows = rows(a, &partition);
        let here = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap();
        let mut cg = Cg::new(Stop::relative(1e-8));
        let expected = cg.solve(&here, &mut *expected, &r, &mut x).unwrap().converged().unwrap();
        let a = DistDeviceMatrix::new(&device, &partition, &rows).unwrap();
        let mut cg = Cg::new(Stop::relative(1e-8));
        let found = cg.solve(&a, &mut *found, &rd, &mut xd).unwrap().converged().unwrap();
        assert!(found.iterations.abs_diff(expected.iterations) <= 1, "{found} {expected}");
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

/// A device that the build has filled has the memory for every application. A device of one of two ranks without memory for the build
/// is an error on both, wherever the build ends.
pub(crate) fn fits(
    problem: &Problem,
    layout: &Layout,
    build: &(dyn Fn(&Ranks, &RankDevice) -> Result<There, DistError> + Sync),
) {
    let all = problem.right_hand_side(3);
    let build = |partition: &Ranks, device: &OpenCl<f64>| build(partition, &RankDevice::new(device));
    let on_ranks = |with: &(dyn Fn(Ranks, OpenCl<f64>) + Sync)| {
        let done = ThreadComm::run(layout.ranks(), DEADLINE, |comm| {
            let Some(device) = backend_as(true) else { return };
            with(Partition::new(comm, layout.clone()).unwrap(), device);
        });
        done.into_iter().for_each(|rank| rank.unwrap());
    };
    on_ranks(&|partition, device| {
        let r = partition.part_of(&all).unwrap();
        let applied = |device: &OpenCl<f64>| {
            let r = RankDevice::new(device).vector(&partition, r.own()).unwrap();
            let (mut z, mut m) = (r.like().unwrap(), build(&partition, device).unwrap());
            let built = device.counters().bytes;
            m.apply(&r, &mut z);
            (built, z.read().unwrap())
        };
        let (built, expected) = applied(&device);
        assert_eq!(applied(&with_memory(&device, built)), (built, expected));
    });
    for part in [1, 4, 6, 7] {
        on_ranks(&|partition, device| {
            let least = device.counters().bytes;
            let built = build(&partition, &device).map(|_built| device.counters().bytes - least).unwrap();
            let enough = least + built * part / 8;
            let memory = if partition.rank() == 1 { enough } else { device.device().memory };
            let refused = build(&partition, &with_memory(&device, memory)).map(drop);
            assert!(refused.is_err(), "{part} of 8 parts of {built} bytes");
        });
    }
}
