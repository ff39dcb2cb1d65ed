//! Comparison of A with Aᵀ.

use std::fmt;

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use super::Finding;
use super::halves::Halves;
use super::pair::Pair;
use super::tally::Tally;

/// The difference between A and Aᵀ.
#[derive(Clone, Debug, PartialEq)]
pub struct Symmetry {
    /// The number of nonzeros a_ij for which a_ji is zero or not stored.
    pub one_sided: usize,
    /// The largest |a_ij − a_ji| relative to max(|a_ij|, |a_ji|, (|a_ii a_jj|)^½). It is 0 for a symmetric
    /// matrix and independent of scaling.
    pub relative: f64,
    /// The pair (i, j) of the largest difference, i < j, with a_ij and a_ji.
    pub worst: Option<(usize, usize, f64, f64)>,
    /// `relative` without the rows and columns of unknowns whose row has only a diagonal entry.
    pub relative_unconstrained: f64,
    /// The largest difference of a symmetric matrix: [`Bsr::symmetry_tolerance`].
    tolerance: f64,
    /// The only triangle that has nonzeros off the diagonal, if there is one.
    pub triangle: Option<Triangle>,
}

/// The entries above or below the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// Below the diagonal.
    Lower,
    /// Above the diagonal.
    Upper,
}

impl Symmetry {
    /// The comparison of a matrix with `off` nonzeros off its diagonal. Also returns the pair of rows with the largest
    /// ratio near 1 or above, for [`Definiteness`](super::Definiteness).
    pub(super) fn of<T: Real>(halves: &Halves, off: usize) -> (Self, Option<Pair>) {
        let one_sided = halves.above + halves.below;
        let triangle = match off > 0 && one_sided == off {
            true if halves.below == 0 => Some(Triangle::Upper),
            true if halves.above == 0 => Some(Triangle::Lower),
            _ => None,
        };
        let symmetry = Self {
            one_sided,
            relative: halves.relative,
            worst: halves.worst,
            relative_unconstrained: halves.unconstrained,
            tolerance: Bsr::<T>::symmetry_tolerance().as_f64(),
            triangle,
        };
        (symmetry, halves.pair)
    }

    /// Whether A = Aᵀ up to [`Bsr::symmetry_tolerance`], half of the digits, which is enough for CG.
    pub fn holds(&self) -> bool {
        self.relative <= self.tolerance
    }

    /// Whether A [is symmetric](Self::holds), or A = Aᵀ up to [`Bsr::symmetry_in_single`], as if it was computed in `f32`.
    ///
    /// *Use* to decide whether to build a preconditioner of (A + Aᵀ) / 2. CG then multiplies by the given A, so that
    /// residuals are those of the given system.
    pub fn holds_in_single(&self) -> bool {
        self.holds() || self.relative <= Bsr::<f64>::symmetry_in_single()
    }

    pub(super) fn finding(&self, tally: &Tally, round_off: f64) -> Option<Finding> {
        let &(i, j, ij, ji) = self.worst.as_ref()?;
        let relative = self.relative;
        if relative <= round_off {
            return None;
        }
        if self.holds() {
            return Some(Finding::NearlySymmetric { relative });
        }
        if let Some(triangle) = self.triangle {
            return Some(Finding::OneTriangle(triangle));
        }
        if self.relative_unconstrained <= self.tolerance {
            let alone = tally.fixed.clone().join(tally.diagonal_only.clone());
            return alone.found().map(Finding::OneSidedConstraints);
        }
        Some(Finding::Unsymmetric { pair: (i, j), values: (ij, ji), relative, one_sided: self.one_sided })
    }
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.holds(), self.triangle, self.one_sided) {
            (true, ..) => f.write_str("symmetric"),
            (false, Some(Triangle::Lower), _) => f.write_str("one triangle: no nonzero above the diagonal"),
            (false, Some(Triangle::Upper), _) => f.write_str("one triangle: no nonzero below the diagonal"),
            (false, None, _) if self.holds_in_single() => {
                write!(f, "symmetric to single precision ({:.1e})", self.relative)
            }
            (false, None, 0) => write!(f, "symmetric pattern, unsymmetric values ({:.1e})", self.relative),
            (false, None, n) => write!(f, "unsymmetric ({n} nonzeros a_ij with a_ji = 0)"),
        }
    }
}
