//! Lists of the block products in Q = A P and A_c = Pᵀ Q, for a device that stores the values.

use std::sync::Arc;

use crate::{Pattern, SparseError, TransposePlan, fits};

/// The block products of Q = A P and A_c = Pᵀ Q for one pattern of A and one of P.
///
/// Blocks of a pattern are numbered row after row. Every block of Q and A_c is summed in the order of its
/// list, without search and without atomic operations. *Use* if the values of A and P are in device memory;
/// on the host, [`GalerkinPlan`](crate::GalerkinPlan) needs no lists. *Cost* one sort per row. *Memory* 8
/// bytes per block product.
///
/// ```
/// use std::sync::Arc;
/// use coarsen_sparse::{GalerkinLists, Pattern};
/// let a = Pattern::new(2, vec![0, 2, 4], vec![0, 1, 0, 1])?;
/// let p = Arc::new(Pattern::new(1, vec![0, 1, 2], vec![0, 0])?);
/// let lists = GalerkinLists::new(&a, &p)?;
/// assert_eq!(lists.right.of(1), [[2, 0], [3, 1]]); // Q_1 = A_10 P_0 + A_11 P_1
/// assert_eq!(lists.left.of(0), [[0, 0], [1, 1]]); // A_c = P_0ᵀ Q_0 + P_1ᵀ Q_1
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GalerkinLists {
    /// For each block of Q, the pairs (block of A, block of P) whose products are summed.
    pub right: ProductList,
    /// For each block of A_c, the pairs (block of P, block of Q). The block of A_c is the sum of the products
    /// of the transposed first block and the second block.
    pub left: ProductList,
    /// The pattern of A_c.
    pub coarse: Pattern,
}

/// Pairs of factors for each block of a matrix product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductList {
    /// The start of the pairs of each block in `factors`, and the end of the last block.
    pub starts: Vec<u32>,
    /// The numbers of the two blocks that are multiplied.
    pub factors: Vec<[u32; 2]>,
}

impl GalerkinLists {
    /// The lists for the patterns of A and P.
    ///
    /// # Errors
    /// [`SparseError::Shape`] unless A is square and P has as many block rows, [`SparseError::TooLarge`] if
    /// `u32` cannot count the block products.
    pub fn new(a: &Pattern, p: &Arc<Pattern>) -> Result<Self, SparseError> {
        fits::sizes([
            ("Galerkin product, block columns of A", a.rows(), a.columns()),
            ("Galerkin product, block rows of P", a.rows(), p.rows()),
        ])?;
        let (mut products, mut right, mut left) = (Vec::new(), ProductList::new(), ProductList::new());
        // The columns of Q, row by row.
        let (mut columns, mut offsets) = (Vec::new(), vec![0]);
        for i in 0..a.rows() {
            for m in a.range(i) {
                let row = p.range(a.indices()[m] as usize);
                products.extend(row.map(|l| (p.indices()[l], [m as u32, l as u32])));
            }
            right.row(&mut products, |column| columns.push(column))?;
            offsets.push(columns.len());
        }
        let transpose = TransposePlan::new(p)?;
        let (restriction, source) = (transpose.pattern(), transpose.source());
        let (mut coarse, mut ends) = (Vec::new(), vec![0]);
        for row in 0..restriction.rows() {
            for at in restriction.range(row) {
                let fine = restriction.indices()[at] as usize;
                let blocks = offsets[fine]..offsets[fine + 1];
                products.extend(blocks.map(|block| (columns[block], [source[at], block as u32])));
            }
            left.row(&mut products, |column| coarse.push(column))?;
            ends.push(coarse.len());
        }
        let coarse = Pattern::new(restriction.rows(), ends, coarse)?;
        Ok(Self { right, left, coarse })
    }
}

impl ProductList {
    fn new() -> Self {
        Self { starts: vec![0], factors: Vec::new() }
    }

    /// The number of blocks of the product.
    pub fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// The pairs of factors of one block.
    pub fn of(&self, block: usize) -> &[[u32; 2]] {
        &self.factors[self.starts[block] as usize..self.starts[block + 1] as usize]
    }

    /// Appends a row. Products are sorted by column; products of the same column keep their order.
    fn row(
        &mut self,
        products: &mut Vec<(u32, [u32; 2])>,
        mut each: impl FnMut(u32),
    ) -> Result<(), SparseError> {
        products.sort_by_key(|product| product.0);
        for column in products.chunk_by(|a, b| a.0 == b.0) {
            self.factors.extend(column.iter().map(|(_, factors)| factors));
            let (what, count, limit) =
                ("products of a Galerkin product", self.factors.len(), u32::MAX as usize);
            let end = u32::try_from(count).map_err(|_| SparseError::TooLarge { what, count, limit })?;
            self.starts.push(end);
            each(column[0].0);
        }
        products.clear();
        Ok(())
    }
}
