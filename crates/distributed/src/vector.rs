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
//! Sums by ranks go on while the rank computes, until they are read; sums by leaves are complete at once. Each rank rounds
//! its sum to T.
//!
//! If the ranks cannot communicate, sums are NaN, so that every method ends; [`Vector::sync`] returns the
//! error.

use std::sync::Arc;

use coarsen_core::parallel::{self, combine, leaves};
use coarsen_core::{Dot, Error, Real, Scalar, Vector, products};

use crate::{CommError, Communicator, DistError, DistScalar, Partition, collectives, pack, unpack};

/// In place of an index, where there is none.
const NONE: f64 = -1.0;

/// The share of one rank of a distributed vector.
///
/// ```
/// use coarsen_core::Vector;
/// use coarsen_distributed::{Layout, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(2, 1, 1)?)?;
/// let x = partition.vector(vec![3.0, 4.0])?;
/// assert_eq!((x.size(), x.norm()), (2, 5.0));
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct DistVector<C: Communicator, T = f64> {
    partition: Arc<Partition<C>>,
    own: Vec<T>,
}

impl<C: Communicator, T: Real> DistVector<C, T> {
    pub(crate) fn new(partition: Arc<Partition<C>>, own: Vec<T>) -> Result<Self, DistError> {
        let (expected, found) = (partition.count() * partition.layout().block(), own.len());
        if found != expected {
            return Err(DistError::Length { what: "the entries of this rank", expected, found });
        }
        Ok(Self { partition, own })
    }

    /// The division of the rows among ranks.
    pub fn partition(&self) -> &Arc<Partition<C>> {
        &self.partition
    }

    /// The entries of this rank.
    pub fn own(&self) -> &[T] {
        &self.own
    }

    /// Mutable access to the entries of this rank.
    pub fn own_mut(&mut self) -> &mut [T] {
        &mut self.own
    }

    pub(crate) fn vec(&self) -> &Vec<T> {
        &self.own
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
        let parts = self.partition.comm().all_gather(&bytes)?;
        Ok(parts.iter().flat_map(|part| unpack::<T>(part)).collect())
    }

    fn assert_fits(&self, others: &[&Self]) {
        assert!(others.iter().all(|other| self.same_layout(other)), "vectors of other layouts");
    }

