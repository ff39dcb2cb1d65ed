//! The second solve and the second update allocate nothing: not one byte, at one thread and at two.

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen::krylov::{BiCgStab, FlexibleCg, Gmres, Minres, Richardson};
use coarsen::parallel;
use coarsen::prelude::*;
use common::{multigrids, noise, recipes};

/// Counts the bytes asked for while a test measures.
struct Counting;

static BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system allocator unchanged; only a counter is added.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise about `layout` is passed on.
        unsafe { Heap.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise about `at` and `layout` is passed on.
        unsafe { Heap.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size, Ordering::Relaxed);
        // SAFETY: the caller's promise about `at` and `layout` is passed on.
        unsafe { Heap.realloc(at, layout, size) }
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
fn second_solve_and_second_update_allocate_nothing() {
    let a = common::problem("poisson2d:270").matrix;
    let b = noise(a.shape().0, 1);
    for threads in [1, 2] {
        parallel::threads(threads, || {
            let stop = Stop { max_iterations: 20, ..Stop::relative(1e-10) };
            let mut methods: Vec<(&str, Box<dyn Krylov<Vec<f64>>>)> = vec![
                ("cg", Box::new(Cg::new(stop))),
                ("fcg", Box::new(FlexibleCg::new(stop))),
                ("minres", Box::new(Minres::new(stop))),
                ("gmres", Box::new(Gmres::new(stop))),
                ("bicgstab", Box::new(BiCgStab::new(stop))),
                ("richardson", Box::new(Richardson::new(stop))),
            ];
            let mut m = Jacobi::default().build(&a, &Cpu::new()).unwrap();
            for (name, method) in &mut methods {
                let mut x = vec![0.0; b.len()];
                let mut solve = || {
                    x.fill(0.0);
                    let report = method.solve(&a, &mut m, &b, &mut x).unwrap();
                    assert!(report.iterations > 0);
                };
                solve();
                solve(); // rayon's own queues have grown by now
                assert_eq!(bytes(solve), 0, "{name} at {threads} threads");
            }
            for (name, build) in recipes().into_iter().chain(multigrids()) {
                let mut m = build(&a);
                let mut z = vec![0.0; b.len()];
                m.update_from((&a).into()).unwrap();
                m.apply(&b, &mut z);
                let counted = bytes(|| {
                    m.update_from((&a).into()).unwrap();
                    m.apply(&b, &mut z);
                });
                assert_eq!(counted, 0, "{name} at {threads} threads");
            }
        })
        .unwrap();
    }
}
