//! The factored matrix: solve, apply, update.

use std::sync::Arc;

use coarsen_backend::Merged;
use coarsen_core::{Preconditioner, PreconditionerKind, Real, power_of_two};
use coarsen_sparse::{Bsr, Pattern};

use crate::check::{check_finite, check_symmetric};
use crate::factorization::{FactorStats, Factorization, Inertia, Pivots};
use crate::refine::{Solved, Work};
use crate::{Analysis, Direct, DirectError, Method};

/// A factored matrix, computed by [`Direct::factor`].
///
/// [`solve`](Self::solve) refines the solution and checks the residual. As a [`Preconditioner`] the factor is
/// one pair of triangular solves without refinement and without allocation. It is linear, and symmetric for
/// symmetric positive definite matrices. [`refactor`](Self::refactor) factors new values.
///
/// *Memory* see [`stats`](Self::stats), which include two copies of the matrix and four vectors.
pub struct Factor {
    method: Method,
    fallback: Option<DirectError>,
    singular: Option<DirectError>,
    factors: Box<dyn Factorization>,
    pivots: Pivots,
    matrix: Bsr<f64>,
    next_matrix: Bsr<f64>,
    parameters: Direct,
    work: Work,
    pub(crate) merged: Merged,
}

impl Factor {
    /// Factors `a` with the planned structure, and examines the factor.
    pub(crate) fn new(
        parameters: Direct,
        method: Method,
        mut factors: Box<dyn Factorization>,
        a: &Bsr<f64>,
    ) -> Result<Self, DirectError> {
        let n = a.shape().0;
        let mut work = Work::new(n);
        let (pivots, singular) = work.factor(&mut *factors, a, method, parameters.policy(method))?;
        // Updates swap both, and copy nothing, so neither shares the values of `a`.
        let own = || {
            let mut own = a.clone();
            own.values_mut();
            own
        };
        let (matrix, next_matrix) = (own(), own());
        let (fallback, merged) = (None, Merged::default());
        Ok(Self {
            method,
            fallback,
            singular,
            factors,
            pivots,
            matrix,
            next_matrix,
            parameters,
            work,
            merged,
        })
    }

    /// Records why the first method was rejected.
    pub(crate) fn instead_of(self, refused: Option<DirectError>) -> Self {
        Self { fallback: refused, ..self }
    }

    /// The parameters of the factor.
    pub(crate) fn parameters(&self) -> Direct {
        self.parameters
    }

    /// The pattern of the factored matrix.
    pub(crate) fn pattern(&self) -> &Arc<Pattern> {
        self.matrix.pattern()
    }

    /// Whether `a` has the pattern and the blocks of the factored matrix.
    pub(crate) fn fits<T: Real>(&self, a: &Bsr<T>) -> bool {
        a.block() == self.matrix.block() && Pattern::same(a.pattern(), self.matrix.pattern())
    }

    /// The factorisation in use; never [`Method::Auto`].
    pub fn method(&self) -> Method {
        self.method
    }

    /// The error of the cheaper factorisation that was tried first, if it failed.
    pub fn fallback(&self) -> Option<&DirectError> {
        self.fallback.as_ref()
    }

    /// The error that a finite [`Direct::accept`] would have returned, if A is singular to working precision.
    ///
    /// Where a pivot of LDLᵀ is exactly 0, its unknown is set to 0 or, as for LU, the factor is that of a matrix whose
    /// entries differ from those of A by at most 1e-10 relative. So a system that has a solution is solved: judge
    /// [`Solved::relative_residual`]. For other right-hand sides, and where A is only nearly singular, x is the best
    /// of all steps.
    pub fn singular(&self) -> Option<&DirectError> {
        self.singular.as_ref()
    }

    /// The numbers of entries, bytes and operations of the factorisation.
    pub fn stats(&self) -> FactorStats {
        let stats = self.factors.stats();
        let copies =
            size_of_val(self.matrix.values()) + size_of_val(self.next_matrix.values()) + self.merged.bytes();
        FactorStats { bytes: stats.bytes + copies + 4 * size_of_val(&self.work.b[..]), ..stats }
    }

    /// The numbers of positive and negative eigenvalues; unknown for LU.
    pub fn inertia(&self) -> Option<Inertia> {
        self.pivots.inertia
    }

    /// The row whose pivot is smallest relative to the entries of that row, and this ratio; unknown for LU.
    /// The ratio is far below 1 if a part is nearly unsupported.
    pub fn weakest_pivot(&self) -> Option<(usize, f64)> {
        self.pivots.weakest
    }

    /// x = A⁻¹ b, refined until the residual no longer decreases.
    ///
    /// x₀ = M b, then x ← x + M (b − A x), at most [`Direct::refinements`] times; the best x is kept. M is
    /// the factored inverse. b is scaled by a power of two, so that very small and very large right-hand
    /// sides lose no accuracy. *Cost* per step: one pass over L and its transpose, one product with A. No
    /// allocation. *Reference* Higham 2002, "Accuracy and Stability of Numerical Algorithms", chapter 12
    /// (fixed precision).
    ///
    /// # Errors
    /// [`DirectError::Shape`], [`DirectError::RightHandSide`] for NaN or infinity in b,
    /// [`DirectError::Inaccurate`] if the residual stays above [`Direct::accept`], [`DirectError::Overflow`]
    /// for an x outside the range of its type. After an error x is unchanged.
    pub fn solve<V: Real>(&mut self, b: &[V], x: &mut [V]) -> Result<Solved, DirectError> {
        self.solve_with(b, x, false)
    }

