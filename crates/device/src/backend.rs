//! A device as a [`Backend`], which copies data to it and back, for methods that are generic over a backend.

use std::sync::Arc;

use coarsen_backend::{Backend, Cpu, DenseBlocks, RowSets, Transfers};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use crate::driver::Type;
use crate::error::same_length;
use crate::memory::bytes;
use crate::{Counters, DeviceBackend, DeviceBlocks, DeviceMatrix, DeviceRows, DeviceVector, Format};

impl<V: Real, S: Real> Backend for DeviceBackend<V, S> {
    type Real = V;
    type Stored = S;
    type Vector = DeviceVector<V>;
    type Matrix = DeviceMatrix<V, S>;
    type Blocks = DeviceBlocks<V, S>;
    type Rows = DeviceRows<V>;

    fn name(&self) -> &'static str {
        "opencl"
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn transfers(&self) -> Transfers {
        let Counters { synchronisations, uploads, sent, downloads, received, .. } = self.counters();
        Transfers { synchronisations, uploads, sent, downloads, received }
    }

    fn vector(&self, host: &[V]) -> Result<DeviceVector<V>, Error> {
        let memory = self.queue().allocate(Type::of::<V>(), size_of_val(host), Some(bytes(host)))?;
        Ok(DeviceVector { backend: self.plain(), memory, n: host.len() })
    }

    /// Uses [`Format::Rows`] on a processor, for rows of 32 blocks or more on average, which several items compute, and where
    /// slices would have more padding than blocks; otherwise [`Format::Ell`] with at most 5 % of padding, and
    /// [`Format::Sliced`] with more.
    fn matrix<T: Real>(&self, host: &Bsr<T>) -> Result<DeviceMatrix<V, S>, Error> {
        DeviceMatrix::new(self, host, Format::suiting(host.pattern(), self.device()))
    }

    fn blocks<T: Real>(&self, host: &DenseBlocks<T>) -> Result<DeviceBlocks<V, S>, Error> {
        DeviceBlocks::new(self, host)
    }

    fn apply_blocks(d: &DeviceBlocks<V, S>, a: V, r: &DeviceVector<V>, b: V, z: &mut DeviceVector<V>) {
        d.apply(a, r, b, z);
    }

    fn set_blocks<T: Real>(d: &mut DeviceBlocks<V, S>, host: &DenseBlocks<T>) -> Result<(), Error> {
        d.set_values(host)
    }

    fn rows(&self, sets: &RowSets) -> Result<DeviceRows<V>, Error> {
        DeviceRows::new(self, sets)
    }

    /// Returns colours of single rows on an accelerator, and the chunks of [`Cpu`] on a processor.
    fn relaxation_order(&self, pattern: &Arc<Pattern>) -> RowSets {
        if self.device().accelerator {
            RowSets::chunked(pattern, 1)
        } else {
            Cpu::<f64>::new().relaxation_order(pattern)
        }
    }

    fn read(&self, v: &DeviceVector<V>, host: &mut [V]) -> Result<(), Error> {
        self.assert_same(&v.backend);
        same_length("host copy", v.n, host.len())?;
        self.queue().read(&v.memory, host)
    }

    fn write(&self, host: &[V], v: &mut DeviceVector<V>) -> Result<(), Error> {
        self.assert_same(&v.backend);
        same_length("host copy", v.n, host.len())?;
        self.queue().write(&v.memory, host)
    }
}
