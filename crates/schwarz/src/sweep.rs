//! Gauss-Seidel sweeps inside domains, and vectors over places.

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::Pieces;
use coarsen_sparse::Bsr;
use num_traits::zero;

/// A vector over places, which can be split between domains.
pub(crate) struct Stretches<'a, V> {
    pub(crate) starts: &'a [u32],
    pub(crate) block: usize,
    pub(crate) values: &'a mut [V],
}

impl<V: Send> Pieces for Stretches<'_, V> {
    fn extent(&self) -> usize {
        self.starts.len() - 1
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let at = (self.starts[mid] - self.starts[0]) as usize * self.block;
        let (left, right) = self.values.split_at_mut(at);
        (
            Self { starts: &self.starts[..=mid], block: self.block, values: left },
            Self { starts: &self.starts[mid..], block: self.block, values: right },
        )
    }
}

impl<'a, V> Stretches<'a, V> {
    /// Returns the entries of each domain, and their range in the whole vector.
    pub(crate) fn each(self) -> impl Iterator<Item = (Range<usize>, &'a mut [V])> {
        let (block, mut rest) = (self.block, self.values);
        self.starts.windows(2).map(move |s| {
            let range = s[0] as usize * block..s[1] as usize * block;
            let (values, more) = std::mem::take(&mut rest).split_at_mut(range.len());
            rest = more;
            (range, values)
        })
    }
}

/// Gauss-Seidel inside domains, from zero.
pub(crate) struct DomainSweep<'a, V, S> {
    pub(crate) pairs: usize,
    pub(crate) matrix: &'a Bsr<S>,
    pub(crate) inverses: &'a [V],
    pub(crate) right: &'a [V],
}

impl<V: Real, S: Real> DomainSweep<'_, V, S> {
    /// Runs all sweeps of one domain before those of the next domain, so that its part of A stays in the
    /// cache.
    pub(crate) fn domains(&self, x: Stretches<'_, V>, work: Stretches<'_, V>) {
        let block = self.matrix.block().0;
        for ((range, x), (_, work)) in x.each().zip(work.each()) {
            x.fill(zero());
            let places = range.start / block..range.end / block;
            for _ in 0..self.pairs {
                places.clone().for_each(|place| self.relax(place, places.start, x, work));
                places.clone().rev().for_each(|place| self.relax(place, places.start, x, work));
            }
        }
    }

    /// Computes x_i ← x_i + D_i (b − A x)_i.
    #[inline]
    pub(crate) fn relax(&self, place: usize, first: usize, x: &mut [V], work: &mut [V]) {
        match self.matrix.block().0 {
            1 => self.relax_block::<1>(place, first, x, work),
            2 => self.relax_block::<2>(place, first, x, work),
            3 => self.relax_block::<3>(place, first, x, work),
            _ => self.relax_block::<0>(place, first, x, work),
        }
    }

    /// As [`relax`](Self::relax); `B` is the block size if it has its own kernel, otherwise 0.
    #[inline(always)]
    pub(crate) fn relax_block<const B: usize>(
        &self,
        place: usize,
        first: usize,
        x: &mut [V],
        work: &mut [V],
    ) {
        let b = if B == 0 { self.matrix.block().0 } else { B };
        let at = (place - first) * b;
        let r = &mut work[at..at + b];
        r.copy_from_slice(&self.right[place * b..(place + 1) * b]);
        let pattern = self.matrix.pattern();
        for (&j, k) in pattern.row(place).iter().zip(pattern.range(place)) {
            let (from, block) = ((j as usize - first) * b, self.matrix.value(k));
            for (r, row) in r.iter_mut().zip(block.chunks_exact(b)) {
                for (&a, &x) in row.iter().zip(&x[from..from + b]) {
                    *r -= V::from_f64(a.as_f64()) * x;
                }
            }
        }
        let inverse = &self.inverses[place * b * b..(place + 1) * b * b];
        for (x, row) in x[at..at + b].iter_mut().zip(inverse.chunks_exact(b)) {
            *x += row.iter().zip(&*r).map(|(&d, &r)| d * r).sum::<V>();
        }
    }
}
