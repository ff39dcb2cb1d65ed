//! A small set of node-node blocks that changes from step to step.

use coarsen_core::Real;

use crate::SparseError;

/// Blocks of b x b at pairs of nodes, sorted by row and column: what contact, friction or springs made on the fly add to
/// the matrix of a body.
///
/// The set is replaced as a whole and keeps its capacity, so a simulation does not allocate once the largest set has been
/// seen. Each stored block stands at one place: a contact between nodes i and j gives four, (i, i), (i, j), (j, i) and
/// (j, j), and the set is symmetric only if the caller gives both (i, j) and (j, i), transposes of each other.
///
/// *Use* for sets that are small beside the matrix; a large set that stays belongs into the matrix
/// ([`Sum::merge`](crate::Sum::merge)). *Memory* (b² s + 12) bytes a block, s = bytes of T.
///
/// *Reference* Wu et al. 2022, "A GPU-based multilevel additive Schwarz preconditioner for cloth and deformable body
/// simulation", §4.2: contact stays apart from the matrix, whose structure does not change.
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
    order: Vec<u32>,
}

impl<T: Real> Contacts<T> {
    /// The empty set over some nodes with b unknowns each.
    ///
    /// # Errors
    /// [`SparseError::BlockSize`] for b = 0, [`SparseError::TooLarge`] when nodes would not fit `u32`.
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
        Ok(Self { nodes, block: b, places: Vec::new(), values: Vec::new(), order: Vec::new() })
    }

    /// Another set: block k sits at (row node, column node) `places[k]` and holds `values[k·b² .. (k + 1)·b²]`, row-major;
    /// duplicates are summed in the order given.
    ///
    /// *Cost* a sort of the places; no allocation while the set is not larger than any before.
    ///
    /// # Errors
    /// [`SparseError::Length`] unless there are b² values a place, [`SparseError::Row`] or [`SparseError::Column`] for a
    /// node that does not exist; the old set is kept then.
    pub fn replace(&mut self, places: &[(u32, u32)], values: &[T]) -> Result<(), SparseError> {
        let (size, limit) = (self.block * self.block, u32::MAX as usize);
        let (expected, found) = (places.len() * size, values.len());
        if expected != found {
            return Err(SparseError::Length { what: "contact values", expected, found });
        }
        if places.len() > limit {
            return Err(SparseError::TooLarge { what: "contact blocks", count: places.len(), limit });
        }
        for (entry, &(i, j)) in places.iter().enumerate() {
            let (row, column) = (i as usize, j as usize);
            if row >= self.nodes {
                return Err(SparseError::Row { entry, row, rows: self.nodes });
            }
            if column >= self.nodes {
                return Err(SparseError::Column { row, column, columns: self.nodes });
            }
        }
        self.order.clear();
        self.order.extend(0..places.len() as u32);
        self.order.sort_unstable_by_key(|&k| (places[k as usize], k));
        self.places.clear();
        self.values.clear();
        for &k in &self.order {
            let (k, place) = (k as usize, places[k as usize]);
            let block = &values[k * size..(k + 1) * size];
            if self.places.last() == Some(&place) {
                let sum = self.values.len() - size;
                self.values[sum..].iter_mut().zip(block).for_each(|(s, &v)| *s += v);
            } else {
                self.places.push(place);
                self.values.extend_from_slice(block);
            }
        }
        Ok(())
    }

    /// Block rows and columns of the matrix that this set adds to.
    pub fn nodes(&self) -> usize {
        self.nodes
    }

    /// Unknowns of a node: blocks are square.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Stored blocks.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether nothing is in contact.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Block row and column of each block, increasing.
    pub fn places(&self) -> &[(u32, u32)] {
        &self.places
    }

    /// All values, block after block.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The blocks of some block rows, in order: (row, column, values).
    pub fn blocks(
        &self,
        rows: std::ops::Range<usize>,
    ) -> impl ExactSizeIterator<Item = (usize, usize, &[T])> {
        let size = self.block * self.block;
        let first = self.places.partition_point(|p| (p.0 as usize) < rows.start);
        let count = self.places[first..].partition_point(|p| (p.0 as usize) < rows.end);
        let range = first..first + count;
        let values = self.values[range.start * size..range.end * size].chunks_exact(size);
        self.places[range].iter().zip(values).map(|(&(i, j), v)| (i as usize, j as usize, v))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_keeps_the_memory() {
        let mut c = Contacts::<f64>::new(10, 2).unwrap();
        let places: Vec<(u32, u32)> = (0..10).rev().map(|i| (i, (i * 7) % 10)).collect();
        let values: Vec<f64> = (0..40).map(f64::from).collect();
        c.replace(&places, &values).unwrap();
        assert!(c.places().is_sorted());
        assert_eq!(c.blocks(9..10).next(), Some((9, 3, &values[..4])));
        let kept = (c.places.as_ptr(), c.values.as_ptr(), c.order.as_ptr());
        c.replace(&places[..3], &values[..12]).unwrap();
        assert_eq!((c.len(), c.blocks(0..7).len(), c.blocks(7..9).len()), (3, 0, 2));
        c.replace(&places, &values).unwrap();
        assert_eq!(kept, (c.places.as_ptr(), c.values.as_ptr(), c.order.as_ptr()));
    }

    #[test]
    fn bad_sets_are_named_and_change_nothing() {
        let mut c = Contacts::<f64>::new(2, 1).unwrap();
        c.replace(&[(1, 1)], &[5.0]).unwrap();
        let refused = [
            c.replace(&[(0, 0)], &[]).unwrap_err(),
            c.replace(&[(0, 0), (2, 0)], &[0.0; 2]).unwrap_err(),
            c.replace(&[(0, 3)], &[0.0]).unwrap_err(),
        ];
        assert_eq!(refused[1], SparseError::Row { entry: 1, row: 2, rows: 2 });
        assert_eq!(refused[2], SparseError::Column { row: 0, column: 3, columns: 2 });
        assert!(matches!(refused[0], SparseError::Length { expected: 1, found: 0, .. }));
        assert_eq!((c.places(), c.values()), (&[(1, 1)][..], &[5.0][..]));
        assert!(Contacts::<f64>::new(1 << 31, 2).is_err() && Contacts::<f64>::new(1, 0).is_err());
    }
}
