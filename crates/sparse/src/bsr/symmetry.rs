//! A test of symmetry.

use std::ops::Range;

use coarsen_core::parallel::{self, tree};
use coarsen_core::{Compiled, Real};

use crate::Bsr;

/// The number of block rows per task.
const LEAF: usize = 4096;

type Pair<T> = fn(&Bsr<T>, T) -> Option<(usize, usize)>;

static PAIR: Compiled<2> = Compiled([&(Bsr::first_pair as Pair<f32>), &(Bsr::first_pair as Pair<f64>)]);

impl<T: Real> Bsr<T> {
    /// The first scalar pair (i, j) with |aᵢⱼ − aⱼᵢ| > tolerance · max((dᵢ dⱼ)^½, |aᵢⱼ|, |aⱼᵢ|), or `None` if
    /// A is symmetric. dᵢ is the largest diagonal entry of the diagonal block that contains unknown i.
    ///
    /// (dᵢ dⱼ)^½ bounds the contributions of positive semidefinite elements to aᵢⱼ. So the test ignores the
    /// round-off of an assembly, whatever the units of the unknowns. The square root of EPSILON is a suitable
    /// tolerance. If the matrix or its blocks are not square, the result is (0, 0). A NaN counts as a
    /// difference.
    /// *Cost* one pass over A; the transposed block of each block below the diagonal is usually in the cache.
    /// Blocks that couple two different ranges of 4096 block rows need a binary search. A second, serial pass
    /// follows if values differ or if a block is stored without its transposed block, even if that block is
    /// zero.
    ///
    /// ```
    /// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, 2.0), (1, 1, 1.0)])?;
    /// assert_eq!(a.asymmetric_pair(1e-8), Some((0, 1)));
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn asymmetric_pair(&self, tolerance: T) -> Option<(usize, usize)> {
        PAIR.of::<Pair<T>>()(self, tolerance)
    }

    fn first_pair(&self, tolerance: T) -> Option<(usize, usize)> {
        let (b, pattern) = (self.block().0, self.pattern());
        if self.block().1 != b || pattern.rows() != pattern.columns() {
            return Some((0, 0));
        }
        let largest = |block: &[T]| block.iter().step_by(b + 1).fold(T::zero(), |m, v| m.max(v.abs()));
        let size = |i: usize| pattern.find(i, i).map_or(T::zero(), |k| largest(self.value(k)));
        // The first scalar pair that differs between block (i, j) and its transposed block.
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
        // Whether lower block (i, j) agrees with its transposed block. Most blocks agree exactly, or up to a
        // tolerance relative to each entry, so these cheaper tests come first.
        let alike = |i: usize, j: usize, here: &[T], there: &[T]| {
            if mirrored(here, there, b) || near(here, there, b, tolerance) {
                return true;
            }
            let size = size(i).sqrt() * size(j).sqrt();
            (0..b * b).all(|e| {
                let (here, there) = (here[e], there[e % b * b + e / b]);
                here == there || (here - there).abs() <= tolerance * size.max(here.abs()).max(there.abs())
            })
        };
        // Compares lower blocks with their transposed blocks, whose rows are still in a cache.
        let lower = |rows: Range<usize>| {
            let mut seen = Seen { alike: true, ..Seen::default() };
            // As i grows, the transposed blocks of rows i are consecutive in row j. `next` stores the next
            // position for each row j of this range.
            let mut next = [0_u32; LEAF];
            for i in rows.clone() {
                let range = pattern.range(i);
                let (columns, own) = (pattern.row(i), i - rows.start);
                let below = columns.iter().take_while(|&&j| (j as usize) < i).count();
                let diagonal = usize::from(columns.get(below).is_some_and(|&j| j as usize == i));
                next[own] = (below + diagonal) as u32;
                seen.lower += below;
                seen.upper += columns.len() - below - diagonal;
                for (k, &j) in range.zip(&columns[..below + diagonal]) {
                    let j = j as usize;
                    let mirror = if j == i {
                        Some(k)
                    } else if j < rows.start {
                        pattern.find(j, i)
                    } else {
                        let next = &mut next[j - rows.start];
                        let at = pattern.range(j).start + *next as usize;
                        let found = at < pattern.range(j).end && pattern.indices()[at] as usize == i;
                        *next += u32::from(found);
                        found.then_some(at)
                    };
                    // An upper block without a transposed block does not advance the position in its row. The
                    // next lower block then finds no match, and the pass at the end decides.
                    if !mirror.is_some_and(|mirror| alike(i, j, self.value(k), self.value(mirror))) {
                        return Seen { alike: false, ..seen };
                    }
                }
            }
            seen
        };
        let seen = tree(0..pattern.rows(), LEAF, parallel::worth(2 * self.nnz()), &lower, &Seen::and);
        // If every lower block has a transposed block and there are as many upper as lower blocks, every
        // upper block has a transposed block too.
        if seen.alike && seen.lower == seen.upper {
            return None;
        }
        // Either a value differs, or a block has no transposed block; the latter is allowed if the block is
        // zero.
        (0..pattern.rows()).find_map(|i| {
            self.row(i).find_map(|(j, here)| {
                let mirror = pattern.find(j, i);
                if j < i && mirror.is_some() { None } else { differs(i, j, here, mirror) }
            })
        })
    }
}

/// Whether a block equals the transpose of another block exactly.
#[inline]
fn mirrored<T: Real>(here: &[T], there: &[T], b: usize) -> bool {
    each_pair(here, there, b, |here, there| here == there)
}

/// Whether a block equals the transpose of another block up to `tolerance` times the larger entry of each
/// pair.
#[inline]
fn near<T: Real>(here: &[T], there: &[T], b: usize, tolerance: T) -> bool {
    each_pair(here, there, b, |here, there| {
        let (x, y) = (here.abs(), there.abs());
        (here - there).abs() <= tolerance * if x > y { x } else { y }
    })
}

/// Whether `f` holds for each pair of an entry of `here` and the transposed entry of `there`.
#[inline(always)]
fn each_pair<T: Real>(here: &[T], there: &[T], b: usize, f: impl Fn(T, T) -> bool) -> bool {
    match b {
        1 => f(here[0], there[0]),
        2 => each_of::<T, 2>(here, there, f),
        3 => each_of::<T, 3>(here, there, f),
        6 => each_of::<T, 6>(here, there, f),
        _ => (0..b * b).all(|e| f(here[e], there[e % b * b + e / b])),
    }
}

/// `each_pair` for a block size known at compile time, without a branch per entry.
#[inline(always)]
fn each_of<T: Real, const B: usize>(here: &[T], there: &[T], f: impl Fn(T, T) -> bool) -> bool {
    let (here, there) = (&here[..B * B], &there[..B * B]);
    let mut all = true;
    for r in 0..B {
        for c in 0..B {
            all &= f(here[r * B + c], there[c * B + r]);
        }
    }
    all
}

/// The result of comparing a range of rows.
#[derive(Default)]
struct Seen {
    alike: bool,
    lower: usize,
    upper: usize,
}

impl Seen {
    fn and(self, rest: Self) -> Self {
        Self {
            alike: self.alike && rest.alike,
            lower: self.lower + rest.lower,
            upper: self.upper + rest.upper,
        }
    }
}
