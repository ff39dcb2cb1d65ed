//! Iterative refinement, and the test solve that detects singular matrices.

use coarsen_core::LinearOperator;
use coarsen_sparse::Bsr;

use crate::factorization::{Factorization, Pivots};
use crate::{DirectError, Method, own};

/// If all relative pivots of a Cholesky factorisation exceed this value, no test solve is needed: the
/// condition number of the scaled matrix is far below 1 / ε.
const STRONG_PIVOT: f64 = 1e-10;
/// The largest relative residual of a test solve for which A counts as regular, if nothing else is asked for. With a larger
/// residual, its solution has fewer than three correct digits.
pub(crate) const SINGULAR: f64 = 1e-3;
/// The relative residual at which refinement stops.
const EXACT: f64 = f64::EPSILON;

/// The result of a direct solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Solved {
    /// ‖b − A x‖ / ‖b‖, computed in `f64` from the given matrix A, before x is rounded to the type of the
    /// caller's vector.
    pub relative_residual: f64,
    /// The number of steps of iterative refinement.
    pub refinements: usize,
}

/// What follows from the examination of a factor.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    /// [`Direct::test_tolerance`](crate::Direct::test_tolerance).
    pub(crate) test_tolerance: f64,
    /// Whether the factor of a singular matrix is kept.
    pub(crate) keep: bool,
    /// Whether no other method follows.
    pub(crate) last: bool,
}

/// The vectors of a refined solve.
pub(crate) struct Work {
    pub(crate) b: Vec<f64>,
    pub(crate) x: Vec<f64>,
    r: Vec<f64>,
    previous: Vec<f64>,
}

impl Work {
    /// Allocates vectors for n unknowns.
    pub(crate) fn new(n: usize) -> Self {
        Self { b: vec![0.0; n], x: vec![0.0; n], r: vec![0.0; n], previous: vec![0.0; n] }
    }

    /// Solves A x = b with at most `steps` refinements, starting from the current x. Stops early if the
    /// residual no longer decreases, and keeps the best x; if none is better than 0, x = 0.
    pub(crate) fn refine(&mut self, factors: &mut dyn Factorization, a: &Bsr<f64>, steps: usize) -> Solved {
        let size = norm(&self.b);
        if size == 0.0 {
            self.x.fill(0.0);
            return Solved { relative_residual: 0.0, refinements: 0 };
        }
        let mut best = f64::INFINITY;
        if self.x.iter().any(|v| *v != 0.0) {
            a.residual(&self.b, &self.x, &mut self.r);
            best = norm(&self.r) / size;
        }
        if !best.is_finite() {
            self.x.fill(0.0);
            self.r.copy_from_slice(&self.b);
            best = f64::INFINITY;
        }
        let mut taken = 0;
        for step in 0..=steps {
            self.previous.copy_from_slice(&self.x);
            factors.solve(&mut self.r);
            self.x.iter_mut().zip(&self.r).for_each(|(x, z)| *x += z);
            a.residual(&self.b, &self.x, &mut self.r);
            let residual = norm(&self.r) / size;
            let first = best == f64::INFINITY;
            if !first && (residual.is_nan() || residual >= best) {
                std::mem::swap(&mut self.x, &mut self.previous);
                break;
            }
            (best, taken) = (residual, step);
            if best <= EXACT {
                break;
            }
        }
        if best > 1.0 {
            self.x.fill(0.0);
            best = 1.0;
        }
        Solved { relative_residual: best, refinements: taken }
    }

    /// Factors A and examines the factor. With [`Policy::keep`] a factor of a matrix that is singular to
    /// working precision is kept, and the error is returned beside its pivots.
    pub(crate) fn factor(
        &mut self,
        factors: &mut dyn Factorization,
        a: &Bsr<f64>,
        method: Method,
        policy: Policy,
    ) -> Result<(Pivots, Option<DirectError>), DirectError> {
        let Policy { test_tolerance, keep, last } = policy;
        let pivots = match factors.factor(a) {
            Err(DirectError::Singular { .. }) if keep && last => return self.factor_neighbour(factors, a),
            factored => factored?,
        };
        let Some(residual) = self.test_solve(factors, a, method, pivots, test_tolerance) else {
            return Ok((pivots, None));
        };
        let (weakest, exact) = (pivots.weakest.map(|(row, _)| row), residual.is_infinite());
        let set = pivots.weakest.is_some_and(|(_, ratio)| ratio == 0.0);
        if keep && (set || !exact) && (last || self.is_accurate(factors, a)) {
            let row = weakest.or_else(|| largest_share(&mut self.x, factors)).unwrap_or(0);
            return Ok((pivots, Some(DirectError::Singular { row, residual })));
        }
        let row = match weakest {
            Some(row) if !last || !exact => row,
            _ if !last => 0,
            _ if keep => return self.factor_neighbour(factors, a),
            _ => self.dependent_row(factors, a, !exact)?,
        };
        Err(DirectError::Singular { row, residual })
    }

