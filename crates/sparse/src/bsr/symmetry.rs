//! A test of symmetry.

use std::ops::Range;

use coarsen_core::parallel::{self, Pieces, tree};
use coarsen_core::simd::{self, Kernel, Set};
use coarsen_core::{Real, compiled};

use crate::Bsr;

/// The number of block rows per task.
const LEAF: usize = 4096;

compiled!(PAIR: Pair<T> = fn(&Bsr<T>, T) -> Option<(usize, usize)>, Bsr::first_pair);

compiled!(LARGEST: Largest<T> = fn(&Bsr<T>, T, &mut [T]) -> Option<T>, Bsr::largest_below);

impl<T: Real> Bsr<T> {
    /// The first scalar pair (i, j) with |aᵢⱼ − aⱼᵢ| > tolerance · max((dᵢ dⱼ)^½, |aᵢⱼ|, |aⱼᵢ|), or `None` if
    /// A is symmetric. dᵢ is the largest diagonal entry of the diagonal block that contains unknown i.
    ///
    /// (dᵢ dⱼ)^½ bounds the contributions of positive semidefinite elements to aᵢⱼ. So the test ignores the
    /// round-off of an assembly, whatever the units of the unknowns. The tolerance is
    /// [`symmetry_tolerance`](Self::symmetry_tolerance) for methods that multiply by the whole of A, and
    /// [`symmetry_round_off`](Self::symmetry_round_off) for those that read one half. If the matrix or its blocks are
    /// not square, the result is (0, 0). A NaN counts as a difference.
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

    /// The relative difference up to which A counts as symmetric, for conjugate gradients, MINRES and the kind of a
    /// preconditioner: √ε, half of the digits.
    ///
    /// These methods multiply by A as it is, so a difference of this size reduces the rate of convergence and not the
    /// accuracy. *Source*: measured on files of 8 digits and on assemblies in any order.
    pub fn symmetry_tolerance() -> T {
        T::EPSILON.sqrt()
    }

    /// The relative difference up to which A is symmetric to single precision, whatever `T` is: 4 ε of `f32`.
    ///
    /// Entries that were computed or stored in `f32` differ by as much. *Use* to decide whether to build a preconditioner of
    /// (A + Aᵀ) / 2 for conjugate gradients that multiply by A.
    pub fn symmetry_in_single() -> f64 {
        4.0 * f64::from(f32::EPSILON)
    }

    /// The relative difference up to which one half of A may stand for both, as in Cholesky's factorisation and in half
    /// storage: 1024 ε.
    ///
    /// Such methods solve with another matrix than A if the halves differ, so only the round-off of an assembly is
    /// accepted: sums of a few dozen contributions in any order.
    pub fn symmetry_round_off() -> T {
        T::from_f64(1024.0) * T::EPSILON
    }

    /// Copies the diagonal blocks, and returns the largest absolute value on and below the diagonal, if A is symmetric
    /// in the sense of [`asymmetric_pair`](Self::asymmetric_pair) and every block below the diagonal has a transposed
    /// block. The value is NaN if an entry is not finite.
    ///
    /// *Use* to check symmetry, finite values and their range together, and to read the diagonal, in one pass over A.
    /// `None` does not mean that A is not symmetric, because a zero block may be stored on one side only; `diagonal`
    /// then has no meaning. A value above the diagonal may be larger than the result by the tolerance. *Panics* unless
    /// `diagonal` has b² numbers for each block row of b scalar rows.
    ///
    /// ```
    /// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -2.0), (1, 0, -2.0), (1, 1, 1.5)])?;
    /// let mut diagonal = [0.0; 2];
    /// assert_eq!(a.symmetric_diagonal(1e-8, &mut diagonal), Some(2.0));
    /// assert_eq!(diagonal, [1.0, 1.5]);
    /// # Ok::<(), coarsen_sparse::SparseError>(())
    /// ```
    pub fn symmetric_diagonal(&self, tolerance: T, diagonal: &mut [T]) -> Option<T> {
        let area = self.block().0 * self.block().1;
        assert_eq!(diagonal.len(), self.pattern().rows() * area, "symmetric_diagonal: wrong length");
        LARGEST.of::<Largest<T>>()(self, tolerance, diagonal)
    }

