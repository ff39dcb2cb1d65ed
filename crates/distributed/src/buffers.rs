//! Buffers of messages that are kept for the next messages.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The largest number of buffers that are kept.
const MOST: usize = 256;

/// The largest number of bytes that are kept.
const BYTES: usize = 256 << 20;

/// The smallest capacity in bytes, so that short messages share buffers.
const LEAST: usize = 64;

/// The buffers of one rank that no message uses. *Use* in a communicator.
///
/// Ranks that repeat a communication exchange the same buffers: a rank sends with the buffers that it has
/// received. After some repetitions no call allocates, if every rank receives as many messages of a size as it sends;
/// in traffic of one direction, senders allocate every buffer. At most 256 buffers of together 256 MiB are kept.
///
/// ```
/// use coarsen_distributed::Buffers;
/// let buffers = Buffers::default();
/// let first = buffers.take(100);
/// let at = first.as_ptr();
/// buffers.put(first);
/// assert_eq!(buffers.take(80).as_ptr(), at);
/// ```
pub struct Buffers(Mutex<Vec<Vec<u8>>>);

impl Default for Buffers {
    /// No buffers yet.
    fn default() -> Self {
        Self(Mutex::new(Vec::with_capacity(MOST)))
    }
}

impl Buffers {
    /// An empty buffer with a capacity of at least `bytes`: the smallest one that is kept, or a new one.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let mut kept = self.kept();
        let large = |(_, buffer): &(usize, &Vec<u8>)| buffer.capacity() >= bytes;
        let best = kept.iter().enumerate().filter(large).min_by_key(|(_, buffer)| buffer.capacity());
        match best.map(|(at, _)| at) {
            Some(at) => kept.swap_remove(at),
            None => Vec::with_capacity(bytes.max(LEAST).checked_next_power_of_two().unwrap_or(bytes)),
        }
    }

    /// Keeps a buffer, unless many are kept. Beyond the limit of bytes, the longest buffers are freed.
    pub fn put(&self, mut buffer: Vec<u8>) {
        let mut kept = self.kept();
        if kept.len() < MOST && buffer.capacity() >= LEAST {
            buffer.clear();
            kept.push(buffer);
            let mut bytes: usize = kept.iter().map(Vec::capacity).sum();
            while bytes > BYTES {
                let longest = (0..kept.len()).max_by_key(|&at| kept[at].capacity()).unwrap_or_default();
                bytes -= kept.swap_remove(longest).capacity();
            }
        }
    }

    /// No code panics while it holds the lock, so a poisoned lock protects valid data.
    fn kept(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
