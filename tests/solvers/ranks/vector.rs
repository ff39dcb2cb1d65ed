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
pub(super) const LEAF: usize = 60;

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
    pub(super) backend: Ranks,
    pub(super) n: usize,
    pub(super) own: Vec<f64>,
}

impl Share {
    fn assert_fits(&self, others: &[&Self]) {
        assert!(others.iter().all(|other| self.same_layout(other)), "vectors of other layouts");
    }

    /// Σ xᵢyᵢ and Σ |xᵢyᵢ| of several pairs in one reduction, over the leaves of all ranks in order.
    fn sums(&self, pairs: &[(&Self, &Self)]) -> Vec<[f64; 2]> {
        pairs.iter().for_each(|(x, y)| self.assert_fits(&[x, y]));
        let first = self.backend.range(self.n).start;
        let count = leaves_of(first, self.own.len(), LEAF).len();
        let mut own = vec![[0.0; 2]; pairs.len() * count];
        for (k, (x, y)) in pairs.iter().enumerate() {
            let share = (&x.own[..], &y.own[..]);
            let sum = |(x, y): (&[f64], &[f64])| products(x, y);
            leaves(share, first, LEAF, false, &sum, &mut own[k * count..(k + 1) * count]);
        }
        let all = self.backend.world.reduce(self.backend.rank, own.as_flattened().to_vec());
        let add = |a: [f64; 2], b: [f64; 2]| [a[0] + b[0], a[1] + b[1]];
        let of_pair = |k: usize| {
            let leaves: Vec<[f64; 2]> = all
                .iter()
                .flat_map(|rank| {
                    let (leaves, count) = (rank.as_chunks().0, rank.len() / 2 / pairs.len());
                    leaves[k * count..(k + 1) * count].iter().copied()
                })
                .collect();
            combine(&leaves, &add).unwrap_or_default()
        };
        (0..pairs.len()).map(of_pair).collect()
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
        Ok(Self { backend: self.backend.clone(), n: self.n, own: vec![0.0; self.own.len()] })
    }
    fn same_layout(&self, other: &Self) -> bool {
        self.n == other.n && self.backend.is_same(&other.backend)
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
        let sums = self.sums(&with.map(|y| (self, y)));
        std::array::from_fn(|k| sums[k][0])
    }
    fn dots_with(&self, with: &[Self], sums: &mut Vec<f64>) {
        let pairs: Vec<_> = with.iter().map(|y| (self, y)).collect();
        sums.extend(self.sums(&pairs).iter().map(|sum| sum[0]));
    }
    fn dot_magnitude(&self, y: &Self) -> Dot<f64> {
        let [value, magnitude] = self.sums(&[(self, y)])[0];
        Dot { value, magnitude }
    }
    fn dot_magnitudes<const N: usize>(pairs: [(&Self, &Self); N]) -> [Dot<f64>; N] {
        let sums = pairs[0].0.sums(&pairs);
        std::array::from_fn(|k| Dot { value: sums[k][0], magnitude: sums[k][1] })
    }
    fn wait_for<const N: usize>(s: [&f64; N]) -> [f64; N] {
        s.map(|s| *s)
    }
    fn sync(&self) -> Result<(), Error> {
        Ok(())
    }
    fn first_not_finite(&self) -> Option<usize> {
        let first = self.backend.range(self.n).start;
        let own = self.own.first_not_finite().map(|at| (first + at) as f64);
        let all = self.backend.world.gather(
            self.backend.rank,
            "the first that is not finite",
            own.into_iter().collect(),
        );
        all.iter().flatten().next().map(|&at| at as usize)
    }
}
