//! Parallel loops along a fixed tree: the same bits for any number of threads.
//!
//! Every loop over a vector is cut into leaves of a fixed length, and results are combined along a fixed
//! binary tree. The number of threads decides which thread computes a leaf, but not the order of additions.
//! So 1, 2 and 7 threads give the same bits. Machines with another SIMD width may give other bits.
//!
//! The library configures no thread pool. Loops under [`THRESHOLD`] scalar operations, and products under
//! four times this limit ([`worth_product`]), stay on the calling thread. Longer ones use the caller's
//! current pool. Entering a pool from outside costs 10 to 20 µs, and rayon allocates 1.5 KB at every 63rd
//! such entry, so outside a pool both limits are eight times as high. Inside, a fork costs almost no time and
//! allocates nothing. A call with many loops therefore [enters](enter) the pool once, and a program should wrap
//! its whole loop once in [`threads`].

mod shared;
mod shares;

pub use shares::{combine, leaves, leaves_of};

use std::ops::Range;

use crate::Error;

pub use shared::Shared;

/// The number of entries per leaf of a reduction over vectors.
pub const LEAF: usize = 4096;

/// The number of scalar operations below which a loop stays on the calling thread of a pool. Outside a pool it is eight
/// times this number: such a loop needs at most 25 µs of memory traffic, about the cost of entering a pool.
pub const THRESHOLD: usize = 1 << 13;

/// The largest number of leaves in a task that does not fork further.
const GRAIN: usize = 2;

/// Whether `work` scalar operations are enough for more than one thread of the current pool.
///
/// Compares the size first, since asking rayon for its number of threads starts the global pool.
pub fn worth(work: usize) -> bool {
    let is_inside = rayon::current_thread_index().is_some();
    work >= if is_inside { THRESHOLD } else { 8 * THRESHOLD } && rayon::current_num_threads() > 1
}

/// Whether a product or a sweep over `nnz` stored scalars of a matrix is enough for more than one thread of
/// the current pool.
///
/// The limit is four times the [`THRESHOLD`] of loops over vectors. With a lower limit, products of small
/// matrices with short rows would run on several threads while loops over their vectors run on one. That
/// thread would fetch half of each result from the cache of another core. With 29,791 unknowns and seven
/// entries per row, this took 1.1 to 1.3 times as long on two fast cores.
pub fn worth_product(nnz: usize) -> bool {
    worth(nnz / 4)
}

/// Runs `f` on a thread of the current pool if the caller is outside of it and products with `nnz` stored scalars
/// run on several of its threads; otherwise on the calling thread. The loops of `f` are then inside the pool.
///
/// ```
/// use coarsen_core::parallel::{enter, worth};
/// assert_eq!(enter(10, || 1 + 1), 2); // on this thread
/// assert_eq!(enter(1 << 20, || worth(1 << 13)), enter(1 << 20, || worth(1 << 16)));
/// ```
pub fn enter<R: Send>(nnz: usize, f: impl FnOnce() -> R + Send) -> R {
    let is_outside = rayon::current_thread_index().is_none();
    match is_outside && nnz / 4 >= THRESHOLD && rayon::current_num_threads() > 1 {
        true => rayon::scope(|_| f()),
        false => f(),
    }
}

/// Runs `f` inside a new pool of `n` threads (0: one thread per core). The loops of the library inside `f`
/// use this pool.
///
/// ```
/// let sum = coarsen_core::parallel::threads(2, || 1 + 1)?;
/// assert_eq!(sum, 2);
/// # Ok::<(), coarsen_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Threads`] if the threads cannot be started.
pub fn threads<R: Send>(n: usize, f: impl FnOnce() -> R + Send) -> Result<R, Error> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
    Ok(pool.map_err(|_| Error::Threads { threads: n })?.install(f))
}

/// Runs both functions, on two threads if the current pool has a free thread.
///
/// This function calls `rayon::join` with trait objects, so that its code is compiled once instead of once
/// for each pair of closures.
///
/// ```
/// assert_eq!(coarsen_core::parallel::join(|| 1, || "two"), (1, "two"));
/// ```
pub fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut x, mut y) = (None, None);
    both(&mut || x = a.take().map(|a| a()), &mut || y = b.take().map(|b| b()));
    match (x, y) {
        (Some(x), Some(y)) => (x, y),
        _ => unreachable!("rayon::join returns once both have run"),
    }
}

fn both(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    rayon::join(a, b);
}

/// Data that a loop can split: slices, ranges and tuples of these.
///
/// All parts of a tuple have the same length.
pub trait Pieces: Sized + Send {
    /// The number of entries.
    fn extent(&self) -> usize;
    /// Splits into the first `mid` entries and the remaining entries.
    fn cut(self, mid: usize) -> (Self, Self);
}

impl<T: Sync> Pieces for &[T] {
    fn extent(&self) -> usize {
        self.len()
    }
    fn cut(self, mid: usize) -> (Self, Self) {
        self.split_at(mid)
    }
}

impl<T: Send> Pieces for &mut [T] {
    fn extent(&self) -> usize {
        self.len()
    }
    fn cut(self, mid: usize) -> (Self, Self) {
        self.split_at_mut(mid)
    }
}

