//! The arrays of half a matrix.

use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use super::layout::{self, Layout};
use crate::DenseBlocks;
use crate::range::same_length;

/// Half of a symmetric matrix.
///
/// *Memory* half of A, and also the other half for couplings between chunks that are stored twice; 2 b² values
/// per node; a vector, or eight once columns were interleaved.
/// *Cost* a sweep reads the stored half once; a forward sweep from a nonzero x reads it twice. The residual
/// after a forward sweep from zero has no extra cost. *Reference* Eisenstat 1981, "Efficient implementation
/// of a class of preconditioned conjugate gradient methods", which saves the same passes in SSOR.
pub(super) struct HalfMatrix<V, S> {
    pub(super) layout: Layout,
    pub(super) block: usize,
    pub(super) inner: Vec<S>,
    pub(super) outer: Vec<S>,
    pub(super) diagonal: Vec<S>,
    pub(super) inverses: Vec<S>,
    pub(super) workspace: Vec<V>,
    pub(super) unknowns: usize,
}

impl<V: Real, S: Real> HalfMatrix<V, S> {
    /// Stores half of A in the order of the layout, and D⁻¹. The caller has checked the range of both.
    ///
    /// # Errors
    /// [`Error::NotSquare`] and [`Error::Shape`] if A and D do not match.
    pub(super) fn new<T: Real>(layout: Layout, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<Self, Error> {
        let (block, nodes, unknowns) = (a.block().0, a.pattern().rows(), a.shape().0);
        if unknowns != a.shape().1 || a.block().1 != block {
            return Err(Error::NotSquare { rows: unknowns, columns: a.shape().1 });
        }
        same_length("block size", block, d.size())?;
        same_length("dense blocks", nodes, d.count())?;
        let zeros = |blocks: usize| vec![S::zero(); blocks * block * block];
        let mut made = Self {
            inner: zeros(layout.inner_columns.len()),
            outer: zeros(layout.outer_columns.len()),
            diagonal: zeros(nodes),
            inverses: zeros(nodes),
            workspace: vec![V::zero(); unknowns],
            layout,
            block,
            unknowns,
        };
        made.write(a, d);
        Ok(made)
    }

    fn write<T: Real>(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) {
        self.layout.fill(a, [&mut self.inner, &mut self.outer, &mut self.diagonal]);
        layout::copy_symmetric(d, &mut self.inverses);
    }

    /// Replaces the values; the pattern stays the same. The caller has checked the range of A and D.
    ///
    /// # Errors
    /// [`Error::Pattern`] and [`Error::Shape`] for another matrix. The old values are then kept.
    pub(super) fn set_values<T: Real>(&mut self, a: &Bsr<T>, d: &DenseBlocks<T>) -> Result<(), Error> {
        if !Pattern::same(a.pattern(), &self.layout.pattern) {
            return Err(Error::Pattern { what: "new values of a matrix that is swept" });
        }
        same_length("block size", self.block, a.block().0)?;
        same_length("block size", self.block, a.block().1)?;
        same_length("block size", self.block, d.size())?;
        same_length("dense blocks", a.pattern().rows(), d.count())?;
        self.write(a, d);
        Ok(())
    }

    /// Returns the size of all arrays in bytes.
    pub(super) fn bytes(&self) -> usize {
        let values = [&self.inner, &self.outer, &self.diagonal, &self.inverses];
        let values: usize = values.iter().map(|list| size_of_val(&list[..])).sum();
        values + size_of_val(&self.workspace[..]) + self.layout.bytes()
    }
}
