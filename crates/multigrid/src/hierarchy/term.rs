//! The matrix A + T of a level, for its smoother and its coarsest solve, not for the next Galerkin product.

use coarsen_backend::SetupError;
use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use crate::{Coarsening, Grid};

/// Writes A + T into `seen`, whose memory is reused if the pattern is the same; `None` if the method has no
/// term for this level.
pub(super) fn see<T: Real, C: Coarsening<T>>(
    coarsening: &C,
    grid: &Grid<'_, T>,
    above: Option<&C::State>,
    seen: &mut Option<Bsr<T>>,
) -> Result<(), SetupError> {
    if !coarsening.has_term(above) {
        *seen = None;
        return Ok(());
    }
    let room = seen
        .take()
        .filter(|room| Pattern::same(room.pattern(), grid.a.pattern()) && room.block() == grid.a.block());
    let sum = seen.insert(match room {
        Some(mut room) => {
            room.values_mut().copy_from_slice(grid.a.values());
            room
        }
        None => grid.a.clone(),
    });
    coarsening.add_term(sum, above)?;
    sum.check_finite()?;
    Ok(())
}
