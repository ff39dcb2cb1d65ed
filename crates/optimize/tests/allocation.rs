//! The second descent allocates nothing: not one byte.

mod common;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::sync::atomic::{AtomicUsize, Ordering};

use coarsen_core::{Identity, Stop};
use coarsen_krylov::Cg;
use coarsen_optimize::*;
use common::{Quadratic, Valley};

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

type Rule<F> = (&'static str, Box<dyn Direction<Vec<f64>, F>>);

fn directions<F: Linearize<Vec<f64>> + 'static>(n: usize) -> Vec<Rule<F>> {
    let above = Quadratic { a: vec![3000.0; n], b: vec![0.0; n] };
    vec![
        ("gradient", Box::new(Gradient::steepest())),
        ("ncg+", Box::new(NonlinearCg::new(Beta::PolakRibierePlus, Identity))),
        ("ncg", Box::new(NonlinearCg::new(Beta::DaiKou, Identity))),
        ("accelerated", Box::new(AcceleratedGradient::new(0.9, Identity))),
        ("lbfgs", Box::new(Lbfgs::scaled(4))),
        ("lbfgs, gathered", Box::new(Lbfgs::scaled(4).gathering())),
        ("newton", Box::new(OrElse::new(Newton::exact(), Gradient::steepest()))),
        ("newton, inexact", Box::new(OrElse::new(Newton::inexact(), Gradient::steepest()))),
        ("newton, fixed", Box::new(OrElse::new(Newton::fixed(8), Gradient::steepest()))),
        ("constant", Box::new(Constant::new(above, Identity, Cg::new(Stop::relative(1e-3))))),
    ]
}

/// One test, so that no other thread of the test harness allocates while it measures.
#[test]
fn second_descent_allocates_nothing() {
    let n = 5000;
    let mut f = Valley::<f64>::new(n).linearized();
    let stop = Stop::relative(1e-12);
    let mut armijo = Descent::new(Backtracking::default(), stop);
    armijo.refresh = Refresh::Every(4);
    let mut wolfe = Descent::new(MoreThuente::tight(), stop);
    let start = Rosenbrock::start::<f64>(n);
    let mut x = start.clone();
    for (name, mut direction) in directions(n) {
        // The harness may allocate on its own thread meanwhile: the least of three passes is the descent's.
        let mut least = usize::MAX;
        for pass in 0..4 {
            // A first descent of one step makes all that a long one needs.
            let most = if pass == 0 { 1 } else { 15 };
            (armijo.stop.max_iterations, wolfe.stop.max_iterations) = (most, most);
            let before = BYTES.load(Ordering::Relaxed);
            for _ in 0..2 {
                x.copy_from_slice(&start);
                direction.as_mut().forget();
                let report = armijo.minimize(&mut f, &mut direction, &mut x, &mut ()).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
                x.copy_from_slice(&start);
                direction.as_mut().forget();
                let report = wolfe.minimize(&mut f, &mut direction, &mut x, &mut ()).unwrap();
                assert!(report.iterations > 0, "{name}: {report}");
            }
            let bytes = BYTES.load(Ordering::Relaxed) - before;
            least = if pass == 0 { usize::MAX } else { least.min(bytes) };
        }
        assert_eq!(least, 0, "{name} allocates");
    }
}
