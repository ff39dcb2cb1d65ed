//! The solve with an OpenCL device in each rank.

use std::sync::Arc;
use std::time::Instant;

use coarsen_core::{Identity, Preconditioner};
use coarsen_distributed::{Communicator, Counted, Partition, pack, unpack};
use coarsen_distributed_solvers::{DistDeviceJacobi, DistDeviceMatrix, DistDeviceVector, RankDevice};
use coarsen_opencl::{DeviceError, OpenCl, devices};

use crate::arguments::{Precond, Product, Solve};
use crate::failure::{Failure, together};
use crate::input::Input;
use crate::solve::{Solved, timed};
use crate::steps::{Setup, Spent};

/// Whether a device has what the options ask for.
pub(crate) fn takes(options: &Solve) -> bool {
    options.product == Product::Halo && options.precond != Precond::Jacobi
}

/// The number of the device of each rank, and that of this one: `--device`, or else ranks of a machine take its accelerators
/// in turn, or its other devices if it has none. All ranks call it.
fn chosen<C: Communicator>(comm: &C, options: &Solve) -> Result<(Vec<u64>, OpenCl<f64>), Failure> {
    let machine = coarsen_mpi::mpi::environment::processor_name().unwrap_or_default();
    let machines = comm.all_gather(machine.as_bytes())?;
    let rank = comm.rank();
    let local = machines[..rank].iter().filter(|other| **other == machines[rank]).count();
    let opened = devices().map_err(Failure::OpenCl).and_then(|all| {
        let able = |k: &usize| all[*k].computes::<f64>();
        let accelerators = || (0..all.len()).filter(|k| able(k) && all[*k].accelerator);
        let in_turn = match accelerators().count() {
            0 => (0..all.len()).filter(able).cycle().nth(local),
            _ => accelerators().cycle().nth(local),
        };
        let count = all.len();
        let none = || Failure::OpenCl(DeviceError::Precision { precision: "f64", found: count }.into());
        let number = options.device.or(in_turn).ok_or_else(none)?;
        let lacks = || {
            Failure::NoDevice(format!(
                "--device {number}: this machine has {count} OpenCL devices, numbered from 0; `coarsen devices` lists them"
            ))
        };
        let device = all.get(number).ok_or_else(lacks)?;
        Ok((number as u64, OpenCl::new(device).map_err(|error| Failure::OpenCl(error.into()))?))
    });
    let (number, device) = together(comm, opened)?;
    let mut own = Vec::new();
    pack([number], &mut own);
    let all = comm.all_gather(&own)?;
    Ok((all.iter().flat_map(|number| unpack::<u64>(number)).collect(), device))
}

/// Solves on the device of each rank.
pub(crate) fn solve<C: Communicator>(
    comm: &Counted<C>,
    options: &Solve,
    input: &Input,
    partition: &Arc<Partition<Counted<C>>>,
) -> Result<Solved<Counted<C>>, Failure> {
    let begun = Instant::now();
    let (devices, device) = chosen(comm, options)?;
    let a = DistDeviceMatrix::new(&device, partition, &input.rows)?;
    let b = DistDeviceVector::new(partition, &device, &input.b)?;
    let mut x = DistDeviceVector::new(partition, &device, &input.x0)?;
    let (matrix, then) = (Spent::since(begun), Instant::now());
    let backend = RankDevice::new(&device);
    let (rows, mut table) = (&input.rows, None);
    let mut m: Box<dyn Preconditioner<DistDeviceVector<Counted<C>>>> = match options.precond {
        Precond::None => Box::new(Identity),
        Precond::Jacobi => return Err(Failure::on_device()),
        Precond::BlockJacobi => Box::new(DistDeviceJacobi::new(&a, 1.0)?),
        Precond::Sa => {
            let kernel = input.near_kernel.as_ref();
            let hierarchy = options.aggregation.parameters().build_at(partition, rows, kernel, &backend)?;
            table = Some(hierarchy.to_string());
            Box::new(hierarchy)
        }
        Precond::Mas => {
            let domains = options.domains.parameters().build_at(partition, rows, &backend)?;
            table = Some(domains.to_string());
            Box::new(domains)
        }
    };
    let preconditioner = Spent::since(then);
    comm.barrier()?;
    let setup = Setup { matrix, preconditioner, all: begun.elapsed() };
    let run = timed(comm, options, &a, &mut *m, &b, &mut x)?;
    let x = partition.vector(together(comm, x.read().map_err(Failure::Core))?)?;
    let own = [partition.count(), a.ghosts(), a.bytes_sent()];
    Ok(Solved { x, setup, run, table, own, devices: Some(devices) })
}
