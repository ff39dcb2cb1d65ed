//! A spatial hash: boxes in the cells of a uniform grid.
//!
//! | symbol | here | |
//! |---|---|---|
//! | l | `cell` | the side of a cell |
//! | x / l | `coordinate` | the number of a cell along an axis |
//! | h(i, j, k) | `bucket` | the bucket of a cell |
//!
//! Teschner, Heidelberger, Müller, Pomeranets & Gross 2003, "Optimized spatial hashing for collision
//! detection of deformable objects", VMV. Each pair of boxes is reported once, in the first cell that both
//! boxes cover: Dittrich & Seeger 2000, "Data redundancy and duplicate detection in spatial join processing",
//! ICDE.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces};
use coarsen_sparse::Buckets;

use crate::aabb::mean_extent;
use crate::error::positive;
use crate::{Aabb, ContactError};

/// The number of boxes per task of a parallel loop.
const LEAF: usize = 1024;

/// The number of scalar operations per box, used to decide whether threads pay off.
const WORK: usize = 32;

/// Boxes that cover more cells than this are large. They are in no cell, and every query tests them.
const MOST: u64 = 512;

/// A spatial hash: numbered boxes in the cells of a uniform grid.
///
/// Each [`rebuild`](Self::rebuild) reuses the memory. The cells are computed in parallel, and the sort runs
/// on one thread. The result does not depend on the number of threads. *Cell size*: with the default, twice the
/// mean extent of the boxes, a box of this extent covers up to 8 cells, and 3.4 on average. If queries are larger than
/// the boxes, use the extent of the queries. Much smaller cells make large boxes slow: a box of more than 512 cells is
/// in no cell, and every query tests it. *Cost* of a rebuild: a counting sort of all pairs of box and cell; 8
/// bytes per pair and 68 to 84 bytes per box. *Cost* of a query: its cells and the boxes in them, at most all
/// boxes.
///
/// ```
/// use coarsen_contact::{Aabb, SpatialHash};
/// let points = [[0.0; 3], [1.0, 0.0, 0.0], [5.0, 0.0, 0.0]];
/// let mut hash = SpatialHash::default();
/// hash.rebuild(3, Some(2.0), |i| Aabb::of([points[i]]))?;
/// let mut found = Vec::new();
/// hash.query(&Aabb { low: [0.5, -1.0, -1.0], high: [9.0, 1.0, 1.0] }, |i| found.push(i));
/// assert_eq!(found, [1, 2]);
/// # Ok::<(), coarsen_contact::ContactError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SpatialHash {
    boxes: Vec<Aabb>,
    grid: Grid,
    /// For each box, the number of pairs of box and cell of all boxes before it.
    offsets: Vec<u32>,
    /// The bucket of each pair.
    keys: Vec<u32>,
    /// The boxes of all pairs, sorted by bucket. Those of bucket b are from `starts[b]` to `starts[b + 1]`,
    /// in increasing order.
    sorted: Vec<u32>,
    starts: Vec<usize>,
    large: Vec<u32>,
}

impl SpatialHash {
    /// Replaces all boxes by `count` boxes; `of` returns box i. `cell` is the side of a cell. The default is
    /// twice the mean extent of the boxes, or for points the distance at which a regular grid would have as many
    /// points.
    ///
    /// # Errors
    /// [`ContactError::Box`] for the first box that is empty or not finite, [`ContactError::Value`] for a
    /// cell that is not positive and finite, [`ContactError::TooMany`] for 2³² or more boxes or pairs of box
    /// and cell. After an error the hash is empty.
    pub fn rebuild(
        &mut self,
        count: usize,
        cell: Option<f64>,
        of: impl Fn(usize) -> Aabb + Sync,
    ) -> Result<(), ContactError> {
        let built = self.build(count, cell, &of);
        if built.is_err() {
            self.boxes.clear();
        }
        built
    }

