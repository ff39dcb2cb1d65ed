//! z = a D r + b z on the CPU.

use std::marker::PhantomData;

use coarsen_core::{Error, Real, parallel};

use crate::range::same_length;
use crate::{DenseBlocks, check_blocks};

/// Block-diagonal inverses on the CPU, stored in `S`, applied to `Vec<V>`.
#[derive(Clone, Debug)]
pub struct CpuBlocks<V, S> {
    d: DenseBlocks<S>,
    of: PhantomData<V>,
}

impl<V: Real, S: Real> CpuBlocks<V, S> {
    pub(super) fn new(d: DenseBlocks<S>) -> Self {
        Self { d, of: PhantomData }
    }

    /// Returns the stored blocks.
    pub fn host(&self) -> &DenseBlocks<S> {
        &self.d
    }

    pub(super) fn apply(&self, a: V, r: &[V], b: V, z: &mut [V]) {
        self.d.apply_add(a, r, b, z);
    }

    pub(super) fn set_values<T: Real>(&mut self, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", self.d.size(), host.size())?;
        same_length("dense blocks", self.d.count(), host.count())?;
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        parallel::map(host.values(), self.d.values_mut(), |v| v.to());
        Ok(())
    }
}
