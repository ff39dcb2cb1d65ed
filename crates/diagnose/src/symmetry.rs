//! Comparison of A with Aᵀ.

use std::fmt;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, tree};
use coarsen_sparse::Bsr;

use super::facts::Facts;
use super::pair::{Pair, ratio, worse};
use super::{Finding, Sample};

/// The difference between A and Aᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Symmetry {
    /// The number of nonzeros a_ij for which a_ji is zero or not stored.
    pub one_sided: usize,
    /// The largest |a_ij − a_ji| relative to max(|a_ij|, |a_ji|, (|a_ii a_jj|)^½). It is 0 for a symmetric
    /// matrix and independent of scaling.
    pub relative: f64,
    /// The pair (i, j) of the largest difference, with a_ij and a_ji.
    pub worst: Option<(usize, usize, f64, f64)>,
    /// `relative` without the rows and columns of unknowns whose row has only a diagonal entry.
    pub relative_unconstrained: f64,
    /// The round-off of the matrix. Smaller differences are ignored.
    pub tolerance: f64,
}

/// The result for a range of rows.
#[derive(Clone, Copy, Default)]
struct Part {
    one_sided: usize,
    worst: Option<(usize, usize, f64, f64)>,
    relative: f64,
    unconstrained: f64,
    /// The number of blocks below the diagonal.
    below: usize,
    /// The number of blocks above the diagonal whose transposed block is stored.
    mirrored: usize,
    /// The entry above the diagonal with the largest ratio, and the root of this ratio. The root is reduced
    /// slightly to allow for the rounding of [`Facts::roots`].
    pair: Option<Pair>,
    root: f64,
}

impl Symmetry {
    /// Compares A with Aᵀ. Also returns the pair of rows with the largest ratio, for
    /// [`Definiteness`](super::Definiteness).
    pub(super) fn of<T: Real>(a: &Bsr<T>, facts: &Facts) -> (Self, Option<Pair>) {
        let compared = |triangle: Triangle| {
            let leaf = |rows: Range<usize>| {
                let mut part = Part::default();
                rows.for_each(|i| block_row(a, facts, i, triangle, &mut part));
                part
            };
            tree(0..a.pattern().rows(), 256, parallel::worth(4 * a.nnz()), &leaf, &join)
        };
        let above = compared(Triangle::Above);
        // If the counts agree, every block below the diagonal has been compared with its transposed block.
        let whole =
            if above.below == above.mirrored { above } else { join(above, compared(Triangle::Below)) };
        let symmetry = Self {
            one_sided: whole.one_sided,
            relative: whole.relative,
            worst: whole.worst,
            relative_unconstrained: whole.unconstrained,
            tolerance: T::EPSILON.wide().sqrt(),
        };
        (symmetry, above.pair)
    }

    /// Whether A = Aᵀ up to half the digits of its numbers, which is enough for CG.
    pub fn holds(&self) -> bool {
        self.relative <= self.tolerance
    }

    pub(super) fn finding(&self, facts: &Facts) -> Option<Finding> {
        let &(i, j, ij, ji) = self.worst.as_ref()?;
        let relative = self.relative;
        if relative <= facts.tolerance {
            return None;
        }
        if self.holds() {
            return Some(Finding::NearlySymmetric { relative });
        }
        if self.relative_unconstrained <= self.tolerance {
            let alone = (0..facts.rows.len()).filter(|&i| facts.rows[i].is_alone());
            return Sample::of(alone).map(Finding::OneSidedConstraints);
        }
        Some(Finding::Unsymmetric { pair: (i, j), values: (ij, ji), relative, one_sided: self.one_sided })
    }
}

/// The blocks that are compared: blocks on and above the diagonal, or blocks below the diagonal whose
/// transposed block is not stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Triangle {
    Above,
    Below,
}

