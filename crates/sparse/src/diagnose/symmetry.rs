//! A against Aᵀ.

use std::fmt;
use std::ops::Range;

use coarsen_core::Real;
use coarsen_core::parallel::{self, tree};

use super::facts::Facts;
use super::{Finding, Sample};
use crate::Bsr;

/// How far A is from Aᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Symmetry {
    /// Nonzeros a_ij with a_ji = 0, stored or not.
    pub one_sided: usize,
    /// The largest |a_ij − a_ji| relative to max(|a_ij|, |a_ji|, (|a_ii a_jj|)^½): 0 for a symmetric matrix, whatever its scale.
    pub relative: f64,
    /// Where that is, and a_ij and a_ji there.
    pub worst: Option<(usize, usize, f64, f64)>,
    /// The same as `relative`, leaving out the rows and columns of unknowns whose row is diagonal only.
    pub relative_unconstrained: f64,
    /// The round-off of the matrix, up to which a difference does not count.
    pub tolerance: f64,
}

/// What a range of rows says.
#[derive(Clone, Copy, Default)]
struct Part {
    one_sided: usize,
    worst: Option<(usize, usize, f64, f64)>,
    relative: f64,
    unconstrained: f64,
    /// Blocks below the diagonal, and those above it that have their mirror there.
    below: usize,
    mirrored: usize,
}

impl Symmetry {
    pub(super) fn of<T: Real>(a: &Bsr<T>, facts: &Facts) -> Self {
        let compared = |triangle: Triangle| {
            let leaf = |rows: Range<usize>| {
                rows.fold(Part::default(), |part, i| join(part, block_row(a, facts, i, triangle)))
            };
            tree(0..a.pattern().rows(), 256, parallel::worth(4 * a.nnz()), &leaf, &join)
        };
        let above = compared(Triangle::Above);
        // Where the counts agree, every block below the diagonal is the mirror of one above it.
        let whole =
            if above.below == above.mirrored { above } else { join(above, compared(Triangle::Below)) };
        Self {
            one_sided: whole.one_sided,
            relative: whole.relative,
            worst: whole.worst,
            relative_unconstrained: whole.unconstrained,
            tolerance: T::EPSILON.wide().sqrt(),
        }
    }

    /// Whether A = Aᵀ up to half the digits of its numbers: enough for CG.
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

/// What is compared with its mirror: blocks on and above the diagonal, or those below it that have none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Triangle {
    Above,
    Below,
}

/// Compares a block row with its column.
fn block_row<T: Real>(a: &Bsr<T>, facts: &Facts, i: usize, triangle: Triangle) -> Part {
    let (b, pattern) = (a.block().0, a.pattern());
    let mut part = Part::default();
    for (j, here) in a.row(i) {
        part.below += usize::from(j < i);
        if (j < i) != (triangle == Triangle::Below) {
            continue;
        }
        let mirror = pattern.find(j, i).map(|k| a.value(k));
        part.mirrored += usize::from(j > i && mirror.is_some());
        if j < i && mirror.is_some() {
            continue; // compared from row j
        }
        for (r, c) in (0..b).flat_map(|r| (0..b).map(move |c| (r, c))) {
            let (ij, ji) = (here[r * b + c].wide(), mirror.map_or(0.0, |m| m[c * b + r].wide()));
            if ij == ji {
                continue;
            }
            let (row, column) = (i * b + r, j * b + c);
            let (p, q) = (&facts.rows[row], &facts.rows[column]);
            let scale = (p.diagonal.abs().sqrt() * q.diagonal.abs().sqrt()).max(ij.abs()).max(ji.abs());
            let relative = (ij - ji).abs() / scale;
            // inside a diagonal block both (r, c) and (c, r) are seen: count an entry once, from its own side
            part.one_sided += usize::from(ij != 0.0 && ji == 0.0);
            part.one_sided += usize::from(i != j && ij == 0.0 && ji != 0.0);
            if relative > part.relative {
                part.relative = relative;
                part.worst = Some((row, column, ij, ji));
            }
            if !p.is_alone() && !q.is_alone() {
                part.unconstrained = part.unconstrained.max(relative);
            }
        }
    }
    part
}

/// Both parts together; the earlier one wins ties.
fn join(p: Part, q: Part) -> Part {
    let worse = q.relative > p.relative;
    Part {
        one_sided: p.one_sided + q.one_sided,
        worst: if worse { q.worst } else { p.worst },
        relative: p.relative.max(q.relative),
        unconstrained: p.unconstrained.max(q.unconstrained),
        below: p.below + q.below,
        mirrored: p.mirrored + q.mirrored,
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.holds(), self.one_sided) {
            (true, _) => f.write_str("symmetric"),
            (false, 0) => write!(f, "symmetric in structure, not in values ({:.1e})", self.relative),
            (false, n) => write!(f, "unsymmetric ({n} entries without partner)"),
        }
    }
}
