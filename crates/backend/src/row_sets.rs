//! Sets of rows that can be relaxed in parallel.

use std::ops::Range;
use std::sync::Arc;

use coarsen_sparse::Pattern;

/// An order of relaxation: sets run one after the other, the chunks of a set in parallel, and the rows of a
/// chunk in order.
///
/// The pattern couples no two chunks of one set, in either direction. So the result of a sweep does not
/// depend on the number of threads, and neither does the number of chunks. On a CPU a chunk is a large slab
/// of consecutive rows, which couples only to nearby slabs. Two or three sets then suffice, and most of the
/// natural order is kept. On a device every chunk is one row, and a set is a colour.
///
/// ```
/// use coarsen_backend::RowSets;
/// use coarsen_sparse::Pattern;
/// use std::sync::Arc;
/// // 0 - 1 - 2 - 3, in chunks of one row: two colours
/// let path = Pattern::new(4, vec![0, 2, 5, 8, 10], vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3])?;
/// let sets = RowSets::chunked(&Arc::new(path), 1);
/// assert_eq!(sets.sets().len(), 2);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RowSets {
    pattern: Arc<Pattern>,
    sets: Vec<Vec<Range<usize>>>,
}

impl RowSets {
    /// Returns chunks of `rows` consecutive block rows, coloured greedily in natural order; with all rows in one, the natural order.
    ///
    /// *Cost* one pass over the pattern, and a list of neighbours per chunk.
    pub fn chunked(pattern: &Arc<Pattern>, rows: usize) -> Self {
        let (n, rows) = (pattern.rows(), rows.max(1));
        let (chunk, count) = (|c: usize| c * rows..((c + 1) * rows).min(n), n.div_ceil(rows));
        // For each chunk, those before it that are coupled to it, some of them several times.
        let mut neighbours = vec![Vec::new(); count];
        for (c, chunk) in (0..count).map(|c| (c, chunk(c))) {
            let columns = &pattern.indices()[pattern.offsets()[chunk.start]..pattern.offsets()[chunk.end]];
            let mut last = c;
            for other in columns.iter().map(|&j| j as usize / rows) {
                if other != last && other != c && other < count {
                    neighbours[c.max(other)].push(c.min(other) as u32);
                }
                last = other;
            }
        }
        let mut colour = vec![usize::MAX; count];
        let mut sets: Vec<Vec<Range<usize>>> = Vec::new();
        // For each colour, the last chunk that has a neighbour of this colour.
        let mut marked = Vec::new();
        for c in 0..count {
            neighbours[c].iter().for_each(|&d| marked[colour[d as usize]] = c);
            colour[c] = marked.iter().position(|&last| last != c).unwrap_or(marked.len());
            if colour[c] == sets.len() {
                marked.push(usize::MAX);
                sets.push(Vec::new());
            }
            sets[colour[c]].push(chunk(c));
        }
        Self { pattern: pattern.clone(), sets }
    }

    /// Returns the pattern of the matrix to which the sets belong.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// Returns the sets; each is a list of chunks of block rows.
    pub fn sets(&self) -> &[Vec<Range<usize>>] {
        &self.sets
    }

    /// Returns every row once, in the order of a forward sweep.
    pub fn order(&self) -> impl Iterator<Item = usize> {
        self.sets.iter().flatten().cloned().flatten()
    }
}
