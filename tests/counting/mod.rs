//! The bytes that a piece of work asks the allocator for, and those that it keeps, over all threads of the process.
//!
//! A test that includes this file has no harness (`harness = false`): libtest's main thread allocates while a test runs, and
//! those bytes would be counted too.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, counting what is asked for.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);
static FREED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to `System` unchanged; counting touches no memory that it hands out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise on `layout` is passed on.
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
        // SAFETY: as in `dealloc`; `size` is the caller's promise.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes asked for while `f` runs.
pub(crate) fn bytes(f: impl FnOnce()) -> usize {
    let before = BYTES.load(Ordering::Relaxed);
    f();
    BYTES.load(Ordering::Relaxed) - before
}

/// What `f` makes, and the bytes that are held for it.
#[allow(dead_code)] // not every program asks
pub(crate) fn held<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let live = || BYTES.load(Ordering::Relaxed).wrapping_sub(FREED.load(Ordering::Relaxed));
    let before = live();
    let made = f();
    (made, live().wrapping_sub(before))
}
