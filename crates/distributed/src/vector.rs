//! Vectors whose block rows are divided among ranks.
//!
//! Operations act on the entries of the rank. Each reduction is one collective operation, however many sums
//! it has. There are two reductions:
//!
//! | [`Layout::leaf`](crate::Layout::leaf) | order of additions | messages |
//! |---|---|---|
//! | `None` | each rank sums its entries, then the sums of the ranks along a binomial tree | 2 log₂ n of N numbers |
//! | a number of block rows | leaves of that many rows, along the tree of the whole vector | all leaves to all ranks |
//!
//! If the ranks cannot communicate, sums are NaN, so that every method ends; [`Vector::sync`] returns the
//! error.

use std::sync::Arc;

use coarsen_core::parallel::{self, combine, leaves};
use coarsen_core::{Dot, Error, Vector, products};

use crate::{CommError, Communicator, DistError, Number, Partition, pack, unpack};

/// The share of one rank of a distributed vector.
///
/// ```
/// use coarsen_core::Vector;
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// let on = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let x = on.vector(vec![3.0, 4.0])?;
/// assert_eq!((x.size(), x.norm()), (2, 5.0));
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistVector<C, T = f64> {
    on: Arc<Partition<C>>,
    own: Vec<T>,
}

impl<C: Communicator, T: Number> DistVector<C, T> {
    pub(crate) fn new(on: Arc<Partition<C>>, own: Vec<T>) -> Result<Self, DistError> {
        let (expected, found) = (on.count() * on.layout().block(), own.len());
        if found != expected {
            return Err(DistError::Length { what: "the entries of this rank", expected, found });
        }
        Ok(Self { on, own })
    }

    /// The division of the rows among ranks.
    pub fn partition(&self) -> &Arc<Partition<C>> {
        &self.on
    }

    /// The entries of this rank.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// Mutable access to the entries of this rank.
    pub fn own_mut(&mut self) -> &mut [T] {
        &mut self.own
    }

    pub(crate) fn vec_mut(&mut self) -> &mut Vec<T> {
        &mut self.own
    }

    /// The whole vector on every rank. *Use* in tests and for output; no method calls it.
    ///
    /// # Errors
    /// The errors of a gather.
    pub fn gathered(&self) -> Result<Vec<T>, CommError> {
        let mut bytes = Vec::new();
        pack(self.own.iter().copied(), &mut bytes);
        let parts = self.on.comm().all_gather(&bytes)?;
        Ok(parts.iter().flat_map(|part| unpack::<T>(part)).collect())
    }

    fn assert_fits(&self, others: &[&Self]) {
        assert!(others.iter().all(|other| self.same_layout(other)), "vectors of other layouts");
    }

    /// Σ xᵢyᵢ and Σ |xᵢyᵢ| of several pairs in one reduction.
    fn sums(&self, pairs: &[(&Self, &Self)]) -> Vec<[f64; 2]> {
        pairs.iter().for_each(|(x, y)| self.assert_fits(&[x, y]));
        let summed = match self.on.layout().leaf() {
            None => self.sums_of_ranks(pairs),
            Some(leaf) => self.sums_of_leaves(pairs, leaf * self.on.layout().block()),
        };
        summed.unwrap_or_else(|_| vec![[f64::NAN; 2]; pairs.len()])
    }

    fn sums_of_ranks(&self, pairs: &[(&Self, &Self)]) -> Result<Vec<[f64; 2]>, CommError> {
        let worth = parallel::worth(self.own.len());
        let sum = |(x, y): (&[T], &[T])| products(x, y);
        let own = |(x, y): &(&Self, &Self)| {
            parallel::tree((&x.own[..], &y.own[..]), parallel::LEAF, worth, &sum, &add)
        };
        let mut sums: Vec<_> = pairs.iter().map(own).collect();
        self.on.comm().all_reduce(sums.as_flattened_mut())?;
        Ok(sums)
    }

