//! Sparse matrix filling (Li et al. 2020, "P-Cloth", §3.2.2): converts contacts to sorted rows of blocks, in
//! parallel.
//!
//! | step | in the paper | here |
//! |---|---|---|
//! | 1 | index table allocating: count | divide the contacts into a fixed number of pieces; count the entries of each piece in each bucket, a range of consecutive rows |
//! | 2 | index filling | each piece writes its entries into its own range, ordered by bucket |
//! | 3 | index compacting: sort each row, remove duplicates | each bucket groups its entries by row, in the order of the contacts, and lists the sorted columns of each row once |
//! | 4 | value table allocating | allocate space for all buckets, reused by later calls |
//! | 5 | value filling | each bucket sums its rows, in the order of the contacts |
//!
//! Deviation: the paper fills indices and values by atomic operations, so their order, and with it the last
//! bits of a sum, change from run to run. Here one task writes each range and each row, and sums follow the
//! order of the contacts, so the bits do not depend on the number of threads. The paper pads rows to the
//! longest row for the GPU; here rows are not padded.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces, each, tree};
use coarsen_core::{Real, simd};

use super::sums::{Filling, Targets};
use crate::SparseError;

/// The number of pieces into which the contacts are divided, independent of the number of threads.
const PIECES: usize = 16;

/// The minimum number of rows in a bucket.
const ROWS: usize = 512;

/// The maximum number of buckets, so that their counters fit into the first-level cache.
const BUCKETS: usize = 256;

/// A source of blocks: element e in 0..`count()` adds blocks (r, c) for all r in `rows(e)` and c in
/// `columns(e)`.
pub(super) trait Elements<T>: Sync {
    fn count(&self) -> usize;
    /// The block rows of element e, at most [`Stencil::MOST`](crate::Stencil::MOST).
    fn rows(&self, e: usize) -> &[u32];
    fn columns(&self, e: usize) -> &[u32];
    /// The error of element e, or `None` if the element is valid.
    fn check(&self, e: usize, nodes: usize) -> Option<SparseError>;
    /// Adds block (`rows(e)[r]`, `columns(e)[c]`) to `sum`.
    fn add(&self, e: usize, r: usize, c: usize, sum: &mut [T]);
}

/// The contribution of element e to row `rows(e)[r]`, stored as this row and the number 4 e + r.
type Entry = (u32, u32);

/// Storage for the five steps, reused by later calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Fill {
    /// The number of entries of each piece in each bucket; after step 2, the end of these entries in the
    /// piece.
    counts: Vec<u32>,
    /// The start of the entries of each piece, and the end of the last piece.
    starts: Vec<usize>,
    entries: Vec<Entry>,
    buckets: Vec<Bucket>,
    /// The start of the blocks of each bucket, and the end of the last bucket.
    offsets: Vec<usize>,
}

/// A bucket: a range of consecutive rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Bucket {
    /// The start of the entries of each row in `entries`.
    pub(super) rows: Vec<u32>,
    /// The values 4 e + r, grouped by row.
    pub(super) entries: Vec<u32>,
    /// The start of the blocks of each row in `places`.
    pub(super) blocks: Vec<u32>,
    pub(super) places: Vec<(u32, u32)>,
    columns: Vec<u32>,
}

impl Fill {
    /// Replaces places and values; after an error both are unchanged.
    pub(super) fn run<T: Real>(
        &mut self,
        nodes: usize,
        size: usize,
        elements: &impl Elements<T>,
        places: &mut Vec<(u32, u32)>,
        values: &mut Vec<T>,
    ) -> Result<(), SparseError> {
        let limit = u32::MAX as usize / 16;
        if elements.count() > limit {
            return Err(SparseError::TooLarge { what: "contacts", count: elements.count(), limit });
        }
        let rows = nodes.div_ceil(BUCKETS).next_power_of_two().max(ROWS);
        let count = nodes.div_ceil(rows).max(1);
        let parallel = parallel::worth(elements.count() * 16 * size);
        self.count(nodes, rows, count, elements, parallel)?; // 1
        self.index(rows, count, elements, parallel); // 2
        self.compact(nodes, rows, elements, parallel); // 3
        let total = self.offsets[count];
        places.resize(total, (0, 0)); // 4
        values.resize(total * size, T::zero()); // 4
        let targets = Targets { buckets: &self.buckets, offsets: &self.offsets, size, places, values };
        each(targets, 1, parallel, &|targets: Targets<'_, T>| simd::run(Filling { targets, elements })); // 5
        Ok(())
    }

    /// Step 1. It stops at the first invalid element; an error changes only `self`.
    fn count<T>(
        &mut self,
        nodes: usize,
        rows: usize,
        buckets: usize,
        elements: &impl Elements<T>,
        parallel: bool,
    ) -> Result<(), SparseError> {
        self.counts.clear();
        self.counts.resize(PIECES * buckets, 0);
        self.buckets.resize_with(buckets, Bucket::default);
        let leaf = |(pieces, counts): (Range<usize>, parallel::Groups<&mut [u32]>)| {
            for (piece, counts) in pieces.zip(counts.0.chunks_exact_mut(buckets)) {
                for e in piece_of(piece, elements.count()) {
                    if let Some(error) = elements.check(e, nodes) {
                        return Some(error);
                    }
                    elements.rows(e).iter().for_each(|&r| counts[r as usize / rows] += 1);
                }
            }
            None
        };
        let pieces = (0..PIECES, parallel::Groups(&mut self.counts[..], buckets));
        let fault = tree(pieces, 1, parallel, &leaf, &|left, right| left.or(right));
        fault.map_or(Ok(()), Err)
    }

    /// Step 2. Afterwards `counts` contains the end of the entries of each bucket within each piece.
    fn index<T>(&mut self, rows: usize, buckets: usize, elements: &impl Elements<T>, parallel: bool) {
        self.starts.clear();
        self.starts.push(0);
        let mut end = 0;
        for counts in self.counts.chunks_exact_mut(buckets) {
            let mut within = 0;
            for count in counts {
                within += std::mem::replace(count, within);
            }
            end += within as usize;
            self.starts.push(end);
        }
        self.entries.resize(end, (0, 0));
        let stretches = Stretches {
            pieces: 0..PIECES,
            starts: &self.starts,
            buckets,
            ends: &mut self.counts,
            entries: &mut self.entries,
        };
        each(stretches, 1, parallel, &|stretches: Stretches<'_>| {
            let Stretches { pieces, starts, ends, entries, .. } = stretches;
            let base = starts[pieces.start];
            for (piece, ends) in pieces.zip(ends.chunks_exact_mut(buckets)) {
                let entries = &mut entries[starts[piece] - base..starts[piece + 1] - base];
                for e in piece_of(piece, elements.count()) {
                    for (r, &row) in elements.rows(e).iter().enumerate() {
                        let end = &mut ends[row as usize / rows];
                        entries[*end as usize] = (row, (4 * e + r) as u32);
                        *end += 1;
                    }
                }
            }
        });
    }

