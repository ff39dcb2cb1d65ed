//! The pattern of S A S.
//!
//! Filters of single nodes only change the values of their rows and columns, so the pattern of A is kept. A
//! group of several nodes couples its rows and columns. A row that contains one of its nodes contains all of
//! them, and all rows of the group have the same columns.

use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_sparse::{BlockRows, Pattern, SparseError};

use super::groups::{ConstraintGroups, NONE, refill};

/// Pads a list that is longer than its content.
const END: u32 = u32::MAX;

/// Memory for patterns that change between steps.
#[derive(Clone, Debug, Default)]
pub(super) struct Symbolic {
    /// The start of each column list. A row that is in no group of several nodes has a list if it contains a
    /// node of such a group. The lists of the groups follow the lists of the rows.
    bounds: Vec<usize>,
    /// The column lists. Each is sorted and padded with [`END`].
    listed_columns: Vec<u32>,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    /// A replaced pattern that is still in use elsewhere.
    in_use: Option<Arc<Pattern>>,
}

impl Symbolic {
    /// The pattern of S A S if some groups have several nodes.
    pub(super) fn find(&mut self, a: &Pattern, groups: &ConstraintGroups) -> Result<Pattern, SparseError> {
        let n = a.rows();
        let worth = a.len();
        // An upper bound for the length of each list.
        refill(&mut self.bounds, n + groups.count() + 1, 0);
        let nodes_met = |j: u32| groups.several_nodes(j as usize).map_or(1, <[u32]>::len);
        let bound = |unit: usize| match unit.checked_sub(n) {
            None if groups.several_nodes(unit).is_some() => 0,
            None if a.row(unit).iter().any(|&j| groups.several_nodes(j as usize).is_some()) => {
                a.row(unit).iter().map(|&j| nodes_met(j)).sum()
            }
            None => 0,
            Some(g) if groups.has_several_nodes(g) => {
                let rows = groups.nodes(g).iter().flat_map(|&k| a.row(k as usize));
                rows.map(|&j| nodes_met(j)).sum::<usize>() + groups.nodes(g).len()
            }
            Some(_) => 0,
        };
        let numbered = (0..n + groups.count(), &mut self.bounds[1..]);
        parallel::each(numbered, LEAF, parallel::worth(worth), &|(units, bounds): (
            std::ops::Range<usize>,
            &mut [usize],
        )| {
            units.zip(bounds).for_each(|(unit, b)| *b = bound(unit));
        });
        sum_up(&mut self.bounds);
        // The column lists.
        refill(&mut self.listed_columns, self.bounds[n + groups.count()], END);
        BlockRows::new(&self.bounds, 1, &mut self.listed_columns).for_each(worth, |unit, list| {
            if list.is_empty() {
                return;
            }
            let mut end = 0;
            let mut put = |j: u32, list: &mut [u32]| {
                list[end] = j;
                end += 1;
            };
            let mut add_row = |row: &[u32], list: &mut [u32]| {
                for &j in row {
                    match groups.several_nodes(j as usize) {
                        Some(nodes) => nodes.iter().for_each(|&k| put(k, list)),
                        None => put(j, list),
                    }
                }
            };
            match unit.checked_sub(n) {
                None => add_row(a.row(unit), list),
                Some(g) => {
                    groups.nodes(g).iter().for_each(|&k| add_row(a.row(k as usize), list));
                    groups.nodes(g).iter().for_each(|&k| put(k, list));
                }
            }
            list.sort_unstable();
            let distinct = distinct(list);
            list[distinct..].fill(END);
        });
        // Each row is copied from its list, from the list of its group, or from A.
        let row = |i: usize| {
            let unit = if groups.several_nodes(i).is_some() { n + groups.of[i] as usize } else { i };
            let list = &self.listed_columns[self.bounds[unit]..self.bounds[unit + 1]];
            if list.is_empty() { a.row(i) } else { &list[..list.partition_point(|&j| j != END)] }
        };
        refill(&mut self.offsets, n + 1, 0);
        self.offsets[1..].iter_mut().enumerate().for_each(|(i, o)| *o = row(i).len());
        sum_up(&mut self.offsets);
        refill(&mut self.indices, self.offsets[n], 0);
        BlockRows::new(&self.offsets, 1, &mut self.indices)
            .for_each(worth, |i, out| out.copy_from_slice(row(i)));
        let parts = (std::mem::take(&mut self.offsets), std::mem::take(&mut self.indices));
        Pattern::new(a.columns(), parts.0, parts.1)
    }

    /// Replaces the pattern in `place`. The memory of the old pattern is reused for the next pattern.
    pub(super) fn replace(&mut self, place: &mut Arc<Pattern>, pattern: Pattern) {
        match Arc::get_mut(place) {
            Some(old) => {
                (self.offsets, self.indices) = std::mem::replace(old, pattern).into_parts();
            }
            None => self.retire(std::mem::replace(place, Arc::new(pattern))),
        }
    }

    /// Keeps the memory of a replaced pattern for reuse once the pattern is not in use elsewhere.
    pub(super) fn retire(&mut self, pattern: Arc<Pattern>) {
        for old in [self.in_use.take(), Some(pattern)].into_iter().flatten() {
            match Arc::try_unwrap(old) {
                Ok(old) => (self.offsets, self.indices) = old.into_parts(),
                Err(in_use) => self.in_use = Some(in_use),
            }
        }
    }
}

/// The number of rows per task of the count.
const LEAF: usize = 1024;

/// Replaces counts by their running sums.
fn sum_up(counts: &mut [usize]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Moves the distinct numbers of a sorted list to the front and returns how many there are.
fn distinct(list: &mut [u32]) -> usize {
    let mut end = 0;
    for at in 0..list.len() {
        if end == 0 || list[at] != list[end - 1] {
            list[end] = list[at];
            end += 1;
        }
    }
    end
}

impl ConstraintGroups {
    /// The nodes of the group of a node, if the group has more than one node.
    #[inline]
    pub(super) fn several_nodes(&self, node: usize) -> Option<&[u32]> {
        match self.of[node] {
            NONE => None,
            g => Some(self.nodes(g as usize)).filter(|nodes| nodes.len() > 1),
        }
    }
}
