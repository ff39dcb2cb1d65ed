//! Y = A X: several right-hand sides in one pass over the matrix.
//!
//! A product with one vector is limited by the memory traffic of the matrix. With k vectors, the same traffic
//! serves k times the arithmetic. X is stored row by row (the k values of an unknown are contiguous), so the
//! inner loop over columns needs no gather. If a single core already reads the matrix at full memory
//! bandwidth, the gain is small. With 3x3 blocks and SSE2 code, 4 columns took the time of 3 single products,
//! and 8 columns the time of 7. The gain grows with the number of cores that share the memory.

use std::ops::Range;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::{Real, compiled};

use crate::Bsr;

/// The number of columns per pass; their sums fit into the vector registers.
const PANEL: usize = 8;

/// The number of scalar rows per leaf.
const ROWS: usize = 512;

impl<T: Real> Bsr<T> {
    /// Y = A X for k columns, X and Y row-major: entry (i, c) of X is `x[i·k + c]`.
    ///
    /// *Use* for rigid-body modes, block Lanczos or several loads. *Traffic* for up to 8 columns as for a
    /// product with one vector. More columns are computed in groups of 8, with one pass over A per group.
    /// Products are accumulated in `V`, in the order of the row. The bits of a column depend neither on k nor
    /// on the number of threads. They may differ from those of
    /// [`apply`](coarsen_core::LinearOperator::apply), which sums blocks in another order.
    ///
    /// *Panics* unless `x` has k times as many entries as A has columns, and `y` k times as many as A has
    /// rows.
    ///
    /// ```
    /// use coarsen_sparse::Bsr;
    /// let a = Bsr::<f64>::identity(2, 1)?;
    /// let mut y = [0.0; 4];
    /// a.apply_columns(2, &[1.0, 2.0, 3.0, 4.0], &mut y);
    /// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn apply_columns<V: Real>(&self, k: usize, x: &[V], y: &mut [V]) {
        let (m, n) = self.shape();
        assert!(
            x.len() == n * k && y.len() == m * k,
            "apply_columns: a {m} x {n} matrix and {k} columns, but x has {} entries and y has {}",
            x.len(),
            y.len()
        );
        if k > 0 {
            APPLY_COLUMNS.of::<ApplyColumns<T, V>>()(self, k, x, y);
        }
    }

    /// A X for the block rows `rows`, with G scalar rows and up to 8 columns at a time; `y` contains only
    /// these block rows.
    fn panels<V: Real, const G: usize>(&self, rows: Range<usize>, k: usize, x: &[V], y: &mut [V]) {
        for first in (0..k).step_by(PANEL) {
            let (rows, y) = (rows.clone(), &mut y[..]);
            match k - first {
                1 => self.panel::<V, G, 1>(rows, k, first, x, y),
                2 => self.panel::<V, G, 2>(rows, k, first, x, y),
                3 => self.panel::<V, G, 3>(rows, k, first, x, y),
                4 => self.panel::<V, G, 4>(rows, k, first, x, y),
                5 => self.panel::<V, G, 5>(rows, k, first, x, y),
                6 => self.panel::<V, G, 6>(rows, k, first, x, y),
                7 => self.panel::<V, G, 7>(rows, k, first, x, y),
                _ => self.panel::<V, G, PANEL>(rows, k, first, x, y),
            }
        }
    }

    /// Columns `first .. first + K`. The K sums of G rows are independent, which hides the latency of
    /// additions.
    fn panel<V: Real, const G: usize, const K: usize>(
        &self,
        rows: Range<usize>,
        k: usize,
        first: usize,
        x: &[V],
        y: &mut [V],
    ) {
        let (r, c) = self.block();
        for (i, y) in rows.zip(y.chunks_exact_mut(r * k)) {
            for row in (0..r).step_by(G) {
                let mut sums = [[V::zero(); K]; G];
                for (j, block) in self.row(i) {
                    let block = &block[row * c..(row + G) * c];
                    for t in 0..c {
                        let x = &x[(j * c + t) * k + first..][..K];
                        for (g, sums) in sums.iter_mut().enumerate() {
                            let a = block[g * c + t].to::<V>();
                            sums.iter_mut().zip(x).for_each(|(s, &x)| *s += a * x);
                        }
                    }
                }
                for (g, sums) in sums.iter().enumerate() {
                    y[(row + g) * k + first..][..K].copy_from_slice(sums);
                }
            }
        }
    }
}

compiled!(APPLY_COLUMNS: ApplyColumns<T, V> = fn(&Bsr<T>, usize, &[V], &mut [V]), apply_columns);

fn apply_columns<T: Real, V: Real>(a: &Bsr<T>, k: usize, x: &[V], y: &mut [V]) {
    let r = a.block().0;
    let rows = (0..a.pattern().rows(), Groups(y, r * k));
    let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| match r {
        _ if r.is_multiple_of(3) => a.panels::<V, 3>(rows, k, x, y.0),
        _ if r.is_multiple_of(2) => a.panels::<V, 2>(rows, k, x, y.0),
        _ => a.panels::<V, 1>(rows, k, x, y.0),
    };
    each(rows, (ROWS / r).max(1), parallel::worth(a.nnz() * k), &body);
}