impl Pieces for Range<usize> {
    fn extent(&self) -> usize {
        self.len()
    }
    fn cut(self, mid: usize) -> (Self, Self) {
        let m = self.start + mid;
        (self.start..m, m..self.end)
    }
}

/// A slice of groups of `k` entries, split only between groups, such as the scalars of block rows.
pub struct Groups<S>(pub S, pub usize);

impl<T: Sync> Pieces for Groups<&[T]> {
    fn extent(&self) -> usize {
        self.0.len() / self.1
    }
    fn cut(self, mid: usize) -> (Self, Self) {
        let (a, b) = self.0.split_at(mid * self.1);
        (Self(a, self.1), Self(b, self.1))
    }
}

impl<T: Send> Pieces for Groups<&mut [T]> {
    fn extent(&self) -> usize {
        self.0.len() / self.1
    }
    fn cut(self, mid: usize) -> (Self, Self) {
        let (a, b) = self.0.split_at_mut(mid * self.1);
        (Self(a, self.1), Self(b, self.1))
    }
}

macro_rules! tuple {
    ($($p:ident $i:tt),+) => {
        impl<$($p: Pieces),+> Pieces for ($($p,)+) {
            fn extent(&self) -> usize {
                self.0.extent()
            }
            fn cut(self, mid: usize) -> (Self, Self) {
                let halves = ($(self.$i.cut(mid),)+);
                (($(halves.$i.0,)+), ($(halves.$i.1,)+))
            }
        }
    };
}
tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);

/// Calls `leaf` on consecutive pieces of `length` entries and combines the results along a fixed binary tree.
/// The last piece may be shorter; an empty input is one empty leaf. `parallel` only decides whether subtrees
/// may run on other threads.
///
/// ```
/// use coarsen_core::parallel::tree;
/// let x = vec![1.0_f64; 10_000];
/// let sum = tree(&x[..], 4096, false, &|x: &[f64]| x.iter().sum::<f64>(), &|a, b| a + b);
/// assert_eq!(sum, 10_000.0);
/// ```
pub fn tree<P: Pieces, R: Send>(
    pieces: P,
    length: usize,
    parallel: bool,
    leaf: &(impl Fn(P) -> R + Sync),
    combine: &(impl Fn(R, R) -> R + Sync),
) -> R {
    subtree(pieces, length, parallel, leaf, combine)
}

/// [`tree`] behind trait objects, so that it is compiled once for each type of pieces and results instead of
/// once for each leaf.
fn subtree<P: Pieces, R: Send>(
    pieces: P,
    length: usize,
    parallel: bool,
    leaf: &(dyn Fn(P) -> R + Sync),
    combine: &(dyn Fn(R, R) -> R + Sync),
) -> R {
    let leaves = pieces.extent().div_ceil(length);
    if leaves <= 1 {
        return leaf(pieces);
    }
    let (left, right) = pieces.cut(leaves / 2 * length);
    let (a, b) = if parallel && leaves > GRAIN {
        let half = |pieces| move || subtree(pieces, length, true, leaf, combine);
        join(half(left), half(right))
    } else {
        let half = |pieces| subtree(pieces, length, false, leaf, combine);
        (half(left), half(right))
    };
    combine(a, b)
}

/// Calls `leaf` on consecutive pieces of `length` entries, on several threads if `parallel`.
pub fn each<P: Pieces>(pieces: P, length: usize, parallel: bool, leaf: &(impl Fn(P) + Sync)) {
    tree(pieces, length, parallel, leaf, &|(), ()| ());
}

/// `to[i]` = `f(from[i])`, on several threads for long slices. Meant for copies and conversions of data
/// larger than a cache.
///
/// *Panics* on slices of different lengths.
pub fn map<A: Sync, B: Send>(from: &[A], to: &mut [B], f: impl Fn(&A) -> B + Sync) {
    assert_eq!(from.len(), to.len(), "map: slices of different lengths");
    each((from, to), LEAF, worth(from.len()), &|(from, to): (&[A], &mut [B])| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = f(from));
    });
}

/// The index of the first entry for which `f` is true, on several threads for long slices.
pub fn position<A: Sync>(of: &[A], f: impl Fn(&A) -> bool + Sync) -> Option<usize> {
    let leaf = |(range, part): (Range<usize>, &[A])| part.iter().position(&f).map(|at| range.start + at);
    tree((0..of.len(), of), LEAF, worth(of.len()), &leaf, &|left, right| left.or(right))
}

/// Calls `f` with every item, one task per item, on several threads if `parallel`. Meant for a few expensive
/// items.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let sum = AtomicUsize::new(0);
/// coarsen_core::parallel::items(&[1, 2, 3], false, &|k| {
///     sum.fetch_add(*k, Ordering::Relaxed);
/// });
/// assert_eq!(sum.into_inner(), 6);
/// ```
pub fn items<T: Sync>(of: &[T], parallel: bool, f: &(impl Fn(&T) + Sync)) {
    match of {
        [] => (),
        [item] => f(item),
        _ if parallel => {
            let (left, right) = of.split_at(of.len() / 2);
            join(|| items(left, true, f), || items(right, true, f));
        }
        _ => of.iter().for_each(f),
    }
}

#[cfg(test)]
mod tests;
