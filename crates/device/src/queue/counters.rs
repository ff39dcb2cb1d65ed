//! Counts of the commands of a place.

/// Counts since a place was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Waits of the host: reads of scalars, transfers and `sync`.
    pub waits: u64,
    /// Kernels enqueued.
    pub launches: u64,
    /// Buffers allocated.
    pub allocations: u64,
    /// Bytes written into existing buffers.
    pub sent: u64,
    /// Programs compiled; those loaded from the cache do not count.
    pub compiled: u64,
    /// Bytes of all buffers that exist now.
    pub bytes: u64,
}
