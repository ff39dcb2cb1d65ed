//! What the pattern says.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::{Blocking, Bsr, Classes, Pattern};

use super::Finding;

/// Sizes, blocks, components and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Scalar rows.
    pub rows: usize,
    /// Scalar columns.
    pub columns: usize,
    /// Rows and columns of a block.
    pub block: (usize, usize),
    /// Stored scalars, zeros included.
    pub stored: usize,
    /// The fewest and the most scalars stored in a row; 0 and 0 without rows.
    pub row_lengths: (usize, usize),
    /// Stored scalars over all.
    pub density: f64,
    /// Connected components of the block graph, single rows included; 0 for matrices that are not square.
    pub components: usize,
    /// Connected components of several block rows.
    pub connected: usize,
    /// Block rows of the largest component.
    pub largest_component: usize,
    /// For a square scalar matrix, the larger blocks it is worth storing in, as [`detect_block_size`](coarsen_sparse::detect_block_size) finds them.
    pub blocking: Option<Blocking>,
    /// Bytes.
    pub memory: Memory,
}

/// Memory in bytes, known before anything is set up. (How much a direct factor takes only its symbolic analysis can say.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The matrix as it is.
    pub matrix: usize,
    /// The matrix in 1x1 blocks.
    pub scalar_matrix: usize,
    /// One vector; CG keeps 5 of them, GMRES its restart length and a few.
    pub vector: usize,
    /// The factors of IC(0), a triangle of the scalar matrix; ILU(0) takes twice that.
    pub incomplete_factor: usize,
    /// A dense matrix, which no factor exceeds.
    pub dense: usize,
}

impl Structure {
    /// The share of stored entries above which dense methods win: they run near peak where sparse ones wait for memory.
    const DENSE: f64 = 0.25;

    /// Also the components, for square patterns.
    pub(super) fn of<T: Real>(a: &Bsr<T>) -> (Self, Option<Classes>) {
        let ((rows, columns), (pattern, block)) = (a.shape(), (a.pattern(), a.block()));
        let lengths = (0..pattern.rows()).map(|i| pattern.range(i).len() * block.1);
        let row_lengths = (lengths.clone().min().unwrap_or(0), lengths.max().unwrap_or(0));
        let components = (pattern.rows() == pattern.columns()).then(|| components(pattern));
        let sizes = components.as_ref().map_or(vec![], Classes::sizes);
        let scalar = size_of::<T>() + size_of::<u32>();
        let offsets = (rows + 1) * size_of::<usize>();
        let memory = Memory {
            matrix: a.bytes(),
            scalar_matrix: a.nnz() * scalar + offsets,
            vector: rows * size_of::<T>(),
            incomplete_factor: (a.nnz() + rows) / 2 * scalar + offsets,
            dense: rows.saturating_mul(columns).saturating_mul(size_of::<T>()),
        };
        let square_scalars = block == (1, 1) && rows == columns;
        let structure = Self {
            rows,
            columns,
            block,
            stored: a.nnz(),
            row_lengths,
            density: a.nnz() as f64 / (rows as f64 * columns as f64).max(1.0),
            components: sizes.len(),
            connected: sizes.iter().filter(|&&s| s > 1).count(),
            largest_component: sizes.iter().copied().max().unwrap_or(0),
            blocking: if square_scalars { Blocking::best(pattern) } else { None },
            memory,
        };
        (structure, components)
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![];
        if self.rows != self.columns || self.block.0 != self.block.1 {
            findings.push(Finding::NotSquare { rows: self.rows, columns: self.columns });
        }
        if self.connected > 1 {
            findings.push(Finding::Components { count: self.connected, largest: self.largest_component });
        }
        if self.density > Self::DENSE {
            findings.push(Finding::Dense { density: self.density });
        }
        if let Some(best) = self.blocking {
            findings.push(Finding::Blocks { size: best.size, fill: best.fill });
        }
        findings
    }
}

/// The connected components of a square pattern, numbered by their first nodes; (i, j) connects where it is stored, (j, i) or not.
///
/// *Cost* one pass over the pattern, 4 bytes a node.
fn components(pattern: &Pattern) -> Classes {
    // A forest whose roots are the first nodes of their trees.
    let mut parent: Vec<u32> = (0..pattern.rows() as u32).collect();
    for i in 0..pattern.rows() {
        let mut here = root(&mut parent, i as u32);
        for &j in pattern.row(i) {
            if parent[j as usize] == here {
                continue;
            }
            let there = root(&mut parent, j);
            let (first, second) = (here.min(there), here.max(there));
            parent[second as usize] = first;
            here = first;
        }
    }
    let mut count = 0;
    for i in 0..parent.len() {
        // Parents come first, and hold their numbers already.
        parent[i] = if parent[i] as usize == i {
            count += 1;
            count - 1
        } else {
            parent[parent[i] as usize]
        };
    }
    Classes::new(count as usize, parent).expect("components are numbered below their count")
}

/// The root of a node; the path to it is halved.
fn root(parent: &mut [u32], mut i: u32) -> u32 {
    while parent[i as usize] != i {
        let up = parent[parent[i as usize] as usize];
        parent[i as usize] = up;
        i = up;
    }
    i
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rows, columns, block, stored, row_lengths, memory, .. } = self;
        writeln!(f, "{rows} x {columns}, {stored} entries in {} x {} blocks", block.0, block.1)?;
        let mean = *stored as f64 / (*rows).max(1) as f64;
        writeln!(f, "row length {} to {}, mean {mean:.1}", row_lengths.0, row_lengths.1)?;
        writeln!(f, "components {}, the largest of {} block rows", self.components, self.largest_component)?;
        let mib = |bytes: usize| bytes as f64 / f64::from(1 << 20);
        write!(
            f,
            "memory in MiB: matrix {:.1}, vector {:.2}, IC(0) {:.1}, dense {:.0}",
            mib(memory.matrix),
            mib(memory.vector),
            mib(memory.incomplete_factor),
            mib(memory.dense)
        )
    }
}