    fn build(
        &mut self,
        count: usize,
        cell: Option<f64>,
        of: &(impl Fn(usize) -> Aabb + Sync),
    ) -> Result<(), ContactError> {
        check_count("boxes", count)?;
        let parallel = parallel::worth(count * WORK);
        self.boxes.clear();
        self.boxes.resize(count, Aabb::EMPTY);
        let fill = |(range, boxes): (Range<usize>, &mut [Aabb])| {
            range.zip(boxes).for_each(|(i, to)| *to = of(i));
        };
        parallel::each((0..count, &mut self.boxes[..]), LEAF, parallel, &fill);
        if let Some(index) = parallel::position(&self.boxes, |b| !b.is_finite()) {
            return Err(ContactError::Box { index });
        }
        let cell = match cell {
            Some(cell) => positive("the cell of a spatial hash", cell)?,
            None => typical(&self.boxes),
        };
        let pairs = self.count_cells(Grid::new(cell))?;
        self.sort(pairs);
        Ok(())
    }

    /// Computes the offsets of all boxes and the list of large boxes. Returns the number of pairs of box and
    /// cell.
    fn count_cells(&mut self, grid: Grid) -> Result<usize, ContactError> {
        let Self { boxes, offsets, large, .. } = self;
        offsets.clear();
        offsets.resize(boxes.len() + 1, 0);
        parallel::map(boxes, &mut offsets[..boxes.len()], |b| grid.cells(b).count().min(MOST + 1) as u32);
        large.clear();
        let mut pairs = 0;
        for (i, offset) in offsets.iter_mut().enumerate() {
            let own = std::mem::replace(offset, pairs as u32);
            if u64::from(own) > MOST {
                large.push(i as u32);
            } else {
                pairs += own as usize;
            }
        }
        check_count("pairs of box and cell", pairs)?;
        // Boxes share cells, so fewer cells are in use than there are pairs.
        self.grid = grid.with_buckets(2 * boxes.len());
        Ok(pairs)
    }

