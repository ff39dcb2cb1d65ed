//! z = a D r + b z on the CPU.

use std::marker::PhantomData;
use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Compiled, Error, Real};

use crate::range::same_length;
use crate::{DenseBlocks, check_blocks};

/// The number of nodes per leaf of a parallel loop.
const NODES: usize = 1024;

/// Block-diagonal inverses on the CPU, stored in `S`, applied to `Vec<V>`.
#[derive(Clone, Debug)]
pub struct CpuBlocks<V, S> {
    d: DenseBlocks<S>,
    of: PhantomData<V>,
}

impl<V: Real, S: Real> CpuBlocks<V, S> {
    pub(super) fn new(d: DenseBlocks<S>) -> Self {
        Self { d, of: PhantomData }
    }

    /// Returns the stored blocks.
    pub fn host(&self) -> &DenseBlocks<S> {
        &self.d
    }

    pub(super) fn apply(&self, a: V, r: &[V], b: V, z: &mut [V]) {
        let n = self.d.count() * self.d.size();
        assert!(r.len() == n && z.len() == n, "blocks: {n} rows met r of {} and z of {}", r.len(), z.len());
        APPLY.of::<Apply<V, S>>()(self, a, r, b, z);
    }

    pub(super) fn set_values<T: Real>(&mut self, host: &DenseBlocks<T>) -> Result<(), Error> {
        same_length("block size", self.d.size(), host.size())?;
        same_length("dense blocks", self.d.count(), host.count())?;
        check_blocks::<T, S>("the inverse of the diagonal", host)?;
        self.d.values_mut().iter_mut().zip(host.values()).for_each(|(s, v)| *s = v.to());
        Ok(())
    }

    /// Computes z = a D r + b z for blocks of B x B.
    #[inline(always)]
    fn leaf<const B: usize>(&self, nodes: Range<usize>, a: V, r: &[V], b: V, z: &mut [V]) {
        let blocks = self.d.values()[nodes.start * B * B..nodes.end * B * B].chunks_exact(B * B);
        for ((d, r), z) in blocks.zip(r.chunks_exact(B)).zip(z.chunks_exact_mut(B)) {
            for i in 0..B {
                let mut sum = V::zero();
                for j in 0..B {
                    sum += d[i * B + j].to::<V>() * r[j];
                }
                z[i] = if b == V::zero() { a * sum } else { a * sum + b * z[i] };
            }
        }
    }

    /// Computes z = a D r + b z for blocks of any size.
    fn leaf_any(&self, nodes: Range<usize>, a: V, r: &[V], b: V, z: &mut [V]) {
        let size = self.d.size();
        for ((k, r), z) in nodes.zip(r.chunks_exact(size)).zip(z.chunks_exact_mut(size)) {
            for (row, z) in self.d.block(k).chunks_exact(size).zip(z) {
                let sum = row.iter().zip(r).fold(V::zero(), |s, (d, &r)| s + d.to::<V>() * r);
                *z = if b == V::zero() { a * sum } else { a * sum + b * *z };
            }
        }
    }

    /// Computes z = a D r + b z for all nodes.
    fn run(&self, a: V, r: &[V], b: V, z: &mut [V]) {
        let size = self.d.size();
        let pieces = (0..self.d.count(), Groups(r, size), Groups(z, size));
        let body = |(nodes, r, z): (Range<usize>, Groups<&[V]>, Groups<&mut [V]>)| match size {
            1 => self.leaf::<1>(nodes, a, r.0, b, z.0),
            2 => self.leaf::<2>(nodes, a, r.0, b, z.0),
            3 => self.leaf::<3>(nodes, a, r.0, b, z.0),
            6 => self.leaf::<6>(nodes, a, r.0, b, z.0),
            12 => self.leaf::<12>(nodes, a, r.0, b, z.0),
            _ => self.leaf_any(nodes, a, r.0, b, z.0),
        };
        each(pieces, NODES, parallel::worth(self.d.values().len()), &body);
    }
}

type Apply<V, S> = fn(&CpuBlocks<V, S>, V, &[V], V, &mut [V]);

static APPLY: Compiled<3> = Compiled([
    &(CpuBlocks::run as Apply<f32, f32>),
    &(CpuBlocks::run as Apply<f64, f32>),
    &(CpuBlocks::run as Apply<f64, f64>),
]);
