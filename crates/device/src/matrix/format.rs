//! Layouts of the rows of a matrix in device memory.
//!
//! On a GPU one item computes one row, and items run in lockstep. So values that they read at the
//! same time should be adjacent. Rows are therefore grouped in slices, in which the k-th blocks of all rows
//! are adjacent. Rows are padded to the longest row of the slice (sliced ELLPACK), or to the longest row of
//! the matrix (ELLPACK), which needs no table of slices. A processor core runs its items one after the other,
//! so rows are stored one after the other. So are long rows on a GPU, each of which several items compute:
//! adjacent items read adjacent blocks of the row.
//!
//! *Reference* Tang, Wang, Liu, Tong, Manocha 2020 (P-Cloth), §3.2.2 (block ELL); Monakov, Lokhmotov,
//! Avetisyan 2010 (sliced ELL).

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel;
use coarsen_sparse::{Bsr, Pattern};

use crate::Device;
use crate::memory::convert;

/// The number of rows in a slice, which is the number of items that run in lockstep.
const SLICE: usize = 32;

/// The number of items for a long row.
const ITEMS_PER_ROW: usize = 32;

/// The mean number of blocks from which rows are long. Measured on a GPU with 25 blocks, where slices are faster, and
/// with 96, where several items for a row are.
const LONG: usize = 32;

/// The largest padding of ELLPACK relative to the stored blocks; with more padding, rows are stored as sliced
/// ELLPACK.
const EVEN: f64 = 0.05;

/// The largest padding of sliced ELLPACK relative to the stored blocks; with more padding, rows are stored as
/// block CSR.
const UNEVEN: f64 = 1.0;

/// A layout of block rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Row after row: block CSR. No padding.
    Rows,
    /// Slices of 32 rows, all padded to the longest row of the matrix.
    Ell,
    /// Slices of 32 rows, each padded to the longest row of the slice.
    Sliced,
}

impl Format {
    /// Returns the layout for a pattern on a device.
    pub(crate) fn suiting(pattern: &Pattern, device: &Device) -> Self {
        let stored = pattern.len() as f64;
        let padding = |format| Layout::slots(pattern, format) as f64 - stored;
        if !device.accelerator
            || Self::takes_several_items(pattern, device)
            || padding(Self::Sliced) > UNEVEN * stored
        {
            Self::Rows
        } else if padding(Self::Ell) <= EVEN * stored {
            Self::Ell
        } else {
            Self::Sliced
        }
    }

    /// Whether the rows of a pattern are long and groups of a device are large enough for several items a row.
    fn takes_several_items(pattern: &Pattern, device: &Device) -> bool {
        let long = pattern.rows() > 0 && pattern.len() >= LONG * pattern.rows();
        long && device.accelerator && device.width >= ITEMS_PER_ROW
    }

    /// Returns the number of items that compute a row together.
    pub(crate) fn items_per_row(self, pattern: &Pattern, device: &Device) -> usize {
        if self == Self::Rows && Self::takes_several_items(pattern, device) { ITEMS_PER_ROW } else { 1 }
    }

    /// Returns the number of rows in a slice.
    pub(crate) fn slice(self) -> usize {
        if self == Self::Rows { 1 } else { SLICE }
    }
}

/// The slots of the blocks of consecutive rows of a pattern, which begin with a whole slice.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) rows: Range<usize>,
    pub(crate) slice: usize,
    /// The number of slots per row in [`Format::Ell`], 0 in other layouts.
    pub(super) width: usize,
    /// For each slice, the sum of the slots per row of all slices before it. The last entry is the sum over
    /// all slices.
    pub(super) offsets: Vec<u32>,
    /// The number of slots of all slices.
    pub(crate) slots: usize,
}

impl Layout {
    /// Returns the layout of a pattern with fewer than 2³² slots.
    pub(super) fn new(pattern: &Pattern, format: Format) -> Self {
        Self::of_rows(pattern, format, 0..pattern.rows(), even_width(pattern, format))
    }

