//! An allocator that counts bytes, to measure the memory of a computation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static COUNTING: Counting = Counting;

/// The number of bytes allocated now.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// The maximum of `HELD` since the last [`peak_of`] began.
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// The system allocator with counters.
struct Counting;

impl Counting {
    fn more(bytes: usize) {
        PEAK.fetch_max(HELD.fetch_add(bytes, Relaxed) + bytes, Relaxed);
    }
}

// SAFETY: every call is forwarded to `System` unchanged; the counters own no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees the same about `layout` as `System` requires.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            Self::more(layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`; fresh pages of `System` are zero.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            Self::more(layout.size());
        }
        pointer
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: `pointer` came from `System` through the functions above, with this layout.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            HELD.fetch_sub(layout.size(), Relaxed);
            Self::more(size);
        }
        moved
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as in `realloc`.
        unsafe { System.dealloc(pointer, layout) };
        HELD.fetch_sub(layout.size(), Relaxed);
    }
}

/// The result of `work`, and the maximum number of bytes that were allocated during it.
pub(crate) fn peak_of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    let result = work();
    (result, PEAK.load(Relaxed).saturating_sub(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_seen_although_it_is_gone() {
        let (_, bytes) = peak_of(|| drop(vec![1_u8; 50_000_000]));
        assert!(bytes >= 50_000_000, "{bytes}");
        // Other tests run at the same time, but none of them allocates this much.
        assert!(peak_of(|| ()).1 < 50_000_000);
    }
}
