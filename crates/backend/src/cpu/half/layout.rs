//! The layout of a half matrix: the couplings that it stores, and their positions.
//!
//! Rows are cut into the chunks of a [`RowSets`]. A coupling inside a chunk is stored once, with the row of
//! the larger index. A coupling between chunks is stored with both rows, so that a chunk writes only its own
//! rows. But many couplings between chunks of two sets are stored once, with the row of the second set, if no
//! row of the first set is coupled to two chunks. A chunk of the second set then writes to rows of the first,
//! and no other chunk of its set writes to the same rows.

use std::mem;
use std::ops::Range;
use std::slice::from_raw_parts_mut;
use std::sync::Arc;

use coarsen_core::Real;
use coarsen_core::parallel::{self, Groups, Shared, each, items};
use coarsen_sparse::{Bsr, Pattern};

use crate::{DenseBlocks, RowSets};

/// The number of rows per task of a pass over the pattern.
const LEAF: usize = 1024;

/// The minimal fraction of couplings inside chunks, if all others are stored twice. With a smaller fraction,
/// half storage saves less than its second pass over vectors costs.
const INSIDE: f64 = 0.6;

/// Couplings between chunks are stored once if a row has more of them than this on average. Fewer save less
/// than the copy of b that a backward sweep then takes.
const COPY: usize = 2;

/// The maximal number of sets of chunks. With more sets, too few chunks run in parallel.
const SETS: usize = 4;

/// In place of the chunk that is coupled to a row, for a row without one; there are fewer chunks.
const NONE: u32 = u32::MAX;

/// One chunk: its rows, and the range in `outer_rows` of its rows with outer couplings.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) rows: Range<usize>,
    pub(super) outer: Range<usize>,
}

/// The positions of all blocks.
pub(super) struct Layout {
    pub(super) pattern: Arc<Pattern>,
    /// The chunks of each set; chunks of the same set are not coupled.
    pub(super) sets: Vec<Vec<Chunk>>,
    /// Whether outer couplings are stored once, with the rows of the second of two sets. No row of the first
    /// set is then a column of two chunks of the second.
    pub(super) once: bool,
    /// For each row, the start of its couplings to smaller rows of its chunk.
    pub(super) inner: Vec<u32>,
    pub(super) inner_columns: Vec<u32>,
    /// The rows that are coupled to other chunks, in order.
    pub(super) outer_rows: Vec<u32>,
    /// For each outer row, the start of its outer couplings; couplings to earlier sets come first.
    pub(super) outer: Vec<u32>,
    /// For each outer row, the start of its couplings to later sets.
    pub(super) later: Vec<u32>,
    pub(super) outer_columns: Vec<u32>,
    /// The position of each outer coupling in the pattern.
    outer_from: Vec<u32>,
}

/// The number of rows of a chunk, and the set of each chunk.
struct Chunks {
    size: usize,
    set: Vec<u32>,
}

impl Chunks {
    fn new(sets: &RowSets) -> Self {
        let all = || sets.sets().iter().flatten();
        let size = all().map(Range::len).max().unwrap_or(0).max(1);
        let mut set = vec![0; all().count()];
        for (k, chunks) in sets.sets().iter().enumerate() {
            chunks.iter().for_each(|chunk| set[chunk.start / size] = k as u32);
        }
        Self { size, set }
    }

    /// Returns the rows of the chunk of row i; the last chunk is assumed to be as long as all other chunks.
    fn of(&self, i: usize) -> Range<usize> {
        let start = i / self.size * self.size;
        start..start + self.size
    }

    fn set_of(&self, i: usize) -> u32 {
        self.set[i / self.size]
    }

    /// Whether each row of the first set is coupled to at most one chunk of the second, as rows of the second
    /// store it.
    fn are_apart(&self, pattern: &Pattern, counts: &[[u32; 3]]) -> bool {
        // For each row of the first set, the chunk of the second that is coupled to it.
        let mut partners = vec![NONE; pattern.rows()];
        let second = (0..pattern.rows()).filter(|&i| counts[i][1] > 0 && self.set_of(i) == 1);
        second.into_iter().all(|i| {
            let [left, _, right] = parts(pattern, i, &self.of(i));
            left.chain(right).all(|k| {
                let (own, partner) = ((i / self.size) as u32, &mut partners[pattern.indices()[k] as usize]);
                let before = mem::replace(partner, own);
                before == NONE || before == own
            })
        })
    }
}

