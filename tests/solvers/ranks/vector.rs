//! The share of a vector on one rank.

use std::ops::Range;
use std::sync::Arc;

use coarsen::parallel::{combine, leaves, leaves_of};
use coarsen::prelude::*;
use coarsen::{Dot, Error};
use coarsen_core::products;

use super::world::World;

/// The number of entries per leaf of reductions. Shares are divided between leaves, and between the nodes of
/// blocks of 1, 2, 3, 5, 6 and 12.
const LEAF: usize = 60;

/// One rank: its number, and the division of vectors among ranks.
#[derive(Clone)]
pub(super) struct Ranks {
    pub(super) world: Arc<World>,
    pub(super) rank: usize,
    pub(super) weights: Arc<[usize]>,
}

impl Ranks {
    /// The entries of a vector of length n on rank `rank`.
    pub(super) fn range_of(&self, rank: usize, n: usize) -> Range<usize> {
        let all: usize = self.weights.iter().sum();
        let cut = |rank: usize| match self.weights[..rank].iter().sum::<usize>() {
            sum if sum == all => n,
            sum => n * sum / all / LEAF * LEAF,
        };
        cut(rank)..cut(rank + 1)
    }

    /// The entries on this rank.
    pub(super) fn range(&self, n: usize) -> Range<usize> {
        self.range_of(self.rank, n)
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.world, &other.world) && self.weights == other.weights && self.rank == other.rank
    }
}

/// The entries `range(n)` of a vector of length n.
pub(super) struct Share {
    pub(super) on: Ranks,
    pub(super) n: usize,
    pub(super) own: Vec<f64>,
}

impl Share {
    fn assert_fits(&self, others: &[&Self]) {
        assert!(others.iter().all(|other| self.same_layout(other)), "vectors of other layouts");
    }

    /// Σ xᵢyᵢ and Σ |xᵢyᵢ|, over the leaves of all ranks in order.
    fn sums(&self, y: &Self) -> [f64; 2] {
        self.assert_fits(&[y]);
        let first = self.on.range(self.n).start;
        let mut own = vec![[0.0; 2]; leaves_of(first, self.own.len(), LEAF).len()];
        let sum = |(x, y): (&[f64], &[f64])| products(x, y);
        leaves((&self.own[..], &y.own[..]), first, LEAF, false, &sum, &mut own[..]);
        let all = self.on.world.gather(self.on.rank, "a sum", own.as_flattened().to_vec());
        let all: Vec<[f64; 2]> = all.iter().flat_map(|rank| rank.as_chunks::<2>().0).copied().collect();
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        combine(&all, &add).unwrap_or_default()
    }
}

impl Vector for Share {
    type Real = f64;
    type Scalar = f64;

    fn size(&self) -> usize {
        self.n
    }
    fn local_size(&self) -> usize {
        self.own.len()
    }
    fn like(&self) -> Result<Self, Error> {
        Ok(Self { on: self.on.clone(), n: self.n, own: vec![0.0; self.own.len()] })
    }
    fn same_layout(&self, other: &Self) -> bool {
        self.n == other.n && self.on.is_same(&other.on)
    }
    fn scalar(&self, v: f64) -> f64 {
        v
    }
    fn fill(&mut self, v: f64) {
        self.own.fill(v);
    }
    fn copy(&mut self, x: &Self) {
        self.assert_fits(&[x]);
        self.own.copy(&x.own);
    }
    fn axpby(&mut self, a: &f64, x: &Self, b: &f64) {
        self.assert_fits(&[x]);
        self.own.axpby(a, &x.own, b);
    }
    fn hadamard(&mut self, a: &f64, d: &Self, x: &Self, b: &f64) {
        self.assert_fits(&[d, x]);
        self.own.hadamard(a, &d.own, &x.own, b);
    }
    fn dots<const N: usize>(&self, with: [&Self; N]) -> [f64; N] {
        with.map(|y| self.sums(y)[0])
    }
    fn dot_magnitude(&self, y: &Self) -> Dot<f64> {
        let [value, magnitude] = self.sums(y);
        Dot { value, magnitude }
    }
    fn wait_for<const N: usize>(s: [&f64; N]) -> [f64; N] {
        s.map(|s| *s)
    }
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
}
