//! A small set of node-node blocks that changes between steps.
//!
//! | file | what |
//! |---|---|
//! | [`stencil`](Stencil) | nodes and weights of a contact: point-point, vertex-face, edge-edge |
//! | `fill` | conversion of contacts to sorted rows of blocks, in parallel (P-Cloth, §3.2.2); `sums` is its last step |

mod fill;
mod stencil;
mod sums;

use std::ops::Range;

use coarsen_core::Real;

use crate::SparseError;
use fill::{Elements, Fill};
pub use stencil::Stencil;

/// Blocks of b x b at pairs of nodes, sorted by row and column: the contributions of contact, friction or
/// temporary springs to the matrix of a body.
///
/// The set is replaced as a whole and keeps its memory, so a simulation no longer allocates once it has had
/// its largest set. [`assemble`](Self::assemble) computes the set from contacts, [`replace`](Self::replace)
/// from blocks. Every block is stored explicitly: a contact between nodes i and j gives the four blocks (i,
/// i), (i, j), (j, i) and (j, j). A set created by `replace` is symmetric only if the caller passes both (i,
/// j) and its transpose (j, i).
///
/// *Use* for sets that are small compared to the matrix. If a set is large and rarely changes, add it to the
/// matrix with [`Sum::merge`](crate::Sum::merge). *Memory* (b² s + 8) bytes per block, where s is the size of
/// T in bytes, and about 32 bytes per entry for computing the next set.
///
/// *Reference* Wu et al. 2022, "A GPU-based multilevel additive Schwarz preconditioner for cloth and
/// deformable body simulation", §4.2: contact is stored separately from the matrix, whose structure does not
/// change. Filling: Li et al. 2020, "P-Cloth", §3.2.2.
///
/// ```
/// use coarsen_sparse::Contacts;
/// let mut contacts = Contacts::<f64>::new(4, 1)?; // 4 nodes, 1 unknown each
/// contacts.replace(&[(2, 0), (0, 2), (2, 0)], &[1.0, 2.0, 3.0])?;
/// assert_eq!(contacts.places(), [(0, 2), (2, 0)]);
/// assert_eq!(contacts.values(), [2.0, 4.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Contacts<T> {
    nodes: usize,
    block: usize,
    places: Vec<(u32, u32)>,
    values: Vec<T>,
    fill: Fill,
}

impl<T: Real> Contacts<T> {
    /// The empty set for `nodes` nodes with b unknowns each.
    ///
    /// # Errors
    /// [`SparseError::BlockSize`] for b = 0, [`SparseError::TooLarge`] if node indices do not fit `u32`.
    pub fn new(nodes: usize, b: usize) -> Result<Self, SparseError> {
        let limit = u32::MAX as usize;
        if b == 0 {
            return Err(SparseError::BlockSize {
                rows: nodes,
                columns: nodes,
                block_rows: b,
                block_columns: b,
            });
        }
        if nodes.saturating_mul(b) > limit {
            return Err(SparseError::TooLarge { what: "rows", count: nodes.saturating_mul(b), limit });
        }
        Ok(Self { nodes, block: b, places: Vec::new(), values: Vec::new(), fill: Fill::default() })
    }

    /// Replaces the set by the blocks of contacts. Contact k adds w_a w_c K_k to block (a, c) for every pair
    /// of its nodes, with K_k = `stiffness[k·b² .. (k + 1)·b²]`, row-major.
    ///
    /// Contacts that share a pair of nodes are summed in the order of the list. The set is symmetric if every
    /// K is symmetric. *Cost* a pass over the contacts, a sort of each row and a pass over the blocks. These
    /// run in parallel, with the same bits for any number of threads. Memory is allocated only if the set or
    /// the temporary storage must grow.
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are b² values per contact, [`SparseError::Row`] for a node that
    /// does not exist, [`SparseError::Itself`] if a contact contains a node twice. On error, the old set is
    /// kept.
    pub fn assemble(&mut self, contacts: &[Stencil], stiffness: &[T]) -> Result<(), SparseError> {
        let size = self.block * self.block;
        let (expected, found) = (contacts.len() * size, stiffness.len());
        if expected != found {
            return Err(SparseError::Length { what: "contact stiffness", expected, found });
        }
        let Self { nodes, places, values, fill, .. } = self;
        fill.run(*nodes, size, &StencilElements { contacts, stiffness, size }, places, values)
    }

    /// Replaces the set by blocks. `places[k]` is the row node and the column node of block k. Its row-major
    /// values are `values[k·b² .. (k + 1)·b²]`. Duplicates are summed in the order of the list.
    ///
    /// *Cost* as [`assemble`](Self::assemble).
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are b² values per place, [`SparseError::Row`] or
    /// [`SparseError::Column`] for a node that does not exist. On error, the old set is kept.
    pub fn replace(&mut self, places: &[(u32, u32)], values: &[T]) -> Result<(), SparseError> {
        let size = self.block * self.block;
        let (expected, found) = (places.len() * size, values.len());
        if expected != found {
            return Err(SparseError::Length { what: "contact values", expected, found });
        }
        let blocks = Blocks { places, values, size };
        self.fill.run(self.nodes, size, &blocks, &mut self.places, &mut self.values)
    }

