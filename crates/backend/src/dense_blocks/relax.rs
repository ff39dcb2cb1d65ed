//! A step of relaxation of block rows.

use std::ops::Range;

use coarsen_core::parallel::{Groups, each};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::{Real, compiled};
use coarsen_sparse::COLUMNS;

use super::DenseBlocks;

/// The number of scalar rows per task on several threads.
const ROWS: usize = 1024;

compiled!(
    RELAX: Relax<T> =
        fn(&DenseBlocks<T>, Range<usize>, [T; 2], Vectors<'_, T>, bool), DenseBlocks::relax_plain
);

/// x, s, and the residual r that becomes y.
type Vectors<'a, T> = (&'a [T], &'a mut [T], &'a mut [T]);

impl<T: Real> DenseBlocks<T> {
    /// A step of relaxation of the blocks k in `rows` with the residual r: s_k ← β s_k + ω D_k r_k, then r_k ← x_k + s_k. The
    /// `factors` are ω and β; if β = 0, the old s is not read. The vectors have the entries of `rows` alone.
    ///
    /// *Use* where residuals of a few rows are in the cache. `parallel` says whether several threads take part: a few rows of
    /// a long matrix are worth it although they are few. The bits do not depend on it. *Cost* b² + 5 b values per block are
    /// read or written. *Panics* on wrong lengths, and on rows beyond the last.
    pub fn relax(
        &self,
        rows: Range<usize>,
        factors: [T; 2],
        (x, s, r): (&[T], &mut [T], &mut [T]),
        parallel: bool,
    ) {
        let n = rows.len() * self.size;
        assert!(x.len() == n && s.len() == n && r.len() == n, "relax: lengths differ");
        RELAX.of::<Relax<T>>()(self, rows, factors, (x, s, r), parallel);
    }

    fn relax_plain(&self, rows: Range<usize>, factors: [T; 2], (x, s, r): Vectors<'_, T>, parallel: bool) {
        let (size, area) = (self.size, self.size * self.size);
        let d = &self.values[rows.start * area..rows.end * area];
        let pieces = (Groups(d, area), Groups(x, size), Groups(s, size), Groups(r, size));
        type Rows<'a, T> = (Groups<&'a [T]>, Groups<&'a [T]>, Groups<&'a mut [T]>, Groups<&'a mut [T]>);
        let leaf = |(d, x, s, y): Rows<'_, T>| {
            simd::run(Step { d: d.0, size, columns: 1, factors, x: x.0, s: s.0, y: y.0 });
        };
        each(pieces, (ROWS / size).max(1), parallel, &leaf);
    }
}

/// The step in a few rows, of which `y` has the residuals.
pub(crate) struct Step<'a, V, S> {
    pub(crate) d: &'a [S],
    pub(crate) size: usize,
    /// 1, or 8 if the vectors interleave columns.
    pub(crate) columns: usize,
    /// ω and β.
    pub(crate) factors: [V; 2],
    pub(crate) x: &'a [V],
    pub(crate) s: &'a mut [V],
    pub(crate) y: &'a mut [V],
}

impl<V: Real, S: Real> Kernel<V> for Step<'_, V, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<V>>(self, set: I) {
        match (self.columns, self.size) {
            (1, 1) => self.blocks::<I, 1, 1>(set),
            (1, 2) => self.blocks::<I, 2, 1>(set),
            (1, 3) => self.blocks::<I, 3, 1>(set),
            (1, 6) => self.blocks::<I, 6, 1>(set),
            (1, _) => self.blocks::<I, 0, 1>(set),
            (_, 1) => self.blocks::<I, 1, COLUMNS>(set),
            (_, 3) => self.blocks::<I, 3, COLUMNS>(set),
            _ => self.blocks::<I, 0, COLUMNS>(set),
        }
    }
}

impl<V: Real, S: Real> Step<'_, V, S> {
    /// Computes blocks of size `B`, or of any size if `B` is 0, for K interleaved columns.
    #[inline(always)]
    fn blocks<I: Set<V>, const B: usize, const K: usize>(self, set: I) {
        let Self { d, factors: [omega, beta], x, s, y, .. } = self;
        let (size, n) = (if B == 0 { self.size } else { B }, y.len() / K);
        // Slices of equal length, so that the compiler removes the bounds checks.
        let d = &d[..n * size];
        let (x, s) = (&x.as_chunks::<K>().0[..n], &mut s.as_chunks_mut::<K>().0[..n]);
        let y = &mut y.as_chunks_mut::<K>().0[..n];
        for i in (0..n).step_by(size) {
            for r in i..i + size {
                let mut step = [V::zero(); K];
                for c in 0..size {
                    let d = d[r * size + c].to();
                    for k in 0..K {
                        step[k] = set.mul_add(d, y[i + c][k], step[k]);
                    }
                }
                for k in 0..K {
                    let new = omega * step[k];
                    s[r][k] = if beta == V::zero() { new } else { new + beta * s[r][k] };
                }
            }
            for r in i..i + size {
                for k in 0..K {
                    y[r][k] = x[r][k] + s[r][k];
                }
            }
        }
    }
}
