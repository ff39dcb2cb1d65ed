//! The matrix A + T of a level. The smoother and the coarsest solve use it; the next Galerkin product uses A.

use std::mem;

use coarsen_backend::{Backend, SetupError};
use coarsen_core::Real;
use coarsen_sparse::{Bsr, GalerkinPlan, Pattern, Prolongation};

use super::method::{Method, Step};
use crate::Grid;

/// A + T of a level: the matrix in use, and the matrix that an update prepares.
pub(super) struct WithTerm<T: Real> {
    /// `None` if the level has no term.
    pub(super) now: Option<Bsr<T>>,
    /// Workspace, which the first update allocates.
    pub(super) next: Option<Bsr<T>>,
}

impl<T: Real> WithTerm<T> {
    pub(super) fn new(now: Option<Bsr<T>>) -> Self {
        Self { now, next: None }
    }

    /// Takes the prepared matrix into use.
    pub(super) fn commit(&mut self) {
        mem::swap(&mut self.now, &mut self.next);
    }

    pub(super) fn bytes(&self) -> usize {
        self.now.iter().chain(&self.next).map(|a| size_of_val(a.values())).sum()
    }
}

/// Writes A + T into `with_term`, whose memory is reused if the pattern is the same; `None` if the level has no term.
/// `above` is the step to this level.
pub(super) fn add<T: Real, B: Backend>(
    method: &dyn Method<T, B>,
    grid: &Grid<'_, T>,
    above: Option<&Step<T>>,
    with_term: &mut Option<Bsr<T>>,
) -> Result<(), SetupError> {
    let Some(above) = above.filter(|above| above.has_term) else {
        *with_term = None;
        return Ok(());
    };
    let reused = with_term.take().filter(|reused| {
        Pattern::same(reused.pattern(), grid.a.pattern()) && reused.block() == grid.a.block()
    });
    let sum = with_term.insert(match reused {
        Some(mut reused) => {
            reused.values_mut().copy_from_slice(grid.a.values());
            reused
        }
        None => grid.a.clone(),
    });
    method.add_term(sum, &above.state)?;
    sum.check_finite()?;
    Ok(())
}

/// The matrix A of a level, and A + T if the level has a term T.
pub(super) type Termed<'a, T> = (&'a Bsr<T>, Option<&'a Bsr<T>>);

/// Returns T_c − Pᵀ T P on the pattern of PᵀAP, where T_c is the term of the coarse level; `None` if both
/// levels have no term.
///
/// The backend stores A + T and computes Pᵀ (A + T) P. With this offset the result is PᵀAP + T_c. `fine` is
/// `None` for the finest level, which has no term.
pub(super) fn offset<T: Real>(
    fine: Option<Termed<'_, T>>,
    p: &Prolongation<T>,
    coarse: Termed<'_, T>,
) -> Result<Option<Bsr<T>>, SetupError> {
    let difference = |(a, with_term): Termed<'_, T>| {
        with_term.map(|with_term| {
            let mut term = with_term.clone();
            term.values_mut().iter_mut().zip(a.values()).for_each(|(t, a)| *t -= *a);
            term
        })
    };
    let own = difference(coarse);
    let Some(inherited) = fine.and_then(difference) else { return Ok(own) };
    let mut offset = match own {
        Some(own) => own,
        None => Bsr::zeros(coarse.0.pattern().clone(), coarse.0.block())?,
    };
    let product = GalerkinPlan::new(&inherited, p)?.build(&inherited, p)?;
    offset.values_mut().iter_mut().zip(product.values()).for_each(|(o, t)| *o -= *t);
    Ok(Some(offset))
}
