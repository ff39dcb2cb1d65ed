//! Repeated assembly of matrices with a fixed pattern.
//!
//! The plan stores, for each row, the numbers of its entries in the stream and their positions in the row.
//! One task writes a row, in stream order. So no atomics, colours or copies of the matrix are needed, and the
//! bits do not depend on the number of threads.

use std::borrow::Borrow;
use std::ops::Range;
use std::sync::Arc;

use coarsen_core::parallel::{self, each};
use coarsen_core::{Real, simd};

use super::count_rows;
use crate::rows::{BlockRows, LEAF};
use crate::{Bsr, Pattern, SparseError, fits};

/// The plan for assembling a matrix from a stream of blocks, computed once per mesh and used in every step.
///
/// Entry k of the stream is added to block `places[k]`, as in [`from_blocks`](super::from_blocks), in
/// parallel over rows.
/// *Use* if the mesh does not change but its element matrices do, as in the elastic part of a simulation.
/// *Cost* of filling: the stream is read once, if entries of neighbouring rows are near each other in the
/// stream; the matrix is written once.
/// *Memory* 4 bytes per entry and 8 per run of consecutive entries in a row. With triangles there are a third
/// as many runs as entries.
///
/// ```
/// use coarsen_sparse::assembly::Assembly;
/// let plan = Assembly::of_elements(3, &[[0, 1], [1, 2]])?; // two springs in series
/// let mut a = plan.zeros::<f64>(1)?;
/// let spring = |k: f64| [k, -k, -k, k];
/// plan.fill(&[spring(1.0), spring(2.0)].concat(), &mut a)?;
/// assert_eq!(a.values(), [1.0, -1.0, -1.0, 3.0, -2.0, -2.0, 2.0]);
/// # Ok::<(), coarsen_sparse::SparseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Assembly {
    pattern: Arc<Pattern>,
    /// The index of the first run of each row; the last entry is the number of runs.
    starts: Vec<usize>,
    /// The runs of all rows, followed by a sentinel.
    runs: Vec<EntryRun>,
    /// The position of each entry within its row, in the order of the runs.
    places: Vec<u32>,
}

/// Consecutive entries of the stream that belong to one row, such as one row of an element matrix.
#[derive(Clone, Copy, Debug)]
struct EntryRun {
    /// The first entry.
    entry: u32,
    /// The index in `places` of the position of the first entry.
    at: u32,
}

/// How many rows ahead entries are prefetched.
const AHEAD: usize = 4;

/// The number of bytes of a cache line.
const LINE: usize = 64;

