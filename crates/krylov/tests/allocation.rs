//! The second solve of the same length allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use coarsen_core::{Identity, Stop, from_fn};
use coarsen_krylov::{
    BiCgStab, Cg, FlexibleCg, Gmres, Krylov, Minres, NullSpace, Projected, Richardson, SingleReductionCg,
    SpectralRadius, start_vector,
};

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: every call is handed to `System` as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|c| c.set(c.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, p: *mut u8, layout: Layout) {
        // SAFETY: p came from `System.alloc` above.
        unsafe { System.dealloc(p, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls(f: impl FnOnce()) -> usize {
    let before = CALLS.with(Cell::get);
    f();
    CALLS.with(Cell::get) - before
}

#[test]
fn the_second_solve_allocates_nothing() {
    let n = 50;
    let chain = from_fn(n, |x: &Vec<f64>, y: &mut Vec<f64>| {
        for i in 0..n {
            y[i] = 2.1 * x[i] - x.get(i + 1).unwrap_or(&0.0) - if i > 0 { x[i - 1] } else { 0.0 };
        }
    });
    let b: Vec<f64> = start_vector(n);
    let stop = Stop::relative(1e-10);
    let mut flexible = Gmres::new(stop);
    flexible.flexible = true;
    let mut damped = Richardson::new(stop);
    damped.omega = 0.45;
    let methods: [(&str, Box<dyn Krylov<Vec<f64>>>); 9] = [
        ("Cg", Box::new(Cg::new(stop))),
        ("SingleReductionCg", Box::new(SingleReductionCg::new(stop))),
        ("FlexibleCg", Box::new(FlexibleCg::new(stop))),
        ("Minres", Box::new(Minres::new(stop))),
        ("Gmres", Box::new(Gmres::new(stop))),
        ("Gmres, flexible", Box::new(flexible)),
        ("BiCgStab", Box::new(BiCgStab::new(stop))),
        ("Richardson", Box::new(damped)),
        ("Projected", Box::new(Projected::new(Cg::new(stop), NullSpace::constants(&b).unwrap()))),
    ];
    for (name, mut method) in methods {
        let mut x = vec![0.0; n];
        let mut solve = |budget| {
            x.fill(0.0);
            method.stop_mut().max_iterations = budget;
            let _ = method.solve(&chain, &mut Identity, &b, &mut x).unwrap();
        };
        assert!(calls(|| solve(1)) > 0, "{name}");
        assert_eq!(calls(|| solve(1000)), 0, "{name}");
    }
    let mut radius = SpectralRadius::default();
    let mut estimate = || assert!(radius.estimate(&chain, &mut Identity, &b).unwrap() > 4.0);
    assert!(calls(&mut estimate) > 0);
    assert_eq!(calls(&mut estimate), 0);
}
