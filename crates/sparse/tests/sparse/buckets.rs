//! Counting sort.

use coarsen_core::SplitMix64;
use coarsen_sparse::{Buckets, by_bucket};

/// Compares with a stable sort.
#[test]
fn items_of_a_bucket_keep_their_order() {
    let mut random = SplitMix64::new(3);
    for (items, count) in [(0, 0), (0, 4), (1, 1), (500, 7), (500, 900)] {
        let keys: Vec<usize> = (0..items).map(|_| random.bits() as usize % count).collect();
        let (starts, sorted) = by_bucket(count, keys.iter().map(|&key| Some(key)));
        let mut expected: Vec<u32> = (0..items as u32).collect();
        expected.sort_by_key(|&item| keys[item as usize]);
        assert_eq!(sorted, expected);
        let start = |bucket: usize| keys.iter().filter(|&&key| key < bucket).count();
        assert_eq!(starts, (0..=count).map(start).collect::<Vec<_>>());
    }
}

#[test]
fn memory_is_used_again() {
    let memory = vec![9; 40];
    let kept = memory.as_ptr();
    let mut buckets = Buckets::reuse(memory, 3);
    buckets.count(1);
    assert_eq!(buckets.sum_up(), 1);
    assert_eq!(buckets.place(1), 0);
    let starts = buckets.into_starts();
    assert_eq!((&starts[..], starts.as_ptr()), (&[0, 0, 1, 1][..], kept));
}
