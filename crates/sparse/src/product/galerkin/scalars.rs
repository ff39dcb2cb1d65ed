//! Scalar matrices: the look-up of a column costs more than its product, so nothing else is done.

use coarsen_core::Real;

use super::worker::{Done, Factors, Worker};

impl<T: Real> Factors<'_, T> {
    /// Sums every coarse row of the worker into its `sum`, for 1 x 1 blocks.
    pub(super) fn scalars(&self, worker: &mut Worker<T>, done: &mut impl Done<T>) {
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for (&fine, &at) in restriction.indices()[range.clone()].iter().zip(&source[range]) {
                let fine = fine as usize;
                if !q.has(fine) {
                    q.compact(1);
                    for (j, a) in self.a.row(fine) {
                        let range = self.p.pattern().range(j);
                        let p = self.p.pattern().indices()[range.clone()].iter().zip(&self.p.values()[range]);
                        p.for_each(|(&column, &p)| q.rows.add(column, a[0] * p));
                    }
                    q.keep(fine, self.p.pattern().row(fine), rows);
                }
                let p = self.p.values()[at];
                let (columns, values) = q.take(fine, 1);
                columns.iter().zip(values).for_each(|(&column, &q)| sum.add(column, p * q));
            }
            done.row(worker, coarse);
            worker.sum.clear();
        }
    }
}