    /// Step 3.
    fn compact<T>(&mut self, nodes: usize, rows: usize, elements: &impl Elements<T>, parallel: bool) {
        let Self { counts, starts, entries, buckets, offsets } = self;
        let (count, counts, starts, entries) = (buckets.len(), &*counts, &*starts, &*entries);
        each((0..count, &mut buckets[..]), 1, parallel, &|(numbers, buckets): (
            Range<usize>,
            &mut [Bucket],
        )| {
            for (number, bucket) in numbers.zip(buckets) {
                let of_piece = |piece: usize| {
                    let ends = &counts[piece * count..(piece + 1) * count];
                    let begin = number.checked_sub(1).map_or(0, |before| ends[before]);
                    &entries[starts[piece] + begin as usize..starts[piece] + ends[number] as usize]
                };
                bucket.sort(number * rows, rows.min(nodes - number * rows), &of_piece);
                bucket.merge(number * rows, elements);
            }
        });
        offsets.clear();
        offsets.push(0);
        buckets.iter().for_each(|b| offsets.push(offsets[offsets.len() - 1] + b.places.len()));
    }
}

/// The range of elements of a piece.
fn piece_of(piece: usize, count: usize) -> Range<usize> {
    count * piece / PIECES..count * (piece + 1) / PIECES
}

impl Bucket {
    /// Groups entries by row. The pieces are consecutive and sorted, so the order of the elements is kept.
    fn sort<'a>(&mut self, first: usize, rows: usize, of_piece: &impl Fn(usize) -> &'a [Entry]) {
        self.rows.clear();
        self.rows.resize(rows + 2, 0);
        let mut total = 0;
        for entries in (0..PIECES).map(of_piece) {
            total += entries.len();
            entries.iter().for_each(|entry| self.rows[entry.0 as usize - first + 2] += 1);
        }
        (2..rows + 2).for_each(|k| self.rows[k] += self.rows[k - 1]);
        self.entries.resize(total, 0);
        for &(row, entry) in (0..PIECES).flat_map(of_piece) {
            // advances from the start of the row to its end
            let next = &mut self.rows[row as usize - first + 1];
            self.entries[*next as usize] = entry;
            *next += 1;
        }
    }

    /// Lists the sorted columns of each row, without duplicates.
    fn merge<T>(&mut self, first: usize, elements: &impl Elements<T>) {
        let Self { rows, entries, blocks, places, columns } = self;
        places.clear();
        blocks.clear();
        blocks.push(0);
        for k in 0..rows.len() - 2 {
            let entries = &entries[rows[k] as usize..rows[k + 1] as usize];
            columns.clear();
            entries.iter().for_each(|&entry| columns.extend_from_slice(elements.columns(entry as usize / 4)));
            columns.sort_unstable();
            columns.dedup();
            places.extend(columns.iter().map(|&c| ((first + k) as u32, c)));
            blocks.push(places.len() as u32);
        }
    }
}

/// The entries of the pieces that one task writes.
struct Stretches<'a> {
    pieces: Range<usize>,
    starts: &'a [usize],
    buckets: usize,
    ends: &'a mut [u32],
    entries: &'a mut [Entry],
}

impl Pieces for Stretches<'_> {
    fn extent(&self) -> usize {
        self.pieces.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { pieces, starts, buckets, ends, entries } = self;
        let (first, at) = (pieces.start, pieces.start + mid);
        let (ends, ends_right) = ends.split_at_mut(mid * buckets);
        let (entries, entries_right) = entries.split_at_mut(starts[at] - starts[first]);
        (
            Self { pieces: first..at, starts, buckets, ends, entries },
            Self { pieces: at..pieces.end, starts, buckets, ends: ends_right, entries: entries_right },
        )
    }
}
