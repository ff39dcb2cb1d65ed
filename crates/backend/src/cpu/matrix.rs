//! A matrix on the CPU: products by [`Bsr`], relaxation in one pass.

use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::simd;
use coarsen_core::{Dot, Error, LinearOperator, Real, compiled};
use coarsen_sparse::{Bsr, COLUMNS, Pattern};

use super::sweep::RowSweep;
use super::{Cpu, columns_of};
use crate::dense_blocks::Step;
use crate::range::same_length;
use crate::{DenseBlocks, Matrix, RowSets, SweepDirection, check_range};

/// The number of scalar rows per leaf, as in the product.
const ROWS: usize = 1024;

/// A matrix on the CPU, stored in `S`, applied to `Vec<V>`, also of [interleaved columns](crate::Backend::COLUMNS).
#[derive(Clone, Debug)]
pub struct CpuMatrix<V, S> {
    a: Bsr<S>,
    of: PhantomData<V>,
}

impl<V: Real, S: Real> CpuMatrix<V, S> {
    pub(super) fn new(a: Bsr<S>) -> Self {
        Self { a, of: PhantomData }
    }

    /// Whether x and y interleave columns and fit A.
    fn interleaves(&self, x: &[V], y: &[V]) -> bool {
        let (m, n) = self.a.shape();
        columns_of(x, n) == COLUMNS && y.len() == m * COLUMNS
    }

    /// Computes y = p A x + q c for interleaved columns, where c is the old y if it is `None`. With q = 0 neither is
    /// read.
    fn add(&self, p: V, x: &[V], q: V, c: Option<&[V]>, y: &mut [V]) {
        ADD.of::<Add<V, S>>()(&self.a, [p, q], x, c, y);
    }

    /// Checks for vectors of `columns` interleaved columns that A is square and everything fits it.
    fn assert_square(&self, d: &DenseBlocks<S>, b: &[V], x: &[V], columns: usize, method: &str) {
        let (rows, size) = (self.a.shape().0, self.a.block().0);
        let n = rows * columns;
        assert!(
            self.a.shape() == (rows, rows) && self.a.block() == (size, size),
            "{method}: A is not square"
        );
        assert!(b.len() == n && x.len() == n, "{method}: {n} rows met b of {} and x of {}", b.len(), x.len());
        assert!(d.size() == size && d.count() * size == rows, "{method}: D does not fit A");
    }
}

impl<V: Real, S: Real> LinearOperator<Vec<V>> for CpuMatrix<V, S> {
    fn shape(&self) -> (usize, usize) {
        self.a.shape()
    }
    fn apply(&self, x: &Vec<V>, y: &mut Vec<V>) {
        match self.interleaves(x, y) {
            true => self.add(V::one(), x, V::zero(), None, y),
            false => self.a.apply(x, y),
        }
    }
    fn apply_many(&self, x: &[Vec<V>], y: &mut [Vec<V>]) {
        self.a.apply_many(x, y);
    }
    fn apply_dot(&self, x: &Vec<V>, y: &mut Vec<V>) -> Dot<V> {
        self.a.apply_dot(x, y)
    }
    fn residual(&self, b: &Vec<V>, x: &Vec<V>, r: &mut Vec<V>) {
        match self.interleaves(x, b) && self.interleaves(x, r) {
            true => self.add(-V::one(), x, V::one(), Some(b), r),
            false => self.a.residual(b, x, r),
        }
    }
}

impl<V: Real, S: Real> Matrix<Cpu<V, S>> for CpuMatrix<V, S> {
    fn apply_add(&self, a: V, x: &Vec<V>, b: V, y: &mut Vec<V>) {
        match self.interleaves(x, y) {
            true => self.add(a, x, b, None, y),
            false => self.a.apply_add(a, x, b, y),
        }
    }

    fn relax(
        &self,
        rows: &RowSets,
        sweep: SweepDirection,
        d: &DenseBlocks<S>,
        omega: V,
        b: &Vec<V>,
        x: &mut Vec<V>,
    ) {
        self.assert_square(d, b, x, 1, "relax");
        assert!(Pattern::same(rows.pattern(), self.a.pattern()), "relax: row sets of another pattern");
        RowSweep { a: &self.a, d: d.values(), omega, b, sweep }.run(rows, x);
    }

