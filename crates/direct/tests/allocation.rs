//! Solves, applications and updates allocate nothing once the factor is built.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen_core::Preconditioner;
use coarsen_direct::{Dense, Direct, Method};
use coarsen_sparse::assembly;

/// Counts the bytes asked for.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise about `at` and `layout` is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Bytes asked for while `f` runs.
fn bytes(f: impl FnOnce()) -> usize {
    let before = BYTES.load(Ordering::Relaxed);
    f();
    BYTES.load(Ordering::Relaxed) - before
}

/// One test, so that no other thread of the test harness allocates while it measures.
#[test]
fn nothing_is_allocated_after_the_first_time() {
    // Small enough for one thread; the larger one is supernodal.
    for n in [10_u32, 60] {
        let at = |i: u32, j: u32| i * n + j;
        let mut entries = Vec::new();
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            entries.push((at(i, j), at(i, j), 4.1));
            for (p, q) in [(i + 1, j), (i, j + 1)].into_iter().filter(|&(p, q)| p < n && q < n) {
                entries.extend([(at(i, j), at(p, q), -1.0), (at(p, q), at(i, j), -1.0)]);
            }
        }
        let size = (n * n) as usize;
        let a = assembly::from_triplets(size, size, &entries).unwrap();
        let (b, mut x) = (vec![1.0; size], vec![0.0; size]);
        for method in [Method::Cholesky, Method::Ldlt, Method::Lu] {
            let mut factor = Direct { method, ..Direct::default() }.build(&a).unwrap();
            factor.update(&a).unwrap();
            assert_eq!(bytes(|| factor.apply(&b, &mut x)), 0, "{method:?} {n} apply");
            assert_eq!(bytes(|| drop(factor.solve(&b, &mut x))), 0, "{method:?} {n} solve");
            assert_eq!(bytes(|| factor.update(&a).unwrap()), 0, "{method:?} {n} update");
        }
        if size < 200 {
            let mut inverse = Dense::default().build(&a).unwrap();
            assert_eq!(bytes(|| inverse.apply(&b, &mut x)), 0, "dense apply");
            assert_eq!(bytes(|| inverse.update(&a).unwrap()), 0, "dense update");
        }
    }
}