    /// Returns the layouts of consecutive rows of a pattern, as few as possible, each with values of at most `most` bytes,
    /// `bytes` for each slot. `Err` is a row whose slice alone exceeds `most`, and the bytes of this slice.
    pub(super) fn ranges(
        pattern: &Pattern,
        format: Format,
        bytes: usize,
        most: u64,
    ) -> Result<Vec<Self>, (usize, u64)> {
        let (n, slice, even) = (pattern.rows(), format.slice(), even_width(pattern, format));
        let limit = (most / bytes as u64).min(u64::from(u32::MAX)) as usize;
        // The lists of offsets and of lengths have up to one number more than there are rows.
        let longest = (most / 4).saturating_sub(1) as usize;
        let (mut starts, mut slots) = (vec![0], 0);
        for (s, width) in widths(pattern, slice, 0..n).enumerate() {
            let (row, here) = (s * slice, width.max(even) * slice);
            if here > limit {
                let longest = (row..n.min(row + slice)).max_by_key(|&i| pattern.row(i).len());
                return Err((longest.unwrap_or(row), here as u64 * bytes as u64));
            }
            let start = starts[starts.len() - 1];
            if row > start && (slots + here > limit || row + slice - start > longest) {
                starts.push(row);
                slots = 0;
            }
            slots += here;
        }
        starts.push(n);
        let range = |ends: &[usize]| Self::of_rows(pattern, format, ends[0]..ends[1], even);
        Ok(starts.windows(2).map(range).collect())
    }

    fn of_rows(pattern: &Pattern, format: Format, rows: Range<usize>, width: usize) -> Self {
        let slice = format.slice();
        let (mut offsets, mut end) = (vec![0], 0);
        offsets.extend(widths(pattern, slice, rows.clone()).map(|here| {
            end += here.max(width);
            end as u32
        }));
        Self { rows, slice, width, offsets, slots: end * slice }
    }

    /// Returns the layout of `rows` rows of up to `width` blocks each, in slices of all the same width.
    pub(crate) fn even(rows: usize, width: usize) -> Self {
        let slice = Format::Ell.slice();
        let slots = rows.next_multiple_of(slice) * width;
        Self { rows: 0..rows, slice, width, offsets: vec![0], slots }
    }

    pub(super) fn slots(pattern: &Pattern, format: Format) -> usize {
        let slice = format.slice();
        match format {
            Format::Ell => even_width(pattern, format) * pattern.rows().next_multiple_of(slice),
            Format::Rows | Format::Sliced => widths(pattern, slice, 0..pattern.rows()).sum::<usize>() * slice,
        }
    }

    /// Returns the slot of the first block of row i of the pattern. From block to block of a row the slot increases by
    /// `slice`.
    pub(super) fn first(&self, i: usize) -> usize {
        let l = i - self.rows.start;
        self.offsets[l / self.slice] as usize * self.slice + l % self.slice
    }

    /// Returns the slot of the k-th block of row i.
    pub(crate) fn slot(&self, i: usize, k: usize) -> usize {
        self.first(i) + k * self.slice
    }

    /// Returns the number of blocks in every row. Empty if slices have one row, because the offsets then give
    /// the lengths.
    pub(super) fn lengths(&self, pattern: &Pattern) -> Vec<u32> {
        let rows = if self.slice == 1 { 0..0 } else { self.rows.clone() };
        rows.map(|i| pattern.row(i).len() as u32).collect()
    }

    /// Returns the columns of all slots.
    pub(super) fn columns(&self, pattern: &Pattern) -> Vec<u32> {
        let mut columns = vec![0; self.slots];
        for i in self.rows.clone() {
            let first = self.first(i);
            pattern.row(i).iter().enumerate().for_each(|(k, &j)| columns[first + k * self.slice] = j);
        }
        columns
    }

    /// Whether host values of type `T` lie as values of type `S` do here: there is nothing to arrange.
    pub(super) fn keeps<T: Real, S: Real>(&self) -> bool {
        self.slice == 1 && T::NAME == S::NAME
    }

    /// Returns the host values of the rows.
    pub(super) fn values<'a, T: Real>(&self, host: &'a Bsr<T>) -> &'a [T] {
        &host.values()[self.host_range(host)]
    }

    /// Returns where the values of the rows are on the host.
    fn host_range<T: Real>(&self, host: &Bsr<T>) -> Range<usize> {
        let (offsets, area) = (host.pattern().offsets(), host.block().0 * host.block().1);
        offsets[self.rows.start] * area..offsets[self.rows.end] * area
    }

    /// Writes values to their slots. A slice is written entry by entry, and padding is not written.
    pub(super) fn arrange<T: Real, S: Real>(&self, host: &Bsr<T>, to: &mut [S]) {
        if self.slice == 1 {
            return convert(self.values(host), to);
        }
        let (area, slice) = (host.block().0 * host.block().1, self.slice);
        for i in self.rows.clone() {
            let (lane, first) = (i % slice, self.first(i) - i % slice);
            for (k, (_, block)) in host.row(i).enumerate() {
                let at = (first + k * slice) * area + lane;
                block.iter().enumerate().for_each(|(e, v)| to[at + e * slice] = v.to());
            }
        }
    }

    /// Reads values from their slots: the inverse of [`arrange`](Self::arrange).
    pub(super) fn collect<T: Real, S: Real>(&self, from: &[S], host: &mut Bsr<T>) {
        let (pattern, area, slice) = (host.pattern().clone(), host.block().0 * host.block().1, self.slice);
        let range = self.host_range(host);
        let values = &mut host.values_mut()[range];
        if slice == 1 {
            return parallel::map(from, values, |v| v.to());
        }
        let mut blocks = values.chunks_exact_mut(area);
        for i in self.rows.clone() {
            let (lane, first) = (i % slice, self.first(i) - i % slice);
            for (k, block) in blocks.by_ref().take(pattern.row(i).len()).enumerate() {
                let at = (first + k * slice) * area + lane;
                block.iter_mut().enumerate().for_each(|(e, v)| *v = from[at + e * slice].to());
            }
        }
    }
}

