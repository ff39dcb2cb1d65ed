//! A step of relaxation in the pass of a product: s ← β s + ω D (b − A x), y ← x + s.
//!
//! | symbol | here | |
//! |---|---|---|
//! | D | `d` | a block per row |
//! | ω, β | `factors` | |
//!
//! Rows without ghosts take their step while their residual is in the cache; those at the border once the ghosts have
//! come.

use std::ops::Range;

use coarsen_backend::DenseBlocks;
use coarsen_core::parallel::{self, Groups, each};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::{Real, Vector};

use super::DistMatrix;
use super::product::{Then, Write};
use crate::{Communicator, DistVector, Number};

/// The number of scalar rows per task on several threads.
const ROWS: usize = 1024;

/// The step of a rank: D and x of its rows, and s.
pub(super) struct Relaxation<'a, T> {
    d: &'a DenseBlocks<T>,
    factors: [T; 2],
    x: &'a [T],
    s: &'a mut [T],
}

impl<T: Number> Relaxation<'_, T> {
    /// Takes the step in some block rows, where `y` has the residual.
    pub(super) fn run(&mut self, rows: Range<usize>, y: &mut [T]) {
        let (b, d) = (self.d.size(), self.d.values());
        let all = rows.start * b..rows.end * b;
        let pieces = (
            Groups(&d[all.start * b..all.end * b], b * b),
            Groups(&self.x[all.clone()], b),
            Groups(&mut self.s[all], b),
            Groups(y, b),
        );
        let factors = self.factors;
        type Rows<'a, T> = (Groups<&'a [T]>, Groups<&'a [T]>, Groups<&'a mut [T]>, Groups<&'a mut [T]>);
        let leaf = |(d, x, s, y): Rows<'_, T>| {
            simd::run(Step { d: d.0, size: b, factors, x: x.0, s: s.0, y: y.0 });
        };
        each(pieces, (ROWS / b).max(1), parallel::worth(rows.len() * b * b), &leaf);
    }
}

/// The step in a few rows.
struct Step<'a, T> {
    d: &'a [T],
    size: usize,
    factors: [T; 2],
    x: &'a [T],
    s: &'a mut [T],
    y: &'a mut [T],
}

impl<T: Real> Kernel<T> for Step<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Set<T>>(self, set: I) {
        match self.size {
            1 => self.blocks::<I, 1>(set),
            2 => self.blocks::<I, 2>(set),
            3 => self.blocks::<I, 3>(set),
            6 => self.blocks::<I, 6>(set),
            _ => self.blocks::<I, 0>(set),
        }
    }
}

impl<T: Real> Step<'_, T> {
    /// Computes blocks of size `B`, or of any size if `B` is 0.
    #[inline(always)]
    fn blocks<I: Set<T>, const B: usize>(self, set: I) {
        let Self { d, factors: [omega, beta], x, s, y, .. } = self;
        let (size, n) = (if B == 0 { self.size } else { B }, y.len());
        // Slices of equal length, so that the compiler removes the bounds checks.
        let (d, x, s) = (&d[..n * size], &x[..n], &mut s[..n]);
        for i in (0..n).step_by(size) {
            for r in i..i + size {
                let mut step = T::zero();
                for c in 0..size {
                    step = set.mul_add(d[r * size + c], y[i + c], step);
                }
                s[r] = if beta == T::zero() { omega * step } else { omega * step + beta * s[r] };
            }
            for r in i..i + size {
                y[r] = x[r] + s[r];
            }
        }
    }
}

impl<C: Communicator, T: Number> DistMatrix<C, T> {
    /// One step of a relaxation in which all rows are updated at the same time: s ← β s + ω D (b − A x), y ← x + s. If
    /// β = 0, the old s is not read. Blocks of D are those of the rows of this rank.
    ///
    /// *Cost* one pass that reads A, D, b, x and s and writes s and y, and the messages of a product. *Panics* if A is not
    /// square or D has another size. If the ranks cannot communicate, y is NaN, as after any product.
    pub fn relax_into(
        &self,
        d: &DenseBlocks<T>,
        factors: [T; 2],
        b: &DistVector<C, T>,
        x: &DistVector<C, T>,
        s: &mut DistVector<C, T>,
        y: &mut DistVector<C, T>,
    ) {
        self.assert_fits(x, y);
        assert!(self.is_square(), "relax_into needs a square matrix");
        assert!(b.same_layout(y) && s.same_layout(y), "relax_into: vectors of other layouts");
        let fits = d.size() == self.rows.layout().block() && d.count() == self.rows.count();
        assert!(fits, "relax_into: D does not fit A");
        let step = Relaxation { d, factors, x: x.own(), s: s.own_mut() };
        if self.multiply(x.own(), y.vec_mut(), Write::Residual(b.vec()), Then::Relax(step)).is_err() {
            y.fill(T::nan());
        }
    }
}
