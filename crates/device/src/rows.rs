//! Rows that are relaxed at the same time, on a device.

use std::sync::Arc;

use coarsen_backend::RowSets;
use coarsen_core::{Error, Real};
use coarsen_sparse::Pattern;

use crate::DeviceBackend;
use crate::memory::Buffer;

/// Row sets in device memory: the first row and the end row of each chunk, set after set.
pub struct DeviceRows<V: Real> {
    pub(crate) backend: DeviceBackend<V>,
    pub(crate) pattern: Arc<Pattern>,
    pub(crate) chunks: Buffer,
    /// For each set, its first chunk and the number of its chunks.
    pub(crate) sets: Vec<(u32, u32)>,
}

impl<V: Real> DeviceRows<V> {
    pub(crate) fn new<S>(backend: &DeviceBackend<V, S>, host: &RowSets) -> Result<Self, Error> {
        let rows = host.pattern().rows();
        if u32::try_from(rows).is_err() {
            let (what, limit) = ("rows that are relaxed on a device", u32::MAX as usize);
            return Err(Error::TooLarge { what, count: rows, limit });
        }
        let (mut chunks, mut sets) = (Vec::new(), Vec::new());
        for set in host.sets() {
            sets.push((chunks.len() as u32 / 2, set.len() as u32));
            chunks.extend(set.iter().flat_map(|c| [c.start as u32, c.end as u32]));
        }
        let chunks = backend.queue().list(&chunks)?;
        Ok(Self { backend: backend.plain(), pattern: host.pattern().clone(), chunks, sets })
    }
}
