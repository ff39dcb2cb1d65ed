//! Counts the bytes that a piece of code allocates, and the bytes that it does not free, over all threads of
//! the process.
//!
//! Tests that include this file run without a harness (`harness = false`): the main thread of libtest
//! allocates while a test runs, and its bytes would be counted too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system allocator, with counters of requested bytes.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to `System` unchanged; the counters do not access allocated memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller guarantees a valid `layout`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        FREED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: `at` came from `System` by `alloc` or `realloc`, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size, Ordering::Relaxed);
        FREED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: as in `dealloc`; the caller guarantees a valid `size`.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The number of bytes allocated while `f` runs.
pub(crate) fn bytes(f: impl FnOnce()) -> usize {
    let before = BYTES.load(Ordering::Relaxed);
    f();
    BYTES.load(Ordering::Relaxed) - before
}

/// The result of `f`, and the number of bytes that the result holds.
#[allow(dead_code)] // some programs do not use it
pub(crate) fn held<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let live = || BYTES.load(Ordering::Relaxed).wrapping_sub(FREED.load(Ordering::Relaxed));
    let before = live();
    let made = f();
    (made, live().wrapping_sub(before))
}
