//! Is a matrix symmetric?

use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, tree};

use crate::Bsr;

/// Block rows that one task compares.
const LEAF: usize = 4096;

impl<T: Real> Bsr<T> {
    /// The first scalar pair (i, j) with |aᵢⱼ − aⱼᵢ| > tolerance · max((dᵢ dⱼ)^½, |aᵢⱼ|, |aⱼᵢ|), if A is not symmetric; dᵢ is the
    /// largest diagonal entry of the diagonal block that unknown i belongs to.
    ///
    /// (dᵢ dⱼ)^½ bounds what elements that are positive semidefinite add to aᵢⱼ, so that round-off of an assembly does not count,
    /// whatever the units of the unknowns; the square root of EPSILON is a sensible tolerance. A matrix or block that is not
    /// square is not symmetric: its first pair is (0, 0). NaN equals nothing.
    /// *Cost* two passes over A, one of them in the order of its transpose; a binary search for each coupling across stretches of 4096 block rows, two for each pair
    /// that differs at all.
    ///
    /// ```
    /// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 1, 1.0)])?;
    /// assert_eq!(a.asymmetric_pair(1e-8), Some((0, 1)));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn asymmetric_pair(&self, tolerance: T) -> Option<(usize, usize)> {
        let (b, pattern) = (self.block().0, self.pattern());
        if self.block().1 != b || pattern.rows() != pattern.columns() {
            return Some((0, 0));
        }
        let largest = |block: &[T]| block.iter().step_by(b + 1).fold(T::zero(), |m, v| m.max(v.abs()));
        let size = |i: usize| pattern.find(i, i).map_or(T::zero(), |k| largest(self.value(k)));
        // The first pair of block (i, j) and its mirror image that differs.
        let differs = |i: usize, j: usize, here: &[T], mirror: Option<usize>| {
            (0..b * b).find_map(|e| {
                let (r, c) = (e / b, e % b);
                let here = here[e];
                let there = mirror.map_or(T::zero(), |k| self.value(k)[c * b + r]);
                if here == there {
                    return None;
                }
                let scale = (size(i).sqrt() * size(j).sqrt()).max(here.abs()).max(there.abs());
                let close = (here - there).abs() <= tolerance * scale;
                (!close).then_some((i * b + r, j * b + c))
            })
        };
        // Upper blocks against their mirror images. Where every upper block has one, and lower ones are as many, no lower block is alone.
        let upper = |rows: Range<usize>| {
            let mut seen = Seen::default();
            // Rows above i have been looked at, so the mirror image of a block of row i is the next of its row: for rows of this stretch a place is kept.
            let mut next = [0_u32; LEAF];
            for (next, i) in next.iter_mut().zip(rows.clone()) {
                *next = pattern.row(i).iter().take_while(|&&j| (j as usize) < rows.start).count() as u32;
            }
            for i in rows.clone() {
                for (j, here) in self.row(i) {
                    if j < i {
                        seen.lower += 1;
                        continue;
                    }
                    let mirror = if j < rows.end {
                        let (next, columns) = (&mut next[j - rows.start], pattern.row(j));
                        let rest = &columns[*next as usize..];
                        *next += rest.iter().take_while(|&&k| (k as usize) < i).count() as u32;
                        let at = *next as usize;
                        let found = columns.get(at).is_some_and(|&k| k as usize == i);
                        *next += u32::from(found);
                        found.then(|| pattern.range(j).start + at)
                    } else {
                        pattern.find(j, i)
                    };
                    seen.mirrored += usize::from(j > i && mirror.is_some());
                    if mirror.is_some_and(|k| mirrored(here, self.value(k), b)) {
                        continue;
                    }
                    seen.pair = differs(i, j, here, mirror);
                    if seen.pair.is_some() {
                        return seen;
                    }
                }
            }
            seen
        };
        let seen = tree(0..pattern.rows(), LEAF, parallel::worth(2 * self.nnz()), &upper, &Seen::and);
        if seen.pair.is_none() && seen.lower == seen.mirrored {
            return None;
        }
        (0..pattern.rows()).find_map(|i| {
            self.row(i).find_map(|(j, here)| {
                let mirror = pattern.find(j, i);
                if j < i && mirror.is_some() { None } else { differs(i, j, here, mirror) }
            })
        })
    }
}