/// Returns the width that all slices have in [`Format::Ell`], and 0 for other layouts.
fn even_width(pattern: &Pattern, format: Format) -> usize {
    if format != Format::Ell {
        return 0;
    }
    widths(pattern, format.slice(), 0..pattern.rows()).max().unwrap_or(0)
}

/// Returns the length of the longest row of every slice of some rows.
fn widths(pattern: &Pattern, slice: usize, rows: Range<usize>) -> impl Iterator<Item = usize> {
    let end = rows.end;
    rows.step_by(slice).map(move |i| (i..end.min(i + slice)).map(|i| pattern.row(i).len()).max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use coarsen_sparse::assembly::from_triplets;

    #[test]
    fn values_lie_where_the_kernels_look() {
        let a = from_triplets(34, 34, &[(0, 1, 1.0), (0, 2, 2.0), (1, 0, 3.0), (33, 33, 4.0)]).unwrap();
        let sliced = Layout::new(a.pattern(), Format::Sliced);
        assert_eq!((sliced.offsets.as_slice(), sliced.slots, sliced.width), (&[0, 2, 3][..], 96, 0));
        let mut values = vec![0.0_f32; sliced.slots];
        sliced.arrange(&a, &mut values);
        assert_eq!([values[0], values[32], values[1], values[65]], [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(sliced.columns(a.pattern())[65], 33);
        assert_eq!(sliced.lengths(a.pattern())[..3], [2, 1, 0]);
        let mut again = coarsen_sparse::Bsr::<f64>::zeros(a.pattern().clone(), (1, 1)).unwrap();
        sliced.collect(&values, &mut again);
        assert_eq!(again, a);
        let ell = Layout::new(a.pattern(), Format::Ell);
        assert_eq!((ell.offsets.as_slice(), ell.slots, ell.width), (&[0, 2, 4][..], 128, 2));
        let rows = Layout::new(a.pattern(), Format::Rows);
        assert_eq!((rows.slots, rows.columns(a.pattern())), (4, vec![1, 2, 0, 33]));
        for (format, layout) in [(Format::Sliced, sliced), (Format::Ell, ell), (Format::Rows, rows)] {
            assert_eq!(Layout::slots(a.pattern(), format), layout.slots);
        }
    }

    /// Ranges begin with whole slices, none exceeds the limit, and together they are the whole matrix.
    #[test]
    fn ranges_are_as_large_as_the_limit_allows() {
        let entries: Vec<_> = (0..200).map(|k| (k / 2, (k * 7) % 100, f64::from(k))).collect();
        let a = from_triplets(100, 100, &entries).unwrap();
        for format in [Format::Rows, Format::Ell, Format::Sliced] {
            let ends = |most| -> Vec<_> {
                let ranges = Layout::ranges(a.pattern(), format, 8, most).unwrap();
                let mut again = Bsr::<f64>::zeros(a.pattern().clone(), (1, 1)).unwrap();
                for range in &ranges {
                    assert!(range.slots as u64 * 8 <= most && range.rows.start % range.slice == 0);
                    let mut values = vec![0.0; range.slots];
                    range.arrange(&a, &mut values);
                    range.collect(&values, &mut again);
                }
                assert_eq!(again, a);
                ranges.into_iter().map(|range| range.rows.end).collect()
            };
            assert_eq!(ends(1 << 20), [100]);
            match format {
                Format::Rows => assert_eq!(ends(41 * 16), [41, 82, 100]),
                _ => assert_eq!(ends(2 * 512), [64, 100]),
            }
        }
        let refused = Layout::ranges(a.pattern(), Format::Rows, 8, 15).unwrap_err();
        assert_eq!(refused, (0, 16));
        let empty = from_triplets::<f64>(0, 3, &[]).unwrap();
        assert_eq!(Layout::ranges(empty.pattern(), Format::Rows, 8, 8).unwrap().len(), 1);
    }
}
