//! Which columns of L a column of U takes part in: what can be reached in the graph of L.
//!
//! In that graph an edge leads from a row that is a pivot already to the rows of its column of L. The rows
//! that are reached from the entries of b are those of x in L x = b, and the reverse of the order in which
//! they are left sorts them.
//!
//! *Reference* Gilbert and Peierls 1988, "Sparse partial pivoting in time proportional to arithmetic
//! operations"; Davis 2006, section 3.2.

use super::room::zeros;
use super::structure::NONE;
use crate::DirectError;

/// A depth-first search without recursion.
pub(super) struct Reach {
    /// The step that saw a row last.
    seen: Vec<u32>,
    /// Rows on the way from the start, and the next entry of the column of each.
    path: Vec<(u32, usize)>,
    /// Rows that were left, from the end on.
    found: Vec<u32>,
    top: usize,
}

impl Reach {
    pub(super) fn new(n: usize) -> Result<Self, DirectError> {
        let path = zeros(n)?;
        Ok(Self { seen: zeros(n)?, path, found: zeros(n)?, top: n })
    }

    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.seen.fill(NONE);
    }

    /// Starts step k.
    pub(super) fn start(&mut self) {
        self.top = self.found.len();
    }

    /// Adds what is reached from `row`: `step[i]` is the step that row i was the pivot of, and column k of L
    /// has its `rows` from `starts[k]` on.
    pub(super) fn add(&mut self, k: u32, row: usize, step: &[u32], starts: &[usize], rows: &[u32]) {
        if self.seen[row] == k {
            return;
        }
        let first = |i: usize| if step[i] == NONE { 0 } else { starts[step[i] as usize] };
        let end = |i: usize| if step[i] == NONE { 0 } else { starts[step[i] as usize + 1] };
        self.seen[row] = k;
        self.path[0] = (row as u32, first(row));
        let mut depth = 1;
        while depth > 0 {
            let (i, next) = self.path[depth - 1];
            let until = end(i as usize);
            let unseen = (next..until).find(|&at| self.seen[rows[at] as usize] != k);
            let Some(at) = unseen else {
                depth -= 1;
                self.top -= 1;
                self.found[self.top] = i;
                continue;
            };
            let to = rows[at] as usize;
            self.path[depth - 1].1 = at + 1;
            self.seen[to] = k;
            self.path[depth] = (to as u32, first(to));
            depth += 1;
        }
    }

    /// All rows of this step: each after those whose columns it takes part in.
    pub(super) fn rows(&self) -> &[u32] {
        &self.found[self.top..]
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.seen.len() + self.found.len()) + 16 * self.path.len()
    }
}