/// Returns the positions of three groups of entries of a row: left of its chunk; inside the chunk and left of
/// the diagonal; right of the chunk.
fn parts(pattern: &Pattern, i: usize, chunk: &Range<usize>) -> [Range<usize>; 3] {
    let (entries, columns) = (pattern.range(i), pattern.row(i));
    let at = |limit: usize| entries.start + columns.iter().take_while(|&&j| (j as usize) < limit).count();
    let (from, diagonal) = (at(chunk.start), at(i));
    let right = match columns.last() {
        Some(&last) if last as usize >= chunk.end => at(chunk.end),
        _ => entries.end,
    };
    [entries.start..from, from..diagonal, right..entries.end]
}

impl Layout {
    /// Returns the layout for rows in the order of `sets`. `None` if half storage does not pay off, a row has no
    /// diagonal block, or positions exceed 32 bits.
    pub(super) fn new(sets: &RowSets) -> Option<Self> {
        let pattern = sets.pattern();
        let n = pattern.rows();
        if pattern.len() > u32::MAX as usize || sets.sets().len() > SETS {
            return None;
        }
        let chunks = Chunks::new(sets);
        // Inner and outer couplings of each row, and 1 if its diagonal block is missing.
        let mut counts = vec![[0; 3]; n];
        let parallel = parallel::worth(pattern.len());
        each((0..n, &mut counts[..]), LEAF, parallel, &|(rows, counts): (Range<usize>, &mut [[u32; 3]])| {
            for (i, count) in rows.zip(counts) {
                let [left, inside, right] = parts(pattern, i, &chunks.of(i));
                let next = pattern.row(i).get(inside.end - pattern.range(i).start);
                let lacks = u32::from(next.is_none_or(|&j| j as usize != i));
                *count = [inside.len() as u32, (left.len() + right.len()) as u32, lacks];
            }
        });
        let outside: usize = counts.iter().map(|count| count[1] as usize).sum();
        let many = sets.sets().len() == 2 && outside > COPY * n;
        let once = many && chunks.are_apart(pattern, &counts);
        let (mut inner, mut outer, mut outer_rows) = (vec![0], vec![0], Vec::new());
        let (mut lacking, mut kept, mut beside) = (0, 0, 0);
        for (i, [inside, outside, lacks]) in counts.iter().enumerate() {
            lacking += lacks;
            kept += inside;
            inner.push(kept);
            if *outside > 0 && !(once && chunks.set_of(i) == 0) {
                beside += outside;
                outer_rows.push(i as u32);
                outer.push(beside);
            }
        }
        if lacking > 0 || !once && f64::from(2 * kept) < INSIDE * f64::from(2 * kept + beside) {
            return None;
        }
        let at = |row: usize| outer_rows.partition_point(|&i| (i as usize) < row);
        let piece = |rows: &Range<usize>| Chunk { rows: rows.clone(), outer: at(rows.start)..at(rows.end) };
        let pieces = sets.sets().iter().map(|set| set.iter().map(piece).collect()).collect();
        let (mut later, mut outer_columns, mut outer_from) = (Vec::new(), Vec::new(), Vec::new());
        for &i in &outer_rows {
            let i = i as usize;
            let [left, _, right] = parts(pattern, i, &chunks.of(i));
            let own = chunks.set_of(i);
            let is_earlier = |k: usize| chunks.set_of(pattern.indices()[k] as usize) < own;
            for early in [true, false] {
                if !early {
                    later.push(outer_from.len() as u32);
                }
                for k in left.clone().chain(right.clone()).filter(|&k| is_earlier(k) == early) {
                    outer_from.push(k as u32);
                    outer_columns.push(pattern.indices()[k]);
                }
            }
        }
        let (pattern, mut inner_columns) = (pattern.clone(), vec![0; kept as usize]);
        let mut made = Self {
            pattern: pattern.clone(),
            sets: pieces,
            once,
            inner,
            inner_columns: Vec::new(),
            outer_rows,
            outer,
            later,
            outer_columns,
            outer_from,
        };
        let to = Shared::new(&mut inner_columns);
        made.by_row(|_, inside, place| {
            // SAFETY: each row has separate positions, one per coupling that it stores.
            let to = unsafe { from_raw_parts_mut(to.get().add(place), inside.len()) };
            to.copy_from_slice(&pattern.indices()[inside]);
        });
        made.inner_columns = inner_columns;
        Some(made)
    }

