//! y = A x, y = y + A x, r = b − A x and y = A x with xᵀy, of a distributed matrix.
//!
//! Symbols and equations are those of `mod`; Σ xᵢyᵢ and Σ |xᵢyᵢ| of each leaf of rows are in `Scratch::sums`.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, combine, leaves};
use coarsen_core::{Dot, LinearOperator, Real, Vector, products};
use coarsen_sparse::Bsr;

use super::pipeline::Pipeline;
use super::relax::Relaxation;
use super::split::{Merged, OffDiagonal, Parts};
use super::{DistMatrix, Exchange, Local, Scratch, chunks};
use crate::vector::add;
use crate::{CommError, Communicator, DistScalar, DistVector, unpack};

/// What a product writes.
#[derive(Clone, Copy)]
pub(super) enum Write<'a, T> {
    /// y = A x.
    Product,
    /// y = y + A x.
    Sum,
    /// y = b − A x.
    Residual(&'a Vec<T>),
}

impl<T: Real> Write<'_, T> {
    /// The entries `rows` of y from those of t = A_ii v_i.
    fn own(&self, rows: Range<usize>, y: &mut [T], t: &[T]) {
        let each = y.iter_mut().zip(t);
        match self {
            Self::Product => y.copy_from_slice(t),
            Self::Sum => each.for_each(|(y, &t)| *y += t),
            Self::Residual(b) => each.zip(&b[rows]).for_each(|((y, &t), &b)| *y = b - t),
        }
    }

    /// Entries of y from those of t = A_ij v_j, after those of [`own`](Self::own).
    fn ghosts(&self, y: &mut [T], t: &[T]) {
        let each = y.iter_mut().zip(t);
        match self {
            Self::Product | Self::Sum => each.for_each(|(y, &t)| *y += t),
            Self::Residual(_) => each.for_each(|(y, &t)| *y -= t),
        }
    }
}

/// What follows for rows of y that are complete.
pub(super) enum Then<'a, T> {
    Nothing,
    /// The sums of their leaves, in the matrix.
    Sums,
    /// A step of relaxation with y = b − A x.
    Relax(Relaxation<'a, T>),
}

/// The sums of complete rows, which are still in the cache, by leaves.
fn sum<T: Real>(own: &Bsr<T>, x: &[T], rows: Range<usize>, y: &[T], sums: &mut [[f64; 2]]) {
    let (leaf, r) = (chunks::leaf(own), own.block().0);
    let of = rows.start / leaf..rows.end.div_ceil(leaf);
    let x = &x[rows.start * r..rows.end * r];
    let sum = |(x, y): (&[T], &[T])| products(x, y);
    leaves((x, y), 0, leaf * r, parallel::worth_product(own.nnz()), &sum, &mut sums[of]);
}

/// Calls `complete` with the block rows `part` of `rows`, of which `y` has the entries, as far as there are such rows.
fn part<T>(
    part: Range<usize>,
    rows: &Range<usize>,
    r: usize,
    y: &mut [T],
    complete: &mut impl FnMut(Range<usize>, &mut [T]),
) {
    let part = part.start..part.end.min(rows.end);
    if part.start < part.end {
        let at = (part.start - rows.start) * r..(part.end - rows.start) * r;
        complete(part, &mut y[at]);
    }
}

impl<C: Communicator, T: Real> DistMatrix<C, T> {
    /// Writes the entries of x in the ghost columns of rank `owner`, from the whole sub-vector of that rank.
    fn pick(&self, owner: usize, sub_vector: &[u8], ghosts: &mut [T]) {
        let (c, first) = (self.columns.layout().block(), self.columns.layout().range(owner).start);
        let range = self.ghosts.of_rank[owner].clone();
        let to = ghosts[range.start * c..range.end * c].chunks_exact_mut(c);
        for (column, to) in self.ghosts.columns[range].iter().zip(to) {
            let at = (column - first) as usize * c * size_of::<T>();
            let from = unpack(&sub_vector[at..at + c * size_of::<T>()]);
            to.iter_mut().zip(from).for_each(|(to, v)| *to = v);
        }
    }

