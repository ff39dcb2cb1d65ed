//! The local matrices of a rank: diagonal part, parts per owner of the columns, or all columns in one matrix.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_ii | [`Parts::own`] | columns of this rank |
//! | A_ij | `Parts::others[j]` | columns of rank j, without the empty ones |
//! | A_i | [`Merged::all`] | all columns, in their global order |
//! | ghosts | [`Ghosts`] | the columns of other ranks that occur in the rows of this rank |

use std::ops::Range;
use std::sync::Arc;

use coarsen_sparse::{Bsr, Pattern, SparseError};

use super::chunks::leaf;
use super::rows::GlobalRows;
use crate::{Layout, Number};

/// The global columns of other ranks, increasing, and where those of each rank lie among them.
pub(super) struct Ghosts {
    pub(super) columns: Vec<u64>,
    pub(super) of_rank: Vec<Range<usize>>,
}

impl Ghosts {
    pub(super) fn of<T: Number>(rows: &GlobalRows<T>, layout: &Layout, rank: usize) -> Self {
        let own = layout.range(rank);
        let mut columns: Vec<u64> = rows.columns().iter().copied().filter(|j| !own.contains(j)).collect();
        columns.sort_unstable();
        columns.dedup();
        let at = |start: u64| columns.partition_point(|&j| j < start);
        let of_rank = (0..layout.ranks()).map(|r| at(layout.range(r).start)..at(layout.range(r).end));
        let of_rank = of_rank.collect();
        Self { columns, of_rank }
    }
}

/// The entries of some columns as a matrix: `place` returns the local column of a global column.
fn select<T: Number>(
    rows: &GlobalRows<T>,
    width: usize,
    place: impl Fn(u64) -> Option<usize>,
) -> Result<Bsr<T>, SparseError> {
    let (all, (r, c)) = (rows.columns(), rows.block());
    if width == 0 {
        let pattern = Pattern::new(0, vec![0; rows.count() + 1], Vec::new())?;
        return Bsr::new(Arc::new(pattern), (r, c), Vec::new());
    }
    let (mut offsets, mut indices) = (Vec::with_capacity(rows.count() + 1), Vec::with_capacity(all.len()));
    // Runs of kept entries, so that `place` is asked once and values are copied in few pieces.
    let mut runs: Vec<Range<usize>> = Vec::new();
    offsets.push(0);
    for row in rows.offsets().windows(2) {
        for (at, &j) in (row[0]..row[1]).zip(&all[row[0]..row[1]]) {
            let Some(local) = place(j) else { continue };
            // A column that does not fit u32 is above `width`, which `Pattern::new` then refuses.
            indices.push(u32::try_from(local).unwrap_or(u32::MAX));
            match runs.last_mut().filter(|run| run.end == at) {
                Some(run) => run.end += 1,
                None => runs.push(at..at + 1),
            }
        }
        offsets.push(indices.len());
    }
    indices.shrink_to_fit();
    let size = r * c;
    let mut values = Vec::with_capacity(indices.len() * size);
    runs.iter().for_each(|run| values.extend_from_slice(&rows.values()[run.start * size..run.end * size]));
    Bsr::new(Arc::new(Pattern::new(width, offsets, indices)?), (r, c), values)
}

fn own_column(own: &Range<u64>, j: u64) -> Option<usize> {
    own.contains(&j).then(|| (j - own.start) as usize)
}

/// The row block of a rank, cut by the owners of the columns (Li et al. 2020, eq. 5).
pub(super) struct Parts<T> {
    pub(super) own: Bsr<T>,
    pub(super) others: Vec<Bsr<T>>,
    /// The leaves of rows of `own` with columns of other ranks, increasing.
    pub(super) border: Vec<usize>,
}

impl<T: Number> Parts<T> {
    pub(super) fn new(rows: &GlobalRows<T>, ghosts: &Ghosts, own: Range<u64>) -> Result<Self, SparseError> {
        let width = (own.end - own.start) as usize;
        let of_rank = |range: &Range<usize>| {
            let columns = &ghosts.columns[range.clone()];
            select(rows, columns.len(), |j| columns.binary_search(&j).ok())
        };
        let others = ghosts.of_rank.iter().map(of_rank).collect::<Result<Vec<_>, _>>()?;
        let own = select(rows, width, |j| own_column(&own, j))?;
        let has_ghosts = |k: &usize| {
            others.iter().any(|part| part.pattern().offsets()[*k] < part.pattern().offsets()[*k + 1])
        };
        let mut border: Vec<usize> = (0..rows.count()).filter(has_ghosts).map(|k| k / leaf(&own)).collect();
        border.dedup();
        Ok(Self { own, others, border })
    }
}

/// The row block of a rank in one matrix, whose columns are ghosts and own columns in global order.
pub(super) struct Merged<T> {
    pub(super) all: Bsr<T>,
    /// The number of ghosts before the own columns.
    pub(super) before: usize,
}

impl<T: Number> Merged<T> {
    pub(super) fn new(rows: &GlobalRows<T>, ghosts: &Ghosts, own: Range<u64>) -> Result<Self, SparseError> {
        let before = ghosts.columns.partition_point(|&j| j < own.start);
        let count = (own.end - own.start) as usize;
        let place = |j: u64| match own_column(&own, j) {
            Some(at) => Some(before + at),
            None => {
                ghosts.columns.binary_search(&j).ok().map(|at| if j < own.start { at } else { at + count })
            }
        };
        Ok(Self { all: select(rows, count + ghosts.columns.len(), place)?, before })
    }

    /// The values of all columns: own values and ghosts, in global order.
    pub(super) fn gather(&self, own: &[T], ghosts: &[T], into: &mut Vec<T>) {
        let before = self.before * self.all.block().1;
        into.clear();
        into.extend_from_slice(&ghosts[..before]);
        into.extend_from_slice(own);
        into.extend_from_slice(&ghosts[before..]);
    }
}