    fn relax_into(
        &self,
        d: &DenseBlocks<S>,
        omega: V,
        beta: V,
        b: &Vec<V>,
        x: &Vec<V>,
        s: &mut Vec<V>,
        y: &mut Vec<V>,
    ) {
        let columns = columns_of(x, self.a.shape().1);
        let n = self.a.shape().0 * columns;
        self.assert_square(d, b, x, columns, "relax_into");
        assert!(
            s.len() == n && y.len() == n,
            "relax_into: {n} rows met s of {} and y of {}",
            s.len(),
            y.len()
        );
        RELAX_INTO.of::<RelaxInto<V, S>>()(&self.a, (d.values(), columns), [omega, beta], [b, x], [s, y]);
    }

    fn set_values<T: Real>(&mut self, host: &Bsr<T>) -> Result<(), Error> {
        if !Pattern::same(self.a.pattern(), host.pattern()) {
            return Err(Error::Pattern { what: "the matrix given to set_values" });
        }
        same_length("matrix values", self.a.nnz(), host.nnz())?;
        check_range::<T, S>("the matrix", host.values())?;
        // Row sets and kernels expect the same pattern, and not one that is equal.
        match host.shared_as().filter(|same| Arc::ptr_eq(same.pattern(), self.a.pattern())) {
            Some(same) => self.a = same,
            None => parallel::map(host.values(), self.a.values_mut(), |v| v.to()),
        }
        Ok(())
    }
}

compiled!(
    ADD: Add<V, S> where S <= V = fn(&Bsr<S>, [V; 2], &[V], Option<&[V]>, &mut [V]), add
);

fn add<V: Real, S: Real>(a: &Bsr<S>, [p, q]: [V; 2], x: &[V], c: Option<&[V]>, y: &mut [V]) {
    let (size, together) = (a.block().0, a.block().0 * COLUMNS);
    let body = |(rows, y): (Range<usize>, Groups<&mut [V]>)| {
        let first = rows.start * together;
        a.row_products(rows, x, &mut |at, ax| {
            let y = &mut y.0[at..at + ax.len()];
            match c {
                _ if q == V::zero() => y.iter_mut().zip(ax).for_each(|(y, &ax)| *y = p * ax),
                None => y.iter_mut().zip(ax).for_each(|(y, &ax)| *y = p * ax + q * *y),
                Some(c) => {
                    let c = &c[first + at..first + at + ax.len()];
                    y.iter_mut().zip(ax).zip(c).for_each(|((y, &ax), &c)| *y = p * ax + q * c);
                }
            }
        });
    };
    let pieces = (0..a.pattern().rows(), Groups(y, together));
    each(pieces, (ROWS / size).max(1), parallel::worth_product(a.nnz() * COLUMNS), &body);
}

compiled!(
    RELAX_INTO: RelaxInto<V, S> where S <= V =
        fn(&Bsr<S>, (&[S], usize), [V; 2], [&[V]; 2], [&mut [V]; 2]), relax_into
);

/// Computes s = ω D (b − A x) + β s and y = x + s for one column or several interleaved columns.
fn relax_into<V: Real, S: Real>(
    a: &Bsr<S>,
    (d, columns): (&[S], usize),
    factors: [V; 2],
    [b, x]: [&[V]; 2],
    [s, y]: [&mut [V]; 2],
) {
    let size = a.block().0;
    let together = size * columns;
    let pieces = (0..a.pattern().rows(), Groups(s, together), Groups(y, together));
    let body = |(rows, s, y): (Range<usize>, Groups<&mut [V]>, Groups<&mut [V]>)| {
        let first = rows.start * together;
        a.row_products(rows, x, &mut |at, ax| {
            let (here, all) = (at..at + ax.len(), first + at..first + at + ax.len());
            let y = &mut y.0[here.clone()];
            for ((y, b), ax) in y.iter_mut().zip(&b[all.clone()]).zip(ax) {
                *y = *b - *ax;
            }
            let d = &d[all.start / columns * size..all.end / columns * size];
            simd::run(Step { d, size, columns, factors, x: &x[all], s: &mut s.0[here], y });
        });
    };
    each(pieces, (ROWS / size).max(1), parallel::worth_product(a.nnz() * columns), &body);
}
