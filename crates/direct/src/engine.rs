//! Whose code factors and decomposes: that of faer, or our own.

use coarsen_sparse::Bsr;

use crate::factorization::Factorization;
use crate::spectral::Spectral;
use crate::{DirectError, Method, own};

/// Whose code does the work of [`Direct`](crate::Direct) and [`Dense`](crate::Dense). Recipes and errors are
/// the same for both, and results up to round-off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// faer where this crate is built with its feature `faer`, else our own.
    #[default]
    Fastest,
    /// Our own, which needs no other crate: sparse LDLᵀ and LU that work entry by entry, and dense
    /// eigenvalues and singular values by plain loops.
    ///
    /// *Use* for coarsest grids and subdomains where faer is too much to build. It has no dense blocks, so its
    /// factorisations take longer than faer's where fill is large: measured on one thread of a shared Xeon on
    /// 2026-11-24, 1.4 to 3.2 times as long on `poisson2d:140` and `poisson2d:60`, 4.4 on `poisson3d:17`, 12 on
    /// `elasticity3d:11` (4752 unknowns, 0.28 s).
    Own,
}

/// Orders `a` for a factorisation.
pub(crate) fn plan(
    engine: Engine,
    method: Method,
    a: &Bsr<f64>,
) -> Result<Box<dyn Factorization>, DirectError> {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest => {
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

/// Bytes of scratch for decompositions of size n.
pub(crate) fn scratch(engine: Engine, n: usize) -> usize {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest => crate::by_faer::Decompositions::bytes(n),
        _ => own::Decompositions::bytes(n),
    }
}

/// Decompositions of size n; `bytes` are named where there is no room for their scratch.
pub(crate) fn decompositions(
    engine: Engine,
    n: usize,
    bytes: usize,
) -> Result<Box<dyn Spectral>, DirectError> {
    match engine {
        #[cfg(feature = "faer")]
        Engine::Fastest => Ok(Box::new(crate::by_faer::Decompositions::new(n, bytes)?)),
        _ => Ok(Box::new(own::Decompositions::new(n, bytes)?)),
    }
}
