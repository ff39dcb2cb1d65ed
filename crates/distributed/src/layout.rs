//! How block rows are divided among ranks.
//!
//! | symbol | here | |
//! |---|---|---|
//! | n | `ranks()` | number of ranks |
//! | sᵢ | `starts[i]` | first block row of rank i; sₙ is the number of block rows |
//! | b | `block` | unknowns per block row |

use std::ops::Range;

use crate::DistError;

/// Consecutive block rows for each rank; a rank may have none. Indices are global, in 64 bits.
///
/// ```
/// use coarsen_distributed::Layout;
/// let layout = Layout::even(10, 3, 4)?;
/// assert_eq!((layout.range(1), layout.owner(9)), (2..5, 3));
/// # Ok::<(), coarsen_distributed::DistError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    starts: Vec<u64>,
    block: usize,
    leaf: Option<usize>,
}

/// Rows are divided again above this imbalance: a tenth more than the mean on one rank.
const IMBALANCE: f64 = 0.1;

impl Layout {
    /// A layout from the first block row of each rank, followed by the number of block rows.
    ///
    /// # Errors
    /// [`DistError::FirstStart`] if the starts do not begin with 0, [`DistError::Starts`] if they decrease,
    /// [`DistError::Value`] for no rank, an empty block, or more unknowns than `usize` holds.
    pub fn new(starts: Vec<u64>, block: usize) -> Result<Self, DistError> {
        if starts.len() < 2 {
            return Err(DistError::Value { what: "the number of ranks", found: 0, range: "at least 1" });
        }
        if block == 0 {
            return Err(DistError::Value { what: "the block size", found: 0, range: "at least 1" });
        }
        if starts[0] != 0 {
            return Err(DistError::FirstStart { start: starts[0] });
        }
        if let Some(rank) = (0..starts.len() - 1).find(|&rank| starts[rank] > starts[rank + 1]) {
            return Err(DistError::Starts { rank, start: starts[rank], end: starts[rank + 1] });
        }
        let rows = starts[starts.len() - 1];
        if usize::try_from(rows).ok().and_then(|rows| rows.checked_mul(block)).is_none() {
            let range = "a number of rows whose unknowns fit usize";
            return Err(DistError::Value { what: "the number of block rows", found: rows, range });
        }
        Ok(Self { starts, block, leaf: None })
    }

