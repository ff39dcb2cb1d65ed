//! Counting sort.

/// Counting sort into numbered buckets, in two passes over the items. [`count`](Self::count) counts each
/// item, and [`place`](Self::place) returns the position of each item in the sorted list. Items of a bucket
/// keep their order.
///
/// *Cost* one list of offsets; two passes over this list and two over the items. *Reference* Knuth 1998, vol.
/// 3, §5.2, algorithm D.
///
/// ```
/// use coarsen_sparse::Buckets;
/// let keys = [2, 0, 2, 1];
/// let mut buckets = Buckets::new(3);
/// keys.iter().for_each(|&key| buckets.count(key));
/// let mut sorted = vec![0; buckets.sum_up()];
/// keys.iter().enumerate().for_each(|(item, &key)| sorted[buckets.place(key)] = item);
/// assert_eq!(sorted, [1, 3, 0, 2]);
/// assert_eq!(buckets.into_starts(), [0, 1, 2, 4]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Buckets {
    /// In the first pass, entry k + 2 is the number of items of bucket k. In the second pass, entry k + 1 is
    /// the next free position of bucket k; after this pass it is the start of bucket k + 1.
    starts: Vec<usize>,
}

impl Buckets {
    /// Creates `count` empty buckets.
    pub fn new(count: usize) -> Self {
        Self { starts: vec![0; count + 2] }
    }

    /// Creates `count` empty buckets and reuses memory that [`into_starts`](Self::into_starts) returned.
    pub fn reuse(mut memory: Vec<usize>, count: usize) -> Self {
        memory.clear();
        memory.resize(count + 2, 0);
        Self { starts: memory }
    }

    /// Counts one item of a bucket, in the first pass.
    #[inline]
    pub fn count(&mut self, bucket: usize) {
        self.starts[bucket + 2] += 1;
    }

    /// Turns the counts into offsets, between the passes; returns the number of items.
    pub fn sum_up(&mut self) -> usize {
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        sum
    }

    /// Returns the position of the next item of a bucket, in the second pass.
    #[inline]
    pub fn place(&mut self, bucket: usize) -> usize {
        let next = &mut self.starts[bucket + 1];
        *next += 1;
        *next - 1
    }

    /// Returns the start of each bucket and the end of the last bucket. Call this after
    /// [`place`](Self::place) was called for every item.
    pub fn into_starts(mut self) -> Vec<usize> {
        self.starts.pop();
        self.starts
    }
}

/// The indices of all items sorted by bucket, and the start of each bucket. `of` gives the bucket of each
/// item, or `None` for an item that is left out.
///
/// ```
/// let (starts, sorted) = coarsen_sparse::by_bucket(2, [1, 0, 7, 1].map(|k| (k < 2).then_some(k)).into_iter());
/// assert_eq!((starts, sorted), (vec![0, 1, 3], vec![1, 0, 3]));
/// ```
pub fn by_bucket(count: usize, of: impl Iterator<Item = Option<usize>> + Clone) -> (Vec<usize>, Vec<u32>) {
    let mut buckets = Buckets::new(count);
    of.clone().flatten().for_each(|bucket| buckets.count(bucket));
    let mut sorted = vec![0; buckets.sum_up()];
    for (item, bucket) in of.enumerate() {
        if let Some(bucket) = bucket {
            sorted[buckets.place(bucket)] = item as u32;
        }
    }
    (buckets.into_starts(), sorted)
}
