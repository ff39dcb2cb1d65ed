//! If memory is insufficient for the values, an update of a filtered system keeps the old pattern and values.

use std::alloc::{GlobalAlloc, Layout, System as Memory};
use std::cell::Cell;
use std::ptr::null_mut;
use std::sync::Arc;

use coarsen_constraints::{ConstraintError, Constraints, Filtered, prefilter};
use coarsen_sparse::{Bsr, Contacts, SparseError, Sum, System, assembly};

/// The system allocator with a limit for each thread: larger allocations fail.
struct Strict;

thread_local! {
    static ALLOWED: Cell<usize> = const { Cell::new(usize::MAX) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: calls are passed to `Memory` unchanged or fail. The thread-local counters do not access allocated
// memory and do not allocate.
unsafe impl GlobalAlloc for Strict {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > ALLOWED.get() {
            REFUSED.set(layout.size());
            return null_mut();
        }
        // SAFETY: the caller guarantees a valid `layout`.
        unsafe { Memory.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: `at` came from `Memory`, with this layout.
        unsafe { Memory.dealloc(at, layout) }
    }
}

#[global_allocator]
static STRICT: Strict = Strict;

const NODES: u32 = 120;

/// Nodes of three unknowns on a ring, each coupled to its next `reach` neighbours.
fn ring(reach: u32) -> Bsr<f64> {
    let near = |i: u32| (1..=reach).flat_map(move |k| [(i + k) % NODES, (i + NODES - k) % NODES]);
    let places: Vec<(u32, u32)> =
        (0..NODES).flat_map(|i| near(i).map(move |j| (i, j)).chain([(i, i)])).collect();
    let value = |i: u32, j: u32, k: usize| match k.is_multiple_of(4) {
        true if i == j => 2.0 * f64::from(reach) + 1.0 + f64::from(i % 5),
        true => -1.0,
        false => 0.01 * (i.abs_diff(j) % 3) as f64,
    };
    let values: Vec<f64> = places.iter().flat_map(|&(i, j)| (0..9).map(move |k| value(i, j, k))).collect();
    assembly::from_blocks((NODES as usize, NODES as usize), (3, 3), &places, &values).unwrap()
}

/// Planes for single nodes, and contacts that connect `tied` consecutive faces to one group.
fn held(tied: usize) -> Constraints {
    let mut c = Constraints::new(NODES as usize, 3).unwrap();
    for i in [3, 40, 77] {
        c.plane(i, &[0.0, 1.0, 0.0], 0.5).unwrap();
    }
    for i in (50..).step_by(3).take(tied) {
        c.vertex_face(i, [i + 1, i + 2, i + 3], [0.2, 0.3, 0.5], &[0.0, 0.6, 0.8], 0.1).unwrap();
    }
    c
}

/// All data of a filtered system that a caller can observe.
fn shown(filtered: &mut Filtered<f64>) -> impl PartialEq + std::fmt::Debug + use<> {
    let b: Vec<f64> = (0..3 * NODES).map(|i| f64::from(i).sin()).collect();
    let mut x = b.clone();
    let c = filtered.solve(&b, &mut x, |_, c, y| {
        y.iter_mut().zip(c).for_each(|(y, c)| *y += c);
        c.clone()
    });
    (filtered.matrix().clone(), filtered.near_kernel().clone(), filtered.density(), c.unwrap(), x)
}

/// Updates a system to another system. At first, memory is insufficient for the new values.
fn refused<'a>(name: &str, before: (System<'a, f64>, &Constraints), after: (System<'a, f64>, &Constraints)) {
    let mut filtered = prefilter(before.0, before.1).unwrap();
    let mut rebuilt = prefilter(after.0, after.1).unwrap();
    let (old, new) = (shown(&mut filtered), shown(&mut rebuilt));
    let pattern = filtered.matrix().pattern().clone();
    let needed = size_of_val(rebuilt.matrix().values());
    assert!(
        needed > 2 * size_of_val(filtered.matrix().values()),
        "{name}: the update needs no large allocation"
    );
    for _ in 0..2 {
        ALLOWED.set(needed / 2);
        let error = filtered.update(after.0, after.1);
        ALLOWED.set(usize::MAX);
        let expected = SparseError::Memory { what: "the filtered matrix", bytes: needed };
        assert_eq!(error, Err(ConstraintError::from(expected)), "{name}");
        assert!(REFUSED.get() >= needed, "{name}: {} of {needed} bytes", REFUSED.get());
        assert!(Arc::ptr_eq(&pattern, filtered.matrix().pattern()), "{name}");
        assert_eq!(shown(&mut filtered), old, "{name}: unchanged");
    }
    // The old system can still be updated. With enough memory, the failed update succeeds.
    filtered.update(before.0, before.1).unwrap();
    assert_eq!(shown(&mut filtered), old, "{name}: an update of the old system");
    filtered.update(after.0, after.1).unwrap();
    assert_eq!(shown(&mut filtered), new, "{name}: with enough memory");
}

#[test]
fn a_refused_update_leaves_pattern_and_values() {
    let (thin, dense) = (ring(1), ring(4));
    let (single, tied) = (held(0), held(8));
    let mut contact = Contacts::new(NODES as usize, 3).unwrap();
    let stiffness: Vec<f64> = (0..36).map(|k| if k % 4 == 0 { 1.0 } else { 0.0 }).collect();
    contact.replace(&[(2, 9), (9, 2), (2, 2), (9, 9)], &stiffness).unwrap();
    let touching = System::from(&Sum { elastic: &thin, contact: &contact });
    let (thin, dense) = (System::from(&thin), System::from(&dense));
    refused("more couplings", (thin, &single), (dense, &single));
    refused("nodes tied together", (thin, &single), (thin, &tied));
    refused("nodes let go, more couplings", (thin, &held(1)), (dense, &single));
    refused("nodes tied together, more couplings", (thin, &held(1)), (dense, &tied));
    refused("nodes tied together in contact", (touching, &single), (touching, &tied));
    refused("contact that ends, more couplings", (touching, &single), (dense, &single));
}
