//! The table of loops over vectors of numbers. `vector::loops` fills it; each type of [`Real`](crate::Real) returns
//! its own.

/// The loops as pointers to functions. Crates that call them do not compile them again.
pub struct Loops<T: 'static> {
    pub(crate) fill: fn(&mut [T], T),
    pub(crate) copy: fn(&mut [T], &[T]),
    pub(crate) axpby: fn(&mut [T], T, &[T], T),
    pub(crate) hadamard: fn(&mut [T], T, [&[T]; 2], T),
    pub(crate) axpys: fn(&mut [T], &[T], &[Vec<T>]),
    pub(crate) dots: fn(&[T], &[&[T]], &mut [f64]),
    pub(crate) products: fn(&[T], &[T]) -> [f64; 2],
    pub(crate) dot_magnitudes: fn(&[[&[T]; 2]], &mut [[f64; 2]]),
    pub(crate) cg_update: fn([&mut [T]; 2], T, [&[T]; 2]) -> f64,
    pub(crate) pipelined_update: fn([&mut [T]; 4], [&[T]; 2], [T; 3]),
}