    /// The sums along the tree of the whole vector; `leaf` is in unknowns. Every rank begins at a leaf.
    fn sums_of_leaves(&self, pairs: &[(&Self, &Self)], leaf: usize) -> Result<Vec<[f64; 2]>, CommError> {
        let (layout, n) = (self.on.layout(), pairs.len());
        let count = |rank: usize| (layout.count(rank) * layout.block()).div_ceil(leaf);
        let (own, worth) = (count(self.on.rank()), parallel::worth(self.own.len()));
        let mut partial = vec![[0.0; 2]; n * own];
        for ((x, y), into) in pairs.iter().zip(partial.chunks_exact_mut(own.max(1))) {
            let sum = |(x, y): (&[T], &[T])| products(x, y);
            leaves((&x.own[..], &y.own[..]), 0, leaf, worth, &sum, into);
        }
        let mut bytes = Vec::new();
        pack(partial.as_flattened().iter().copied(), &mut bytes);
        let all = self.on.comm().all_gather(&bytes)?;
        let of_pair = |k: usize| {
            let of_rank = |(rank, part): (usize, &Vec<u8>)| {
                let (size, values) = (count(rank), unpack::<f64>(part).collect::<Vec<_>>());
                values.as_chunks::<2>().0[k * size..(k + 1) * size].to_vec()
            };
            let leaves: Vec<[f64; 2]> = all.iter().enumerate().flat_map(of_rank).collect();
            combine(&leaves, &add).unwrap_or_default()
        };
        Ok((0..n).map(of_pair).collect())
    }
}

fn add(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

impl<C: Communicator, T: Number> Vector for DistVector<C, T> {
    type Real = T;
    type Scalar = T;

    fn size(&self) -> usize {
        self.on.layout().unknowns()
    }

    fn local_size(&self) -> usize {
        self.own.len()
    }

    fn like(&self) -> Result<Self, Error> {
        Ok(Self { on: self.on.clone(), own: vec![T::zero(); self.own.len()] })
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.on.is_same(&other.on)
    }

    fn scalar(&self, v: T) -> T {
        v
    }

    fn fill(&mut self, v: T) {
        self.own.as_mut_slice().fill(v);
    }

    fn copy(&mut self, x: &Self) {
        self.assert_fits(&[x]);
        self.own.copy(&x.own);
    }

    fn axpby(&mut self, a: &T, x: &Self, b: &T) {
        self.assert_fits(&[x]);
        self.own.axpby(a, &x.own, b);
    }

    fn hadamard(&mut self, a: &T, d: &Self, x: &Self, b: &T) {
        self.assert_fits(&[d, x]);
        self.own.hadamard(a, &d.own, &x.own, b);
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [T; N] {
        let sums = self.sums(&with.map(|y| (self, y)));
        std::array::from_fn(|k| T::of(sums[k][0]))
    }

    fn dots_with(&self, with: &[Self], sums: &mut Vec<T>) {
        let pairs: Vec<_> = with.iter().map(|y| (self, y)).collect();
        sums.extend(self.sums(&pairs).iter().map(|sum| T::of(sum[0])));
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<T> {
        let [value, magnitude] = self.sums(&[(self, y)])[0];
        Dot { value: T::of(value), magnitude: T::of(magnitude) }
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<T>; N] {
        let sums = pairs.first().map(|(x, _)| x.sums(&pairs)).unwrap_or_default();
        std::array::from_fn(|k| Dot { value: T::of(sums[k][0]), magnitude: T::of(sums[k][1]) })
    }

    fn wait_for<const N: usize>(s: [&T; N]) -> [T; N] {
        s.map(|s| *s)
    }

    fn sync(&self) -> Result<(), Error> {
        self.on.comm().failure().map_or(Ok(()), |error| Err(error.into()))
    }

    fn first_not_finite(&self) -> Option<usize> {
        let first = self.on.first() as usize * self.on.layout().block();
        let at = self.own.first_not_finite().map(|at| (first + at) as u64);
        let mut bytes = Vec::new();
        pack(at, &mut bytes);
        let all = self.on.comm().all_gather(&bytes).ok()?;
        all.iter().find_map(|at| unpack::<u64>(at).next()).map(|at| at as usize)
    }
}
