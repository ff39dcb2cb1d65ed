//! A⁺ of small matrices, also singular ones.
//!
//! A⁺ = V Λ⁺ Vᵀ for symmetric A = V Λ Vᵀ, and A⁺ = V Σ⁺ Uᵀ for any other A = U Σ Vᵀ. Λ⁺ and Σ⁺ contain the
//! inverses of all values above a tolerance and 0 for all other values. A⁺ b is the shortest x that minimises
//! ‖b − A x‖: the solution on a coarse grid without supports has no component of rigid motion.

use coarsen_backend::Merged;
use coarsen_core::{Preconditioner, PreconditionerKind, Real};
use coarsen_sparse::Bsr;

use crate::check::{check_finite, check_symmetric};
use crate::engine::{decompositions, scratch};
use crate::spectral::{Parts, Spectral};
use crate::{DirectError, Engine};

/// Dense pseudo-inverses for small systems: the coarsest grid, a subdomain, a singular test matrix.
///
/// *Use* up to about a thousand unknowns: building costs 10 n³ operations and 4 n² numbers (20 n³ and 5 n²
/// if A is not symmetric), applying costs 2 n² operations. Relative residuals are about ε κ(A):
/// [`Direct`](crate::Direct) is more accurate for ill-conditioned regular systems.
/// *Reference* Golub and Van Loan 2013, "Matrix Computations", section 5.5.
///
/// ```
/// use coarsen_core::Preconditioner;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)])?;
/// let mut inverse = coarsen_direct::Dense::default().invert(&a)?;
/// let mut x = vec![0.0; 2];
/// inverse.apply(&vec![3.0, -1.0], &mut x);
/// assert_eq!(inverse.rank(), 1);
/// assert!((x[0] - 1.0_f64).abs() < 1e-14 && (x[1] + 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dense {
    /// Singular values of at most this share of the largest count as 0; in [0, 1), 1e-12 by default.
    pub tolerance: f64,
    /// The engine that computes the decompositions; [`Engine::Fastest`] by default.
    pub engine: Engine,
}

impl Default for Dense {
    fn default() -> Self {
        Self { tolerance: 1e-12, engine: Engine::Fastest }
    }
}

impl Dense {
    /// A⁺ of a square matrix of any block size, in `f64`; a zero matrix gives A⁺ = 0.
    ///
    /// # Errors
    /// [`DirectError::Parameter`], [`DirectError::NotSquare`], [`DirectError::NotFinite`],
    /// [`DirectError::Memory`], [`DirectError::Spectrum`].
    pub fn invert<T: Real>(&self, a: &Bsr<T>) -> Result<PseudoInverse, DirectError> {
        if !(0.0..1.0).contains(&self.tolerance) {
            let (name, value) = ("Dense::tolerance", self.tolerance);
            return Err(DirectError::Parameter { name, value, range: "0 or more and below 1" });
        }
        let (n, columns) = a.shape();
        if n != columns {
            return Err(DirectError::NotSquare { rows: n, columns });
        }
        let beside = scratch(self.engine, n);
        let bytes = n.saturating_mul(n).saturating_mul(32).saturating_add(beside);
        let mut built = PseudoInverse {
            parameters: *self,
            rank: 0,
            kind: PreconditionerKind::Symmetric,
            symmetric: true,
            inverse: square(n, bytes)?,
            full: square(n, bytes)?,
            left: square(n, bytes)?,
            right: square(n, bytes)?,
            spectrum: vec![0.0; n],
            sum: vec![0.0; n],
            decompositions: decompositions(self.engine, n, bytes)?,
            merged: Merged::default(),
        };
        built.reinvert(a)?;
        Ok(built)
    }
}

/// n² zeros, or an error if they do not fit in memory.
fn square(n: usize, bytes: usize) -> Result<Vec<f64>, DirectError> {
    let mut values = Vec::new();
    values.try_reserve_exact(n.saturating_mul(n)).map_err(|_| DirectError::Memory { bytes })?;
    values.resize(n * n, 0.0);
    Ok(values)
}

/// A⁺ as a dense matrix, created by [`Dense::invert`]; as a preconditioner it is applied by one dense
/// product.
pub struct PseudoInverse {
    parameters: Dense,
    rank: usize,
    kind: PreconditionerKind,
    symmetric: bool,
    /// A⁺ by columns.
    inverse: Vec<f64>,
    /// A by columns.
    full: Vec<f64>,
    /// The eigenvectors V, or U.
    left: Vec<f64>,
    /// The right singular vectors V.
    right: Vec<f64>,
    /// Λ or Σ.
    spectrum: Vec<f64>,
    /// A⁺ r, or the spectrum while it is computed.
    sum: Vec<f64>,
    decompositions: Box<dyn Spectral>,
    pub(crate) merged: Merged,
}

