//! The ordered symmetric matrix, its elimination tree, and the number of entries in each column of L.
//!
//! C = P A Pᵀ is stored as the columns of its upper triangle: for each c_ik with i ≤ k, column k contains i
//! and the index of c_ik in the values of A. In the elimination tree the parent of i is the first row below i
//! with an entry in column i of L. Row k of L has its entries in the columns on the tree paths from i to k,
//! for every row i in column k of C.
//!
//! *Reference* Liu 1990, "The role of elimination trees in sparse factorization"; Davis 2006, sections 4.1
//! and 4.2.

use coarsen_sparse::{Bsr, Graph};

use super::memory::zeros;
use super::minimum_degree::minimum_degree;
use super::rows::row;
use crate::DirectError;

/// The parent of a root: none.
pub(super) const NONE: u32 = u32::MAX;

/// The structure of L, known before any number is computed.
pub(super) struct Structure {
    /// The row of A that is eliminated in each step.
    pub(super) order: Vec<u32>,
    /// The start of each column of the upper triangle of C.
    starts: Vec<usize>,
    /// The rows of the entries of these columns.
    rows: Vec<u32>,
    /// The indices of these entries in the values of A.
    places: Vec<usize>,
    pub(super) parent: Vec<u32>,
    /// The starts of the columns of L without its unit diagonal.
    pub(super) columns: Vec<usize>,
}

impl Structure {
    /// Orders the blocks of A, whose pattern is symmetric.
    pub(super) fn of(a: &Bsr<f64>) -> Result<Self, DirectError> {
        let (n, b) = (a.shape().0, a.block().0 as u32);
        if n >= NONE as usize {
            return Err(DirectError::Memory { bytes: usize::MAX });
        }
        let graph = Graph::of(a.pattern()).map_err(|_| DirectError::Pattern)?;
        let order: Vec<u32> = minimum_degree(&graph).into_iter().flat_map(|i| i * b..(i + 1) * b).collect();
        let mut inverse: Vec<u32> = zeros(n)?;
        (0..).zip(&order).for_each(|(k, &i)| inverse[i as usize] = k);
        let mut structure = Self {
            order,
            starts: zeros(n + 1)?,
            rows: Vec::new(),
            places: Vec::new(),
            parent: zeros(n)?,
            columns: zeros(n + 1)?,
        };
        structure.permute(a, &inverse)?;
        structure.plant(n)?;
        Ok(structure)
    }

    /// Computes the upper triangle of C by columns: counts the entries, sums the counts, and fills the
    /// columns.
    fn permute(&mut self, a: &Bsr<f64>, inverse: &[u32]) -> Result<(), DirectError> {
        let upper = || {
            (0..inverse.len()).flat_map(|i| row(a, i).map(move |(j, at)| (i, j, at))).filter_map(
                |(i, j, at)| {
                    let (p, q) = (inverse[i], inverse[j]);
                    (j >= i).then_some((p.min(q), p.max(q) as usize, at))
                },
            )
        };
        upper().for_each(|(_, k, _)| self.starts[k + 1] += 1);
        (0..inverse.len()).for_each(|k| self.starts[k + 1] += self.starts[k]);
        let stored = self.starts[inverse.len()];
        (self.rows, self.places) = (zeros(stored)?, zeros(stored)?);
        let mut next: Vec<usize> = zeros(inverse.len())?;
        next.copy_from_slice(&self.starts[..inverse.len()]);
        for (i, k, at) in upper() {
            (self.rows[next[k]], self.places[next[k]]) = (i, at);
            next[k] += 1;
        }
        Ok(())
    }

    /// Computes the tree, and counts the entries of each column of L row by row.
    fn plant(&mut self, n: usize) -> Result<(), DirectError> {
        let mut visited: Vec<u32> = zeros(n)?;
        for k in 0..n as u32 {
            (self.parent[k as usize], visited[k as usize]) = (NONE, k);
            for at in self.starts[k as usize]..self.starts[k as usize + 1] {
                let mut i = self.rows[at];
                while visited[i as usize] != k {
                    if self.parent[i as usize] == NONE {
                        self.parent[i as usize] = k;
                    }
                    self.columns[i as usize + 1] += 1;
                    visited[i as usize] = k;
                    i = self.parent[i as usize];
                }
            }
        }
        (0..n).for_each(|k| self.columns[k + 1] += self.columns[k]);
        Ok(())
    }

    /// Column k of the upper triangle of C: rows, and indices of their values in A.
    pub(super) fn column(&self, k: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let range = self.starts[k]..self.starts[k + 1];
        self.rows[range.clone()].iter().zip(&self.places[range]).map(|(&i, &at)| (i as usize, at))
    }

    /// The number of entries of L below its diagonal.
    pub(super) fn below(&self) -> usize {
        self.columns.last().copied().unwrap_or(0)
    }

    /// The number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        4 * (self.order.len() + self.rows.len() + self.parent.len())
            + 8 * (self.starts.len() + self.places.len() + self.columns.len())
    }
}
