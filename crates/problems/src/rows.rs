//! Assembly row by row.
//!
//! The element blocks of each block row are summed in a fixed order, directly in their final position. No
//! list of element blocks is stored, and rows are independent. Results are bitwise the same for any number of
//! threads. If the element blocks satisfy K_ji = K_ijᵀ bitwise, the matrix does too.

use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel;
use coarsen_sparse::{Bsr, Pattern, SparseError};

use crate::by_rows::Nodes;

/// The number of block rows per task.
const CHUNK: usize = 1024;

/// A block row under construction.
pub(crate) struct Row<'a> {
    start: usize,
    size: usize,
    indices: &'a mut Vec<u32>,
    values: &'a mut Vec<f64>,
}

impl Row<'_> {
    /// Adds a row-major block to the block in `column`; new blocks start at 0.
    pub(crate) fn add(&mut self, column: usize, block: &[f64]) {
        self.block(column).iter_mut().zip(block).for_each(|(sum, v)| *sum += v);
    }

    /// Adds s times the identity to the block in `column`.
    pub(crate) fn add_identity(&mut self, column: usize, s: f64) {
        let step = self.size.isqrt() + 1;
        self.block(column).iter_mut().step_by(step).for_each(|sum| *sum += s);
    }

    /// Returns the block in `column`, and inserts it if it is new. Insertion is cheap, since most columns
    /// arrive in order.
    fn block(&mut self, column: usize) -> &mut [f64] {
        let column = column as u32;
        let at = self.start + self.indices[self.start..].partition_point(|&j| j < column);
        let first = at * self.size;
        if self.indices.get(at) != Some(&column) {
            self.indices.insert(at, column);
            let end = self.values.len();
            self.values.resize(end + self.size, 0.0);
            self.values.copy_within(first..end, first + self.size);
            self.values[first..first + self.size].fill(0.0);
        }
        &mut self.values[first..first + self.size]
    }
}

/// The rows of one chunk.
#[derive(Default)]
struct Chunk {
    lengths: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

/// Returns the rows of `nodes` of a matrix of b x b blocks; `fill(i, row)` adds the blocks of row i to an empty row.
pub(crate) fn assemble(
    nodes: Nodes<'_>,
    b: usize,
    fill: &(impl Fn(usize, &mut Row<'_>) + Sync),
) -> Result<Bsr<f64>, SparseError> {
    let (n, size) = (nodes.count(), b * b);
    let mut chunks: Vec<Chunk> = (0..n.div_ceil(CHUNK)).map(|_| Chunk::default()).collect();
    let fill_chunks = |(numbers, chunks): (Range<usize>, &mut [Chunk])| {
        for (number, chunk) in numbers.zip(chunks) {
            for k in number * CHUNK..n.min((number + 1) * CHUNK) {
                let start = chunk.indices.len();
                fill(
                    nodes.node(k),
                    &mut Row { start, size, indices: &mut chunk.indices, values: &mut chunk.values },
                );
                chunk.lengths.push(chunk.indices.len() - start);
            }
        }
    };
    let work = n * size * 8; // a row has about eight blocks
    parallel::each((0..chunks.len(), &mut chunks[..]), 1, parallel::worth(work), &fill_chunks);

    let total = chunks.iter().map(|c| c.indices.len()).sum();
    let mut offsets = Vec::with_capacity(n + 1);
    let (mut indices, mut values) = (Vec::with_capacity(total), Vec::with_capacity(total * size));
    offsets.push(0);
    for chunk in chunks {
        chunk.lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        indices.extend_from_slice(&chunk.indices);
        values.extend_from_slice(&chunk.values);
    }
    let a = Bsr::new(Arc::new(Pattern::new(nodes.of(), offsets, indices)?), (b, b), values)?;
    a.check_finite()?; // values may overflow, for example with a time step of 1e200
    Ok(a)
}