    fn largest_below(&self, tolerance: T, diagonal: &mut [T]) -> Option<T> {
        let comparison = self.is_square().then(|| self.compare(tolerance, diagonal))?;
        comparison.is_symmetric().then_some(comparison.largest)
    }

    fn is_square(&self) -> bool {
        self.block().0 == self.block().1 && self.pattern().rows() == self.pattern().columns()
    }

    fn first_pair(&self, tolerance: T) -> Option<(usize, usize)> {
        if !self.is_square() {
            return Some((0, 0));
        }
        if self.compare(tolerance, &mut []).is_symmetric() {
            return None;
        }
        // Either a value differs, or a block has no transposed block; the latter is allowed if the block is
        // zero.
        let (b, pattern) = (self.block().0, self.pattern());
        let differs = |i: usize, j: usize, here: &[T], mirror: Option<usize>| {
            (0..b * b).find_map(|e| {
                let (r, c) = (e / b, e % b);
                let here = here[e];
                let there = mirror.map_or(T::zero(), |k| self.value(k)[c * b + r]);
                if here == there {
                    return None;
                }
                let scale = self.scale(i, j).max(here.abs()).max(there.abs());
                let close = (here - there).abs() <= tolerance * scale;
                (!close).then_some((i * b + r, j * b + c))
            })
        };
        (0..pattern.rows()).find_map(|i| {
            self.row(i).find_map(|(j, here)| {
                let mirror = pattern.find(j, i);
                if j < i && mirror.is_some() { None } else { differs(i, j, here, mirror) }
            })
        })
    }

    /// Whether lower block (i, j) agrees with its transposed block `there`.
    #[cold]
    fn alike(&self, (i, j): (usize, usize), here: &[T], there: &[T], tolerance: T) -> bool {
        let (b, size) = (self.block().0, self.scale(i, j));
        (0..b * b).all(|e| {
            let (here, there) = (here[e], there[e % b * b + e / b]);
            here == there || (here - there).abs() <= tolerance * size.max(here.abs()).max(there.abs())
        })
    }

    /// (dᵢ dⱼ)^½ of block rows i and j.
    fn scale(&self, i: usize, j: usize) -> T {
        let (b, pattern) = (self.block().0, self.pattern());
        let largest = |block: &[T]| block.iter().step_by(b + 1).fold(T::zero(), |m, v| m.max(v.abs()));
        let size = |i: usize| pattern.find(i, i).map_or(T::zero(), |k| largest(self.value(k)));
        size(i).sqrt() * size(j).sqrt()
    }

    /// Compares all lower blocks with their transposed blocks, and copies the diagonal blocks unless `diagonal` is
    /// empty.
    fn compare(&self, tolerance: T, diagonal: &mut [T]) -> Comparison<T> {
        let (nodes, area) =
            (self.pattern().rows(), if diagonal.is_empty() { 0 } else { self.block().0.pow(2) });
        let lower = |part| simd::run(Compare { a: self, part, tolerance });
        let part = Part { rows: 0..nodes, diagonal, area };
        tree(part, LEAF, parallel::worth(2 * self.nnz()), &lower, &Comparison::and)
    }

    /// Compares the lower blocks of a range of rows with their transposed blocks, whose rows are still in a cache; for
    /// blocks of `B` x `B`, or of any size if `B` is 0.
    #[inline(always)]
    fn compare_rows<const B: usize>(
        &self,
        rows: Range<usize>,
        tolerance: T,
        diagonal: &mut [T],
    ) -> Comparison<T> {
        let (b, pattern) = (if B == 0 { self.block().0 } else { B }, self.pattern());
        let mut comparison = Comparison::none();
        // As i grows, the transposed blocks of rows i are consecutive in row j. `next` stores the next
        // position for each row j of this range.
        let mut next = [0_u32; LEAF];
        for i in rows.clone() {
            let range = pattern.range(i);
            let (columns, own) = (pattern.row(i), i - rows.start);
            let start = range.start;
            let below = columns.iter().take_while(|&&j| (j as usize) < i).count();
            let own_block = usize::from(columns.get(below).is_some_and(|&j| j as usize == i));
            next[own] = (below + own_block) as u32;
            comparison.lower += below;
            comparison.upper += columns.len() - below - own_block;
            if let Some(to) = diagonal.get_mut(own * b * b..(own + 1) * b * b) {
                match own_block {
                    1 => to.copy_from_slice(self.value(start + below)),
                    _ => to.fill(T::zero()),
                }
            }
            for (k, &j) in range.zip(&columns[..below + own_block]) {
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
                let Some(mirror) = mirror else { return Comparison { alike: false, ..comparison } };
                let (here, there) = (self.value(k), self.value(mirror));
                // Most blocks agree up to a tolerance relative to each entry, so this cheaper test comes first.
                let near = if B == 0 {
                    near(here.iter().enumerate().map(|(e, &v)| (v, there[e % b * b + e / b])), tolerance)
                } else {
                    near((0..B * B).map(|e| (here[e], there[e % B * B + e / B])), tolerance)
                };
                if !(near.0 || self.alike((i, j), here, there, tolerance)) {
                    return Comparison { alike: false, ..comparison };
                }
                comparison.largest = larger(comparison.largest, near.1);
            }
        }
        comparison
    }
}

