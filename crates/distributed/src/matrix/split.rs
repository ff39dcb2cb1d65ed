//! The local matrices of a rank: diagonal part, parts per owner of the columns, or all columns in one matrix.
//!
//! | symbol | here | |
//! |---|---|---|
//! | A_ii | [`Parts::own`] | columns of this rank |
//! | A_ij | `Parts::others[j]` | columns of rank j, without the empty ones, of the rows that have any |
//! | A_i | [`Merged::all`] | all columns, in their global order |
//! | ghosts | [`Ghosts`] | the columns of other ranks that occur in the rows of this rank |

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern, SparseError};

use super::chunks::leaf;
use super::rows::GlobalRows;
use crate::Layout;

/// Where the columns of this rank lie in its rows. Columns of a row increase, so they are consecutive.
pub(super) struct Inside<'a, T> {
    rows: &'a GlobalRows<T>,
    own: Range<u64>,
}

impl<'a, T: Real> Inside<'a, T> {
    pub(super) fn new(rows: &'a GlobalRows<T>, own: Range<u64>) -> Self {
        Self { rows, own }
    }

    /// The entries of row k in own columns.
    fn of(&self, k: usize) -> Range<usize> {
        let (start, end) = (self.rows.offsets()[k], self.rows.offsets()[k + 1]);
        let columns = &self.rows.columns()[start..end];
        // Most rows have no other columns.
        let all = columns.first().is_none_or(|&j| j >= self.own.start)
            && columns.last().is_none_or(|&j| j < self.own.end);
        if all {
            return start..end;
        }
        let at = |j: u64| start + columns.partition_point(|&column| column < j);
        at(self.own.start)..at(self.own.end)
    }

    /// The rows with columns of other ranks, increasing.
    pub(super) fn border(&self) -> Vec<u32> {
        let offsets = self.rows.offsets();
        let has_others = |k: &usize| self.of(*k) != (offsets[*k]..offsets[*k + 1]);
        (0..self.rows.count()).filter(has_others).map(|k| k as u32).collect()
    }

    /// The entries of row k in columns of other ranks.
    fn outside(&self, k: usize) -> impl Iterator<Item = usize> {
        let (inside, offsets) = (self.of(k), self.rows.offsets());
        (offsets[k]..inside.start).chain(inside.end..offsets[k + 1])
    }

    /// The columns of this rank.
    pub(super) fn own(&self) -> Result<Bsr<T>, SparseError> {
        let (all, from, (r, c)) = (self.rows.columns(), self.rows.values(), self.rows.block());
        let (mut offsets, mut indices) =
            (Vec::with_capacity(self.rows.count() + 1), Vec::with_capacity(all.len()));
        // Runs of kept entries, so that values are copied in few pieces.
        let mut runs: Vec<Range<usize>> = Vec::new();
        offsets.push(0);
        for k in 0..self.rows.count() {
            let inside = self.of(k);
            let local = |j: &u64| u32::try_from(j - self.own.start).unwrap_or(u32::MAX);
            indices.extend(all[inside.clone()].iter().map(local));
            match runs.last_mut().filter(|run| run.end == inside.start) {
                Some(run) => run.end = inside.end,
                None => runs.push(inside),
            }
            offsets.push(indices.len());
        }
        indices.shrink_to_fit();
        let width = (self.own.end - self.own.start) as usize;
        let mut values = Vec::with_capacity(indices.len() * r * c);
        runs.iter().for_each(|run| values.extend_from_slice(&from[run.start * r * c..run.end * r * c]));
        // A column that does not fit u32 is above `width`, which `Pattern::new` refuses.
        Bsr::new(Arc::new(Pattern::new(width, offsets, indices)?), (r, c), values)
    }
}

/// The global columns of other ranks, increasing, and where those of each rank lie among them.
pub(super) struct Ghosts {
    pub(super) columns: Vec<u64>,
    pub(super) of_rank: Vec<Range<usize>>,
}

impl Ghosts {
    /// No columns of other ranks.
    pub(super) fn none(ranks: usize) -> Self {
        Self { columns: Vec::new(), of_rank: vec![0..0; ranks] }
    }

    /// The columns of one rank.
    pub(super) fn of_rank(&self, rank: usize) -> &[u64] {
        &self.columns[self.of_rank[rank].clone()]
    }

