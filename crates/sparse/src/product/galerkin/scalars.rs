//! Scalar matrices: the look-up of a column costs more than its product, so nothing else is done.

use coarsen_core::Real;

use super::worker::{Done, Factors, NONE, Row, Worker};
use crate::Bsr;

impl<T: Real> Row<T> {
    /// Adds `value` to the entry of a column.
    #[inline(always)]
    fn add(&mut self, place: &mut [u32], column: u32, value: T) {
        let at = &mut place[column as usize];
        if *at == NONE {
            *at = self.columns.len() as u32;
            self.columns.push(column);
            self.values.push(value);
        } else {
            self.values[*at as usize] += value;
        }
    }

    /// Adds the row i of a matrix times `factor`.
    #[inline(always)]
    fn add_row(&mut self, place: &mut [u32], factor: T, p: &Bsr<T>, i: usize) {
        let range = p.pattern().range(i);
        for (&column, &value) in p.pattern().indices()[range.clone()].iter().zip(&p.values()[range]) {
            self.add(place, column, factor * value);
        }
    }
}

impl<T: Real> Factors<'_, T> {
    /// Sums every coarse row of the worker into its `row`, for 1 x 1 blocks.
    pub(super) fn scalars(&self, worker: &mut Worker<T>, done: &mut impl Done<T>) {
        let (restriction, source) = (self.transpose.pattern(), self.transpose.source());
        let end = worker.rows.end;
        for coarse in worker.rows.clone() {
            let range = restriction.range(coarse);
            for (&fine, &at) in restriction.indices()[range.clone()].iter().zip(&source[range]) {
                let fine = fine as usize;
                if worker.kept[fine] == NONE {
                    let kept = worker.keep(fine);
                    let q = &mut worker.q[kept];
                    let range = self.a.pattern().range(fine);
                    let entries = self.a.pattern().indices()[range.clone()].iter();
                    for (&j, &a) in entries.zip(&self.a.values()[range]) {
                        q.add_row(&mut worker.place_q, a, self.p, j as usize);
                    }
                    q.release(&mut worker.place_q);
                }
                let (q, p) = (&worker.q[worker.kept[fine] as usize], self.p.values()[at]);
                for (&column, &q) in q.columns.iter().zip(&q.values) {
                    worker.row.add(&mut worker.place, column, p * q);
                }
                self.drop_after(worker, fine, coarse, end);
            }
            done.row(worker, coarse);
            worker.row.release(&mut worker.place);
            worker.row.clear();
        }
    }
}
