//! The choice of the factorisation.

use coarsen_core::Real;
use coarsen_sparse::Bsr;

use crate::check::{check_finite, check_symmetric};
use crate::refine::{Policy, SINGULAR};
use crate::{Analysis, DirectError, Engine, Factor, FactorStats, Method};

/// Direct solution of sparse systems: order, factor, solve.
///
/// *Use* up to about 100,000 unknowns in two dimensions and 20,000 in three, for many right-hand sides, for
/// indefinite systems, and on the coarsest level. For larger systems multigrid is faster, since fill grows
/// like n log n and n^(4/3). Singular systems are rejected unless [`accept`](Self::accept) is infinite: use a Krylov
/// method with a null space, or [`Dense`](crate::Dense) for small ones. *Cost* of Cholesky in 2D: n log n entries, n^(3/2) operations; in
/// 3D: n^(4/3) entries, n² operations. These are the bounds of nested dissection; minimum degree, used here,
/// is close to them on meshes but has no guarantee. Runs on the calling thread. *Reference* Davis,
/// Rajamanickam and Sid-Lakhdar 2016, "A survey of direct methods for sparse linear systems".
///
/// ```
/// use coarsen_direct::{Direct, Method};
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 2.0), (0, 1, 1.0), (1, 0, 1.0), (1, 1, 2.0)])?;
/// let mut factor = Direct::default().factor(&a)?;
/// let mut x = [0.0; 2];
/// assert!(factor.solve(&[3.0, 3.0], &mut x)?.relative_residual < 1e-15);
/// assert_eq!(factor.method(), Method::Cholesky);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Direct {
    /// The factorisation; [`Method::Auto`] by default.
    pub method: Method,
    /// The largest number of steps of iterative refinement in a solve; 3 by default.
    pub refinements: usize,
    /// The largest relative residual that a solve accepts, above 0; 1e-6 by default. Infinity accepts every solution,
    /// and a factor of a matrix that is singular to working precision as well ([`Factor::singular`]).
    pub accept: f64,
    /// The largest relative residual of the test solve with which A counts as regular, above 0; 1e-3 by default, which
    /// means three correct digits. With infinity there is no test, and only a factor that is not finite is refused.
    /// *Use* infinity for a preconditioner, together with `accept`: contact that is 1e14 times as stiff as inertia leaves
    /// a factor no correct digit along the softest directions, but conjugate gradients need none.
    pub test_tolerance: f64,
    /// The engine that factors; [`Engine::Fastest`] by default.
    pub engine: Engine,
}

impl Default for Direct {
    fn default() -> Self {
        Self {
            method: Method::Auto,
            refinements: 3,
            accept: 1e-6,
            test_tolerance: SINGULAR,
            engine: Engine::Fastest,
        }
    }
}

impl Direct {
    /// Factors a square matrix of any square block size, in `f64`.
    ///
    /// A test solve along the near-kernel checks the factor, unless the pivots show that A is far from
    /// singular.
    ///
    /// # Errors
    /// [`DirectError::Parameter`] for a field out of range, and [`DirectError::Memory`] if the factor does
    /// not fit in memory. The other errors name the row or column that is not finite, empty, unsymmetric, not
    /// positive or dependent. If [`accept`](Self::accept) is infinite, dependent rows are an error only where the
    /// pattern alone makes A singular.
    pub fn factor<T: Real>(&self, a: &Bsr<T>) -> Result<Factor, DirectError> {
        let method = self.choose(a)?;
        let a = a.to::<f64>();
        Analysis::new(*self, method, &a)?.finish(&a)
    }

    /// Orders a matrix and determines the structure of its factor; computes no numbers.
    ///
    /// [`Analysis::factor`] then computes the factor; both steps together are [`factor`](Self::factor).
    ///
    /// # Errors
    /// The errors of [`factor`](Self::factor), except those that the factorisation itself finds.
    pub fn analyse<T: Real>(&self, a: &Bsr<T>) -> Result<Analysis, DirectError> {
        let method = self.choose(a)?;
        Analysis::new(*self, method, &a.to::<f64>())
    }

    /// The method that [`factor`](Self::factor) tries first, and the size of its factor. To factor
    /// afterwards, use [`analyse`](Self::analyse) instead.
    ///
    /// # Errors
    /// As [`analyse`](Self::analyse).
    pub fn estimate<T: Real>(&self, a: &Bsr<T>) -> Result<(Method, FactorStats), DirectError> {
        let analysis = self.analyse(a)?;
        Ok((analysis.method(), analysis.stats()))
    }

    /// What follows from the examination of a factor by `method`.
    pub(crate) fn policy(&self, method: Method) -> Policy {
        let last = self.method != Method::Auto || method == Method::Lu;
        Policy { test_tolerance: self.test_tolerance, keep: self.accept == f64::INFINITY, last }
    }

    /// The method that [`Method::Auto`] tries after `method` failed.
    pub(crate) fn after(&self, method: Method, error: &DirectError) -> Option<Method> {
        use DirectError::{NotPositiveDefinite, NotSymmetric, Singular, SmallPivot};
        match (self.method, method, error) {
            (Method::Auto, Method::Cholesky, NotPositiveDefinite { .. } | Singular { .. }) => {
                Some(Method::Ldlt)
            }
            (Method::Auto, Method::Ldlt, Singular { .. } | SmallPivot { .. }) => Some(Method::Lu),
            (Method::Auto, Method::Cholesky | Method::Ldlt, NotSymmetric { .. }) => Some(Method::Lu),
            _ => None,
        }
    }

    /// Checks the matrix and resolves [`Method::Auto`].
    pub(crate) fn choose<T: Real>(&self, a: &Bsr<T>) -> Result<Method, DirectError> {
        for (name, value) in
            [("Direct::accept", self.accept), ("Direct::test_tolerance", self.test_tolerance)]
        {
            if value.is_nan() || value <= 0.0 {
                return Err(DirectError::Parameter { name, value, range: "above 0" });
            }
        }
        let (rows, columns) = a.shape();
        if rows != columns {
            return Err(DirectError::NotSquare { rows, columns });
        }
        let (rows, columns) = a.block();
        if rows != columns {
            return Err(DirectError::Blocks { rows, columns });
        }
        check_finite(a)?;
        check_empty(a)?;
        let symmetric = check_symmetric(a);
        match self.method {
            Method::Auto if symmetric.is_err() => Ok(Method::Lu),
            Method::Auto => {
                let (zero, diagonal) = (T::zero(), a.diagonal());
                let definite = diagonal.iter().all(|&d| d > zero) || diagonal.iter().all(|&d| d < zero);
                Ok(if definite { Method::Cholesky } else { Method::Ldlt })
            }
            Method::Lu => Ok(Method::Lu),
            method => symmetric.map(|()| method),
        }
    }
}

/// Returns an error for the first row or column without a nonzero.
fn check_empty<T: Real>(a: &Bsr<T>) -> Result<(), DirectError> {
    let (r, c) = a.block();
    let (mut rows, mut columns) = (vec![false; a.shape().0], vec![false; a.shape().1]);
    for i in 0..a.pattern().rows() {
        for (j, block) in a.row(i) {
            for (at, _) in block.iter().enumerate().filter(|(_, v)| !v.is_zero()) {
                rows[i * r + at / c] = true;
                columns[j * c + at % c] = true;
            }
        }
    }
    if let Some(row) = rows.iter().position(|seen| !seen) {
        return Err(DirectError::EmptyRow { row });
    }
    columns.iter().position(|seen| !seen).map_or(Ok(()), |column| Err(DirectError::EmptyColumn { column }))
}
