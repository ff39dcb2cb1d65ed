//! The device of a rank as a backend of preconditioners over ranks.

use std::sync::Arc;

use coarsen_backend::Backend;
use coarsen_core::Vector;
use coarsen_device::{DeviceBackend, DeviceVector};
use coarsen_distributed::{CommError, Communicator, DistError, GlobalRows, Partition, RankBackend};

use super::{DeviceRedistribution, DistDeviceMatrix, DistDeviceVector, or_fail};

/// A device, or a share of one, as the backend of a rank.
///
/// *Use* as the backend of a preconditioner that is generic over [`RankBackend`]. An application then sends the entries at
/// borders, and those of a gathered level; nothing else leaves the device.
///
/// ```
/// use coarsen_core::{Preconditioner, Vector};
/// use coarsen_distributed::{GlobalRows, Layout, Partition, RankBackend, SelfComm};
/// use coarsen_distributed_solvers::{DistSchwarz, RankDevice};
/// let Ok(device) = coarsen_opencl::default_device::<f64>() else { return Ok(()) }; // no OpenCL here
/// let (backend, problem) = (RankDevice::new(&device), coarsen_problems::poisson2d(20)?);
/// let partition = Partition::new(SelfComm, Layout::even(400, 1, 1)?)?;
/// let rows = GlobalRows::of(&problem.matrix, 0..400)?;
/// let mut m = DistSchwarz::default().build_at(&partition, &rows, &backend)?;
/// let r = backend.vector(&partition, &[1.0; 400])?;
/// let mut z = r.like()?;
/// m.apply(&r, &mut z);
/// assert!(z.norm() > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankDevice(DeviceBackend<f64>);

impl RankDevice {
    /// The device of this rank.
    pub fn new(device: &DeviceBackend<f64>) -> Self {
        Self(device.clone())
    }
}

impl<C: Communicator> RankBackend<C> for RankDevice {
    type Local = DeviceBackend<f64>;
    type Vector = DistDeviceVector<C>;
    type Matrix = DistDeviceMatrix<C>;
    type Redistribution = DeviceRedistribution<C>;

    fn local(&self) -> &DeviceBackend<f64> {
        &self.0
    }

    fn vector(&self, partition: &Arc<Partition<C>>, own: &[f64]) -> Result<DistDeviceVector<C>, DistError> {
        DistDeviceVector::new(partition, &self.0, own)
    }

    fn partition(v: &DistDeviceVector<C>) -> &Arc<Partition<C>> {
        v.partition()
    }

    fn start(&self) {
        self.0.start();
    }

    fn own(v: &DistDeviceVector<C>) -> &DeviceVector<f64> {
        v.own()
    }

    fn change(v: &mut DistDeviceVector<C>, with: impl FnOnce(&mut DeviceVector<f64>)) {
        let expected = v.local_size();
        with(v.own_mut());
        assert_eq!(v.local_size(), expected, "change: the entries of this rank");
    }

    fn read(v: &DistDeviceVector<C>, own: &mut [f64]) -> Result<(), CommError> {
        assert_eq!(v.local_size(), own.len(), "read: another length");
        or_fail(v.partition().comm(), v.own().backend().read(v.own(), own))
    }

    fn write(own: &[f64], v: &mut DistDeviceVector<C>) -> Result<(), CommError> {
        assert_eq!(v.local_size(), own.len(), "write: another length");
        let backend = v.own().backend().clone();
        let done = backend.write(own, v.own_mut());
        or_fail(v.partition().comm(), done)
    }

    fn matrix(
        &self,
        rows: &Arc<Partition<C>>,
        columns: &Arc<Partition<C>>,
        own: &GlobalRows<f64>,
    ) -> Result<DistDeviceMatrix<C>, DistError> {
        DistDeviceMatrix::between(&self.0, rows, columns, own)
    }

    fn set_values(a: &mut DistDeviceMatrix<C>, own: &GlobalRows<f64>) -> Result<(), DistError> {
        a.set_values(own)
    }

    fn redistribution(
        &self,
        from: &Arc<Partition<C>>,
        to: &Arc<Partition<C>>,
    ) -> Result<DeviceRedistribution<C>, DistError> {
        DeviceRedistribution::new(&self.0, from, to)
    }

    fn forward(
        redistribution: &DeviceRedistribution<C>,
        from: &DistDeviceVector<C>,
        into: &mut DistDeviceVector<C>,
    ) -> Result<(), CommError> {
        redistribution.forward(from, into)
    }

    fn back(
        redistribution: &DeviceRedistribution<C>,
        from: &DistDeviceVector<C>,
        into: &mut DistDeviceVector<C>,
    ) -> Result<(), CommError> {
        redistribution.back(from, into)
    }
}
