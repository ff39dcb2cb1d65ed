//! Counts of the commands of a backend.

/// The largest size in bytes of a transfer that is not counted as large.
const LARGE: usize = 1024;

/// The numbers of commands since a backend was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The number of synchronisations of the host: reads of scalars, transfers and `sync`.
    pub synchronisations: u64,
    /// The number of kernels enqueued.
    pub launches: u64,
    /// The number of buffers allocated.
    pub allocations: u64,
    /// The number of transfers to the device: writes into buffers, and new buffers that begin with data of the host. A write
    /// of several ranges counts once.
    pub uploads: u64,
    /// The bytes of these transfers.
    pub sent: u64,
    /// The number of transfers to the host, each of which synchronises: reads of buffers and of scalars.
    pub downloads: u64,
    /// The bytes of these transfers.
    pub received: u64,
    /// The number of transfers of either direction of more than 1024 bytes, so not of scalars.
    pub large: u64,
    /// The number of programs that were compiled, not loaded from the cache or shared with another backend.
    pub compiled: u64,
    /// The total size in bytes of all buffers of the backend that exist now.
    pub bytes: u64,
}

impl Counters {
    pub(super) fn upload(&mut self, bytes: usize) {
        self.uploads += 1;
        self.sent += bytes as u64;
        self.large += u64::from(bytes > LARGE);
    }

    pub(super) fn download(&mut self, bytes: usize) {
        self.downloads += 1;
        self.received += bytes as u64;
        self.large += u64::from(bytes > LARGE);
    }
}