    /// Σ xᵢyᵢ and Σ |xᵢyᵢ| of the vectors `pair(k)` for all k, in one reduction. `take` gets them in order.
    fn sums<'a>(
        &'a self,
        count: usize,
        pair: impl Fn(usize) -> (&'a Self, &'a Self),
        mut take: impl FnMut(usize, [DistScalar<C, T>; 2]),
    ) {
        (0..count).for_each(|k| self.assert_fits(&[pair(k).0, pair(k).1]));
        let Some(leaf) = self.partition.layout().leaf() else {
            let sums = self.partition.start_sums(2 * count, |into| {
                let (into, _) = into.as_chunks_mut();
                self.sums_of_rank(pair, into);
            });
            return (0..count).for_each(|k| take(k, [2 * k, 2 * k + 1].map(|at| DistScalar::sum(&sums, at))));
        };
        let mut found = std::mem::take(&mut self.partition.scratch().found);
        found.clear();
        found.resize(count, [0.0; 2]);
        if self.sums_of_leaves(pair, leaf, &mut found).is_err() {
            found.fill([f64::NAN; 2]);
        }
        found.iter().enumerate().for_each(|(k, sums)| take(k, sums.map(|sum| T::from_f64(sum).into())));
        self.partition.scratch().found = found;
    }

    /// The sums over the entries of this rank.
    fn sums_of_rank<'a>(&'a self, pair: impl Fn(usize) -> (&'a Self, &'a Self), into: &mut [[f64; 2]]) {
        let worth = parallel::worth(self.own.len());
        let sum = |(x, y): (&[T], &[T])| products(x, y);
        for (k, into) in into.iter_mut().enumerate() {
            let (x, y) = pair(k);
            *into = parallel::tree((&x.own[..], &y.own[..]), parallel::LEAF, worth, &sum, &add);
        }
    }

    /// The sums along the tree of the whole vector; `leaf` is in block rows. Every rank begins at a leaf.
    fn sums_of_leaves<'a>(
        &'a self,
        pair: impl Fn(usize) -> (&'a Self, &'a Self),
        leaf: usize,
        into: &mut [[f64; 2]],
    ) -> Result<(), CommError> {
        let (layout, n) = (self.partition.layout(), into.len());
        let first = |rank: usize| layout.start(rank).div_ceil(leaf as u64) as usize;
        let (scratch, worth) = (&mut *self.partition.scratch(), parallel::worth(self.own.len()));
        let (sums, leaves_of_pair) = (&mut scratch.sums, &mut scratch.leaves);
        sums.resize(n * first(layout.ranks()), [0.0; 2]);
        let count = |rank: usize| first(rank + 1) - first(rank);
        let (own, own_count) = (n * first(self.partition.rank()), count(self.partition.rank()));
        for k in 0..n {
            let (x, y) = pair(k);
            let sum = |(x, y): (&[T], &[T])| products(x, y);
            let to = &mut sums[own + k * own_count..own + (k + 1) * own_count];
            leaves((&x.own[..], &y.own[..]), 0, leaf * layout.block(), worth, &sum, to);
        }
        collectives::share(self.partition.comm(), |rank| 2 * n * first(rank), sums.as_flattened_mut())?;
        for (k, into) in into.iter_mut().enumerate() {
            leaves_of_pair.clear();
            for rank in 0..layout.ranks() {
                let from = n * first(rank) + k * count(rank);
                leaves_of_pair.extend_from_slice(&sums[from..from + count(rank)]);
            }
            *into = combine(leaves_of_pair, &add).unwrap_or_default();
        }
        Ok(())
    }
}

pub(crate) fn add(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    [a[0] + b[0], a[1] + b[1]]
}

impl<C: Communicator, T: Real> Vector for DistVector<C, T> {
    type Real = T;
    type Scalar = DistScalar<C, T>;

    fn size(&self) -> usize {
        self.partition.layout().unknowns()
    }

    fn local_size(&self) -> usize {
        self.own.len()
    }

    fn like(&self) -> Result<Self, Error> {
        Ok(Self { partition: self.partition.clone(), own: vec![T::zero(); self.own.len()] })
    }

    fn renew_like(&mut self, other: &Self) -> Result<(), Error> {
        self.partition.clone_from(&other.partition);
        self.own.renew_like(&other.own)
    }

    fn same_layout(&self, other: &Self) -> bool {
        self.partition.is_same(&other.partition)
    }

    fn scalar(&self, v: T) -> DistScalar<C, T> {
        v.into()
    }

    fn fill(&mut self, v: T) {
        self.own.as_mut_slice().fill(v);
    }

    fn copy(&mut self, x: &Self) {
        self.assert_fits(&[x]);
        self.own.copy(&x.own);
    }

    fn axpby(&mut self, a: &DistScalar<C, T>, x: &Self, b: &DistScalar<C, T>) {
        self.assert_fits(&[x]);
        self.own.axpby(&a.read(), &x.own, &b.read());
    }

    fn hadamard(&mut self, a: &DistScalar<C, T>, d: &Self, x: &Self, b: &DistScalar<C, T>) {
        self.assert_fits(&[d, x]);
        self.own.hadamard(&a.read(), &d.own, &x.own, &b.read());
    }

