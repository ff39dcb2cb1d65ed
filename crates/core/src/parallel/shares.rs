//! Sums over a vector that is split among ranks, along the reduction tree of the whole vector.

use std::ops::Range;

use super::{GRAIN, Pieces, join};

/// The indices of the leaves of [`tree`](super::tree) that contain entries `first..first + n` of a longer
/// vector.
///
/// ```
/// assert_eq!(coarsen_core::parallel::leaves_of(4096, 5000, 4096), 1..3);
/// ```
pub fn leaves_of(first: usize, n: usize, length: usize) -> Range<usize> {
    let from = first / length;
    if n == 0 { from..from } else { from..(first + n).div_ceil(length) }
}

/// Calls `leaf` on the pieces of one rank's share of a longer vector. The share begins at entry `first` and
/// is cut at the leaf boundaries of the whole vector. The result of each leaf in [`leaves_of`] is written to
/// `into`.
///
/// If every share begins and ends at a leaf boundary, [`combine`] of the results of all shares equals
/// [`tree`](super::tree) of the whole vector to the last bit. Sums then do not depend on the number of ranks.
/// A leaf that is cut in two has a partial result in both shares.
/// *Panics* if `into` has another length than `leaves_of`.
///
/// ```
/// use coarsen_core::parallel::{combine, leaves, tree};
/// let x: Vec<f64> = (0..1000).map(|i| (i as f64).sqrt()).collect();
/// let (sum, add) = (|x: &[f64]| x.iter().sum::<f64>(), |a, b| a + b);
/// let mut sums = [0.0; 10];
/// leaves(&x[..300], 0, 100, false, &sum, &mut sums[..3]); // the first rank
/// leaves(&x[300..], 300, 100, false, &sum, &mut sums[3..]); // the second rank
/// assert_eq!(combine(&sums, &add), Some(tree(&x[..], 100, false, &sum, &add)));
/// ```
pub fn leaves<P: Pieces, R: Send>(
    share: P,
    first: usize,
    length: usize,
    parallel: bool,
    leaf: &(impl Fn(P) -> R + Sync),
    into: &mut [R],
) {
    let count = leaves_of(first, share.extent(), length).len();
    assert_eq!(into.len(), count, "leaves: a place for each");
    if count <= 1 {
        return into.iter_mut().zip([share]).for_each(|(to, share)| *to = leaf(share));
    }
    let (before, after) = into.split_at_mut(count / 2);
    let at = (first / length + count / 2) * length - first;
    let (left, right) = share.cut(at);
    if parallel && count > GRAIN {
        join(
            || leaves(left, first, length, true, leaf, before),
            || leaves(right, first + at, length, true, leaf, after),
        );
    } else {
        leaves(left, first, length, false, leaf, before);
        leaves(right, first + at, length, false, leaf, after);
    }
}

/// Combines the results of all leaves in the order of [`tree`](super::tree); `None` for an empty list.
pub fn combine<R: Clone>(leaves: &[R], by: &impl Fn(R, R) -> R) -> Option<R> {
    match leaves {
        [] => None,
        [one] => Some(one.clone()),
        _ => {
            let (left, right) = leaves.split_at(leaves.len() / 2);
            Some(by(combine(left, by)?, combine(right, by)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{LEAF, threads, tree};
    use super::*;

    /// Tests shares of uneven length, one of them empty. Shares cut at leaf boundaries give the same bits as
    /// the whole vector; shares cut within a leaf agree to round-off.
    #[test]
    fn shares_add_up_to_the_whole() {
        let x: Vec<f64> = (0..300_001).map(|i| (f64::from(i) * 0.37).sin()).collect();
        let (sum, add) = (|x: &[f64]| x.iter().sum::<f64>(), |a: f64, b: f64| a + b);
        for (length, cuts) in [(LEAF, [0, 5 * LEAF, 5 * LEAF, 40 * LEAF]), (96, [0, 9600, 9600, 96 * 3000])] {
            let whole = tree(&x[..], length, false, &sum, &add);
            for (inside, parallel) in [(0, false), (0, true), (7, true)] {
                let mut sums = Vec::new();
                for (k, &cut) in cuts.iter().enumerate() {
                    let (from, to) = (cut + inside.min(cut), cuts.get(k + 1).map_or(x.len(), |c| c + inside));
                    let mut own = vec![f64::NAN; leaves_of(from, to - from, length).len()];
                    threads(3, || leaves(&x[from..to], from, length, parallel, &sum, &mut own)).unwrap();
                    sums.append(&mut own);
                }
                let found = combine(&sums, &add).unwrap();
                assert!(inside > 0 || found.to_bits() == whole.to_bits(), "{length}");
                assert!((found - whole).abs() < 1e-10, "{length}");
            }
        }
        assert_eq!(combine::<f64>(&[], &add), None);
        assert!(leaves_of(100, 0, 10).is_empty());
    }
}