/// The rows of a part as a kernel.
struct Compare<'a, T> {
    a: &'a Bsr<T>,
    part: Part<'a, T>,
    tolerance: T,
}

impl<T: Real> Kernel<T> for Compare<'_, T> {
    type Output = Comparison<T>;

    #[inline(always)]
    fn run<S: Set<T>>(self, _: S) -> Comparison<T> {
        let Self { a, part: Part { rows, diagonal, .. }, tolerance } = self;
        match a.block().0 {
            1 => a.compare_rows::<1>(rows, tolerance, diagonal),
            2 => a.compare_rows::<2>(rows, tolerance, diagonal),
            3 => a.compare_rows::<3>(rows, tolerance, diagonal),
            6 => a.compare_rows::<6>(rows, tolerance, diagonal),
            12 => a.compare_rows::<12>(rows, tolerance, diagonal),
            _ => a.compare_rows::<0>(rows, tolerance, diagonal),
        }
    }
}

/// Whether the numbers of each pair agree up to `tolerance` times the larger one, and the largest first number, which
/// is NaN if a number is not finite: an infinite tolerance accepts every pair. Without a branch per pair.
#[inline(always)]
fn near<T: Real>(pairs: impl Iterator<Item = (T, T)>, tolerance: T) -> (bool, T) {
    let (mut all, mut most, mut bad) = (true, T::zero(), T::zero());
    for (here, there) in pairs {
        let (x, y) = (here.abs(), there.abs());
        all &= (here - there).abs() <= tolerance * if x > y { x } else { y };
        most = if x > most { x } else { most };
        bad += (x + y) * T::zero(); // NaN once a value is not finite
    }
    (all, most + bad)
}

/// A range of rows and the memory for their diagonal blocks, if it is wanted.
struct Part<'a, T> {
    rows: Range<usize>,
    diagonal: &'a mut [T],
    /// The numbers of a diagonal block, or 0.
    area: usize,
}

impl<T: Send> Pieces for Part<'_, T> {
    fn extent(&self) -> usize {
        self.rows.len()
    }

    fn cut(self, mid: usize) -> (Self, Self) {
        let Self { rows, diagonal, area } = self;
        let (low, high) = rows.cut(mid);
        let (head, tail) = diagonal.split_at_mut(mid * area);
        (Self { rows: low, diagonal: head, area }, Self { rows: high, diagonal: tail, area })
    }
}

/// The result of comparing a range of rows.
struct Comparison<T> {
    alike: bool,
    lower: usize,
    upper: usize,
    /// The largest absolute value of the blocks on and below the diagonal; NaN if one is not finite.
    largest: T,
}

impl<T: Real> Comparison<T> {
    fn none() -> Self {
        Self { alike: true, lower: 0, upper: 0, largest: T::zero() }
    }

    fn is_symmetric(&self) -> bool {
        // If every lower block has a transposed block and there are as many upper as lower blocks, every
        // upper block has a transposed block too.
        self.alike && self.lower == self.upper
    }

    fn and(self, rest: Self) -> Self {
        Self {
            alike: self.alike && rest.alike,
            lower: self.lower + rest.lower,
            upper: self.upper + rest.upper,
            largest: larger(self.largest, rest.largest),
        }
    }
}

/// The larger of two numbers; NaN if one of them is NaN.
fn larger<T: Real>(a: T, b: T) -> T {
    if a.is_nan() || a > b { a } else { b }
}