    /// Computes the buckets of all pairs and sorts the pairs by bucket with a counting sort.
    fn sort(&mut self, pairs: usize) {
        let Self { boxes, grid, offsets, keys, sorted, starts, .. } = self;
        let grid = *grid;
        keys.clear();
        keys.resize(pairs, 0);
        let fill = |part: Keys<'_>| {
            for (b, ends) in part.boxes.iter().zip(part.offsets.windows(2)) {
                let mut next = (ends[0] - part.offsets[0]) as usize;
                if ends[0] == ends[1] {
                    continue; // a large box
                }
                grid.cells(b).for_each(|cell| {
                    part.keys[next] = grid.bucket(cell);
                    next += 1;
                });
            }
        };
        let parallel = parallel::worth(pairs * WORK);
        parallel::each(Keys { boxes, offsets, keys }, LEAF, parallel, &fill);
        let mut buckets = Buckets::reuse(std::mem::take(starts), grid.buckets());
        keys.iter().for_each(|&key| buckets.count(key as usize));
        sorted.clear();
        sorted.resize(buckets.sum_up(), 0);
        for (i, ends) in offsets.windows(2).enumerate() {
            for &key in &keys[ends[0] as usize..ends[1] as usize] {
                sorted[buckets.place(key as usize)] = i as u32;
            }
        }
        *starts = buckets.into_starts();
    }

    /// Calls `visit` once for each box that overlaps `of`, in an order that depends only on the boxes. A
    /// query with NaN overlaps nothing.
    ///
    /// ```
    /// use coarsen_contact::{Aabb, SpatialHash};
    /// let mut hash = SpatialHash::default();
    /// hash.rebuild(1000, None, |i| Aabb::of([[i as f64; 3]]).grown(0.4))?;
    /// let mut found = Vec::new();
    /// hash.query(&Aabb::of([[7.5; 3]]).grown(1.2), |i| found.push(i));
    /// assert_eq!(found, [6, 7, 8, 9]);
    /// # Ok::<(), coarsen_contact::ContactError>(())
    /// ```
    #[inline]
    pub fn query(&self, of: &Aabb, visit: impl FnMut(u32)) {
        self.query_share(of, 0..u64::MAX, visit);
    }

    /// The number of tests of two boxes that a [`query`](Self::query) makes: the sum of the lengths of the buckets
    /// of its cells, and the number of large boxes.
    ///
    /// *Cost* its cells.
    pub fn tests(&self, of: &Aabb) -> u64 {
        let (cells, all) = (self.grid.cells(of), self.boxes.len() as u64);
        match cells.count() {
            0 => 0,
            count if count > all => all,
            _ => {
                let mut tests = self.large.len();
                cells.for_each(|cell| tests += self.bucket(cell).len());
                tests as u64
            }
        }
    }

    /// As [`query`](Self::query), but makes only the tests with these numbers, from 0 to
    /// [`tests`](Self::tests). Queries of consecutive ranges visit each box once in total.
    ///
    /// ```
    /// use coarsen_contact::{Aabb, SpatialHash};
    /// let mut hash = SpatialHash::default();
    /// hash.rebuild(1000, None, |i| Aabb::of([[i as f64; 3]]).grown(0.4))?;
    /// let (of, mut found) = (Aabb::of([[7.5; 3]]).grown(1.2), Vec::new());
    /// let half = hash.tests(&of) / 2;
    /// hash.query_share(&of, 0..half, |i| found.push(i));
    /// hash.query_share(&of, half..2 * half + 1, |i| found.push(i));
    /// assert_eq!(found, [6, 7, 8, 9]);
    /// # Ok::<(), coarsen_contact::ContactError>(())
    /// ```
    #[inline]
    pub fn query_share(&self, of: &Aabb, tests: Range<u64>, visit: impl FnMut(u32)) {
        self.query_from(of, 0, tests, visit);
    }

    /// As [`query_share`](Self::query_share), but visits only boxes from `first` on.
    #[inline]
    pub(crate) fn query_from(&self, of: &Aabb, first: u32, tests: Range<u64>, mut visit: impl FnMut(u32)) {
        let cells = self.grid.cells(of);
        let count = cells.count();
        if count == 0 {
            return; // an empty box
        }
        // The part of the next `length` tests that is in the share.
        let mut before = 0;
        let mut part = |length: usize| {
            let to = |test: u64| test.saturating_sub(before).min(length as u64) as usize;
            let part = to(tests.start)..to(tests.end).max(to(tests.start));
            before += length as u64;
            part
        };
        if count > self.boxes.len() as u64 {
            let own = part(self.boxes.len());
            let overlapping = own.filter(|&i| i >= first as usize && self.boxes[i].overlaps(of));
            return overlapping.for_each(|i| visit(i as u32));
        }
        let large = &self.large[part(self.large.len())];
        large
            .iter()
            .filter(|i| **i >= first && self.boxes[**i as usize].overlaps(of))
            .for_each(|i| visit(*i));
        cells.for_each(|cell| {
            let all = self.bucket(cell);
            let own = part(all.len());
            // Entries of one box in the same bucket are adjacent.
            let mut last = if own.start > 0 { all[own.start - 1] } else { u32::MAX };
            for &i in &all[own] {
                if std::mem::replace(&mut last, i) == i || i < first {
                    continue;
                }
                let b = &self.boxes[i as usize];
                if b.overlaps(of) && self.grid.first_common(b, &cells) == cell {
                    visit(i);
                }
            }
        });
    }

    /// The boxes in the bucket of a cell.
    #[inline]
    fn bucket(&self, cell: [i32; 3]) -> &[u32] {
        let bucket = self.grid.bucket(cell) as usize;
        &self.sorted[self.starts[bucket]..self.starts[bucket + 1]]
    }

    /// The number of boxes.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Whether there are no boxes.
    pub fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    /// Box i. *Panics* if there is no box i.
    #[inline]
    pub fn get(&self, i: u32) -> &Aabb {
        &self.boxes[i as usize]
    }

    /// The side of a cell.
    pub fn cell(&self) -> f64 {
        self.grid.cell
    }
}

