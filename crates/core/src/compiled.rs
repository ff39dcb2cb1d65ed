//! Generic kernels, compiled once in the crate that defines them.
//!
//! At the optimisation levels of a release build, rustc compiles a generic function again in every crate that
//! calls it. Here a static names the function for both types of [`Real`](crate::Real), so that it is compiled
//! only in the crate that defines the static. Callers look up the function in this static.

use std::any::Any;

/// A table of one generic function, compiled for N choices of its types.
///
/// *Use* for kernels that run much longer than the lookup, which takes a few nanoseconds. *Memory* 2 N
/// pointers.
///
/// ```
/// use coarsen_core::{Compiled, Real};
/// type Sum<T> = fn(&[T]) -> T;
/// fn sum<T: Real>(v: &[T]) -> T {
///     v.iter().copied().sum()
/// }
/// static SUM: Compiled<2> = Compiled([&(sum as Sum<f32>), &(sum as Sum<f64>)]);
/// assert_eq!(SUM.of::<Sum<f64>>()(&[1.0, 2.0]), 3.0);
/// ```
pub struct Compiled<const N: usize>(pub [&'static (dyn Any + Send + Sync); N]);

impl<const N: usize> Compiled<N> {
    /// The function of type F.
    ///
    /// *Panics* if the table has no such function. A table must list the function for every choice of types
    /// that the crate allows.
    pub fn of<F: Any + Copy>(&self) -> F {
        let found = self.0.iter().find_map(|function| function.downcast_ref::<F>());
        *found.unwrap_or_else(|| panic!("not compiled: {}", std::any::type_name::<F>()))
    }
}