    pub(super) fn of<T: Real>(rows: &GlobalRows<T>, layout: &Layout, rank: usize) -> Self {
        let inside = Inside::new(rows, layout.range(rank));
        let outside = (0..rows.count()).flat_map(|k| inside.outside(k));
        let mut columns: Vec<u64> = outside.map(|at| rows.columns()[at]).collect();
        columns.sort_unstable();
        columns.dedup();
        let at = |start: u64| columns.partition_point(|&j| j < start);
        let of_rank = (0..layout.ranks()).map(|r| at(layout.range(r).start)..at(layout.range(r).end));
        let of_rank = of_rank.collect();
        Self { columns, of_rank }
    }
}

/// The entries of this rank in some ghost columns, with the rows that have any.
pub(super) struct OffDiagonal<T> {
    /// The rows of this rank, increasing.
    pub(super) rows: Vec<u32>,
    pub(super) a: Bsr<T>,
}

impl<T: Real> OffDiagonal<T> {
    /// The entries of the `border` in the global `columns`, which increase and are not of this rank.
    pub(super) fn new(inside: &Inside<'_, T>, border: &[u32], columns: &[u64]) -> Result<Self, SparseError> {
        let (rows, size) = (inside.rows, inside.rows.block().0 * inside.rows.block().1);
        let (mut with, mut offsets, mut indices, mut values) = (Vec::new(), vec![0], Vec::new(), Vec::new());
        for &k in border.iter().take_while(|_| !columns.is_empty()) {
            for at in inside.outside(k as usize) {
                let Ok(local) = columns.binary_search(&rows.columns()[at]) else { continue };
                indices.push(u32::try_from(local).unwrap_or(u32::MAX));
                values.extend_from_slice(&rows.values()[at * size..(at + 1) * size]);
            }
            if offsets.last() != Some(&indices.len()) {
                with.push(k);
                offsets.push(indices.len());
            }
        }
        let pattern = Pattern::new(columns.len(), offsets, indices)?;
        Ok(Self { rows: with, a: Bsr::new(Arc::new(pattern), rows.block(), values)? })
    }

    /// Whether it has the same rows and columns.
    pub(super) fn has_pattern_of(&self, other: &Self) -> bool {
        self.rows == other.rows && Pattern::same(self.a.pattern(), other.a.pattern())
    }
}

/// The row block of a rank, cut by the owners of the columns (Li et al. 2020, eq. 5).
pub(super) struct Parts<T> {
    pub(super) own: Bsr<T>,
    pub(super) others: Vec<OffDiagonal<T>>,
    /// The leaves of rows of `own` with columns of other ranks, in ranges that increase and do not touch. The last leaf may
    /// have fewer rows.
    pub(super) border: Vec<Range<usize>>,
}

impl<T: Real> Parts<T> {
    pub(super) fn new(rows: &GlobalRows<T>, ghosts: &Ghosts, own: Range<u64>) -> Result<Self, SparseError> {
        let inside = Inside::new(rows, own);
        let (own, at_border) = (inside.own()?, inside.border());
        let of_rank =
            |range: &Range<usize>| OffDiagonal::new(&inside, &at_border, &ghosts.columns[range.clone()]);
        let others = ghosts.of_rank.iter().map(of_rank).collect::<Result<Vec<_>, _>>()?;
        let mut border: Vec<Range<usize>> = Vec::new();
        for at in at_border.iter().map(|&k| k as usize / leaf(&own)) {
            match border.last_mut().filter(|last| at <= last.end) {
                Some(last) => last.end = at + 1,
                None => border.push(at..at + 1),
            }
        }
        Ok(Self { own, others, border })
    }
}

/// The row block of a rank in one matrix, whose columns are ghosts and own columns in global order.
pub(super) struct Merged<T> {
    pub(super) all: Bsr<T>,
    /// The number of ghosts before the own columns.
    pub(super) before: usize,
}

impl<T: Real> Merged<T> {
    pub(super) fn new(rows: &GlobalRows<T>, ghosts: &Ghosts, own: Range<u64>) -> Result<Self, SparseError> {
        let before = ghosts.columns.partition_point(|&j| j < own.start);
        let count = (own.end - own.start) as usize;
        let place = |&j: &u64| {
            let ghost = |at| if j < own.start { at } else { at + count };
            let local = match own.contains(&j) {
                true => before + (j - own.start) as usize,
                false => ghosts.columns.binary_search(&j).map_or(usize::MAX, ghost),
            };
            // A column that does not fit u32 is above the width, which `Pattern::new` refuses.
            u32::try_from(local).unwrap_or(u32::MAX)
        };
        let indices = rows.columns().iter().map(place).collect();
        let pattern = Pattern::new(count + ghosts.columns.len(), rows.offsets().to_vec(), indices)?;
        Ok(Self { all: Bsr::new(Arc::new(pattern), rows.block(), rows.values().to_vec())?, before })
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
