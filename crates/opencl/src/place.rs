//! The place, and the way to it and back.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coarsen_core::{Error, Real, Vector};
use coarsen_sparse::Bsr;

use crate::memory::{bytes, bytes_mut};
use crate::program::real;
use crate::queue::Queue;
use crate::{Device, DeviceMatrix, DeviceVector, OpenClError, devices};

/// An OpenCL device as a place to compute in `T`: one in-order queue and its compiled kernels.
///
/// Clones are the same place. Vectors, matrices and scalars meet only within one place (they *panic* otherwise) and keep
/// it alive. Sums run along a tree that depends on the length alone, in `f64` where the device has it: the same bits at
/// every run on one device.
///
/// *Cost* making one compiles all kernels: half a second at the first time, 20 ms where the driver keeps a cache.
/// *Use* one place for as long as possible. A place may be shared by threads; their commands interleave.
///
/// ```
/// use coarsen_core::Vector;
/// use coarsen_opencl::OpenCl;
/// let Ok(on) = OpenCl::<f32>::default_device() else { return Ok(()) }; // no OpenCL here
/// let x = on.vector(&[3.0, 4.0])?;
/// assert_eq!(x.norm(), 5.0);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
pub struct OpenCl<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    device: Device,
    queue: Mutex<Queue<T>>,
}

/// What a place has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times the host waited: looks at scalars, transfers and `sync`.
    pub waits: u64,
    /// Kernels enqueued.
    pub launches: u64,
    /// Buffers made.
    pub allocations: u64,
}

impl<T: Real> OpenCl<T> {
    /// The first accelerator that computes in `T`, else the first device that does.
    ///
    /// # Errors
    /// [`OpenClError::Absent`] without a platform, [`OpenClError::Precision`] without such a device, and those of
    /// [`on`](Self::on).
    pub fn default_device() -> Result<Self, OpenClError> {
        let all = devices()?;
        let able = || all.iter().filter(|d| d.computes::<T>());
        match able().find(|d| d.accelerator).or_else(|| able().next()) {
            Some(device) => Self::on(device),
            None => Err(OpenClError::Precision { precision: T::NAME, found: all.len() }),
        }
    }

    /// A place on one of [`devices`].
    ///
    /// # Errors
    /// [`OpenClError::Precision`] when the device lacks `T`, [`OpenClError::Build`] when its compiler refuses the
    /// kernels, [`OpenClError::Core`] when a driver call fails.
    pub fn on(device: &Device) -> Result<Self, OpenClError> {
        if !device.computes::<T>() {
            return Err(OpenClError::Precision { precision: T::NAME, found: 1 });
        }
        let queue = Mutex::new(Queue::new(device)?);
        Ok(Self { shared: Arc::new(Shared { device: device.clone(), queue }) })
    }

    /// The device behind it.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// A vector with these entries.
    ///
    /// # Errors
    /// [`Error::Device`] when memory is lacking or the place has failed.
    pub fn vector(&self, host: &[T]) -> Result<DeviceVector<T>, Error> {
        let memory = self.queue().allocate(real::<T>(), size_of_val(host), Some(bytes(host)))?;
        Ok(DeviceVector { on: self.clone(), memory, n: host.len() })
    }

    /// A vector of n zeros.
    ///
    /// # Errors
    /// As [`vector`](Self::vector).
    pub fn zeros(&self, n: usize) -> Result<DeviceVector<T>, Error> {
        let memory = self.queue().allocate(real::<T>(), n * size_of::<T>(), None)?;
        let mut zeros = DeviceVector { on: self.clone(), memory, n };
        zeros.fill(T::zero());
        self.queue().state()?;
        Ok(zeros)
    }

    /// The matrix `host`, its values rounded to `T`.
    ///
    /// # Errors
    /// [`Error::TooLarge`] from 2³² stored blocks on, and as [`vector`](Self::vector).
    pub fn matrix<U: Real>(&self, host: &Bsr<U>) -> Result<DeviceMatrix<T>, Error> {
        DeviceMatrix::new(self, host)
    }

    /// Copies a vector to the host, after all work enqueued before. One wait.
    ///
    /// # Errors
    /// [`Error::Shape`] for another length, [`Error::Device`] when the transfer or work before it failed.
    pub fn read(&self, v: &DeviceVector<T>, host: &mut [T]) -> Result<(), Error> {
        self.assert_same(&v.on);
        if host.len() != v.n {
            return Err(Error::Shape { what: "host copy", expected: v.n, found: host.len() });
        }
        self.queue().read(&v.memory, bytes_mut(host))
    }

    /// Overwrites a vector with entries of the host, after all work enqueued before. One wait.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn write(&self, host: &[T], v: &mut DeviceVector<T>) -> Result<(), Error> {
        self.assert_same(&v.on);
        if host.len() != v.n {
            return Err(Error::Shape { what: "host copy", expected: v.n, found: host.len() });
        }
        self.queue().write(&v.memory, bytes(host))
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Device`]: the first failure of this place, if there was one.
    pub fn sync(&self) -> Result<(), Error> {
        self.queue().finish()
    }

    /// Waits, launches and allocations since the place was made.
    pub fn counters(&self) -> Counters {
        self.queue().counters()
    }

    /// The queue, for one command or a few.
    ///
    /// Scalars lock it when they are cloned and dropped: neither may happen while the guard lives.
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue<T>> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn assert_same(&self, other: &Self) {
        assert!(Arc::ptr_eq(&self.shared, &other.shared), "operands live in different OpenCL places");
    }
}

impl<T> Clone for OpenCl<T> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone() }
    }
}

impl<T: Real> fmt::Debug for OpenCl<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OpenCl<{}> on {}", T::NAME, self.shared.device)
    }
}
