//! Checks that every method makes before it reads a matrix.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use coarsen_backend::{Backend, DenseBlocks, Merged, Reused, SetupError, Smoother};
use coarsen_core::parallel::{self, tree};
use coarsen_core::{Error, PreconditionerKind, Real, Vector};
use coarsen_sparse::{Bsr, Pattern, System};

use crate::Spectrum;

/// Returns an error if a damping factor is not finite or not above 0.
pub(crate) fn omega(name: &'static str, value: f64) -> Result<(), Error> {
    let fits = value > 0.0 && value.is_finite();
    if fits { Ok(()) } else { Err(Error::Parameter { name, value, range: "above 0 and finite" }) }
}

/// Returns A, or A + C if there is contact. Checks that it is square, has square blocks and fits the other
/// data of the system, but not its values.
pub(crate) fn square<'a, T: Real>(system: &System<'a, T>) -> Result<Cow<'a, Bsr<T>>, SetupError> {
    system.check()?;
    Ok(system.whole()?)
}

/// Returns the matrix of [`square`] after checking that every value is finite.
pub(crate) fn finite<'a, T: Real>(system: &System<'a, T>) -> Result<Cow<'a, Bsr<T>>, SetupError> {
    let a = square(system)?;
    a.check_finite()?;
    Ok(a)
}

/// *Panics* unless r and z have n entries: a preconditioner has one column per vector, although the operations of its
/// backend may accept [more](Backend::COLUMNS).
pub(crate) fn one_column<V: Vector>(n: usize, r: &V, z: &V) {
    assert!(r.size() == n && z.size() == n, "apply: {n} rows met r of {} and z of {}", r.size(), z.size());
}

/// Whether `a` has the block size `block` and the pattern `pattern`.
pub(crate) fn same<T: Real>(a: &Bsr<T>, block: usize, pattern: &Arc<Pattern>) -> bool {
    a.block().0 == block && Pattern::same(a.pattern(), pattern)
}

/// Whether A is symmetric in half of its digits, as a preconditioner of conjugate gradients requires.
pub(crate) fn symmetric<T: Real>(a: &Bsr<T>) -> bool {
    asymmetric(a).is_none()
}

/// Returns the first pair of entries that violates [`symmetric`].
pub(crate) fn asymmetric<T: Real>(a: &Bsr<T>) -> Option<(usize, usize)> {
    a.asymmetric_pair(Bsr::<T>::symmetry_tolerance())
}

/// Whether every diagonal block is [`symmetric`], as D⁻¹ requires.
pub(crate) fn has_symmetric_diagonal<T: Real>(a: &Bsr<T>) -> bool {
    /// The number of block rows per task.
    const LEAF: usize = 4096;
    let (pattern, b) = (a.pattern(), a.block().0);
    let tolerance = Bsr::<T>::symmetry_tolerance();
    let is_symmetric = |i: usize| {
        let block = pattern.find(i, i).map_or(&[][..], |k| a.value(k));
        (0..block.len()).all(|k| {
            let (r, s) = (k / b, k % b);
            let [above, below] = [block[k], block[s * b + r]];
            if s <= r || above == below {
                return true;
            }
            let [first, second] = [r, s].map(|d| block[d * b + d].abs().sqrt());
            (above - below).abs() <= tolerance * (first * second).max(above.abs()).max(below.abs())
        })
    };
    let leaf = |mut rows: Range<usize>| rows.all(is_symmetric);
    let in_parallel = parallel::worth(pattern.rows() * b * b);
    b == 1 || tree(0..pattern.rows(), LEAF, in_parallel, &leaf, &|left, right| left && right)
}

/// Returns β, a bound of ρ(M A), and the kind of a polynomial in M A: symmetric if A is.
pub(crate) fn radius_and_kind<T: Real>(
    symmetric: bool,
    spectrum: &mut Spectrum<T>,
    a: &Bsr<T>,
    m: &DenseBlocks<T>,
) -> Result<(f64, PreconditionerKind), SetupError> {
    let radius = spectrum.bound(a, m)?;
    let kind = if symmetric || self::symmetric(a) {
        PreconditionerKind::Symmetric
    } else {
        PreconditionerKind::Linear
    };
    Ok((radius, kind))
}

/// Updates a smoother that stores A by its two phases, or builds it again if the block size or the pattern changed.
/// `prepare` checks that values are finite.
pub(crate) fn update_in_phases<T: Real, B: Backend, M: Smoother<B, T>>(
    method: &mut M,
    merged: impl Fn(&mut M) -> &mut Merged,
    system: System<'_, T>,
    (block, pattern): (usize, &Arc<Pattern>),
    build: impl FnOnce(&M, System<'_, T>) -> Result<M, SetupError>,
) -> Result<Reused, SetupError> {
    Merged::update(method, merged, &system, pattern, |method, a| {
        if !same(a, block, pattern) {
            *method = build(method, system)?;
            return Ok(Reused::Nothing);
        }
        SetupError::unless_cancelled(system.cancel)?;
        method.prepare(a)?;
        method.commit(a)?;
        Ok(Reused::Structure)
    })
}