/// Compares a block row with the corresponding block column.
fn block_row<T: Real>(a: &Bsr<T>, facts: &Facts, i: usize, triangle: Triangle, part: &mut Part) {
    let (b, pattern) = (a.block().0, a.pattern());
    for (j, here) in a.row(i) {
        part.below += usize::from(j < i);
        if (j < i) != (triangle == Triangle::Below) {
            continue;
        }
        let mirror = pattern.find(j, i).map(|k| a.value(k));
        part.mirrored += usize::from(j > i && mirror.is_some());
        if j < i && mirror.is_some() {
            continue; // compared in row j
        }
        let roots = &facts.roots[j * b..(j + 1) * b];
        let of_row = &facts.roots[i * b..(i + 1) * b];
        if i != j && mirror.is_some_and(|mirror| is_quiet(here, mirror, (of_row, roots), part.root)) {
            continue;
        }
        for (r, here) in here.chunks_exact(b).enumerate() {
            let root = of_row[r];
            for (c, (v, root_j)) in here.iter().zip(roots).enumerate() {
                let (ij, ji) = (v.wide(), mirror.map_or(0.0, |m| m[c * b + r].wide()));
                let at = (i * b + r, j * b + c);
                if ij != ji {
                    part.differ(facts, at, (ij, ji), i == j);
                }
                if ij.abs() * root * root_j > part.root && at.0 < at.1 {
                    part.couple(facts, at, ij);
                }
            }
        }
    }
}

/// Whether a block equals its transposed block and has no ratio above `most`. Such a block does not change
/// [`Part`].
fn is_quiet<T: Real>(here: &[T], mirror: &[T], roots: (&[f64], &[f64]), most: f64) -> bool {
    match roots.0.len() {
        1 => are_quiet::<T, 1>(here, mirror, roots, most),
        2 => are_quiet::<T, 2>(here, mirror, roots, most),
        3 => are_quiet::<T, 3>(here, mirror, roots, most),
        6 => are_quiet::<T, 6>(here, mirror, roots, most),
        _ => false,
    }
}

/// `is_quiet` for blocks of size B, without a branch per entry.
fn are_quiet<T: Real, const B: usize>(
    here: &[T],
    mirror: &[T],
    (of_row, of_column): (&[f64], &[f64]),
    most: f64,
) -> bool {
    let (here, mirror) = (&here[..B * B], &mirror[..B * B]);
    let (of_row, of_column) = (&of_row[..B], &of_column[..B]);
    let mut loud = false;
    for r in 0..B {
        for c in 0..B {
            let v = here[r * B + c];
            loud |= (v != mirror[c * B + r]) | (v.wide().abs() * of_row[r] * of_column[c] > most);
        }
    }
    !loud
}

impl Part {
    /// Records that a_ij ≠ a_ji. In a diagonal block, both (i, j) and (j, i) are visited.
    fn differ(&mut self, facts: &Facts, (i, j): (usize, usize), (ij, ji): (f64, f64), inside: bool) {
        let (p, q) = (&facts.rows[i], &facts.rows[j]);
        let scale = (p.diagonal.abs().sqrt() * q.diagonal.abs().sqrt()).max(ij.abs()).max(ji.abs());
        let relative = (ij - ji).abs() / scale;
        // In a diagonal block, (j, i) is visited separately and counted then.
        self.one_sided += usize::from(ij != 0.0 && ji == 0.0);
        self.one_sided += usize::from(!inside && ij == 0.0 && ji != 0.0);
        if relative > self.relative {
            self.relative = relative;
            self.worst = Some((i, j, ij, ji));
        }
        if !p.is_alone() && !q.is_alone() {
            self.unconstrained = self.unconstrained.max(relative);
        }
    }

    /// Records a pair if it has the largest ratio so far.
    fn couple(&mut self, facts: &Facts, (i, j): (usize, usize), ij: f64) {
        self.pair = worse(self.pair, Some((ratio(facts, (i, j, ij)), i, j)));
        self.root = self.pair.map_or(0.0, |(ratio, ..)| ratio.sqrt() * (1.0 - 1e-9));
    }
}

/// Joins two parts. If two differences are equal, the earlier one is kept.
fn join(p: Part, q: Part) -> Part {
    let later = q.relative > p.relative;
    Part {
        one_sided: p.one_sided + q.one_sided,
        worst: if later { q.worst } else { p.worst },
        relative: p.relative.max(q.relative),
        unconstrained: p.unconstrained.max(q.unconstrained),
        below: p.below + q.below,
        mirrored: p.mirrored + q.mirrored,
        pair: worse(p.pair, q.pair),
        root: p.root.max(q.root),
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.holds(), self.one_sided) {
            (true, _) => f.write_str("symmetric"),
            (false, 0) => write!(f, "symmetric pattern, unsymmetric values ({:.1e})", self.relative),
            (false, n) => write!(f, "unsymmetric ({n} nonzeros a_ij with a_ji = 0)"),
        }
    }
}
