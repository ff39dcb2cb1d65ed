//! Products and solves on two and more ranks with an OpenCL device in each, compared with the CPU.

mod invariants;
mod multigrid;
mod overlap;
mod schwarz;

use std::sync::Arc;
use std::time::Duration;

use coarsen_backend::SetupError;
use coarsen_core::{LinearOperator, Scalar, Stop, Vector};
use coarsen_distributed::{
    Communicator, DistError, DistJacobi, DistMatrix, GlobalRows, Layout, Partition, Spmv, ThreadComm,
};
use coarsen_distributed_solvers::{DistDeviceJacobi, DistDeviceMatrix, DistDeviceVector};
use coarsen_krylov::{Cg, Krylov, PipelinedCg, SingleReductionCg};
use coarsen_opencl::{Device, DeviceError, OpenCl, OpenClError, default_device};
use coarsen_problems::cloth;

const DEADLINE: Duration = Duration::from_secs(120);

/// A new backend on the default device. Without one, `None` with the reason printed; a failure if
/// `COARSEN_REQUIRE_OPENCL` is set.
fn backend() -> Option<OpenCl<f64>> {
    match default_device() {
        Ok(backend) => Some(backend),
        Err(why @ (OpenClError::Absent(_) | OpenClError::Device(DeviceError::Precision { .. }))) => {
            assert!(std::env::var_os("COARSEN_REQUIRE_OPENCL").is_none(), "{why}");
            println!("skipped: {why}");
            None
        }
        Err(why) => panic!("{why}"),
    }
}

/// A new backend on the default device, as on [`backend`]; with `gpu`, the device is treated as a GPU, which has other
/// kernels and memory of its own.
fn backend_as(gpu: bool) -> Option<OpenCl<f64>> {
    let device = backend()?;
    Some(match gpu {
        true => OpenCl::new(&Device { accelerator: true, shared: false, ..device.device().clone() }).unwrap(),
        false => device,
    })
}

/// Another device, as that of `device` but with less memory.
fn with_memory(device: &OpenCl<f64>, memory: u64) -> OpenCl<f64> {
    OpenCl::new(&Device { memory, used: Arc::default(), ..device.device().clone() }).unwrap()
}

fn gap(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / norm(&mut b.iter().copied())
}

