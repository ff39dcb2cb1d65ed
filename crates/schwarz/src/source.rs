//! The matrix of a level by rows of blocks: elastic blocks, and on the finest level also contact blocks.

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Contacts, Pattern, System};

/// A + C by rows, without merging A and C.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a, T> {
    pub(crate) matrix: &'a Bsr<T>,
    contact: Option<(&'a Contacts<T>, &'a [u32])>,
}

impl<'a, T: Real> Source<'a, T> {
    /// Returns a matrix without contact.
    pub(crate) fn new(matrix: &'a Bsr<T>) -> Self {
        Self { matrix, contact: None }
    }

    /// Returns a system; the caller keeps `starts`, so that its memory is reused.
    pub(crate) fn of(system: &System<'a, T>, starts: &'a mut Vec<u32>) -> Self {
        let Some(contact) = system.contact.filter(|c| !c.is_empty()) else { return Self::new(system.matrix) };
        starts.clear();
        starts.resize(contact.nodes() + 1, 0);
        contact.places().iter().for_each(|&(i, _)| starts[i as usize + 1] += 1);
        (1..starts.len()).for_each(|i| starts[i] += starts[i - 1]);
        Self { matrix: system.matrix, contact: Some((contact, starts)) }
    }

    pub(crate) fn nodes(&self) -> usize {
        self.matrix.pattern().rows()
    }

    /// Returns the number of unknowns per node.
    pub(crate) fn block(&self) -> usize {
        self.matrix.block().0
    }

    pub(crate) fn pattern(&self) -> &'a Pattern {
        self.matrix.pattern()
    }

    /// Returns the contact blocks of row i: (column, values).
    pub(crate) fn contact(&self, i: usize) -> impl Iterator<Item = (usize, &'a [T])> + use<'a, T> {
        self.contact.into_iter().flat_map(move |(contact, starts)| {
            let area = contact.block().pow(2);
            let range = starts[i] as usize..starts[i + 1] as usize;
            let values = contact.values()[range.start * area..range.end * area].chunks_exact(area);
            contact.places()[range].iter().map(|place| place.1 as usize).zip(values)
        })
    }

    /// Returns the blocks of row i of the matrix without contact: (column, values).
    #[inline]
    pub(crate) fn elastic(&self, i: usize) -> impl Iterator<Item = (usize, &'a [T])> + use<'a, T> {
        let area = self.block().pow(2);
        let range = self.pattern().range(i);
        let values = self.matrix.values()[range.start * area..range.end * area].chunks_exact(area);
        self.pattern().row(i).iter().map(|&j| j as usize).zip(values)
    }

    /// Returns all blocks of row i; if a column occurs twice, its blocks must be summed.
    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, &'a [T])> + use<'a, T> {
        self.elastic(i).chain(self.contact(i))
    }

    /// Adds the diagonal block of node i to `d`; returns whether a diagonal block is stored.
    pub(crate) fn diagonal(&self, i: usize, d: &mut [T]) -> bool {
        let stored = self.pattern().find(i, i).map(|k| self.matrix.value(k));
        let touching = self.contact(i).filter(|(j, _)| *j == i).map(|(_, block)| block);
        let mut found = false;
        for block in stored.into_iter().chain(touching) {
            d.iter_mut().zip(block).for_each(|(d, &v)| *d += v);
            found = true;
        }
        found
    }
}