impl PseudoInverse {
    /// The parameters of the inverse.
    pub(crate) fn parameters(&self) -> Dense {
        self.parameters
    }

    /// The number of singular values that count as nonzero; n if A is regular.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The eigenvalues of a symmetric matrix in ascending order, or the singular values of any other matrix
    /// in descending order.
    pub fn spectrum(&self) -> &[f64] {
        &self.spectrum
    }

    /// Orthonormal vectors that a symmetric A maps to zero up to the tolerance: n minus [`rank`](Self::rank) vectors. None for
    /// an unsymmetric A.
    pub fn kernel(&self) -> Vec<&[f64]> {
        if !self.symmetric {
            return Vec::new();
        }
        let largest = self.spectrum.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let is_zero = |k: &usize| self.spectrum[*k].abs() <= self.parameters.tolerance * largest;
        let n = self.spectrum.len();
        (0..n).filter(is_zero).map(|k| &self.left[k * n..(k + 1) * n]).collect()
    }

    /// A⁺ by columns.
    pub fn values(&self) -> &[f64] {
        &self.inverse
    }

    /// Computes A⁺ of another matrix of the same size and any pattern; allocates nothing. After an error the
    /// old inverse is kept.
    ///
    /// # Errors
    /// As [`Dense::invert`], and [`DirectError::Shape`].
    pub fn reinvert<T: Real>(&mut self, a: &Bsr<T>) -> Result<(), DirectError> {
        let (n, (rows, columns)) = (self.sum.len(), a.shape());
        if rows != columns {
            return Err(DirectError::NotSquare { rows, columns });
        }
        if rows != n {
            return Err(DirectError::Shape { what: "matrix", expected: n, found: rows });
        }
        check_finite(a)?;
        let (r, c) = a.block();
        self.full.fill(0.0);
        for i in 0..a.pattern().rows() {
            for (j, block) in a.row(i) {
                for (at, v) in block.iter().enumerate() {
                    self.full[(j * c + at % c) * n + i * r + at / c] = v.as_f64();
                }
            }
        }
        if n == 0 {
            return Ok(());
        }
        let symmetric = check_symmetric(a).is_ok();
        let (full, spectrum) = (&self.full[..], &mut self.sum[..]); // after an error the old spectrum is kept
        let parts = Parts { full, spectrum, left: &mut self.left, right: &mut self.right };
        if symmetric {
            self.decompositions.eigen(parts)?;
            self.spectrum.copy_from_slice(&self.sum);
            self.symmetric = true;
            self.right.copy_from_slice(&self.left);
            let largest = self.combine(n);
            let negative = self.spectrum.iter().any(|&l| l < -self.parameters.tolerance * largest);
            self.kind = if negative { PreconditionerKind::Linear } else { PreconditionerKind::Symmetric };
        } else {
            self.decompositions.singular(parts)?;
            self.spectrum.copy_from_slice(&self.sum);
            self.symmetric = false;
            self.combine(n);
            self.kind = PreconditionerKind::Linear;
        }
        Ok(())
    }

    /// inverse = right · spectrum⁺ · leftᵀ; returns the largest |spectrum|.
    fn combine(&mut self, n: usize) -> f64 {
        let largest = self.spectrum.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let bound = self.parameters.tolerance * largest;
        self.rank = self.spectrum.iter().filter(|s| s.abs() > bound).count();
        for (k, &s) in self.spectrum.iter().enumerate() {
            let scale = if s.abs() > bound { 1.0 / s } else { 0.0 };
            self.right[k * n..(k + 1) * n].iter_mut().for_each(|v| *v *= scale);
        }
        self.decompositions.multiply(n, &self.right, &self.left, &mut self.inverse);
        largest
    }
}

impl<V: Real> Preconditioner<Vec<V>> for PseudoInverse {
    fn apply(&mut self, r: &Vec<V>, z: &mut Vec<V>) {
        let n = self.sum.len();
        assert!(
            r.len() == n && z.len() == n,
            "apply: an inverse of size {n} met vectors of {} and {}",
            r.len(),
            z.len()
        );
        self.sum.fill(0.0);
        for (column, r) in self.inverse.chunks_exact(n.max(1)).zip(r) {
            let r = r.as_f64();
            self.sum.iter_mut().zip(column).for_each(|(z, a)| *z += a * r);
        }
        z.iter_mut().zip(&self.sum).for_each(|(z, &s)| *z = V::from_f64(s));
    }

    /// Symmetric if A is symmetric without negative eigenvalues (up to the tolerance); linear otherwise.
    fn kind(&self) -> PreconditionerKind {
        self.kind
    }

    fn size(&self) -> Option<usize> {
        Some(self.sum.len())
    }
}
