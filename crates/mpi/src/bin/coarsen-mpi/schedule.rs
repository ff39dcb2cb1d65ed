//! The product of the command line, and the schedule of its messages.

use std::time::Instant;

use coarsen_distributed::simulation::Links;
use coarsen_distributed::{Communicator, DistError, Layout, Schedule, Spmv};
use serde::Serialize;

use crate::arguments::{BackendOption, Order, Product, Solve};
use crate::device;
use crate::failure::Failure;

/// The number of trips of a measurement for each pair of ranks and each length.
const TRIPS: usize = 5;

/// The longest message of a measurement, in bytes. Pairs take turns, and a rank waits for all of them at once, which the
/// deadline bounds: at 1 Gbit/s, 64 ranks take some 13 s.
const LONGEST: usize = 1 << 16;

/// The schedule of a product of whole vectors.
#[derive(Clone, Serialize)]
pub(crate) struct Chosen {
    pub(crate) name: Order,
    /// With `--schedule best`.
    pub(crate) measured: Option<Measured>,
}

/// The links between ranks, the least and the greatest value of each.
#[derive(Clone, Serialize)]
pub(crate) struct Measured {
    pub(crate) seconds_per_message: [f64; 2],
    pub(crate) seconds_per_byte: [f64; 2],
    /// The time of the messages of a product by the model.
    pub(crate) modelled_seconds: f64,
    /// The ranks in the order in which the schedule has them; `None` for that of their numbers.
    pub(crate) order: Option<Vec<usize>>,
    /// The time of the measurement.
    pub(crate) seconds: f64,
}

/// Refuses what no layout can have.
pub(crate) fn check(options: &Solve, ranks: usize) -> Result<(), Failure> {
    if options.backend == BackendOption::Opencl && !device::takes(options) {
        return Err(Failure::on_device());
    }
    if let Some(device) = options.device.filter(|_| options.backend == BackendOption::Cpu) {
        return Err(Failure::Usage(format!(
            "--device {device} is the number of an OpenCL device; give --backend opencl"
        )));
    }
    let whole = matches!(options.product, Product::Blocking | Product::Pipelined);
    if whole && options.schedule == Order::Queues && !ranks.is_power_of_two() {
        return Err(Failure::Usage(format!(
            "--schedule queues needs a power of two as number of ranks, not {ranks}; use ring or pairwise"
        )));
    }
    Ok(())
}

/// The mode of products, and the schedule of those of whole vectors. All ranks call it.
pub(crate) fn mode<C: Communicator>(
    comm: &C,
    options: &Solve,
    layout: &Layout,
) -> Result<(Spmv, Option<Chosen>), Failure> {
    let whole = match options.product {
        Product::Halo => return Ok((Spmv::Halo, None)),
        Product::Reproducible => return Ok((Spmv::Reproducible, None)),
        Product::Blocking => Spmv::Blocking,
        Product::Pipelined => Spmv::Pipelined,
    };
    let (schedule, chosen) = match named(options.schedule, comm.size()) {
        Some(schedule) => (schedule?, Chosen { name: options.schedule, measured: None }),
        None => best(comm, layout)?,
    };
    Ok((whole(schedule), Some(chosen)))
}

/// The schedule of a name; `None` for `best`.
fn named(name: Order, ranks: usize) -> Option<Result<Schedule, DistError>> {
    match name {
        Order::Ring => Some(Schedule::ring(ranks)),
        Order::Pairwise => Some(Schedule::pairwise(ranks)),
        Order::Queues => Some(Schedule::work_queues(ranks)),
        Order::Best => None,
    }
}

/// The schedule with the shortest time on the links between the ranks.
fn best<C: Communicator>(comm: &C, layout: &Layout) -> Result<(Schedule, Chosen), Failure> {
    let begun = Instant::now();
    let rows = (0..comm.size()).map(|rank| layout.count(rank)).max().unwrap_or(0);
    let bytes = size_of::<f64>() * rows * layout.block();
    let links = Links::measure(comm, bytes.min(LONGEST), TRIPS, || begun.elapsed().as_secs_f64())?;
    let (schedule, modelled_seconds) = links.best(bytes as f64)?;
    let near = links.topology()?.order();
    let named_in = |order: &[usize]| {
        [Order::Ring, Order::Pairwise, Order::Queues].into_iter().find(|name| {
            let known = named(*name, comm.size()).and_then(|known| known.ok()?.relabelled(order).ok());
            known.as_ref() == Some(&schedule)
        })
    };
    let own: Vec<usize> = (0..comm.size()).collect();
    let (name, order) = match named_in(&own) {
        Some(name) => (name, None),
        None => (named_in(&near).unwrap_or(Order::Best), Some(near)),
    };
    let measured = Measured {
        seconds_per_message: links.alphas(),
        seconds_per_byte: links.betas(),
        modelled_seconds,
        order,
        seconds: begun.elapsed().as_secs_f64(),
    };
    Ok((schedule, Chosen { name, measured: Some(measured) }))
}
