//! Generic kernels, compiled in the crate that has them.
//!
//! At the optimisation levels of a release, rustc compiles a generic function again in every crate that calls it. A static that names the function for
//! both types of [`Real`](crate::Real) compiles it where the static is; programs only look it up.

use std::any::Any;

/// One generic function for each of N choices of its types.
///
/// *Use* for kernels that run long beside the search, which takes some nanoseconds. *Memory* 2 N pointers.
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
    /// *Panics* where the table has none: a table names every choice of types that its crate lets in.
    pub fn of<F: Any + Copy>(&self) -> F {
        let found = self.0.iter().find_map(|function| function.downcast_ref::<F>());
        *found.unwrap_or_else(|| panic!("not compiled: {}", std::any::type_name::<F>()))
    }
}