    /// A_ii v_i. Calls `complete` with the rows of each chunk that are not at the border, and `poll` between chunks.
    fn multiply_own(
        &self,
        parts: &Parts<T>,
        (x, y): (&[T], &mut [T]),
        write: Write<'_, T>,
        complete: &mut impl FnMut(Range<usize>, &mut [T]),
        mut poll: impl FnMut() -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        let write = |rows, y: &mut [T], t: &[T]| write.own(rows, y, t);
        let (leaf, r) = (chunks::leaf(&parts.own), parts.own.block().0);
        let mut border = 0;
        chunks::multiply(&parts.own, x, y, &write, |rows, y, scalars| {
            let mut first = rows.start;
            while let Some(at) = parts.border.get(border).filter(|at| at.start * leaf < rows.end) {
                part(first..at.start * leaf, &rows, r, y, complete);
                first = at.end * leaf;
                if first > rows.end {
                    break; // the range goes on in the next chunk
                }
                border += 1;
            }
            part(first..rows.end, &rows, r, y, complete);
            self.rows.comm().worked(scalars);
            self.advance_sums();
            poll()
        })
    }

    /// A_ij v_j of the ghosts of rank j. Calls `poll` between chunks.
    fn multiply_ghosts(
        &self,
        off_diagonal: &OffDiagonal<T>,
        (ghosts, y): (&[T], &mut [T]),
        write: Write<'_, T>,
        mut poll: impl FnMut() -> Result<(), CommError>,
    ) -> Result<(), CommError> {
        let write = |y: &mut [T], t: &[T]| write.ghosts(y, t);
        chunks::scatter(off_diagonal, ghosts, y, &write, |scalars| {
            self.rows.comm().worked(scalars);
            self.advance_sums();
            poll()
        })
    }

    fn multiply_merged(
        &self,
        merged: &Merged<T>,
        (x, ghosts, all): (&[T], &[T], &mut Vec<T>),
        y: &mut Vec<T>,
        write: Write<'_, T>,
    ) {
        merged.gather(x, ghosts, all);
        match write {
            Write::Product => merged.all.apply(all, y), // eq. 4
            Write::Sum => merged.all.apply_add(T::one(), all, T::one(), y),
            Write::Residual(b) => merged.all.residual(b, all, y),
        }
        self.rows.comm().worked(merged.all.nnz());
    }

    /// Writes y, and does what follows for each part of it.
    pub(super) fn multiply(
        &self,
        x: &[T],
        y: &mut Vec<T>,
        write: Write<'_, T>,
        mut then: Then<'_, T>,
    ) -> Result<(), CommError> {
        let (comm, c) = (self.columns.comm(), self.columns.layout().block());
        self.advance_sums(); // also on a rank without rows
        let Scratch { ghosts, all, requests, queues, sums } = &mut *self.scratch.borrow_mut();
        if let (Local::Parts(parts), Then::Sums) = (&self.local, &then) {
            sums.resize(chunks::leaves(&parts.own), [0.0; 2]);
        }
        let mut complete = |rows: Range<usize>, y: &mut [T]| match (&mut then, &self.local) {
            (Then::Sums, Local::Parts(parts)) => sum(&parts.own, x, rows, y, sums),
            (Then::Relax(step), _) => step.run(rows, y),
            _ => (),
        };
        match (&self.exchange, &self.local) {
            (Exchange::Whole(schedule), Local::Merged(merged)) => {
                let mut pipeline = Pipeline::begin(&self.columns, schedule, x, queues)?;
                while let Some((j, v)) = pipeline.next()? {
                    self.pick(j, &v, ghosts); // Σ T
                    comm.recycle(v);
                }
                self.multiply_merged(merged, (x, ghosts, all), y, write); // Σ C, eq. 6
            }
            (Exchange::Whole(schedule), Local::Parts(parts)) => {
                let mut pipeline = Pipeline::begin(&self.columns, schedule, x, queues)?;
                self.multiply_own(parts, (x, y), write, &mut complete, || pipeline.poll())?; // S_0 = C_0, eq. 7
                while let Some((j, v)) = pipeline.next()? {
                    self.pick(j, &v, ghosts);
                    comm.recycle(v);
                    let range = self.ghosts.of_rank[j].clone();
                    let of_rank = &ghosts[range.start * c..range.end * c];
                    // max(S_{j−1}, Σ T) + C_j, eq. 7
                    self.multiply_ghosts(&parts.others[j], (of_rank, y), write, || pipeline.poll())?;
                }
            }
            (Exchange::Halo(halo), local) => {
                halo.begin(comm, x, c, requests)?;
                if let Local::Parts(parts) = local {
                    // Some transports carry long messages only while they are called. One call carries all of them, so
                    // the first message that is missing is enough.
                    let mut poll = || {
                        requests.iter_mut().try_fold(true, |all, one| Ok(all && comm.test(one)?)).map(drop)
                    };
                    self.multiply_own(parts, (x, y), write, &mut complete, &mut poll)?;
                }
                for ((j, range), request) in halo.receives.iter().zip(requests.drain(..)) {
                    let data = comm.wait(request)?;
                    let of_rank = &mut ghosts[range.start * c..range.end * c];
                    of_rank.iter_mut().zip(unpack(&data)).for_each(|(to, v)| *to = v);
                    comm.recycle(data);
                    if let Local::Parts(parts) = local {
                        self.multiply_ghosts(&parts.others[*j], (of_rank, y), write, || Ok(()))?;
                    }
                }
                if let Local::Merged(merged) = local {
                    self.multiply_merged(merged, (x, ghosts, all), y, write);
                }
            }
        }
        let rows = 0..self.rows.count();
        match &self.local {
            Local::Merged(_) => complete(rows, y),
            Local::Parts(parts) => {
                let (leaf, r) = (chunks::leaf(&parts.own), parts.own.block().0);
                for at in &parts.border {
                    part(at.start * leaf..at.end * leaf, &rows, r, y, &mut complete);
                }
            }
        }
        Ok(())
    }