    /// Calls `f(i, entries, place)` for every row i: `entries` are the entries of the pattern inside the
    /// chunk and left of the diagonal, and `place` is the position of the first of them in `inner`. The
    /// chunks of a set run in parallel.
    fn by_row(&self, f: impl Fn(usize, Range<usize>, usize) + Sync) {
        let pattern = &self.pattern;
        for set in &self.sets {
            items(set, parallel::worth(pattern.len()), &|chunk: &Chunk| {
                for i in chunk.rows.clone() {
                    let place = self.inner[i] as usize;
                    let kept = self.inner[i + 1] as usize - place;
                    let (entries, columns) = (pattern.range(i), pattern.row(i));
                    let left = columns.iter().take_while(|&&j| (j as usize) < chunk.rows.start).count();
                    let from = entries.start + left;
                    f(i, from..from + kept, place);
                }
            });
        }
    }

    /// Writes the values of all inner, outer and diagonal blocks, rounded.
    pub(super) fn fill<T: Real, S: Real>(&self, a: &Bsr<T>, [inner, outer, diagonal]: [&mut [S]; 3]) {
        let area = a.block().0.pow(2);
        let (inner, diagonal) = (Shared::new(inner), Shared::new(diagonal));
        self.by_row(|i, inside, place| {
            // SAFETY: each row has separate positions, b² values each, and its own diagonal block.
            let (inner, own) = unsafe {
                let inner = inner.get().add(place * area);
                let own = diagonal.get().add(i * area);
                (from_raw_parts_mut(inner, inside.len() * area), from_raw_parts_mut(own, area))
            };
            let from = &a.values()[inside.start * area..inside.end * area];
            inner.iter_mut().zip(from).for_each(|(to, v)| *to = v.to());
            // In the pattern the diagonal block follows the inner blocks, as `new` has checked.
            own.iter_mut().zip(a.value(inside.end)).for_each(|(to, v)| *to = v.to());
        });
        let pieces = (&self.outer_from[..], Groups(outer, area));
        each(pieces, LEAF, parallel::worth(a.nnz()), &|(from, to): (&[u32], Groups<&mut [S]>)| {
            for (&k, to) in from.iter().zip(to.0.chunks_exact_mut(area)) {
                to.iter_mut().zip(a.value(k as usize)).for_each(|(to, v)| *to = v.to());
            }
        });
    }

    /// Returns the size in bytes of all lists of positions.
    pub(super) fn bytes(&self) -> usize {
        let lists = [&self.inner, &self.inner_columns, &self.outer_rows, &self.outer, &self.later];
        let all = lists.into_iter().chain([&self.outer_columns, &self.outer_from]);
        all.map(|list| size_of_val(&list[..])).sum()
    }
}

/// Copies the symmetric part of D⁻¹, rounded.
pub(super) fn copy_symmetric<T: Real, S: Real>(from: &DenseBlocks<T>, to: &mut [S]) {
    let (b, area) = (from.size(), from.size().pow(2));
    let pieces = (Groups(from.values(), area), Groups(to, area));
    let worth = parallel::worth(from.values().len());
    each(pieces, LEAF, worth, &|(from, to): (Groups<&[T]>, Groups<&mut [S]>)| {
        for (from, to) in from.0.chunks_exact(area).zip(to.0.chunks_exact_mut(area)) {
            for (e, to) in to.iter_mut().enumerate() {
                *to = (T::from_f64(0.5) * (from[e] + from[e % b * b + e / b])).to();
            }
        }
    });
}
