//! The rows that can be nonzero in the solution of L x = b: the rows that can be reached in the graph of L.
//!
//! In this graph edges lead from each row that is already a pivot to the rows of its column of L. The nonzero
//! rows of x can be reached from the entries of b. The substitution handles the rows in the reverse of the
//! order in which the search leaves them.
//!
//! *Reference* Gilbert and Peierls 1988, "Sparse partial pivoting in time proportional to arithmetic
//! operations"; Davis 2006, section 3.2.

use super::memory::zeros;
use super::structure::NONE;
use crate::DirectError;

/// A depth-first search without recursion.
pub(super) struct Reach {
    /// The last step that visited each row.
    visited: Vec<u32>,
    /// The rows on the path from the start, each with the next entry of its column.
    path: Vec<(u32, usize)>,
    /// The rows that the search has left, stored from the end.
    found: Vec<u32>,
    top: usize,
}

impl Reach {
    pub(super) fn new(n: usize) -> Result<Self, DirectError> {
        let path = zeros(n)?;
        Ok(Self { visited: zeros(n)?, path, found: zeros(n)?, top: n })
    }

    /// Marks all rows as not visited.
    pub(super) fn clear(&mut self) {
        self.visited.fill(NONE);
    }

    /// Starts a new step.
    pub(super) fn start(&mut self) {
        self.top = self.found.len();
    }

    /// Adds the rows that can be reached from `row` in step k: `step[i]` is the step in which row i was the
    /// pivot, and the `rows` of column s of L begin at `starts[s]`.
    pub(super) fn add(&mut self, k: u32, row: usize, step: &[u32], starts: &[usize], rows: &[u32]) {
        if self.visited[row] == k {
            return;
        }
        let first = |i: usize| if step[i] == NONE { 0 } else { starts[step[i] as usize] };
        let end = |i: usize| if step[i] == NONE { 0 } else { starts[step[i] as usize + 1] };
        self.visited[row] = k;
        self.path[0] = (row as u32, first(row));
        let mut depth = 1;
        while depth > 0 {
            let (i, next) = self.path[depth - 1];
            let until = end(i as usize);
            let unvisited = (next..until).find(|&at| self.visited[rows[at] as usize] != k);
            let Some(at) = unvisited else {
                depth -= 1;
                self.top -= 1;
                self.found[self.top] = i;
                continue;
            };
            let to = rows[at] as usize;
            self.path[depth - 1].1 = at + 1;
            self.visited[to] = k;
            self.path[depth] = (to as u32, first(to));
            depth += 1;
        }
    }

    /// All rows of this step, each after the rows on which it depends.
    pub(super) fn rows(&self) -> &[u32] {
        &self.found[self.top..]
    }

    /// The number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.visited.len() + self.found.len()) + 16 * self.path.len()
    }
}