    /// Lets sums of vectors under way go on.
    fn advance_sums(&self) {
        self.rows.advance_sums();
        if !Arc::ptr_eq(&self.rows, &self.columns) {
            self.columns.advance_sums();
        }
    }

    pub(super) fn assert_fits(&self, x: &DistVector<C, T>, y: &DistVector<C, T>) {
        let fits = x.partition().is_same(&self.columns) && y.partition().is_same(&self.rows);
        assert!(fits, "apply: vectors of other layouts");
    }
}

impl<C: Communicator, T: Real> DistMatrix<C, T> {
    /// y = y + A x in one pass. *Panics* on vectors of other partitions. If the ranks cannot communicate, y is NaN, as after
    /// any product.
    pub fn add_to(&self, x: &DistVector<C, T>, y: &mut DistVector<C, T>) {
        self.assert_fits(x, y);
        if self.multiply(x.own(), y.vec_mut(), Write::Sum, Then::Nothing).is_err() {
            y.fill(T::nan());
        }
    }
}

impl<C: Communicator, T: Real> LinearOperator<DistVector<C, T>> for DistMatrix<C, T> {
    fn shape(&self) -> (usize, usize) {
        self.unknowns().into()
    }

    fn apply(&self, x: &DistVector<C, T>, y: &mut DistVector<C, T>) {
        self.assert_fits(x, y);
        if self.multiply(x.own(), y.vec_mut(), Write::Product, Then::Nothing).is_err() {
            y.fill(T::nan()); // `sync` returns the error
        }
    }

    /// One pass, except in the modes `Blocking` and `Reproducible` and for reproducible sums.
    fn apply_dot(&self, x: &DistVector<C, T>, y: &mut DistVector<C, T>) -> Dot<DistScalar<C, T>> {
        if matches!(self.local, Local::Merged(_)) || self.rows.layout().leaf().is_some() {
            self.apply(x, y);
            return x.dot_magnitude(y);
        }
        self.assert_fits(x, y);
        assert!(self.is_square(), "apply_dot needs a square matrix");
        if self.multiply(x.own(), y.vec_mut(), Write::Product, Then::Sums).is_err() {
            y.fill(T::nan());
            return Dot { value: T::nan().into(), magnitude: T::nan().into() };
        }
        let sum = combine(&self.scratch.borrow().sums, &add).unwrap_or_default();
        let sums = self.rows.start_sums(2, |into| into.copy_from_slice(&sum));
        let [value, magnitude] = [0, 1].map(|at| DistScalar::sum(&sums, at));
        Dot { value, magnitude }
    }

    fn residual(&self, b: &DistVector<C, T>, x: &DistVector<C, T>, r: &mut DistVector<C, T>) {
        self.assert_fits(x, r);
        assert!(b.same_layout(r), "residual: vectors of other layouts");
        if self.multiply(x.own(), r.vec_mut(), Write::Residual(b.vec()), Then::Nothing).is_err() {
            r.fill(T::nan());
        }
    }
}