    /// [`solve`](Self::solve) from the given x: x ← x + M (b − A x).
    ///
    /// If x is close to the solution, fewer steps are needed, and digits of x beyond the accuracy of M are
    /// kept. An x that is not finite is replaced by zeros. *Cost* as [`solve`](Self::solve), and one more
    /// product with A.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_from<V: Real>(&mut self, b: &[V], x: &mut [V]) -> Result<Solved, DirectError> {
        self.solve_with(b, x, true)
    }

    fn solve_with<V: Real>(&mut self, b: &[V], x: &mut [V], guess: bool) -> Result<Solved, DirectError> {
        let expected = self.matrix.shape().0;
        for (what, found) in [("b", b.len()), ("x", x.len())] {
            if found != expected {
                return Err(DirectError::Shape { what, expected, found });
            }
        }
        if let Some(index) = b.iter().position(|v| !v.is_finite()) {
            return Err(DirectError::RightHandSide { index });
        }
        let scale = power_of_two(b.iter().fold(0.0, |m, v| v.as_f64().abs().max(m)));
        for (w, v) in self.work.b.iter_mut().zip(b) {
            *w = v.as_f64() / scale;
        }
        self.work.x.fill(0.0);
        if guess {
            self.work.x.iter_mut().zip(&*x).for_each(|(w, v)| *w = v.as_f64() / scale);
            if self.work.x.iter().any(|w| !w.is_finite()) {
                self.work.x.fill(0.0);
            }
        }
        let solved = self.work.refine(&mut *self.factors, &self.matrix, self.parameters.refinements);
        if let Some(index) = self.work.x.iter().position(|w| !V::from_f64(w * scale).is_finite()) {
            return Err(DirectError::Overflow { index, storage: V::NAME });
        }
        if solved.relative_residual <= self.parameters.accept {
            x.iter_mut().zip(&self.work.x).for_each(|(x, w)| *x = V::from_f64(w * scale));
            Ok(solved)
        } else {
            Err(DirectError::Inaccurate {
                residual: solved.relative_residual,
                accepted: self.parameters.accept,
            })
        }
    }

    /// Factors new values on the same pattern, reusing ordering, structure and memory.
    ///
    /// The method is kept. If it fails and [`Direct::method`] is [`Method::Auto`], the next method is used, as in
    /// [`Direct::factor`], and kept for later updates; unsymmetric values fail all methods but LU.
    ///
    /// *Cost* the numeric factorisation; no allocation, unless the method changes or the pivots of LU cause
    /// more fill. After an error the old factor stays in use: it is computed again from the old values, with
    /// the same bits.
    ///
    /// # Errors
    /// As [`Direct::factor`] with this factor's [`method`](Self::method), and [`DirectError::Pattern`].
    pub fn refactor<T: Real>(&mut self, a: &Bsr<T>) -> Result<(), DirectError> {
        if !self.fits(a) {
            return Err(DirectError::Pattern);
        }
        check_finite(a)?;
        let symmetric = if self.method == Method::Lu { Ok(()) } else { check_symmetric(a) };
        if let Err(error) = &symmetric
            && self.parameters.after(self.method, error).is_none()
        {
            return Err(error.clone());
        }
        self.next_matrix.values_mut().iter_mut().zip(a.values()).for_each(|(s, v)| *s = v.as_f64());
        let factored = symmetric.and_then(|()| {
            self.work.factor(
                &mut *self.factors,
                &self.next_matrix,
                self.method,
                self.parameters.policy(self.method),
            )
        });
        let error = match factored {
            Ok(examined) => {
                (self.pivots, self.singular) = examined;
                std::mem::swap(&mut self.matrix, &mut self.next_matrix);
                return Ok(());
            }
            Err(error) => error,
        };
        let last = match self.parameters.after(self.method, &error) {
            Some(next) => {
                let analysis = Analysis::new(self.parameters, next, &self.next_matrix);
                match analysis.and_then(|analysis| analysis.finish(&self.next_matrix)) {
                    Ok(factor) => {
                        *self = factor.instead_of(Some(error));
                        return Ok(());
                    }
                    Err(last) => last,
                }
            }
            None => error,
        };
        self.factors.factor(&self.matrix)?;
        Err(last)
    }
}

impl<V: Real> Preconditioner<Vec<V>> for Factor {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let n = self.work.x.len();
        assert!(
            r.len() == n && z.len() == n,
            "apply: a factor of size {n} met vectors of {} and {}",
            r.len(),
            z.len()
        );
        let x = &mut self.work.x;
        x.iter_mut().zip(r).for_each(|(x, r)| *x = r.as_f64());
        self.factors.solve(x);
        z.iter_mut().zip(x).for_each(|(z, x)| *z = V::from_f64(*x));
    }

    /// Symmetric for Cholesky, and for LDLᵀ without negative pivots; linear otherwise.
    fn kind(&self) -> PreconditionerKind {
        match self.pivots.inertia {
            Some(Inertia { negative: 0, .. }) => PreconditionerKind::Symmetric,
            _ => PreconditionerKind::Linear,
        }
    }

    fn size(&self) -> Option<usize> {
        Some(self.work.x.len())
    }
}
