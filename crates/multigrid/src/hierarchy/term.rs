//! A term of a level that its smoother and its coarsest solve see, and the next product does not.

use coarsen_backend::{DenseBlocks, SetupError};
use coarsen_core::{Error, Real};
use coarsen_sparse::{Bsr, Pattern};

use crate::{Coarsening, Grid};

/// Writes A + T into `seen`, in its memory where it has the pattern, or `None` where the method has no term
/// for this level.
pub(super) fn see<T: Real, C: Coarsening<T>>(
    coarsening: &C,
    grid: &Grid<'_, T>,
    above: Option<&C::State>,
    seen: &mut Option<Bsr<T>>,
) -> Result<(), SetupError> {
    let Some(term) = coarsening.term(grid, above)? else {
        *seen = None;
        return Ok(());
    };
    let mut sum = match seen.take() {
        Some(mut room)
            if Pattern::same(room.pattern(), grid.a.pattern()) && room.block() == grid.a.block() =>
        {
            room.values_mut().copy_from_slice(grid.a.values());
            room
        }
        _ => grid.a.clone(),
    };
    let added = add(&mut sum, &term);
    *seen = Some(sum); // also after an error: the level still has a term
    added
}

/// A ← A + T.
fn add<T: Real>(a: &mut Bsr<T>, term: &DenseBlocks<T>) -> Result<(), SetupError> {
    let (b, pattern) = (a.block().0, a.pattern().clone());
    for (what, expected, found) in [
        ("blocks of the term of a level", pattern.rows(), term.count()),
        ("unknowns of a block of the term of a level", b, term.size()),
    ] {
        if expected != found {
            return Err(Error::Shape { what, expected, found }.into());
        }
    }
    for (i, block) in term.values().chunks_exact(b * b).enumerate() {
        let Some(at) = pattern.find(i, i) else {
            return Err(SetupError::ZeroDiagonal { row: i * b, method: "the term of a level" });
        };
        let here = &mut a.values_mut()[at * b * b..(at + 1) * b * b];
        here.iter_mut().zip(block).for_each(|(a, &t)| *a += t);
    }
    a.check_finite()?;
    Ok(())
}
