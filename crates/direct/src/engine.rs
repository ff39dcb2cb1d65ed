//! The code that factors and decomposes: faer, or this crate's own code.

use coarsen_sparse::Bsr;

use crate::factorization::Factorization;
use crate::spectral::Spectral;
use crate::{DirectError, Method, own};

/// The code that factors matrices for [`Direct`](crate::Direct) and decomposes them for
/// [`Dense`](crate::Dense). Both engines have the same parameters and errors, and the same results up to
/// round-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// faer if this crate is built with its feature `faer` and for 300 unknowns or more, otherwise [`Own`](Self::Own):
    /// faer multiplies in a buffer of twice the last-level cache, 1 GB on a server.
    #[default]
    Fastest,
    /// This crate's own code, without other crates: sparse LDLᵀ and LU entry by entry, and dense eigenvalues
    /// and singular values by plain loops.
    ///
    /// *Use* for coarsest grids and subdomains if building faer takes too long. It has no dense blocks, so
    /// its factorisations take longer than those of faer if fill is large. Measured on one thread of a shared
    /// Xeon, they take 1.4 to 3.2 times as long on `poisson2d:140` and `poisson2d:60`, 4.4 times on
    /// `poisson3d:17`, and 12 times on `elasticity3d:11` (4752 unknowns, 0.28 s).
    Own,
}

/// The smallest number of unknowns for which the buffer of faer is worth its memory. Singular values take this crate's
/// own code 15 times as long: they are left to faer above [`TINY`], if there is memory for the buffer.
#[cfg(feature = "faer")]
const SMALL: usize = 300;

/// The largest size of a decomposition that faer is not asked for.
#[cfg(feature = "faer")]
const TINY: usize = 32;

/// Orders `a` for a factorisation.
pub(crate) fn plan(
    engine: Engine,
    method: Method,
    a: &Bsr<f64>,
) -> Result<Box<dyn Factorization>, DirectError> {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest if a.shape().0 >= SMALL => {
            use crate::by_faer::{Cholesky, Ldlt, Lu};
            Ok(match method {
                Method::Auto | Method::Cholesky => Box::new(Cholesky::plan(a)?),
                Method::Ldlt => Box::new(Ldlt::plan(a)?),
                Method::Lu => Box::new(Lu::plan(a)?),
            })
        }
        _ => own::plan(method, a),
    }
}

/// The number of bytes of scratch for decompositions of size n.
pub(crate) fn scratch(engine: Engine, n: usize) -> usize {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest if n > TINY => crate::by_faer::Decompositions::bytes(n),
        _ => own::Decompositions::bytes(n),
    }
}

/// Decompositions of size n, or an error with `bytes` if their scratch does not fit in memory.
pub(crate) fn decompositions(
    engine: Engine,
    n: usize,
    bytes: usize,
) -> Result<Box<dyn Spectral>, DirectError> {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest if n > TINY && (n >= SMALL || crate::by_faer::has_buffer()) => {
            Ok(Box::new(crate::by_faer::Decompositions::new(n, bytes)?))
        }
        _ => Ok(Box::new(own::Decompositions::new(n, bytes)?)),
    }
}
