//! A failed allocation is an error: of the buffer for dense products, and of the parts of a factor.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::ptr::null_mut;

use coarsen_direct::{Direct, DirectError, Engine, Method};
use coarsen_sparse::{Bsr, assembly};

/// The allocator of the system; each thread records large allocations and rejects those above its limit.
struct Strict;

const LARGE: usize = 1 << 20;

thread_local! {
    static NOTED: Cell<(usize, [usize; 4])> = const { Cell::new((0, [0; 4])) };
    static ALLOWED: Cell<usize> = const { Cell::new(usize::MAX) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: calls are passed to `System` unchanged or rejected; the records neither allocate nor access memory
// of `System`.
unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size();
        if size > ALLOWED.get() {
            REFUSED.set(size);
            return null_mut();
        }
        if size >= LARGE {
            let (count, mut sizes) = NOTED.get();
            sizes[count % 4] = size;
            NOTED.set((count + 1, sizes));
        }
        // SAFETY: the caller's promise on `layout` is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `System`, with this layout.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static STRICT: Strict = Strict;

/// −Δ on an n x n grid with full b x b blocks.
fn grid(n: u32, b: u32) -> Bsr<f64> {
    let mut entries = Vec::new();
    for (i, j) in (0..n * n).flat_map(|i| (0..n * n).map(move |j| (i, j))) {
        let steps = (i % n).abs_diff(j % n) + (i / n).abs_diff(j / n);
        for (p, q) in (0..b).flat_map(|p| (0..b).map(move |q| (p, q))).filter(|_| steps < 2) {
            let own = steps == 0 && p == q;
            entries.push((i * b + p, j * b + q, if own { 9.0 * f64::from(b) } else { -0.5 }));
        }
    }
    let size = (n * n * b) as usize;
    assembly::from_triplets_blocked(size, size, (b as usize, b as usize), &entries).unwrap()
}

/// If the system reports its caches, the requested size is the size of the buffer or slightly more; a thread
/// allocates it once.
pub(super) fn the_buffer_is_as_large_as_what_is_asked_for() {
    if !Path::new("/sys/devices/system/cpu/cpu0/cache/index0/size").exists() {
        return println!("skipped: nothing tells the caches");
    }
    let parameters = Direct { method: Method::Ldlt, ..Direct::default() };
    let asked = parameters.factor(&grid(18, 1)).unwrap().stats().products;
    let (count, [first, made, ..]) = NOTED.get();
    assert_eq!((count, first), (2, asked));
    assert!(made <= asked && asked - made <= 1 << 17, "{made} made, {asked} asked for");
    parameters.factor(&grid(18, 1)).unwrap();
    assert_eq!(NOTED.get().0, 2);
}

/// If the allocation of a part of a factor fails, the error gives its size within a factor of three.
/// `Engine::Own` allocates fewer parts.
pub(super) fn refused_memory_is_named() {
    for (engine, parts) in [(Engine::Fastest, 2), (Engine::Own, 1)] {
        refusals_are_named(engine, parts);
    }
}

fn refusals_are_named(engine: Engine, parts: usize) {
    for (method, a) in
        [(Method::Cholesky, grid(15, 2)), (Method::Ldlt, grid(20, 3)), (Method::Lu, grid(40, 1))]
    {
        let parameters = Direct { method, engine, ..Direct::default() };
        parameters.factor(&a).unwrap(); // the buffer of this thread
        let (mut seen, mut allowed) = (Vec::new(), 1_usize << 22);
        // Copies of A are allocated without a check, so the limit stays above their size.
        while allowed > a.nnz() * 8 + 4096 {
            ALLOWED.set(allowed);
            let built = parameters.factor(&a).map(drop);
            ALLOWED.set(usize::MAX);
            if let Err(error) = built {
                let (refused, told) = (REFUSED.get(), error.to_string());
                let DirectError::Memory { bytes } = error else { panic!("{method:?}: {told}") };
                assert!(
                    bytes < 3 * refused && refused < 3 * bytes,
                    "{engine:?} {method:?}: {bytes} named for {refused}"
                );
                seen.push(refused);
            }
            allowed -= allowed / 16;
        }
        seen.dedup();
        assert!(seen.len() >= parts, "{engine:?} {method:?}: {seen:?}");
    }
}
