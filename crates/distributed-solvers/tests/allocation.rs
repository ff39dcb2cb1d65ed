//! From the second solve on, no rank allocates.

#[path = "../../distributed/tests/again/mod.rs"]
mod again;
#[path = "../../../tests/counting/mod.rs"]
mod counting;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use again::again;
use coarsen_core::{Outcome, Preconditioner, Stop, Vector};
use coarsen_distributed::{DistMatrix, DistVector, GlobalRows, Layout, Partition, Spmv, ThreadComm};
use coarsen_distributed_solvers::{DistMultigrid, DistSchwarz};
use coarsen_krylov::Cg;
use coarsen_problems::cloth;

fn main() {
    solves(|partition, rows| {
        let parameters = DistMultigrid { gather_below: 300, share: 0, ..DistMultigrid::default() };
        let m = parameters.build(partition, rows, None).unwrap();
        assert!(m.divided() > 0);
        m
    });
    solves(|partition, rows| {
        let m = DistSchwarz { chunk: 50, gather_below: 30, ..DistSchwarz::default() }
            .build(partition, rows)
            .unwrap();
        assert!(m.divided() > 1);
        m
    });
}

fn solves<M: Preconditioner<DistVector<ThreadComm>>>(
    build: impl Fn(&Arc<Partition<ThreadComm>>, &GlobalRows<f64>) -> M + Sync,
) {
    let problem = cloth(24, 0.01).unwrap();
    let b = problem.right_hand_side(1);
    for ranks in [1, 2, 3, 4] {
        let bytes = Mutex::new(0);
        let all = ThreadComm::run(ranks, Duration::from_secs(60), |comm| {
            let partition = Partition::new(comm.clone(), Layout::even(576, 3, ranks).unwrap()).unwrap();
            let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
            let a = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap();
            let mut m = build(&partition, &rows);
            let (b, mut cg) = (partition.part_of(&b).unwrap(), Cg::new(Stop::relative(1e-8)));
            let mut x = b.like().unwrap();
            let counted = again(&comm, &bytes, || {
                x.fill(0.0);
                let report = cg.solve(&a, &mut m, &b, &mut x).unwrap();
                assert_eq!(report.outcome, Outcome::Converged);
            });
            assert_eq!(counted, 0, "{ranks} ranks");
        });
        all.into_iter().for_each(|rank| rank.unwrap());
    }
}
