//! Assembly by owners: every rank computes the elements that touch its rows, and no entry is sent.
//!
//! | symbol | here | |
//! |---|---|---|
//! | assembly element | a stencil | the nodes of a force; its Hessian has a block for each pair of them |
//! | Index Table | `offsets`, `columns` | the block columns of each own row |
//! | Value Table | the values of [`GlobalRows`] | |
//!
//! Step numbers at line ends follow Li et al. 2020, §3.2.2. Deviations: rows have their own lengths instead
//! of the longest length, since the product is in block sparse rows; tables are filled in the order of
//! elements instead of by atomic additions, so that the bits depend neither on threads nor on ranks.

use std::sync::Arc;

use coarsen_core::Real;

use crate::{Communicator, DistError, GlobalRows, Partition};

/// The pattern of the rows of this rank, and the elements that contribute to them.
///
/// *Use* if elements are cheap to compute or couple few ranks: elements at the border of two ranks are
/// computed on both. Otherwise see [`Entries`](crate::Entries).
///
/// ```
/// use coarsen_distributed::{Layout, OwnerFill, Partition, SelfComm};
/// let partition = Partition::new(SelfComm, Layout::even(3, 1, 1)?)?;
/// let springs = OwnerFill::new(&partition, [[0, 1], [1, 2]])?;
/// let rows = springs.fill(|_, hessian| hessian.copy_from_slice(&[1.0, -1.0, -1.0, 1.0]))?;
/// assert_eq!(rows.row(1).map(|(j, v)| (j, v[0])).collect::<Vec<_>>(), [(0, -1.0), (1, 2.0), (2, -1.0)]);
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
pub struct OwnerFill<C: Communicator> {
    partition: Arc<Partition<C>>,
    /// The elements that touch own rows: their numbers in the list, and where their nodes begin.
    elements: Vec<usize>,
    starts: Vec<usize>,
    nodes: Vec<u64>,
    offsets: Vec<usize>,
    columns: Vec<u64>,
}

impl<C: Communicator> OwnerFill<C> {
    /// The pattern of the elements with the given nodes (block rows). All ranks list the elements in the same
    /// order; elements without a node of this rank are dropped. No message is sent.
    ///
    /// # Errors
    /// [`DistError::Column`] for a node that does not exist.
    pub fn new<S: AsRef<[u64]>>(
        partition: &Arc<Partition<C>>,
        stencils: impl IntoIterator<Item = S>,
    ) -> Result<Self, DistError> {
        let (own, rows) = (partition.layout().range(partition.rank()), partition.layout().rows());
        let (mut elements, mut starts, mut nodes) = (Vec::new(), vec![0], Vec::new());
        for (element, stencil) in stencils.into_iter().enumerate() {
            let stencil = stencil.as_ref();
            if let Some(&column) = stencil.iter().find(|node| **node >= rows) {
                return Err(DistError::Column { row: stencil[0], column, columns: rows });
            }
            if stencil.iter().any(|node| own.contains(node)) {
                elements.push(element);
                nodes.extend_from_slice(stencil);
                starts.push(nodes.len());
            }
        }
        let mut fill = Self {
            partition: partition.clone(),
            elements,
            starts,
            nodes,
            offsets: Vec::new(),
            columns: Vec::new(),
        };
        fill.index();
        Ok(fill)
    }

    /// The Index Table.
    fn index(&mut self) {
        let mut starts = vec![0; self.partition.count() + 1];
        self.each_row(|k, stencil| starts[k + 1] += stencil.len()); // 1
        for k in 0..self.partition.count() {
            starts[k + 1] += starts[k];
        }
        let (mut table, mut next) = (vec![0; starts[self.partition.count()]], starts.clone());
        self.each_row(|k, stencil| {
            table[next[k]..next[k] + stencil.len()].copy_from_slice(stencil); // 2
            next[k] += stencil.len();
        });
        self.offsets.push(0);
        for row in starts.windows(2) {
            let row = &mut table[row[0]..row[1]];
            row.sort_unstable(); // 3
            let first = self.columns.len();
            for &column in &*row {
                if self.columns[first..].last() != Some(&column) {
                    self.columns.push(column); // 3
                }
            }
            self.offsets.push(self.columns.len());
        }
    }

    /// Calls `f` with every own row of every element.
    fn each_row(&self, mut f: impl FnMut(usize, &[u64])) {
        let own = self.partition.layout().range(self.partition.rank());
        for bounds in self.starts.windows(2) {
            let stencil = &self.nodes[bounds[0]..bounds[1]];
            for node in stencil.iter().filter(|node| own.contains(node)) {
                f((node - own.start) as usize, stencil);
            }
        }
    }

    /// The numbers of the elements that this rank computes, in the order of the list.
    pub fn elements(&self) -> &[usize] {
        &self.elements
    }

    /// The rows of this rank. `hessian(element, to)` writes the matrix of an element with k nodes: k b rows
    /// and columns, row-major, in the order of its nodes. `to` holds zeros.
    ///
    /// *Cost* each element once on every rank that owns one of its nodes; no message.
    ///
    /// # Errors
    /// None for a valid pattern.
    pub fn fill<T: Real>(
        &self,
        mut hessian: impl FnMut(usize, &mut [T]),
    ) -> Result<GlobalRows<T>, DistError> {
        let (own, b) =
            (self.partition.layout().range(self.partition.rank()), self.partition.layout().block());
        let mut values = vec![T::zero(); self.columns.len() * b * b]; // 4
        let mut matrix = Vec::new();
        for (&element, bounds) in self.elements.iter().zip(self.starts.windows(2)) {
            let stencil = &self.nodes[bounds[0]..bounds[1]];
            let width = stencil.len() * b;
            matrix.clear();
            matrix.resize(width * width, T::zero());
            hessian(element, &mut matrix);
            self.partition.comm().worked(matrix.len());
            for (r, node) in stencil.iter().enumerate().filter(|(_, node)| own.contains(node)) {
                let row = (node - own.start) as usize;
                let row = self.offsets[row]..self.offsets[row + 1];
                for (c, column) in stencil.iter().enumerate() {
                    let Ok(at) = self.columns[row.clone()].binary_search(column) else { continue };
                    let to = &mut values[(row.start + at) * b * b..][..b * b];
                    for (k, to) in to.chunks_exact_mut(b).enumerate() {
                        let from = &matrix[(r * b + k) * width + c * b..][..b];
                        to.iter_mut().zip(from).for_each(|(to, v)| *to += *v); // 5
                    }
                }
            }
        }
        GlobalRows::new(own.start, (b, b), self.offsets.clone(), self.columns.clone(), values)
    }
}
