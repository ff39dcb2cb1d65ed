//! Vectors on devices between two divisions of the same rows.
//!
//! | step | queue of kernels | second queue | host |
//! |---|---|---|---|
//! | 1 | rows that stay are copied; rows of other ranks are gathered | | |
//! | 2 | | these come to the host | sends, and waits for messages |
//! | 3 | | rows from other ranks go to the device | |

use std::cell::RefCell;
use std::sync::Arc;

use coarsen_core::Error;
use coarsen_device::{DeviceBackend, DeviceBorder, DeviceVector};
use coarsen_distributed::{
    CommError, Communicator, DistError, Partition, Redistribution, RedistributionPlan, agree, unpack,
};

use super::{DistDeviceVector, of_device, or_fail};

/// The rows that change their rank between two partitions of the same rows, of vectors on devices: a
/// [`Redistribution`]. Only these rows leave a device.
///
/// *Cost* of a direction: two launches, one synchronisation, and one more for each rank that sends rows.
pub struct DeviceRedistribution<C: Communicator> {
    between: [Arc<Partition<C>>; 2],
    host: Redistribution<C>,
    scratch: RefCell<Scratch>,
}

/// The borders of both directions, entries that are sent, and entries that came.
struct Scratch {
    there: [DeviceBorder<f64>; 2],
    outgoing: Vec<f64>,
    incoming: Vec<f64>,
}

impl<C: Communicator> DeviceRedistribution<C> {
    /// From the partition `from` to the partition `to`. All ranks call it.
    pub(super) fn new(
        device: &DeviceBackend<f64>,
        from: &Arc<Partition<C>>,
        to: &Arc<Partition<C>>,
    ) -> Result<Self, DistError> {
        let host = Redistribution::new(from, to)?;
        let sizes = [from.layout().block(); 2];
        let direction = |plan: &RedistributionPlan<C>, nodes: [usize; 2]| -> Result<_, Error> {
            DeviceBorder::new(device, sizes, nodes, [&plan.sent(), &[]])
        };
        let [forward, back] = host.plans();
        let nodes = [from.count(), to.count()];
        let there = direction(forward, nodes)
            .and_then(|forward| Ok([forward, direction(back, [nodes[1], nodes[0]])?]))
            .map_err(of_device);
        let there = agree(from.comm(), there)?;
        let scratch = RefCell::new(Scratch { there, outgoing: Vec::new(), incoming: Vec::new() });
        Ok(Self { between: [from.clone(), to.clone()], host, scratch })
    }

    /// The vector `from` of the first partition as `into` of the second. All ranks call it. *Panics* on vectors of other
    /// partitions.
    pub(super) fn forward(
        &self,
        from: &DistDeviceVector<C>,
        into: &mut DistDeviceVector<C>,
    ) -> Result<(), CommError> {
        self.carry(0, from, into)
    }

    /// The reverse of [`forward`](Self::forward).
    pub(super) fn back(
        &self,
        from: &DistDeviceVector<C>,
        into: &mut DistDeviceVector<C>,
    ) -> Result<(), CommError> {
        self.carry(1, from, into)
    }

    fn carry(
        &self,
        direction: usize,
        from: &DistDeviceVector<C>,
        into: &mut DistDeviceVector<C>,
    ) -> Result<(), CommError> {
        let ends = [from.partition(), into.partition()];
        let fits = (0..2).all(|end| ends[end].is_same(&self.between[(direction + end) % 2]));
        assert!(fits, "redistribution: vectors of other layouts");
        let (plan, comm) = (self.host.plans()[direction], self.between[0].comm());
        let Scratch { there, outgoing, incoming } = &mut *self.scratch.borrow_mut();
        let there = &mut there[direction];
        let (from, into) = (from.own(), into.own_mut());
        or_fail(comm, gather(plan, there, from, into, outgoing))?; // 1, 2
        plan.send(outgoing)?;
        plan.receive(|first, data| {
            incoming.clear();
            incoming.extend(unpack::<f64>(data));
            or_fail(comm, there.receive(into, first, incoming)) // 3
        })
    }
}

/// Moves the rows that stay, and fetches those that other ranks take.
fn gather<C: Communicator>(
    plan: &RedistributionPlan<C>,
    there: &mut DeviceBorder<f64>,
    from: &DeviceVector<f64>,
    into: &mut DeviceVector<f64>,
    outgoing: &mut Vec<f64>,
) -> Result<(), Error> {
    let (rows, at) = plan.kept();
    // Before `begin`, so that rows from other ranks come after it.
    there.shift(from, rows, into, at);
    there.begin(from)?;
    outgoing.resize(there.sent(), 0.0);
    there.end(outgoing)
}