/// Whether a block is the transpose of another, to the bit.
#[inline]
fn mirrored<T: Real>(here: &[T], there: &[T], b: usize) -> bool {
    match b {
        1 => here[0] == there[0],
        2 => mirrored_of::<T, 2>(here, there),
        3 => mirrored_of::<T, 3>(here, there),
        6 => mirrored_of::<T, 6>(here, there),
        _ => (0..b * b).all(|e| here[e] == there[e % b * b + e / b]),
    }
}

/// The same without a branch on each entry.
#[inline]
fn mirrored_of<T: Real, const B: usize>(here: &[T], there: &[T]) -> bool {
    let (here, there) = (&here[..B * B], &there[..B * B]);
    let mut same = true;
    for r in 0..B {
        for c in 0..B {
            same &= here[r * B + c] == there[c * B + r];
        }
    }
    same
}

/// What a stretch of rows shows.
#[derive(Default)]
struct Seen {
    pair: Option<(usize, usize)>,
    lower: usize,
    mirrored: usize,
}

impl Seen {
    fn and(self, rest: Self) -> Self {
        Self {
            pair: self.pair.or(rest.pair),
            lower: self.lower + rest.lower,
            mirrored: self.mirrored + rest.mirrored,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::assembly::{from_triplets, from_triplets_blocked};

    #[test]
    fn finds_pairs_inside_and_between_blocks() {
        let symmetric =
            [(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0), (0, 3, 5.0), (3, 0, 5.0), (3, 3, 1.0)];
        for block in [(1, 1), (2, 2), (4, 4)] {
            let with = |extra: &[(u32, u32, f64)]| {
                let entries = [&symmetric[..], extra].concat();
                from_triplets_blocked(4, 4, block, &entries).unwrap().asymmetric_pair(1e-8)
            };
            assert_eq!(with(&[]), None);
            assert_eq!(with(&[(0, 1, 1e-12)]), None);
            assert_eq!(with(&[(0, 1, 1e-3)]), Some((0, 1)));
            assert!(with(&[(3, 1, 1.0)]).is_some());
        }
        let scaled = from_triplets(2, 2, &[(0, 0, 1e16), (0, 1, 1.0), (1, 1, 1.0)]).unwrap();
        assert_eq!(scaled.asymmetric_pair(1e-8), None, "1 beside (1e16 · 1)^½");
        assert_eq!(scaled.asymmetric_pair(1e-9), Some((0, 1)));
        let saddle = |v: f64| from_triplets(2, 2, &[(0, 1, 1.0), (1, 0, v)]).unwrap().asymmetric_pair(1e-8);
        assert_eq!((saddle(1.0 + 1e-12), saddle(-1.0), saddle(f64::NAN)), (None, Some((0, 1)), Some((0, 1))));
        assert_eq!(from_triplets(2, 3, &[(0, 0, 1.0)]).unwrap().asymmetric_pair(1e-8), Some((0, 0)));
    }

    /// Differences and lone entries inside a stretch of rows, across stretches and in a later one.
    #[test]
    fn stretches_are_seen_whole() {
        let n = 3 * super::LEAF as u32 + 17;
        let band = |i: u32| [i.wrapping_sub(5000), i.wrapping_sub(1), i, i + 1, i + 5000].into_iter();
        let entries: Vec<(u32, u32, f64)> = (0..n)
            .flat_map(|i| band(i).filter(|&j| j < n).map(move |j| (i, j, f64::from(i.min(j) % 7 + 1))))
            .collect();
        let pair = |extra: (u32, u32, f64)| {
            let entries = [&entries[..], &[extra]].concat();
            from_triplets(n as usize, n as usize, &entries).unwrap().asymmetric_pair(1e-8)
        };
        assert_eq!(pair((0, 0, 1.0)), None);
        for (i, j) in
            [(10, 11), (9000, 9001), (3000, 8000), (n - 2, n - 1), (5, 300), (100, n - 3), (8500, 8600)]
        {
            let expected = (i as usize, j as usize);
            assert_eq!(pair((i, j, 0.5)), Some(expected), "above the diagonal");
            let below = pair((j, i, 0.5)).unwrap();
            assert!(below == expected || below == (expected.1, expected.0), "{below:?}");
        }
    }
}
