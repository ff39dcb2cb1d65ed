//! Step 5 of filling: each bucket sums its rows.

use coarsen_core::parallel::Pieces;
use coarsen_core::{Real, simd};

use super::fill::{Bucket, Elements};

/// The output blocks of some buckets.
pub(super) struct Targets<'a, T> {
    pub(super) buckets: &'a [Bucket],
    pub(super) offsets: &'a [usize],
    pub(super) size: usize,
    pub(super) places: &'a mut [(u32, u32)],
    pub(super) values: &'a mut [T],
}

/// Step 5 as a kernel, compiled for several instruction sets.
pub(super) struct Filling<'a, 'e, T, E> {
    pub(super) targets: Targets<'a, T>,
    pub(super) elements: &'e E,
}

impl<T: Real, E: Elements<T>> simd::Kernel<T> for Filling<'_, '_, T, E> {
    type Output = ();

    #[inline(always)]
    fn run<S: simd::Set<T>>(self, _: S) {
        let (Targets { buckets, size, mut places, mut values, .. }, elements) = (self.targets, self.elements);
        for bucket in buckets {
            let (own, rest) = std::mem::take(&mut places).split_at_mut(bucket.places.len());
            own.copy_from_slice(&bucket.places);
            places = rest;
            for (blocks, entries) in bucket.blocks.windows(2).zip(bucket.rows.windows(2)) {
                let row = &bucket.places[blocks[0] as usize..blocks[1] as usize];
                // One row at a time, so that its blocks are still in the cache when contributions are added.
                let (sums, rest) = std::mem::take(&mut values).split_at_mut(row.len() * size);
                values = rest;
                sums.fill(T::zero());
                for &entry in &bucket.entries[entries[0] as usize..entries[1] as usize] {
                    let (e, r) = (entry as usize / 4, entry as usize % 4);
                    for (c, &column) in elements.columns(e).iter().enumerate() {
                        let at = seek(row, column);
                        elements.add(e, r, c, &mut sums[at * size..(at + 1) * size]);
                    }
                }
            }
        }
    }
}

/// The position of `column` in a row that is known to contain it.
#[inline(always)]
fn seek(row: &[(u32, u32)], column: u32) -> usize {
    // Most rows are short; comparing all entries without a branch is then faster than a binary search.
    const SHORT: usize = 16;
    if row.len() <= SHORT {
        return row.iter().map(|place| usize::from(place.1 < column)).sum();
    }
    row.partition_point(|place| place.1 < column)
}

impl<T: Real> Pieces for Targets<'_, T> {
    fn extent(&self) -> usize {
        self.buckets.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { buckets, offsets, size, places, values } = self;
        let blocks = offsets[mid] - offsets[0];
        let (buckets, buckets_right) = buckets.split_at(mid);
        let (places, places_right) = places.split_at_mut(blocks);
        let (values, values_right) = values.split_at_mut(blocks * size);
        (
            Self { buckets, offsets: &offsets[..=mid], size, places, values },
            Self {
                buckets: buckets_right,
                offsets: &offsets[mid..],
                size,
                places: places_right,
                values: values_right,
            },
        )
    }
}