    /// `rows` block rows of `block` unknowns, divided as evenly as whole block rows permit.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn even(rows: u64, block: usize, ranks: usize) -> Result<Self, DistError> {
        let start = |rank: usize| (u128::from(rows) * rank as u128 / ranks.max(1) as u128) as u64;
        Self::new((0..=ranks).map(start).collect(), block)
    }

    /// As [`even`](Self::even), but every rank begins at a multiple of `leaf` block rows, and reductions sum
    /// the leaves in an order that does not depend on the number of ranks.
    ///
    /// *Use* for results with the same bits at any number of ranks.
    ///
    /// # Errors
    /// As [`new`](Self::new) and [`with_leaves`](Self::with_leaves).
    pub fn reproducible(rows: u64, block: usize, ranks: usize, leaf: usize) -> Result<Self, DistError> {
        let rows_of_leaf = leaf.max(1) as u64; // `with_leaves` refuses 0
        let even = Self::even(rows.div_ceil(rows_of_leaf), block, ranks)?;
        let starts = even.starts.iter().map(|start| start.saturating_mul(rows_of_leaf).min(rows)).collect();
        Self::new(starts, block)?.with_leaves(leaf)
    }

    /// As [`reproducible`](Self::reproducible), but ranks have about the same sums of `weights`, of which there is one for each
    /// block row: each rank begins at the leaf that is nearest to its share.
    ///
    /// *Use* if rows differ in work, such as those of nodes in contact. *Cost* one pass over the weights.
    ///
    /// ```
    /// use coarsen_distributed::Layout;
    /// let weights = [5, 5, 1, 1, 1, 1, 1, 1];
    /// let (even, balanced) = (Layout::even(8, 3, 2)?, Layout::balanced(&weights, 3, 2, 2)?);
    /// assert_eq!((balanced.range(0), balanced.range(1)), (0..2, 2..8));
    /// assert_eq!((even.imbalance(&weights), balanced.imbalance(&weights)), (0.5, 0.25));
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// As [`reproducible`](Self::reproducible).
    pub fn balanced(weights: &[u64], block: usize, ranks: usize, leaf: usize) -> Result<Self, DistError> {
        let mut before = vec![0_u128];
        for leaf in weights.chunks(leaf.max(1)) {
            before.push(before[before.len() - 1] + leaf.iter().map(|&w| u128::from(w)).sum::<u128>());
        }
        let all = before[before.len() - 1];
        let start = |rank: usize| {
            // Sums before leaves and the share are multiplied by 2 n, so that the nearest is exact.
            let (n, share) = (ranks.max(1) as u128, 2 * all * rank as u128);
            let next = before.partition_point(|&sum| 2 * n * sum < share);
            let nearer = next > 0 && share - 2 * n * before[next - 1] < 2 * n * before[next] - share;
            (((next - usize::from(nearer)) * leaf.max(1)) as u64).min(weights.len() as u64)
        };
        let starts = (0..ranks).map(start).chain([weights.len() as u64]);
        Self::new(starts.collect(), block)?.with_leaves(leaf)
    }

    /// The largest sum of weights of a rank, divided by the mean, less 1; 0 if all weights are 0. There is a weight for each
    /// block row.
    ///
    /// *Panics* for another number of weights.
    pub fn imbalance(&self, weights: &[u64]) -> f64 {
        assert_eq!(weights.len() as u64, self.rows(), "imbalance: a weight for each block row");
        let of = |rank: usize| {
            let Range { start, end } = self.range(rank);
            weights[start as usize..end as usize].iter().map(|&w| w as f64).sum::<f64>()
        };
        let sums: Vec<f64> = (0..self.ranks()).map(of).collect();
        let (most, all) = (sums.iter().fold(0.0_f64, |m, &v| m.max(v)), sums.iter().sum::<f64>());
        if all > 0.0 { most * self.ranks() as f64 / all - 1.0 } else { 0.0 }
    }

    /// The [`balanced`](Self::balanced) layout for these weights, if this layout has an
    /// [`imbalance`](Self::imbalance) above 0.1 and the new one has less than this one; otherwise `None`, and rows stay where they are.
    /// There is a weight for each block row. The number of ranks, the block and the leaf stay.
    ///
    /// *Use* whenever work has moved, such as that of contact: each move of rows costs messages, and a layout that
    /// is nearly balanced gains little. Follow with a [`Redistribution`](crate::Redistribution). *Cost* two passes over the weights, and a third if rows are divided.
    ///
    /// ```
    /// use coarsen_distributed::Layout;
    /// let even = Layout::even(8, 3, 2)?;
    /// assert_eq!(even.rebalanced(&[1; 8])?, None);
    /// let moved = even.rebalanced(&[4, 4, 1, 1, 2, 1, 1, 2])?.expect("a quarter above the mean");
    /// assert_eq!((moved.range(0), moved.range(1)), (0..2, 2..8));
    /// # Ok::<(), coarsen_distributed::DistError>(())
    /// ```
    ///
    /// # Errors
    /// [`DistError::Length`] for another number of weights.
    pub fn rebalanced(&self, weights: &[u64]) -> Result<Option<Self>, DistError> {
        if weights.len() as u64 != self.rows() {
            let (expected, found) = (self.rows() as usize, weights.len());
            return Err(DistError::Length { what: "the weights of block rows", expected, found });
        }
        let before = self.imbalance(weights);
        if before <= IMBALANCE {
            return Ok(None);
        }
        let new = Self::balanced(weights, self.block, self.ranks(), self.leaf.unwrap_or(1))?;
        let less = new.imbalance(weights) < before;
        Ok(less.then_some(Self { leaf: self.leaf, ..new }))
    }

    /// Sets the reduction: leaves of `leaf` block rows, summed along the tree of the whole vector.
    ///
    /// # Errors
    /// [`DistError::Value`] for an empty leaf or one of more unknowns than `usize` holds,
    /// [`DistError::Unaligned`] if a rank with rows begins inside a leaf.
    pub fn with_leaves(mut self, leaf: usize) -> Result<Self, DistError> {
        if leaf == 0 || leaf.checked_mul(self.block).is_none() {
            let range = "at least 1 block row, and a number of rows whose unknowns fit usize";
            return Err(DistError::Value { what: "the leaf of reductions", found: leaf as u64, range });
        }
        let inside = |&rank: &usize| {
            let start = self.starts[rank];
            start < self.rows() && !start.is_multiple_of(leaf as u64)
        };
        if let Some(rank) = (0..self.ranks()).find(inside) {
            return Err(DistError::Unaligned { rank, start: self.starts[rank], leaf });
        }
        self.leaf = Some(leaf);
        Ok(self)
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of block rows of all ranks.
    pub fn rows(&self) -> u64 {
        self.starts[self.ranks()]
    }

    /// The number of unknowns of a block row.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The number of unknowns of all ranks.
    pub fn unknowns(&self) -> usize {
        self.rows() as usize * self.block
    }

    /// The number of block rows per leaf of a reproducible reduction; `None` if each rank sums its own rows.
    pub fn leaf(&self) -> Option<usize> {
        self.leaf
    }

    /// The block rows of a rank.
    pub fn range(&self, rank: usize) -> Range<u64> {
        self.starts[rank]..self.starts[rank + 1]
    }

    /// The first block row of a rank; with `ranks()`, the number of block rows.
    pub(crate) fn start(&self, rank: usize) -> u64 {
        self.starts[rank]
    }

    /// The number of block rows of a rank.
    pub fn count(&self, rank: usize) -> usize {
        (self.starts[rank + 1] - self.starts[rank]) as usize
    }

    /// The rank of a block row. *Panics* if the row does not exist.
    pub fn owner(&self, row: u64) -> usize {
        assert!(row < self.rows(), "owner: block row {row} of {}", self.rows());
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// All numbers of the layout, to compare the layouts of ranks.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let own = [self.block as u64, self.leaf.map_or(0, |leaf| leaf as u64)];
        own.into_iter().chain(self.starts.iter().copied())
    }
}
