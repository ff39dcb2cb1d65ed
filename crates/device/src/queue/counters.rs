//! Counts of the commands of a place.

/// The numbers of commands since a place was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of waits of the host: reads of scalars, transfers and `sync`.
    pub waits: u64,
    /// The number of kernels enqueued.
    pub launches: u64,
    /// The number of buffers allocated.
    pub allocations: u64,
    /// The number of bytes written into existing buffers.
    pub sent: u64,
    /// The number of programs that were compiled, not loaded from the cache.
    pub compiled: u64,
    /// The total size in bytes of all buffers that exist now.
    pub bytes: u64,
}