/// Returns twice the mean extent of the boxes, with which fewer cells are visited than with half of that, and about as
/// many boxes. For points, returns the side of a cube of which each point gets one.
fn typical(boxes: &[Aabb]) -> f64 {
    let mean = mean_extent(boxes.iter().copied());
    if mean > 0.0 {
        return 2.0 * mean;
    }
    let all = Aabb::of(boxes.iter().flat_map(|b| [b.low, b.high])).extent();
    if all > 0.0 { all / (boxes.len() as f64).cbrt() } else { 1.0 }
}

fn check_count(what: &'static str, count: usize) -> Result<(), ContactError> {
    let limit = u32::MAX as usize;
    if count < limit { Ok(()) } else { Err(ContactError::TooMany { what, count, limit }) }
}

/// The grid of cells, and the hash function that gives their buckets.
#[derive(Clone, Copy, Debug, Default)]
struct Grid {
    cell: f64,
    inverse: f64,
    /// 32 minus the binary logarithm of the number of buckets, which is a power of two.
    shift: u32,
}

impl Grid {
    fn new(cell: f64) -> Self {
        // The inverse is finite even for a subnormal cell, so that coordinate 0 stays 0.
        Self { cell, inverse: cell.max(f64::MIN_POSITIVE).recip(), shift: 0 }
    }

    /// Returns the grid with a power of two of buckets: at least `count` and at least 2.
    fn with_buckets(self, count: usize) -> Self {
        Self { shift: 32 - count.max(2).next_power_of_two().ilog2().min(31), ..self }
    }

    fn buckets(self) -> usize {
        1 << (32 - self.shift)
    }

    /// x / l without its fraction, limited to 32 bits. It does not decrease with x, so that boxes that
    /// overlap share a cell. Cells at 0 are twice as long as other cells.
    #[inline]
    fn coordinate(self, x: f64) -> i32 {
        (x * self.inverse) as i32
    }

    #[inline]
    fn cells(self, of: &Aabb) -> Cells {
        Cells { low: of.low.map(|x| self.coordinate(x)), high: of.high.map(|x| self.coordinate(x)) }
    }

    /// The first cell that a box shares with `cells`.
    #[inline]
    fn first_common(self, of: &Aabb, cells: &Cells) -> [i32; 3] {
        std::array::from_fn(|k| self.coordinate(of.low[k]).max(cells.low[k]))
    }

    /// h, computed with the primes of Teschner et al. and then the high bits of a product (Knuth 1998, vol.
    /// 3, §6.4).
    #[inline]
    fn bucket(self, [i, j, k]: [i32; 3]) -> u32 {
        let [i, j, k] = [i, j, k].map(|c| c as u32);
        let mixed = i.wrapping_mul(73_856_093) ^ j.wrapping_mul(19_349_663) ^ k.wrapping_mul(83_492_791);
        mixed.wrapping_mul(0x9e37_79b1) >> self.shift
    }
}

/// All cells from one corner to another, both included.
#[derive(Clone, Copy)]
struct Cells {
    low: [i32; 3],
    high: [i32; 3],
}

impl Cells {
    #[inline]
    fn count(&self) -> u64 {
        let along = |k: usize| (i64::from(self.high[k]) - i64::from(self.low[k]) + 1).max(0) as u64;
        along(0).saturating_mul(along(1)).saturating_mul(along(2))
    }

    #[inline]
    fn for_each(&self, mut f: impl FnMut([i32; 3])) {
        for i in self.low[0]..=self.high[0] {
            for j in self.low[1]..=self.high[1] {
                (self.low[2]..=self.high[2]).for_each(|k| f([i, j, k]));
            }
        }
    }
}

/// Boxes and the keys of their cells. The offsets give the number of keys of each box.
struct Keys<'a> {
    boxes: &'a [Aabb],
    offsets: &'a [u32],
    keys: &'a mut [u32],
}

impl Pieces for Keys<'_> {
    fn extent(&self) -> usize {
        self.boxes.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let (boxes, other) = self.boxes.split_at(mid);
        let (keys, rest) = self.keys.split_at_mut((self.offsets[mid] - self.offsets[0]) as usize);
        (
            Self { boxes, offsets: &self.offsets[..=mid], keys },
            Self { boxes: other, offsets: &self.offsets[mid..], keys: rest },
        )
    }
}
