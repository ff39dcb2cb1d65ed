//! A matrix that is ordered but not yet factored.

use std::sync::Arc;

use coarsen_core::Real;
use coarsen_sparse::{Bsr, Pattern};

use crate::engine::plan;
use crate::factorization::Factorization;
use crate::{Direct, DirectError, Factor, FactorStats, Method};

/// The ordering of a matrix and the structure of its factor, computed by [`Direct::analyse`].
///
/// It gives the size of the factor before any number is computed. [`factor`](Self::factor) reuses the
/// ordering.
///
/// ```
/// use coarsen_direct::Direct;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let analysis = Direct::default().analyse(&a)?;
/// assert_eq!(analysis.stats().nnz, 3);
/// let mut x = [0.0; 2];
/// analysis.factor(&a)?.solve(&[3.0, 3.0], &mut x)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Analysis {
    direct: Direct,
    method: Method,
    pattern: Arc<Pattern>,
    block: (usize, usize),
    factors: Box<dyn Factorization>,
}

impl Analysis {
    /// Orders `a` for the factorisation `method`; the requirements of the method were checked.
    pub(crate) fn new(direct: Direct, method: Method, a: &Bsr<f64>) -> Result<Self, DirectError> {
        Ok(Self {
            direct,
            method,
            pattern: a.pattern().clone(),
            block: a.block(),
            factors: plan(direct.engine, method, a)?,
        })
    }

    /// The factorisation that is tried first; never [`Method::Auto`].
    pub fn method(&self) -> Method {
        self.method
    }

    /// The size of that factorisation; an upper bound for LU, whose fill depends on pivots. LDLᵀ may take more where
    /// columns without a sufficient pivot are delayed.
    pub fn stats(&self) -> FactorStats {
        self.factors.stats()
    }

    /// Factors `a`: the analysed matrix, or other values on its pattern.
    ///
    /// *Cost* the numeric factorisation, and another ordering if the method changes. Other values may require
    /// another method, and [`Method::Auto`] replaces a method that fails.
    ///
    /// # Errors
    /// As [`Direct::factor`], and [`DirectError::Pattern`] for a matrix of another pattern or block size.
    pub fn factor<T: Real>(self, a: &Bsr<T>) -> Result<Factor, DirectError> {
        if a.block() != self.block || !Pattern::same(a.pattern(), &self.pattern) {
            return Err(DirectError::Pattern);
        }
        let method = self.direct.choose(a)?;
        let a = a.to::<f64>();
        let analysis = if method == self.method { self } else { Self::new(self.direct, method, &a)? };
        analysis.finish(&a)
    }

    /// Factors the checked matrix; if a method fails, tries the next method.
    pub(crate) fn finish(self, a: &Bsr<f64>) -> Result<Factor, DirectError> {
        let Self { direct, mut method, mut factors, .. } = self;
        let mut refused = None;
        loop {
            let error = match Factor::new(direct, method, factors, a) {
                Ok(factor) => return Ok(factor.instead_of(refused)),
                Err(error) => error,
            };
            let Some(next) = direct.after(method, &error) else { return Err(error) };
            refused.get_or_insert(error);
            (method, factors) = (next, plan(direct.engine, next, a)?);
        }
    }
}
