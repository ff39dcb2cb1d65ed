//! The backend: a device with its queue and kernels.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use coarsen_core::{Error, Real};

use crate::queue::{Counters, Queue};
use crate::{Device, DeviceError, Recorded};

/// A device as a backend: one in-order queue and its compiled kernels. Vectors are of `V`; matrices and blocks
/// are stored in `S`.
///
/// A clone is the same backend. All operands of an operation must belong to one backend (it *panics* otherwise),
/// and they keep the backend alive. Sums follow a tree that depends only on the length, in `f64` if the device
/// has it. So every run on one device gives the same bits.
///
/// *Cost* a new backend compiles the kernels of vectors, and the first matrix of a block size compiles the
/// kernels of its products. Each compilation takes a few tenths of a second the first time. Later it takes a
/// millisecond, because programs are cached in a folder of the user, or in the folder in `COARSEN_CACHE`.
/// Backends on the same OpenCL device share programs.
/// *Use* one backend for as long as possible. Threads may share a backend; their commands interleave.
pub struct DeviceBackend<V, S = V> {
    shared: Arc<Shared<V>>,
    stored: PhantomData<fn() -> S>,
}

/// The name of the device.
impl<V, S> std::fmt::Display for DeviceBackend<V, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&self.shared.device, f)
    }
}

struct Shared<V> {
    device: Device,
    queue: Mutex<Queue<V>>,
}

impl<T: Real> DeviceBackend<T, T> {
    /// Returns a backend on a device.
    ///
    /// # Errors
    /// [`DeviceError::Precision`] if the device lacks `T`, [`DeviceError::Core`] if its compiler rejects the
    /// kernels ([`Error::Build`]) or a driver call fails.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        if !device.computes::<T>() {
            return Err(DeviceError::Precision { precision: T::NAME, found: 1 });
        }
        let queue = Mutex::new(Queue::new(device)?);
        let shared = Arc::new(Shared { device: device.clone(), queue });
        Ok(Self { shared, stored: PhantomData })
    }

    /// Returns a backend on the first accelerator that supports `T`, or on the first device that supports `T`
    /// if there is no such accelerator.
    ///
    /// # Errors
    /// [`DeviceError::Precision`] if there is no such device, and the errors of [`new`](Self::new).
    pub fn first(devices: &[Device]) -> Result<Self, DeviceError> {
        match Device::first::<T>(devices) {
            Some(device) => Self::new(device),
            None => Err(DeviceError::Precision { precision: T::NAME, found: devices.len() }),
        }
    }

    /// Returns the same backend, but storing matrices and blocks in `f32`, which halves the traffic of a
    /// preconditioner.
    pub fn mixed(&self) -> DeviceBackend<T, f32> {
        DeviceBackend { shared: self.shared.clone(), stored: PhantomData }
    }
}

impl<V: Real, S> DeviceBackend<V, S> {
    /// Returns the device of the backend.
    pub fn device(&self) -> &Device {
        &self.shared.device
    }

    /// Checks that `bytes` more bytes can be allocated, in several buffers, beside those of all backends on the device in this
    /// process. *Use* before a long setup.
    ///
    /// # Errors
    /// [`Error::Memory`] with the number of bytes left.
    pub fn check_memory(&self, bytes: u64) -> Result<(), Error> {
        self.queue().check_memory(bytes)
    }

    /// Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Device`]: the first failure of this backend, if there was one.
    pub fn sync(&self) -> Result<(), Error> {
        self.queue().finish()
    }

    /// Starts all work enqueued so far, without synchronisation, so that it runs while the host does something else. The backend
    /// keeps a failure.
    pub fn start(&self) {
        let _kept = self.queue().flush();
    }

    /// Returns the numbers of synchronisations, launches and allocations since the backend was made.
    pub fn counters(&self) -> Counters {
        self.queue().counters()
    }

    /// Begins or ends a record of the kernels of this backend, and of transfers beside them. *Use* to see what runs when;
    /// it costs memory and time for each command. Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend fails.
    pub fn record(&self, on: bool) -> Result<(), Error> {
        self.queue().record(on)
    }

    /// Returns the recorded commands since the last call, in the order in which they were enqueued; none without
    /// [`record`](Self::record). Waits for all work enqueued so far.
    ///
    /// # Errors
    /// [`Error::Device`] if the backend fails.
    pub fn recorded(&self) -> Result<Vec<Recorded>, Error> {
        self.queue().recorded()
    }

    /// Locks the queue for one command or a few commands.
    ///
    /// Cloning or dropping a scalar also locks the queue, so do neither while the guard exists.
    pub(crate) fn queue(&self) -> MutexGuard<'_, Queue<V>> {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the same backend, but storing matrices in the precision of its vectors.
    pub fn plain(&self) -> DeviceBackend<V> {
        DeviceBackend { shared: self.shared.clone(), stored: PhantomData }
    }

    /// Returns the same backend, but storing matrices in `R`.
    pub(crate) fn stored<R>(&self) -> DeviceBackend<V, R> {
        DeviceBackend { shared: self.shared.clone(), stored: PhantomData }
    }

    pub(crate) fn is_same<R>(&self, other: &DeviceBackend<V, R>) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    pub(crate) fn assert_same<R>(&self, other: &DeviceBackend<V, R>) {
        assert!(self.is_same(other), "operands of different backends");
    }
}

impl<V, S> Clone for DeviceBackend<V, S> {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), stored: PhantomData }
    }
}

impl<V: Real, S> fmt::Debug for DeviceBackend<V, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBackend<{}> on {}", V::NAME, self.shared.device)
    }
}
