//! A step of relaxation in the pass of a product: s ← β s + ω D (b − A x), y ← x + s.
//!
//! | symbol | here | |
//! |---|---|---|
//! | D | `d` | a block per row |
//! | ω, β | `factors` | |
//!
//! If the matrix has parts, rows without ghosts take their step while their residual is in the cache, and those at the border
//! once the ghosts have come. If it is one matrix, as for reproducible products, the step is a second pass.

use std::ops::Range;

use coarsen_backend::DenseBlocks;
use coarsen_core::{Real, Vector, parallel};

use super::DistMatrix;
use super::product::{Then, Write};
use crate::{Communicator, DistVector};

/// The step of a rank: D and x of its rows, and s.
pub(super) struct Relaxation<'a, T> {
    d: &'a DenseBlocks<T>,
    factors: [T; 2],
    x: &'a [T],
    s: &'a mut [T],
    /// Whether products with the rows run on several threads.
    parallel: bool,
}

impl<T: Real> Relaxation<'_, T> {
    /// Takes the step in some block rows, where `y` has the residual.
    pub(super) fn run(&mut self, rows: Range<usize>, y: &mut [T]) {
        let all = rows.start * self.d.size()..rows.end * self.d.size();
        let (x, s) = (&self.x[all.clone()], &mut self.s[all]);
        self.d.relax(rows, self.factors, (x, s, y), self.parallel);
    }
}

impl<C: Communicator, T: Real> DistMatrix<C, T> {
    /// One step of a relaxation in which all rows are updated at the same time: s ← β s + ω D (b − A x), y ← x + s. If
    /// β = 0, the old s is not read. Blocks of D are those of the rows of this rank.
    ///
    /// *Cost* one pass that reads A, D, b, x and s and writes s and y, and the messages of a product; blocking and reproducible
    /// products take a second pass over the vectors and D. *Panics* if A is not square, D has another size, or vectors have
    /// other partitions. If the ranks cannot communicate, y is NaN, as after any product, and a part of s may be new.
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
        let parallel = parallel::worth_product(self.local.nnz());
        let step = Relaxation { d, factors, x: x.own(), s: s.own_mut(), parallel };
        if self.multiply(x.own(), y.vec_mut(), Write::Residual(b.vec()), Then::Relax(step)).is_err() {
            y.fill(T::nan());
        }
    }
}
