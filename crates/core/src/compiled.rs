//! Generic kernels, compiled once in the crate that defines them.
//!
//! At the optimisation levels of a release build, rustc compiles a generic function again in every crate that
//! calls it. Here a static names the function for both types of [`Real`](crate::Real), so that it is compiled
//! only in the crate that defines the static. Callers look up the function in this static.

use std::any::Any;

/// A table of one generic function, compiled for N choices of its types; [`compiled`](crate::compiled) makes it.
///
/// *Use* for kernels that run much longer than the lookup, which takes a few nanoseconds. *Memory* 2 N
/// pointers.
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

/// A static [`Compiled`] of a generic function, and the type of its pointers: `NAME: Type<T> = pointer, function`.
///
/// One type parameter stands for `f32` and `f64`, two for all four pairs, or with `where S <= V`, in this order, for the
/// three pairs in which S is not wider than V.
///
/// ```
/// use coarsen_core::{Real, compiled};
/// fn sum<T: Real>(v: &[T]) -> T {
///     v.iter().copied().sum()
/// }
/// compiled!(SUM: Sum<T> = fn(&[T]) -> T, sum);
/// assert_eq!(SUM.of::<Sum<f64>>()(&[1.0, 2.0]), 3.0);
/// ```
#[macro_export]
macro_rules! compiled {
    ($(#[$doc:meta])* $name:ident: $of:ident<$t:ident> = $pointer:ty, $function:expr) => {
        $(#[$doc])*
        type $of<$t> = $pointer;
        static $name: $crate::Compiled<2> =
            $crate::Compiled([&($function as $of<f32>), &($function as $of<f64>)]);
    };
    ($(#[$doc:meta])* $name:ident: $of:ident<$v:ident, $s:ident> = $pointer:ty, $function:expr) => {
        $(#[$doc])*
        type $of<$v, $s> = $pointer;
        static $name: $crate::Compiled<4> = $crate::Compiled([
            &($function as $of<f32, f32>),
            &($function as $of<f32, f64>),
            &($function as $of<f64, f32>),
            &($function as $of<f64, f64>),
        ]);
    };
    ($name:ident: $of:ident<$v:ident, $s:ident> where $stored:ident <= $computed:ident =
        $pointer:ty, $function:expr) => {
        type $of<$v, $s> = $pointer;
        static $name: $crate::Compiled<3> = $crate::Compiled([
            &($function as $of<f32, f32>),
            &($function as $of<f64, f32>),
            &($function as $of<f64, f64>),
        ]);
    };
}
