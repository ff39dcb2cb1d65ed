//! Packs of lanes, the instruction sets that offer them, and kernels that use both.

use crate::Real;

/// A few numbers in one register.
///
/// A pack is created with a token of its instruction set ([`Pack::zero`], [`Pack::load`]), so that its
/// existence proves that the machine has the instructions.
pub trait Pack<V: Real>: Copy {
    /// The instruction set: a token that only [`run`](super::run) creates.
    type Set: Copy;
    /// The number of lanes.
    const LANES: usize;

    /// All lanes 0.
    fn zero(set: Self::Set) -> Self;

    /// The same number in all lanes.
    fn splat(set: Self::Set, v: V) -> Self;

    /// Writes all lanes.
    ///
    /// # Safety
    /// `LANES` numbers are writable at `to`.
    unsafe fn store(self, to: *mut V);

    /// Writes the first N lanes only.
    ///
    /// # Safety
    /// N numbers are writable at `to`, and N is at most the number of lanes.
    unsafe fn store_first<const N: usize>(self, to: *mut V);

    /// The numbers at `from`, rounded to V.
    ///
    /// # Safety
    /// `LANES` numbers are readable at `from`.
    unsafe fn load<S: Real>(set: Self::Set, from: *const S) -> Self;

    /// The first N numbers at `from`, rounded to V, and 0 in the other lanes.
    ///
    /// # Safety
    /// N numbers are readable at `from`, and N is at most the number of lanes.
    unsafe fn load_first<S: Real, const N: usize>(set: Self::Set, from: *const S) -> Self;

    /// self · a + b, rounded once if the set has a fused multiply-add.
    fn mul_add(self, a: Self, b: Self) -> Self;

    /// The absolute value of every lane.
    fn abs(self) -> Self;

    /// The sum of the first N lanes, in a fixed order; the other lanes are ignored.
    fn sum_first<const N: usize>(self) -> V;
}

/// An instruction set and the packs it offers for numbers of type `V`.
pub trait Set<V: Real>: Copy + Send + Sync + 'static {
    /// The pack of four lanes.
    type Four: Pack<V, Set = Self>;
    /// The pack of eight lanes.
    type Eight: Pack<V, Set = Self>;

    /// a b + c for single numbers, rounded once if the set has a fused multiply-add.
    fn mul_add(self, a: V, b: V, c: V) -> V;
}

/// Code compiled for every instruction set. Mark `run` and every function it calls `#[inline(always)]`.
pub trait Kernel<V: Real> {
    /// The type of the result.
    type Output;

    /// Runs the kernel with an instruction set.
    fn run<I: Set<V>>(self, set: I) -> Self::Output;
}