    /// Lists in `touched` the block rows whose columns differ from those of `before`, in increasing order.
    /// These rows have gained or lost a block.
    ///
    /// Preconditioners use this list in `patch`. Rows with changed values but unchanged columns are not
    /// listed. *Cost* one pass over the block positions of both sets.
    ///
    /// ```
    /// use coarsen_sparse::{Contacts, Stencil};
    /// let mut before = Contacts::<f64>::new(5, 1)?;
    /// before.assemble(&[Stencil::point_point(0, 1), Stencil::point_point(2, 3)], &[1.0, 1.0])?;
    /// let mut now = before.clone();
    /// now.assemble(&[Stencil::point_point(0, 1), Stencil::point_point(2, 4)], &[5.0, 1.0])?;
    /// let mut touched = Vec::new();
    /// now.touched_since(&before, &mut touched);
    /// assert_eq!(touched, [2, 3, 4]);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn touched_since(&self, before: &Self, touched: &mut Vec<u32>) {
        touched.clear();
        differing_rows([&before.places[..], &self.places[..]], |row| touched.push(row));
    }

    /// The number of block rows and columns of the matrix to which the set is added.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// The number of unknowns of a node; blocks are square.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The number of stored blocks.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The block row and column of each block, in increasing order.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// All values, concatenated block by block.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The blocks of the given block rows, in order, as (row, column, values).
    pub fn blocks(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = (usize, usize, &[T])> {
        let (places, values) = self.rows(rows);
        let values = values.chunks_exact(self.block * self.block);
        places.iter().zip(values).map(|(&(i, j), v)| (i as usize, j as usize, v))
    }

    /// The places and the values of the blocks of the given block rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> (&[(u32, u32)], &[T]) {
        let size = self.block * self.block;
        let first = self.places.partition_point(|p| (p.0 as usize) < rows.start);
        let count = self.places[first..].partition_point(|p| (p.0 as usize) < rows.end);
        let range = first..first + count;
        (&self.places[range.clone()], &self.values[range.start * size..range.end * size])
    }
}

/// The contacts and their stiffness matrices.
struct StencilElements<'a, T> {
    contacts: &'a [Stencil],
    stiffness: &'a [T],
    size: usize,
}

impl<T: Real> Elements<T> for StencilElements<'_, T> {
    fn count(&self) -> usize {
        self.contacts.len()
    }

    #[inline]
    fn rows(&self, e: usize) -> &[u32] {
        self.contacts[e].nodes()
    }

    #[inline]
    fn columns(&self, e: usize) -> &[u32] {
        self.contacts[e].nodes()
    }

    fn check(&self, e: usize, nodes: usize) -> Option<SparseError> {
        let contact = &self.contacts[e];
        let outside = contact.nodes().iter().find(|&&i| i as usize >= nodes);
        match (outside, contact.repeated()) {
            (Some(&i), _) => Some(SparseError::Row { entry: e, row: i as usize, rows: nodes }),
            (None, Some(i)) => Some(SparseError::Itself { contact: e, node: i as usize }),
            (None, None) => None,
        }
    }

    #[inline]
    fn add(&self, e: usize, r: usize, c: usize, sum: &mut [T]) {
        let weights = self.contacts[e].weights();
        let w = T::from_f64(weights[r] * weights[c]);
        let k = &self.stiffness[e * self.size..(e + 1) * self.size];
        match (<&[T; 9]>::try_from(k), <&mut [T; 9]>::try_from(&mut *sum)) {
            (Ok(k), Ok(sum)) => sum.iter_mut().zip(k).for_each(|(s, &k)| *s += w * k),
            _ => sum.iter_mut().zip(k).for_each(|(s, &k)| *s += w * k),
        }
    }
}

/// Visits the rows whose columns differ between two sorted lists of [`Contacts::places`], in increasing order.
pub fn differing_rows([mut old, mut new]: [&[(u32, u32)]; 2], mut visit: impl FnMut(u32)) {
    while let Some(row) = old.first().into_iter().chain(new.first()).map(|place| place.0).min() {
        let [was, is] = [&mut old, &mut new].map(|places| {
            let (row, rest) = places.split_at(places.iter().take_while(|place| place.0 == row).count());
            *places = rest;
            row
        });
        if was != is {
            visit(row);
        }
    }
}

/// Blocks with explicit positions.
struct Blocks<'a, T> {
    places: &'a [(u32, u32)],
    values: &'a [T],
    size: usize,
}

impl<T: Real> Elements<T> for Blocks<'_, T> {
    fn count(&self) -> usize {
        self.places.len()
    }

    #[inline]
    fn rows(&self, e: usize) -> &[u32] {
        std::slice::from_ref(&self.places[e].0)
    }

    #[inline]
    fn columns(&self, e: usize) -> &[u32] {
        std::slice::from_ref(&self.places[e].1)
    }

    fn check(&self, e: usize, nodes: usize) -> Option<SparseError> {
        let (row, column) = (self.places[e].0 as usize, self.places[e].1 as usize);
        match (row < nodes, column < nodes) {
            (false, _) => Some(SparseError::Row { entry: e, row, rows: nodes }),
            (true, false) => Some(SparseError::Column { row, column, columns: nodes }),
            (true, true) => None,
        }
    }

    #[inline]
    fn add(&self, e: usize, _: usize, _: usize, sum: &mut [T]) {
        sum.iter_mut().zip(&self.values[e * self.size..(e + 1) * self.size]).for_each(|(s, &v)| *s += v);
    }
}
