//! The CPU as a value.

use std::marker::PhantomData;

/// The CPU: vectors are `Vec<V>`, matrices and blocks are stored in `S`, sums are computed in `V`.
///
/// Storing a preconditioner in `f32` under `f64` vectors halves its memory traffic. The accuracy of a solve
/// depends on the system matrix and the vectors, not on the preconditioner.
///
/// ```
/// use coarsen_backend::{Backend, Cpu};
/// assert_eq!(Cpu::new().vector(&[1.0, 2.0])?, [1.0, 2.0]);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Cpu<V = f64, S = V>(PhantomData<(V, S)>);

impl Cpu<f64, f64> {
    /// Returns a CPU that computes and stores in `f64`.
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl Cpu<f64, f32> {
    /// Returns a CPU with `f64` vectors and sums, and `f32` storage.
    pub fn mixed() -> Self {
        Self(PhantomData)
    }
}

impl Cpu<f32, f32> {
    /// Returns a CPU that computes and stores in `f32`.
    pub fn single() -> Self {
        Self(PhantomData)
    }
}

impl Default for Cpu<f64, f64> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, S> Clone for Cpu<V, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V, S> Copy for Cpu<V, S> {}
