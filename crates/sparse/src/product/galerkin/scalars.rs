//! The algorithm for scalar matrices. Looking up a column costs more than multiplying, so this version has no
//! loops over blocks.

use coarsen_core::{Real, simd};

use super::worker::{AHEAD, Done, Factors, Worker};
use crate::SparseError;

impl<T: Real> Factors<'_, T> {
    /// Sums each coarse row of the worker into `worker.sum`, for 1 x 1 blocks.
    pub(super) fn scalars(&self, worker: &mut Worker<T>, done: &mut dyn Done<T>) -> Result<(), SparseError> {
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        worker.q.clear(1);
        for coarse in worker.rows.clone() {
            let Worker { rows, sum, q, .. } = worker;
            let range = restriction.range(coarse);
            for at in range.clone() {
                let fine = restriction.indices()[at] as usize;
                if at + AHEAD < range.end {
                    q.prefetch(restriction.indices()[at + AHEAD] as usize, 1);
                    simd::prefetch(&self.p.values()[source[at + AHEAD]]);
                }
                if !q.has(fine) {
                    q.room(self.reach(fine), 1)?;
                    for (j, a) in self.a.row(fine) {
                        let range = self.p.pattern().range(j);
                        q.rows.add(a[0], &self.p.pattern().indices()[range.clone()], &self.p.values()[range]);
                    }
                    q.keep(fine, self.p.pattern().row(fine), rows);
                }
                let (columns, values) = q.take(fine, 1);
                sum.room(columns.len(), 1)?;
                sum.add(self.p.values()[source[at]], columns, values);
            }
            done.row(worker, coarse);
            worker.sum.clear(1);
        }
        Ok(())
    }
}
