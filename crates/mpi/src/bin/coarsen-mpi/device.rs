//! The solve with an OpenCL device in each rank.

use std::sync::Arc;
use std::time::Instant;

use coarsen_core::{Identity, Preconditioner};
use coarsen_distributed::{Communicator, Counted, Partition};
use coarsen_distributed_device::{DistDeviceJacobi, DistDeviceMatrix, DistDeviceVector, RankDevice};
use coarsen_opencl::default_device;

use crate::arguments::{Precond, Product, Solve};
use crate::failure::{Failure, together};
use crate::input::Input;
use crate::solve::{Solved, timed};
use crate::steps::{Setup, Spent};

/// Whether a device has what the options ask for.
pub(crate) fn takes(options: &Solve) -> bool {
    options.product == Product::Halo && options.precond != Precond::Jacobi
}

/// Solves on the device of each rank; ranks of a machine share its first one.
pub(crate) fn solve<C: Communicator>(
    comm: &Counted<C>,
    options: &Solve,
    input: &Input,
    on: &Arc<Partition<Counted<C>>>,
) -> Result<Solved<Counted<C>>, Failure> {
    let begun = Instant::now();
    let device = together(comm, default_device::<f64>().map_err(Failure::OpenCl))?;
    let a = DistDeviceMatrix::new(&device, on, &input.rows)?;
    let b = DistDeviceVector::new(on, &device, &input.b)?;
    let mut x = DistDeviceVector::new(on, &device, &input.x0)?;
    let (matrix, then) = (Spent::since(begun), Instant::now());
    let place = RankDevice::new(&device);
    let (rows, mut table) = (&input.rows, None);
    let mut m: Box<dyn Preconditioner<DistDeviceVector<Counted<C>>>> = match options.precond {
        Precond::None => Box::new(Identity),
        Precond::Jacobi => return Err(Failure::OnDevice),
        Precond::BlockJacobi => Box::new(DistDeviceJacobi::new(&a, 1.0)?),
        Precond::Sa => {
            let kernel = input.near_kernel.as_ref();
            let hierarchy = options.aggregation.recipe().build_at(on, rows, kernel, &place)?;
            table = Some(hierarchy.to_string());
            Box::new(hierarchy)
        }
        Precond::Mas => {
            let domains = options.domains.recipe().build_at(on, rows, &place)?;
            table = Some(domains.to_string());
            Box::new(domains)
        }
    };
    let preconditioner = Spent::since(then);
    comm.barrier()?;
    let setup = Setup { matrix, preconditioner, all: begun.elapsed() };
    let run = timed(comm, options, &a, &mut *m, &b, &mut x)?;
    let x = on.vector(together(comm, x.read().map_err(Failure::Place))?)?;
    Ok(Solved { x, setup, run, table, own: [on.count(), a.ghosts(), a.bytes_sent()] })
}
