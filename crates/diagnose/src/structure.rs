//! Properties of the pattern.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::{Blocking, Bsr, Classes, union_find};

use super::Finding;

/// Sizes, blocks, components and memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// The number of scalar rows.
    pub rows: usize,
    /// The number of scalar columns.
    pub columns: usize,
    /// The numbers of rows and columns of a block.
    pub block: (usize, usize),
    /// The number of stored scalars, including zeros.
    pub stored: usize,
    /// The smallest and largest number of scalars stored in a row; 0 and 0 without rows.
    pub row_lengths: (usize, usize),
    /// The number of stored scalars divided by the number of all entries.
    pub density: f64,
    /// The number of connected components of the graph of blocks that hold a nonzero, including components of
    /// one row; 0 if the matrix is not square.
    pub components: usize,
    /// The number of connected components with several block rows.
    pub connected: usize,
    /// The number of block rows in the largest component.
    pub largest_component: usize,
    /// The block size larger than 1 that [`detect_block_size`](coarsen_sparse::detect_block_size) recommends
    /// for a square scalar matrix.
    pub blocking: Option<Blocking>,
    /// The memory in bytes of matrices, vectors and factors.
    pub memory: Memory,
}

/// Memory in bytes, known before setup. The memory of a direct factor is not included, since it requires a
/// symbolic analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The matrix in its current block size.
    pub matrix: usize,
    /// The matrix in 1x1 blocks.
    pub scalar_matrix: usize,
    /// One vector. CG uses 5 vectors; GMRES uses its restart length and a few more.
    pub vector: usize,
    /// The factor of IC(0), one triangle of the scalar matrix; ILU(0) uses twice as much.
    pub incomplete_factor: usize,
    /// A dense matrix; this is an upper bound for any factor.
    pub dense: usize,
}

impl Structure {
    /// The fraction of stored entries above which dense methods are faster. Dense methods run near peak
    /// arithmetic speed, while sparse methods are limited by memory traffic.
    const DENSE: f64 = 0.25;

    /// Computes the properties. A square pattern has components.
    pub(super) fn of<T: Real>(a: &Bsr<T>, components: Option<&Classes>) -> Self {
        let ((rows, columns), (pattern, block)) = (a.shape(), (a.pattern(), a.block()));
        let lengths = pattern.offsets().windows(2).map(|ends| (ends[1] - ends[0]) * block.1);
        let widen =
            |all: Option<(usize, usize)>, n: usize| Some(all.map_or((n, n), |(a, b)| (a.min(n), b.max(n))));
        let row_lengths = lengths.fold(None, widen).unwrap_or((0, 0));
        let sizes = components.map_or(vec![], |components| match components.count() {
            1 => vec![pattern.rows()],
            _ => components.sizes(),
        });
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
        Self {
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
        }
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

/// Whether each of the first nodes but one is stored with an earlier neighbour, as in the usual orders of a grid.
pub(super) fn has_earlier_neighbors<T: Real>(a: &Bsr<T>) -> bool {
    let first = 1..a.pattern().rows().min(64);
    first.into_iter().all(|i| a.pattern().row(i).first().is_some_and(|&j| (j as usize) < i))
}

/// All nodes in one component.
pub(super) fn one_component<T: Real>(a: &Bsr<T>) -> Classes {
    Classes::new(1, vec![0; a.pattern().rows()]).expect("all nodes are in component 0")
}

/// The connected components of a matrix with a square pattern, numbered by their first nodes; `None` for others. Nodes i and j
/// are connected if block (i, j) or (j, i) holds a nonzero: zeros that are stored connect nothing.
///
/// *Cost* one pass over the pattern, and one over the blocks of nodes that are not joined yet; 4 bytes per node.
pub(super) fn components<T: Real>(a: &Bsr<T>) -> Option<Classes> {
    let pattern = a.pattern();
    if pattern.rows() != pattern.columns() {
        return None;
    }
    let mut parent: Vec<u32> = (0..pattern.rows() as u32).collect();
    for i in 0..pattern.rows() {
        let mut here = union_find::root(&mut parent, i as u32);
        for k in pattern.range(i) {
            let j = pattern.indices()[k];
            if parent[j as usize] == here || a.value(k).iter().all(T::is_zero) {
                continue;
            }
            here = union_find::join(&mut parent, here, j);
        }
    }
    let count = union_find::number(&mut parent) as usize;
    Some(Classes::new(count, parent).expect("components are numbered below their count"))
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