impl Assembly {
    /// The plan of a stream whose entry k goes to block (row, column) = `places[k]`, of a slice or an iterator, of a matrix
    /// of `rows` x `columns` blocks. A plan applies to blocks of any size.
    ///
    /// # Errors
    /// [`SparseError::Row`] or [`SparseError::Column`] if an entry lies outside the matrix,
    /// [`SparseError::TooLarge`] if the stream has more entries than `u32` can count.
    pub fn new(
        rows: usize,
        columns: usize,
        places: impl IntoIterator<Item: Borrow<(u32, u32)>, IntoIter: ExactSizeIterator + Clone>,
    ) -> Result<Self, SparseError> {
        let places = places.into_iter().map(|place| *place.borrow());
        let mut buckets = count_rows((rows, columns), places.len(), places.clone().enumerate())?;
        buckets.sum_up();
        let mut entries = vec![[0_u32; 2]; places.len()];
        for (entry, (i, j)) in places.enumerate() {
            entries[buckets.place(i as usize)] = [j, entry as u32];
        }
        let mut starts = buckets.into_starts();

        let mut lengths = vec![0_usize; rows];
        let work = parallel::worth(8 * entries.len());
        let pieces = (BlockRows::new(&starts, 1, &mut entries), &mut lengths[..]);
        each(pieces, LEAF, work, &|(rows, lengths): (BlockRows<'_, [u32; 2]>, &mut [usize])| {
            let mut lengths = lengths.iter_mut();
            rows.in_order(|_, row| {
                row.sort_unstable();
                let length = row.chunk_by(|a, b| a[0] == b[0]).count();
                lengths.next().into_iter().for_each(|l| *l = length);
            });
        });
        let mut offsets = Vec::with_capacity(rows + 1);
        offsets.push(0);
        lengths.iter().for_each(|length| offsets.push(offsets[offsets.len() - 1] + length));
        let mut indices = vec![0_u32; offsets[rows]];
        let pieces = (BlockRows::new(&starts, 1, &mut entries), BlockRows::new(&offsets, 1, &mut indices));
        each(pieces, LEAF, work, &|(entries, indices): (BlockRows<'_, [u32; 2]>, BlockRows<'_, u32>)| {
            let mut rest = indices.values;
            entries.in_order(|_, row| {
                let mut place = 0;
                for group in row.chunk_by_mut(|a, b| a[0] == b[0]) {
                    rest[place] = group[0][0];
                    group.iter_mut().for_each(|[column, entry]| (*column, *entry) = (*entry, place as u32));
                    place += 1;
                }
                row.sort_unstable(); // in stream order
                rest = &mut std::mem::take(&mut rest)[place..];
            });
        });
        let (runs, places) = runs(&mut starts, &entries);
        Ok(Self { pattern: Arc::new(Pattern::new(columns, offsets, indices)?), starts, runs, places })
    }

    /// The plan of a mesh: element e adds K² blocks. The block of corners (a, b) is entry (e K + a) K + b of
    /// the stream.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of_elements<const K: usize>(nodes: usize, corners: &[[u32; K]]) -> Result<Self, SparseError> {
        let place = |entry: usize| {
            let (e, a, b) = (entry / (K * K), entry / K % K, entry % K);
            (corners[e][a], corners[e][b])
        };
        Self::new(nodes, nodes, (0..corners.len() * K * K).map(place))
    }

    /// The pattern of the matrices that the plan fills.
    pub fn pattern(&self) -> &Arc<Pattern> {
        &self.pattern
    }

    /// The number of entries of the stream.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the stream is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The number of bytes of the plan, without its pattern.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.runs[..]) + size_of_val(&self.places[..])
    }

    /// A zero matrix with the pattern of the plan and b x b blocks.
    ///
    /// # Errors
    /// As [`Bsr::zeros`].
    pub fn zeros<T: Real>(&self, b: usize) -> Result<Bsr<T>, SparseError> {
        Bsr::zeros(self.pattern.clone(), (b, b))
    }

    /// Sums a stream of row-major blocks into `target` and overwrites its old values.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if `target` has another pattern, [`SparseError::Length`] unless the stream
    /// has one block per entry. On error, nothing is written.
    pub fn fill<T: Real>(&self, stream: &[T], target: &mut Bsr<T>) -> Result<(), SparseError> {
        let size = target.block().0 * target.block().1;
        let (expected, found) = (self.places.len() * size, stream.len());
        if expected != found {
            return Err(SparseError::Length { what: "stream of blocks", expected, found });
        }
        let ahead = |entries: Range<usize>| {
            let blocks = &stream[entries.start * size..entries.end * size];
            (0..size_of_val(blocks))
                .step_by(LINE)
                .for_each(|b| simd::prefetch(blocks.as_ptr().wrapping_byte_add(b)));
        };
        match size {
            1 => self.gather(target, |k, sum| sum[0] += stream[k], ahead),
            9 => self.gather(target, |k, sum| add::<T, 9>(&stream[9 * k..], sum), ahead),
            _ => self.gather(
                target,
                |k, sum| sum.iter_mut().zip(&stream[k * size..]).for_each(|(s, &v)| *s += v),
                ahead,
            ),
        }
    }

    /// Sums blocks computed on the fly: `add(k, sum)` adds the block of entry k to `sum`. *Use* if computing
    /// element matrices is faster than reading them.
    ///
    /// # Errors
    /// [`SparseError::Pattern`] if `target` has another pattern. On error, nothing is written.
    pub fn fill_with<T: Real>(
        &self,
        target: &mut Bsr<T>,
        add: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<(), SparseError> {
        self.gather(target, add, |_| ())
    }

    /// The loop of [`fill`](Self::fill) and [`fill_with`](Self::fill_with); `ahead` prefetches entries of
    /// later rows.
    fn gather<T: Real>(
        &self,
        target: &mut Bsr<T>,
        add: impl Fn(usize, &mut [T]) + Sync,
        ahead: impl Fn(Range<usize>) + Sync,
    ) -> Result<(), SparseError> {
        fits::patterns([("the target of an assembly", &self.pattern, target.pattern())])?;
        let size = target.block().0 * target.block().1;
        let work = parallel::worth(self.places.len() * size);
        let rows = BlockRows::new(self.pattern.offsets(), size, target.values_mut());
        each(rows, LEAF, work, &|rows: BlockRows<'_, T>| {
            simd::run(Gather { plan: self, rows, size, add: &add, ahead: &ahead });
        });
        Ok(())
    }

    /// The runs of row i: for each run its entries and their positions in the row.
    #[inline(always)]
    fn row(&self, i: usize) -> impl Iterator<Item = (Range<usize>, &[u32])> {
        let runs = &self.runs[self.starts[i]..=self.starts[i + 1]];
        runs.iter().zip(&runs[1..]).map(|(run, next)| {
            let places = &self.places[run.at as usize..next.at as usize];
            (run.entry as usize..run.entry as usize + places.len(), places)
        })
    }
}

