//! Couplings inside domains in device memory.

use coarsen_core::{Error, Real};
use coarsen_schwarz::Couplings;

use crate::driver::Type;
use crate::memory::Buffer;
use crate::program::NONE;
use crate::{DeviceBackend, DeviceMatrix};

/// The blocks that are gathered at every position; see `kernels/schwarz/numbers.cl`.
pub(crate) struct Gathered {
    pub(crate) own: Buffer,
    pub(crate) starts: Buffer,
    pub(crate) inner: Buffer,
    /// For each node, whether it has no couplings.
    pub(crate) alone: Buffer,
}

impl Gathered {
    /// Uploads the couplings of a matrix, with blocks replaced by the slots of the matrix.
    pub(crate) fn new<T: Real, S: Real>(a: &DeviceMatrix<T, S>, from: &Couplings) -> Result<Self, Error> {
        let slots = a.slots()?;
        let slot = |block: u32| slots.get(block as usize).copied().unwrap_or(NONE);
        let own: Vec<u32> = from.own.iter().map(|&block| slot(block)).collect();
        let inner: Vec<u32> = from.inner.iter().flat_map(|&[block, other]| [slot(block), other]).collect();
        let mut queue = a.backend().queue();
        let mut list = |list: &[u32]| queue.list(list);
        Ok(Self {
            own: list(&own)?,
            starts: list(&from.starts)?,
            inner: list(&inner)?,
            alone: list(&from.alone)?,
        })
    }

    /// Allocates buffers for the couplings of `blocks` blocks between `positions` positions.
    pub(crate) fn with_capacity<T: Real>(
        backend: &DeviceBackend<T>,
        nodes: usize,
        positions: usize,
        blocks: usize,
    ) -> Result<Self, Error> {
        let mut queue = backend.queue();
        let mut list = |count: usize| queue.allocate(Type::Index, 4 * count, None);
        let (own, alone) = (list(nodes)?, list(nodes)?);
        Ok(Self { own, starts: list(positions + 1)?, inner: list(2 * blocks)?, alone })
    }
}
