//! Preconditioners by name.

use std::ffi::c_char;
use std::sync::{Arc, Mutex};

use coarsen::auto::{Parameters, Precond};
use coarsen::backend::Prepared;
use coarsen::parallel::THRESHOLD;
use coarsen::{AnyError, Cpu, Error};

use crate::matrix::coarsen_matrix;
use crate::status::{
    Failure, array, array_mut, call, check_apart, coarsen_status, give, lock, object, one_of, raise, take,
};
use crate::threads::run;

/// A preconditioner M of a matrix.
pub struct coarsen_preconditioner {
    pub(crate) held: Arc<Mutex<Held>>,
}

/// A preconditioner with its work vectors.
pub(crate) struct Held {
    pub(crate) built: Box<dyn Prepared<Vec<f64>, f64> + Send>,
    pub(crate) n: usize,
    /// Whether loops stay on one thread, so that the pool need not be entered.
    is_small: bool,
    r: Vec<f64>,
    z: Vec<f64>,
}

/// A preconditioner by the name that reports have.
///
/// # Safety
/// As [`one_of`].
pub(crate) unsafe fn precond(pointer: *const c_char) -> Result<Option<Precond>, Failure> {
    // SAFETY: promised by the caller.
    unsafe { one_of("preconditioner", pointer, Precond::ALL) }
}

/// Builds a preconditioner, in `*preconditioner`: "sa" (smoothed aggregation), "rs" (Ruge-Stueben), "skinning", "mas"
/// (multilevel additive Schwarz), "as", "ras", "ic0", "ilu0", "gs", "ssor", "chebyshev", "jacobi", "l1-jacobi",
/// "block-jacobi" or "none". Hierarchies are stored in single
/// precision.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_preconditioner_new(
    matrix: *const coarsen_matrix,
    name: *const c_char,
    preconditioner: *mut *mut coarsen_preconditioner,
) -> coarsen_status {
    let new = || {
        // SAFETY: as the crate says.
        let (matrix, precond) = unsafe { (object(matrix, "matrix")?, self::precond(name)?) };
        let precond =
            precond.ok_or_else(|| Failure::argument("a preconditioner needs a name, such as sa"))?;
        let (system, parameters) = (matrix.system.system(), Parameters::default());
        let is_hierarchy =
            matches!(precond, Precond::SmoothedAggregation | Precond::RugeStueben | Precond::Skinning);
        let build = || -> Result<_, AnyError> {
            system.check()?;
            Ok(match is_hierarchy {
                true => parameters.build(precond, system, &Cpu::mixed()),
                false => parameters.build(precond, system, &Cpu::new()),
            }?
            .0)
        };
        // SAFETY: a preconditioner may be sent to another thread.
        let built = unsafe { run(build) }?.map_err(raise)?;
        let (n, entries) = (system.matrix.shape().0, system.matrix.nnz());
        let held = Held { built, n, is_small: entries < 8 * THRESHOLD, r: Vec::new(), z: vec![0.0; n] };
        Ok(coarsen_preconditioner { held: Arc::new(Mutex::new(held)) })
    };
    // SAFETY: as the crate says.
    unsafe { give(preconditioner, new) }
}

/// Updates a preconditioner to a matrix with as many unknowns, which keeps its structure while the pattern stays. After a failure it
/// is that of the last matrix.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_preconditioner_update(
    preconditioner: *mut coarsen_preconditioner,
    matrix: *const coarsen_matrix,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let (m, matrix) = unsafe { (object(preconditioner, "preconditioner")?, object(matrix, "matrix")?) };
        let mut held = lock(&m.held, "the preconditioner")?;
        let (system, expected) = (matrix.system.system(), held.n);
        let found = system.matrix.shape().0;
        if found != expected {
            return Err(raise(Error::Shape { what: "the rows of A", expected, found }));
        }
        let built = &mut held.built;
        let update = || -> Result<_, AnyError> {
            system.check()?;
            Ok(built.update_from(system)?)
        };
        // SAFETY: a preconditioner may be sent to another thread.
        unsafe { run(update) }?.map_err(raise)?;
        held.is_small = system.matrix.nnz() < 8 * THRESHOLD;
        Ok(())
    })
}

/// z = M^-1 r, for vectors of `n` numbers that do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_preconditioner_apply(
    preconditioner: *mut coarsen_preconditioner,
    n: usize,
    r: *const f64,
    z: *mut f64,
) -> coarsen_status {
    call(|| {
        // SAFETY: as the crate says.
        let m = unsafe { object(preconditioner, "preconditioner") }?;
        let mut held = lock(&m.held, "the preconditioner")?;
        if n != held.n {
            return Err(raise(Error::Shape { what: "r", expected: held.n, found: n }));
        }
        check_apart(r, z, n)?;
        // SAFETY: as the crate says, and the arrays do not overlap.
        let (from, to) = unsafe { (array(r, n, "r")?, array_mut(z, n, "z")?) };
        let Held { built, is_small, r, z, .. } = &mut *held;
        r.clear();
        r.extend_from_slice(from);
        match is_small {
            true => built.apply(r, z),
            // SAFETY: a preconditioner may be sent to another thread.
            false => unsafe { run(|| built.apply(r, z)) }?,
        }
        to.copy_from_slice(z);
        Ok(())
    })
}

/// Frees a preconditioner. A solver that uses it keeps it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn coarsen_preconditioner_free(preconditioner: *mut coarsen_preconditioner) {
    // SAFETY: as the crate says.
    unsafe { take(preconditioner) }
}