/// Groups the entries of all rows, in stream order within each row, into runs. Afterwards `starts` counts
/// runs instead of entries.
fn runs(starts: &mut [usize], entries: &[[u32; 2]]) -> (Vec<EntryRun>, Vec<u32>) {
    let mut runs = Vec::new();
    let mut begin = 0;
    for start in starts.iter_mut().skip(1) {
        let end = std::mem::replace(start, 0);
        for at in begin..end {
            let entry = entries[at][0];
            if at == begin || entry != entries[at - 1][0] + 1 {
                runs.push(EntryRun { entry, at: at as u32 });
            }
        }
        (*start, begin) = (runs.len(), end);
    }
    runs.push(EntryRun { entry: u32::MAX, at: entries.len() as u32 });
    (runs, entries.iter().map(|entry| entry[1]).collect())
}

/// The rows of a target that one task gathers.
struct Gather<'a, T, A, P> {
    plan: &'a Assembly,
    rows: BlockRows<'a, T>,
    size: usize,
    add: &'a A,
    ahead: &'a P,
}

impl<T: Real, A: Fn(usize, &mut [T]), P: Fn(Range<usize>)> simd::Kernel<T> for Gather<'_, T, A, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<T>>(self, _: S) {
        let Self { plan, rows, size, add, ahead } = self;
        let (offsets, last) = (plan.pattern.offsets(), plan.pattern.rows());
        let mut rest = rows.values;
        for i in rows.rows {
            if i + AHEAD < last {
                plan.row(i + AHEAD).for_each(|(entries, _)| ahead(entries));
            }
            let (row, tail) = rest.split_at_mut((offsets[i + 1] - offsets[i]) * size);
            rest = tail;
            row.fill(T::zero());
            for (entries, places) in plan.row(i) {
                for (k, &place) in entries.zip(places) {
                    let at = place as usize * size;
                    add(k, &mut row[at..at + size]);
                }
            }
        }
    }
}

/// Adds a block of a size known at compile time.
#[inline(always)]
fn add<T: Real, const N: usize>(block: &[T], sum: &mut [T]) {
    if let (Some(block), Some(sum)) = (block.first_chunk::<N>(), sum.first_chunk_mut::<N>()) {
        (0..N).for_each(|k| sum[k] += block[k]);
    }
}