    /// Factors a [`neighbour`] of an A with a pivot that is exactly 0; returns the pivots, and the error.
    fn factor_neighbour(
        &mut self,
        factors: &mut dyn Factorization,
        a: &Bsr<f64>,
    ) -> Result<(Pivots, Option<DirectError>), DirectError> {
        let pivots = factors.factor(&neighbour(a))?;
        let (row, residual) = (largest_share(&mut self.x, factors), f64::INFINITY);
        let error = DirectError::Singular { row: row.unwrap_or(0), residual };
        if row.is_some() { Ok((pivots, Some(error))) } else { Err(error) }
    }

    /// The relative residual of a test solve, if A is singular to working precision; infinite if the factor is not
    /// finite or has a pivot that is 0. With `tolerance` = ∞ there is no test solve.
    ///
    /// The right-hand side b of the test solve is A⁻¹ times a pseudorandom vector. If A is nearly singular,
    /// b lies mostly in the near-kernel, and the relative residual of the test solve is large. Overwrites b
    /// and x.
    fn test_solve(
        &mut self,
        factors: &mut dyn Factorization,
        a: &Bsr<f64>,
        method: Method,
        pivots: Pivots,
        tolerance: f64,
    ) -> Option<f64> {
        let least = pivots.weakest.map(|(_, ratio)| ratio);
        if self.b.is_empty() || method == Method::Cholesky && least.is_some_and(|ratio| ratio > STRONG_PIVOT)
        {
            return None;
        }
        noise(&mut self.b);
        factors.solve(&mut self.b);
        let size = self.b.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        if least == Some(0.0) || self.b.iter().any(|v| !v.is_finite()) || size == 0.0 {
            return Some(f64::INFINITY);
        }
        if tolerance == f64::INFINITY {
            return None;
        }
        self.b.iter_mut().for_each(|v| *v /= size);
        self.x.fill(0.0);
        let residual = self.refine(factors, a, 1).relative_residual;
        if residual <= tolerance { None } else { Some(residual) }
    }

    /// Whether the factor solves a system that has a solution. If so, another factorisation of a singular A is not
    /// better. Overwrites b and x.
    fn is_accurate(&mut self, factors: &mut dyn Factorization, a: &Bsr<f64>) -> bool {
        noise(&mut self.x);
        a.apply(&self.x, &mut self.b);
        self.x.fill(0.0);
        self.refine(factors, a, 1).relative_residual <= f64::EPSILON.sqrt()
    }

    /// Returns the row with the largest coefficient in a linear combination of rows that is nearly zero. A step
    /// of inverse iteration with A Aᵀ computes this combination. If a pivot was exactly 0, the factors become those of a
    /// [`neighbour`].
    fn dependent_row(
        &mut self,
        factors: &mut dyn Factorization,
        a: &Bsr<f64>,
        finite: bool,
    ) -> Result<usize, DirectError> {
        if !finite {
            factors.factor(&neighbour(a))?;
        }
        Ok(largest_share(&mut self.x, factors).or_else(|| dependent_row(a)).unwrap_or(0))
    }
}

/// A with relative changes of its entries of at most 1e-10, so that no pivot is 0 unless the pattern implies it.
fn neighbour(a: &Bsr<f64>) -> Bsr<f64> {
    let (mut neighbour, mut change) = (a.clone(), vec![0.0; a.nnz()]);
    noise(&mut change);
    neighbour.values_mut().iter_mut().zip(&change).for_each(|(v, c)| *v *= 1.0 + 1e-10 * c);
    neighbour
}

/// A row of a singular A that depends on other rows, or `None` if A does not fit into memory again: for
/// factors with a pivot that is exactly 0. A is factored again by this crate's own code, which ends at the first
/// such pivot. *Cost* up to twelve times that of the factorisation that failed; only errors pay it.
pub(crate) fn dependent_row(a: &Bsr<f64>) -> Option<usize> {
    let mut factors = own::plan(Method::Lu, a).ok()?;
    match factors.factor(a) {
        Ok(_) => largest_share(&mut vec![0.0; a.shape().0], &mut *factors),
        Err(DirectError::Singular { row, .. }) => Some(row),
        Err(_) => None,
    }
}

/// The index of the largest entry of (A Aᵀ)⁻¹ x for a pseudorandom x, unless it is not finite. Overwrites x.
///
/// This is a step of inverse iteration for the left singular vector. Steps with Aᵀ alone would lose it if it is
/// orthogonal to the right one.
fn largest_share(x: &mut [f64], factors: &mut dyn Factorization) -> Option<usize> {
    noise(x);
    for solve in [<dyn Factorization>::solve, <dyn Factorization>::solve_transpose] {
        solve(factors, x);
        let size = x.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        x.iter_mut().for_each(|v| *v /= size);
    }
    let largest =
        |best: (usize, f64), (i, v): (usize, &f64)| if v.abs() > best.1 { (i, v.abs()) } else { best };
    let row = x.iter().enumerate().fold((0, 0.0), largest).0;
    x.iter().all(|v| v.is_finite()).then_some(row)
}

/// Fills x with pseudorandom numbers of magnitude 1/2 to 1 and both signs, the same in every call (Weyl
/// sequence, golden ratio).
fn noise(x: &mut [f64]) {
    for (i, v) in x.iter_mut().enumerate() {
        let word = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let size = 0.5 + (word >> 12) as f64 / (1_u64 << 53) as f64;
        *v = if word.count_ones().is_multiple_of(2) { size } else { -size };
    }
}

/// ‖v‖₂, summed in the order of the entries.
fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