/// A vector that is renewed is a zero vector of the other layout, on the device of the other one.
#[test]
fn renewed_vectors_have_the_other_layout() {
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let of = |rows, block| {
            let partition = Partition::new(comm.clone(), Layout::even(rows, block, 2).unwrap()).unwrap();
            let own = vec![2.0; partition.count() * block];
            DistDeviceVector::new(&partition, &device, &own).unwrap()
        };
        let (mut v, all) = (of(29, 3), [of(29, 3), of(5, 1), of(90, 2)]);
        for other in &all {
            v.renew_like(other).unwrap();
            assert!(v.same_layout(other) && v.read().unwrap().len() == other.local_size());
            assert_eq!(v.norm(), 0.0);
            v.copy(other);
            assert_eq!(v.norm(), other.norm());
        }
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

/// Products, sums and solves on a division of the rows equal those of the same ranks on the CPU; with `gpu`, the device is
/// treated as a GPU.
fn equals_the_cpu(starts: &[u64], gpu: bool) {
    let problem = cloth(20, 0.01).unwrap();
    let (a, b) = (&problem.matrix, problem.right_hand_side(1));
    let done = ThreadComm::run(starts.len() - 1, DEADLINE, |comm| {
        let Some(device) = backend_as(gpu) else { return };
        let partition = Partition::new(comm, Layout::new(starts.to_vec(), 3).unwrap()).unwrap();
        let rows = GlobalRows::of(a, partition.layout().range(partition.rank())).unwrap();
        let there = DistDeviceMatrix::new(&device, &partition, &rows).unwrap();
        let here = DistMatrix::new(&partition, &partition, &rows, Spmv::Halo).unwrap();
        let b_here = partition.part_of(&b).unwrap();
        let b_there = DistDeviceVector::new(&partition, &device, b_here.own()).unwrap();

        let (mut y_here, mut y_there) = (b_here.like().unwrap(), b_there.like().unwrap());
        // A product must not depend on what the last one left.
        for _ in 0..3 {
            here.apply(&b_here, &mut y_here);
            there.apply(&b_there, &mut y_there);
        }
        if !y_here.own().is_empty() {
            assert!(gap(&y_there.read().unwrap(), y_here.own()) < 1e-14);
        }
        assert!((b_there.dot(&y_there) / b_here.dot(&y_here).read() - 1.0).abs() < 1e-12);

        let stop = Stop::relative(1e-10);
        let mut m = DistJacobi::blocks(&here, 1.0).unwrap();
        let mut x_here = b_here.like().unwrap();
        let expected = Cg::new(stop).solve(&here, &mut m, &b_here, &mut x_here).unwrap().converged().unwrap();
        let mut m = DistDeviceJacobi::new(&there, 1.0).unwrap();
        let mut x_there = b_there.like().unwrap();
        let methods: [&mut dyn Krylov<_>; 3] =
            [&mut Cg::new(stop), &mut SingleReductionCg::new(stop), &mut PipelinedCg::new(stop)];
        for method in methods {
            x_there.fill(0.0);
            let found = method.solve(&there, &mut m, &b_there, &mut x_there).unwrap().converged().unwrap();
            assert!(found.iterations.abs_diff(expected.iterations) <= 1, "{found} {expected}");
            if !x_here.own().is_empty() {
                assert!(gap(&x_there.read().unwrap(), x_here.own()) < 1e-7);
            }
        }
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

#[test]
fn two_ranks_equal_the_cpu() {
    equals_the_cpu(&[0, 200, 400], false);
    equals_the_cpu(&[0, 150, 400], true);
}

#[test]
fn uneven_and_empty_ranks_equal_the_cpu() {
    equals_the_cpu(&[0, 400], false);
    equals_the_cpu(&[0, 7, 7, 250, 400], false);
}

/// New values of the same pattern are multiplied; another pattern of one rank is refused on all, and changes nothing.
#[test]
fn values_are_replaced() {
    let a = cloth(20, 0.01).unwrap().matrix;
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|v| *v *= 2.0);
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let partition = Partition::new(comm, Layout::new(vec![0, 150, 400], 3).unwrap()).unwrap();
        let own = partition.layout().range(partition.rank());
        let rows = |a| GlobalRows::of(a, own.clone()).unwrap();
        let mut there = DistDeviceMatrix::new(&device, &partition, &rows(&a)).unwrap();
        let x = DistDeviceVector::new(&partition, &device, &vec![0.5; 3 * partition.count()]).unwrap();
        let mut y = x.like().unwrap();
        let mut product = |a: &DistDeviceMatrix<_>| {
            a.apply(&x, &mut y);
            y.read().unwrap()
        };
        let before = product(&there);
        there.set_values(&rows(&twice)).unwrap();
        assert!(product(&there).iter().zip(&before).all(|(y, old)| *y == 2.0 * old));
        let count = partition.count();
        let none = GlobalRows::new(own.start, (3, 3), vec![0; count + 1], Vec::new(), Vec::new()).unwrap();
        let other = if partition.rank() == 1 { none } else { rows(&a) };
        assert!(there.set_values(&other).is_err());
        assert!(product(&there).iter().zip(&before).all(|(y, old)| *y == 2.0 * old));
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

/// Block Jacobi needs the same division of rows and columns; all ranks refuse another.
#[test]
fn jacobi_is_of_square_matrices() {
    let a = cloth(20, 0.01).unwrap().matrix;
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let partition = |starts| Partition::new(comm.clone(), Layout::new(starts, 3).unwrap()).unwrap();
        let rows = partition(vec![0, 200, 400]);
        let own = GlobalRows::of(&a, rows.layout().range(rows.rank())).unwrap();
        for (columns, count) in [(vec![0, 200, 401], 1203), (vec![0, 150, 400], 1200)] {
            let between = DistDeviceMatrix::between(&device, &rows, &partition(columns), &own).unwrap();
            let expected =
                SetupError::NotSquare { rows: 1200, columns: count, block_rows: 3, block_columns: 3 };
            let found = DistDeviceJacobi::new(&between, 1.0).map(drop);
            assert_eq!(found, Err(DistError::Setup(expected)));
        }
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

/// NaN and the numbers of their entries reach all ranks.
#[test]
fn entries_that_are_not_finite_are_found() {
    let done = ThreadComm::run(2, DEADLINE, |comm| {
        let Some(device) = backend() else { return };
        let rank = comm.rank();
        let partition = Partition::new(comm, Layout::even(6, 1, 2).unwrap()).unwrap();
        let mut own = [1.0; 3];
        let x = DistDeviceVector::new(&partition, &device, &own).unwrap();
        assert_eq!((x.first_not_finite(), x.size(), x.local_size()), (None, 6, 3));
        if rank == 1 {
            own[2] = f64::NAN;
        }
        let x = DistDeviceVector::new(&partition, &device, &own).unwrap();
        assert!(x.norm().is_nan() && x.sync().is_ok());
        assert_eq!(x.first_not_finite(), Some(5));
    });
    done.into_iter().for_each(|rank| rank.unwrap());
}

/// A solve with a device in each rank, as the book shows it.
#[test]
fn a_solve_has_a_device_in_each_rank() {
    let problem = cloth(20, 0.01).unwrap();
    let all = problem.right_hand_side(1);
    let ranks = ThreadComm::run(2, DEADLINE, |comm| -> Result<(), DistError> {
        let Some(device) = backend() else { return Ok(()) };
        let partition = Partition::new(comm, Layout::even(400, 3, 2)?)?;
        let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank()))?;
        // ANCHOR: book
        // Each rank has a device.
        let a = DistDeviceMatrix::new(&device, &partition, &rows)?;
        let mut m = DistDeviceJacobi::new(&a, 1.0)?;
        let own = partition.part_of(&all)?;
        let b = DistDeviceVector::new(&partition, &device, own.own())?;
        let mut x = b.like().expect("memory for a vector");
        let solved = Cg::new(Stop::relative(1e-8)).solve(&a, &mut m, &b, &mut x);
        // ANCHOR_END: book
        assert!(solved.unwrap().converged().is_ok());
        Ok(())
    });
    ranks.into_iter().for_each(|rank| rank.unwrap().unwrap());
}

/// A device of one rank without memory is an error on every rank.
#[test]
fn a_full_device_is_an_error_of_all_ranks() {
    let problem = cloth(20, 0.01).unwrap();
    let found = ThreadComm::run(2, DEADLINE, |comm| {
        let device = backend()?;
        let device = if comm.rank() == 1 { with_memory(&device, 250_000) } else { device };
        let partition = Partition::new(comm, Layout::even(400, 3, 2).unwrap()).unwrap();
        let rows = GlobalRows::of(&problem.matrix, partition.layout().range(partition.rank())).unwrap();
        let matrix = DistDeviceMatrix::new(&device, &partition, &rows).map(drop);
        // A vector that one rank has no memory for: the others have its error in the next message.
        let b = DistDeviceVector::new(&partition, &device, &[1.0; 600]).unwrap();
        let vectors: Result<Vec<_>, _> = (0..40).map(|_| b.like()).collect();
        assert_eq!(vectors.is_err(), partition.rank() == 1);
        assert!(partition.rank() == 0 || partition.comm().failure().is_some());
        Some(matrix)
    });
    let found: Vec<_> = found.into_iter().filter_map(|rank| rank.unwrap()).collect();
    if let [first, second] = &found[..] {
        assert!(matches!(first, Err(DistError::Elsewhere { rank: 1, .. })), "{first:?}");
        assert!(matches!(second, Err(DistError::Setup(_))), "{second:?}");
    }
}