    fn dots<const N: usize>(&self, with: [&Self; N]) -> [DistScalar<C, T>; N] {
        if self.partition.layout().leaf().is_none() {
            self.assert_fits(&with);
            let own = self.own.dots(with.map(|y| &y.own));
            let sums = self
                .partition
                .start_sums(N, |into| into.iter_mut().zip(own).for_each(|(to, v)| *to = v.as_f64()));
            return std::array::from_fn(|k| DistScalar::sum(&sums, k));
        }
        let mut sums = [(); N].map(|()| T::zero().into());
        self.sums(N, |k| (self, with[k]), |k, [value, _]| sums[k] = value);
        sums
    }

    fn dots_with(&self, with: &[Self], sums: &mut Vec<DistScalar<C, T>>) {
        self.sums(with.len(), |k| (self, &with[k]), |_, [value, _]| sums.push(value));
    }

    fn dot_magnitude(&self, y: &Self) -> Dot<DistScalar<C, T>> {
        let [dot] = Self::dot_magnitudes([(self, y)]);
        dot
    }

    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<DistScalar<C, T>>; N] {
        let mut dots = [(); N].map(|()| Dot { value: T::zero().into(), magnitude: T::zero().into() });
        let Some((x, _)) = pairs.first() else { return dots };
        if x.partition.layout().leaf().is_none() {
            pairs.iter().for_each(|(y, z)| x.assert_fits(&[y, z]));
            // One pass over vectors that occur in several pairs.
            let own = Vec::dot_magnitudes(pairs.map(|(x, y)| (&x.own, &y.own)));
            let sums = x.partition.start_sums(2 * N, |into| {
                let numbers = own.iter().flat_map(|dot| [dot.value, dot.magnitude]);
                into.iter_mut().zip(numbers).for_each(|(to, v)| *to = v.as_f64());
            });
            let sum = |at| DistScalar::sum(&sums, at);
            return std::array::from_fn(|k| Dot { value: sum(2 * k), magnitude: sum(2 * k + 1) });
        }
        x.sums(N, |k| pairs[k], |k, [value, magnitude]| dots[k] = Dot { value, magnitude });
        dots
    }

    fn wait_for<const N: usize>(s: [&DistScalar<C, T>; N]) -> [T; N] {
        s.map(Scalar::read)
    }

    /// One loop, except for reproducible sums.
    fn cg_update(x: &mut Self, r: &mut Self, a: &DistScalar<C, T>, p: &Self, q: &Self) -> DistScalar<C, T> {
        let a = a.read();
        if x.partition.layout().leaf().is_some() {
            x.axpy(&a.into(), p);
            r.axpy(&(-a).into(), q);
            return r.dot(r);
        }
        x.assert_fits(&[r, p, q]);
        let sums = x.partition.start_sums(1, |into| {
            into[0] = Vec::cg_update(&mut x.own, &mut r.own, &a, &p.own, &q.own).as_f64();
        });
        DistScalar::sum(&sums, 0)
    }

    fn pipelined_update(
        x: &mut Self,
        r: &mut Self,
        [p, s]: [&mut Self; 2],
        [u, w]: [&Self; 2],
        factors: [&DistScalar<C, T>; 3],
    ) {
        x.assert_fits(&[r, p, s, u, w]);
        let factors = factors.map(Scalar::read);
        let factors = factors.each_ref();
        Vec::pipelined_update(&mut x.own, &mut r.own, [&mut p.own, &mut s.own], [&u.own, &w.own], factors);
    }

    fn sync(&self) -> Result<(), Error> {
        self.partition.comm().failure().map_or(Ok(()), |error| Err(error.into()))
    }

    fn first_not_finite(&self) -> Option<usize> {
        let first = self.partition.first() as usize * self.partition.layout().block();
        let at = self.own.first_not_finite().map(|at| (first + at) as f64); // exact below 2⁵³
        let numbers = &mut self.partition.scratch().of_ranks;
        numbers.resize(self.partition.layout().ranks(), 0.0);
        numbers[self.partition.rank()] = at.unwrap_or(NONE);
        collectives::share(self.partition.comm(), |rank| rank, numbers).ok()?;
        numbers.iter().find(|at| **at != NONE).map(|&at| at as usize)
    }
}
