//! Counts of what a place has done.

/// What a place has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Times the host waited: looks at scalars, transfers and `sync`.
    pub waits: u64,
    /// Kernels enqueued.
    pub launches: u64,
    /// Buffers made.
    pub allocations: u64,
    /// Bytes that were written into buffers that there were.
    pub sent: u64,
    /// Programs compiled; those that an earlier process left in the cache are not counted.
    pub compiled: u64,
    /// Bytes of the buffers there are now.
    pub bytes: u64,
}
