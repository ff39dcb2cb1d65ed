//! From the second solve on, no rank allocates: products in every mode, reductions of both kinds, Jacobi, and the
//! Krylov methods.

mod again;
#[path = "../../../tests/counting/mod.rs"]
mod counting;

use std::sync::Mutex;
use std::time::Duration;

use again::again;
use coarsen_core::{Stop, Vector};
use coarsen_distributed::{
    Counted, DistJacobi, DistMatrix, DistVector, GlobalRows, Layout, Partition, Schedule, Spmv, ThreadComm,
};
use coarsen_krylov::{BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, PipelinedCg, SingleReductionCg};
use coarsen_problems::cloth;

fn methods<V: Vector<Real = f64>>(stop: Stop<f64>) -> Vec<(&'static str, Box<dyn Krylov<V>>)> {
    vec![
        ("cg", Box::new(Cg::new(stop))),
        ("single-reduction cg", Box::new(SingleReductionCg::new(stop))),
        ("pipelined cg", Box::new(refreshed(stop))),
        ("fcg", Box::new(FlexibleCg::new(stop))),
        ("minres", Box::new(Minres::new(stop))),
        ("gmres", Box::new(Gmres::new(stop))),
        ("bicgstab", Box::new(BiCgStab::new(stop))),
    ]
}

/// Refreshes its products in the iterations that are watched.
fn refreshed<V: Vector<Real = f64>>(stop: Stop<f64>) -> PipelinedCg<V> {
    let mut method = PipelinedCg::new(stop);
    method.refresh_every = 10;
    method
}

fn main() {
    let problem = cloth(24, 0.01).unwrap();
    let b = problem.right_hand_side(1);
    for ranks in [1, 2, 3, 4] {
        let [even, leaves] =
            [Layout::even(576, 3, ranks).unwrap(), Layout::reproducible(576, 3, ranks, 32).unwrap()];
        let ring = || Schedule::ring(ranks).unwrap();
        for (layout, mode) in [
            (&even, Spmv::Halo),
            (&leaves, Spmv::Reproducible),
            (&even, Spmv::Blocking(ring())),
            (&even, Spmv::Pipelined(ring())),
        ] {
            let bytes = Mutex::new(0);
            let all = ThreadComm::run(ranks, Duration::from_secs(60), |comm| {
                let comm = Counted::new(comm);
                let partition = Partition::new(comm.clone(), layout.clone()).unwrap();
                let rows =
                    GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
                let a = DistMatrix::new(&partition, &partition, &rows, mode.clone()).unwrap();
                let (b, mut m) = (partition.part_of(&b).unwrap(), DistJacobi::blocks(&a, 1.0).unwrap());
                let mut x = b.like().unwrap();
                let stop = Stop { max_iterations: 40, ..Stop::relative(1e-10) };
                for (name, mut method) in methods::<DistVector<_>>(stop) {
                    let counted = again(&comm, &bytes, || {
                        x.fill(0.0);
                        let report = method.solve(&a, &mut m, &b, &mut x).unwrap();
                        assert!(report.iterations > 0);
                    });
                    assert_eq!(counted, 0, "{name} on {ranks} ranks, {mode:?}");
                }
            });
            all.into_iter().for_each(|rank| rank.unwrap());
        }
    }
}
