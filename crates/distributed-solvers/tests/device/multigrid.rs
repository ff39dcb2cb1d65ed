//! Smoothed aggregation with its levels on a device in each rank, compared with the CPU over ranks.

use coarsen_backend::Reused;
use coarsen_core::{Preconditioner, Vector};
use coarsen_distributed::{Communicator, Layout, Partition, RankBackend, ThreadComm};
use coarsen_distributed_solvers::{DistMultigrid, RankDevice};
use coarsen_problems::{Problem, cloth, elasticity3d, poisson2d};
use coarsen_sparse::NearKernel;

use crate::invariants::{self, rows};
use crate::schwarz::chain;
use crate::{DEADLINE, backend};

/// Several levels on the ranks, on fewer ranks where these would have fewer than 150 unknowns.
fn parameters() -> DistMultigrid {
    DistMultigrid { gather_below: 100, share: 150, ..DistMultigrid::default() }
}

fn layouts(problem: &Problem) -> Vec<Layout> {
    let (n, block) = (problem.matrix.pattern().rows() as u64, problem.matrix.block().0);
    let starts = [vec![0, n], vec![0, n / 2 + 7, n], vec![0, n / 3, n / 3, n]];
    starts.into_iter().map(|starts| Layout::new(starts, block).unwrap()).collect()
}

/// The own rows of the near-kernel.
fn kernel<C: Communicator>(problem: &Problem, partition: &Partition<C>) -> NearKernel {
    let (all, range) = (&problem.near_kernel, partition.layout().range(partition.rank()));
    let width = partition.layout().block() * all.vectors();
    let own = all.values()[range.start as usize * width..range.end as usize * width].to_vec();
    NearKernel::from_rows(all.vectors(), own).unwrap()
}

fn equals(problem: &Problem, layout: &Layout, gpu: bool) {
    invariants::equals(problem, layout, gpu, 1e-12, &|partition, there| {
        let (rows, kernel) = (rows(&problem.matrix, partition), kernel(problem, partition));
        let here = parameters().build(partition, &rows, Some(&kernel)).unwrap();
        let found = parameters().build_at(partition, &rows, Some(&kernel), there).unwrap();
        assert!(found.divided() > 1 && found.to_string() == here.to_string(), "{found}");
        (Box::new(here), Box::new(found))
    });
}

#[test]
fn equals_the_cpu() {
    for problem in [poisson2d(40).unwrap(), elasticity3d(8, 1.0).unwrap(), cloth(33, 0.01).unwrap()] {
        layouts(&problem).iter().for_each(|layout| equals(&problem, layout, false));
    }
}

#[test]
fn a_gpu_equals_the_cpu() {
    let problem = cloth(33, 0.01).unwrap();
    layouts(&problem)[1..].iter().for_each(|layout| equals(&problem, layout, true));
}

#[test]
fn an_application_fits_where_the_build_fits() {
    let problem = cloth(25, 0.01).unwrap();
    invariants::fits(&problem, &layouts(&problem)[1], &|partition, there| {
        Ok(Box::new(parameters().build_at(partition, &rows(&problem.matrix, partition), None, there)?))
    });
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
            let Some(device) = backend() else { return };
            let there = RankDevice::new(&device);
            let partition = Partition::new(comm, layout.clone()).unwrap();
            let r = there.vector(&partition, partition.part_of(&r).unwrap().own()).unwrap();
            let build = |a| parameters().build_at(&partition, &rows(a, &partition), None, &there).unwrap();
            let (mut z, mut m) = (r.like().unwrap(), build(a));
            let mut applied = |m: &mut dyn Preconditioner<_>| {
                m.apply(&r, &mut z);
                z.read().unwrap()
            };
            let before = applied(&mut m);
            assert_eq!(m.update(&rows(&scaled, &partition)).unwrap(), Reused::Structure);
            assert!(applied(&mut m).iter().zip(&before).all(|(z, b)| 4.0 * z == *b));
            for broken in [&negative, &infinite] {
                let error = m.update(&rows(broken, &partition)).unwrap_err();
                assert!(error.to_string().contains("row 300"), "{error}");
                assert!(applied(&mut m).iter().zip(&before).all(|(z, b)| 4.0 * z == *b));
            }
            assert_eq!(m.update(&rows(a, &partition)).unwrap(), Reused::Structure);
            assert_eq!(applied(&mut m), before);
            assert_eq!(m.update(&rows(&other, &partition)).unwrap(), Reused::Nothing);
            assert_eq!(applied(&mut m), applied(&mut build(&other)));
        });
        done.into_iter().for_each(|rank| rank.unwrap());
    }
}
