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
/// An exchange whose need depends on the times of messages reserves its buffers.
///
/// ```
/// use coarsen_distributed::Buffers;
/// let buffers = Buffers::default();
/// let first = buffers.take(100);
/// let at = first.as_ptr();
/// buffers.put(first);
/// assert_eq!(buffers.take(80).as_ptr(), at);
/// ```
pub struct Buffers(Mutex<Kept>);

struct Kept {
    buffers: Vec<Vec<u8>>,
    /// The number of buffers for messages of `long` bytes that shorter messages do not take.
    reserved: usize,
    long: usize,
}

/// The capacity of a new buffer: the next power of two.
fn capacity_for(bytes: usize) -> usize {
    bytes.max(LEAST).checked_next_power_of_two().unwrap_or(bytes)
}

impl Kept {
    /// Whether a buffer may be a reserved one; vast ones are not.
    fn fits(&self, buffer: &Vec<u8>) -> bool {
        (self.long..=capacity_for(self.long)).contains(&buffer.capacity())
    }

    /// The number of these buffers that are kept.
    fn long(&self) -> usize {
        self.buffers.iter().filter(|buffer| self.fits(buffer)).count()
    }

    /// Keeps a buffer, unless many are kept; a reserved one takes the place of the shortest other one then.
    fn keep(&mut self, buffer: Vec<u8>) {
        if self.buffers.len() < MOST {
            self.buffers.push(buffer);
        } else if self.fits(&buffer) && self.long() < self.reserved {
            let other = |at: &usize| !self.fits(&self.buffers[*at]);
            let shortest = (0..MOST).filter(other).min_by_key(|&at| self.buffers[at].capacity());
            if let Some(at) = shortest {
                self.buffers[at] = buffer;
            }
        }
    }
}

impl Default for Buffers {
    /// No buffers yet.
    fn default() -> Self {
        Self(Mutex::new(Kept { buffers: Vec::with_capacity(MOST), reserved: 0, long: 0 }))
    }
}

impl Buffers {
    /// An empty buffer with a capacity of at least `bytes`: the smallest one that is kept, or a new one.
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        let mut kept = self.kept();
        let large = |(_, buffer): &(usize, &Vec<u8>)| buffer.capacity() >= bytes;
        let best = kept.buffers.iter().enumerate().filter(large).min_by_key(|(_, buffer)| buffer.capacity());
        let free = |(_, buffer): &(usize, &Vec<u8>)| {
            bytes >= kept.long || !kept.fits(buffer) || kept.long() > kept.reserved
        };
        match best.filter(free).map(|(at, _)| at) {
            Some(at) => kept.buffers.swap_remove(at),
            None => Vec::with_capacity(capacity_for(bytes)),
        }
    }

    /// Makes buffers until `count` of at least `bytes` are kept. Shorter messages do not take these buffers, and others do
    /// not displace them while they are in use. Buffers beyond the next power of two do not count.
    ///
    /// Several calls reserve the largest count of the largest length. A reservation is cut to half of both limits, so
    /// that other buffers do not displace it; exchanges then allocate what is missing. It lasts as long as the
    /// communicator.
    pub fn reserve(&self, count: usize, bytes: usize) {
        let mut kept = self.kept();
        kept.long = kept.long.max(bytes);
        let capacity = capacity_for(kept.long);
        kept.reserved = kept.reserved.max(count).min(MOST / 2).min(BYTES / 2 / capacity);
        for _ in kept.long()..kept.reserved {
            kept.keep(Vec::with_capacity(capacity));
        }
    }

    /// Keeps a buffer, unless many are kept. Beyond the limit of bytes, the longest buffers that are not
    /// reserved are freed.
    pub fn put(&self, mut buffer: Vec<u8>) {
        let mut kept = self.kept();
        if buffer.capacity() >= LEAST {
            buffer.clear();
            kept.keep(buffer);
            let mut bytes: usize = kept.buffers.iter().map(Vec::capacity).sum();
            while bytes > BYTES {
                let excess = kept.long() > kept.reserved;
                let free = |at: &usize| excess || !kept.fits(&kept.buffers[*at]);
                let at = (0..kept.buffers.len()).filter(free).max_by_key(|&at| kept.buffers[at].capacity());
                let Some(longest) = at else { return };
                bytes -= kept.buffers.swap_remove(longest).capacity();
            }
        }
    }

    /// No code panics while it holds the lock, so a poisoned lock protects valid data.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
