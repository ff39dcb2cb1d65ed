//! Tests fused multiply-add of single numbers with the instruction set of the machine, and shared slices.

use coarsen_core::Real;
use coarsen_core::parallel::Shared;
use coarsen_core::simd::{Kernel, Set, run};

/// a b + c with the best instruction set of this machine.
struct Single<V>(V, V, V);

impl<V: Real> Kernel<V> for Single<V> {
    type Output = V;
    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) -> V {
        set.mul_add(self.0, self.1, self.2)
    }
}

#[test]
fn single_numbers_are_multiplied_and_added() {
    for (a, b, c) in [(3.0, 5.0, 7.0), (-2.5, 4.0, 0.0), (0.0, 9.0, -1.5), (0.5, 0.5, 0.5)] {
        assert_eq!(run(Single(a, b, c)), a * b + c);
        assert_eq!(run(Single(a as f32, b as f32, c as f32)), (a * b + c) as f32);
    }
}

/// The pointer of a shared slice is the address of the slice.
#[test]
fn a_shared_slice_begins_where_the_slice_does() {
    let mut x = [1, 2, 3];
    let first = x.as_mut_ptr();
    let shared = Shared::new(&mut x);
    let copy = shared;
    assert_eq!((shared.get(), copy.get()), (first, first));
    // SAFETY: the slice has three entries, and no other reference to it is in use.
    unsafe { *shared.get().add(2) = 9 };
    assert_eq!(x, [1, 2, 9]);
}
