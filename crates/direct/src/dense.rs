//! A⁺ of small matrices, singular ones included.
//!
//! Symmetric A = V Λ Vᵀ gives A⁺ = V Λ⁺ Vᵀ, any other A = U Σ Vᵀ gives A⁺ = V Σ⁺ Uᵀ; Λ⁺ and Σ⁺ invert what is above a
//! tolerance and put 0 for the rest. A⁺ b is the shortest of all x that minimise ‖b − A x‖: a coarse grid without supports is
//! solved up to its rigid motions, and nothing of them is added.

use coarsen_core::{Class, Preconditioner, Real};
use coarsen_sparse::Bsr;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::{evd, svd};
use faer::{ColMut, MatMut, MatRef, Par, Spec};

use crate::DirectError;
use crate::factorization::{check_finite, check_symmetric};
use crate::products;

/// Dense pseudo-inverses for small systems: the coarsest grid, a subdomain, a singular test matrix.
///
/// *Use* up to about a thousand unknowns: building costs 10 n³ operations and 4 n² numbers (20 n³ and 5 n² when A is not
/// symmetric), applying 2 n². Residuals are about ε κ(A): [`Direct`](crate::Direct) is more accurate for ill-conditioned
/// regular systems.
/// *Reference* Golub and Van Loan 2013, "Matrix Computations", section 5.5.
///
/// ```
/// use coarsen_core::Preconditioner;
/// let a = coarsen_sparse::assembly::from_triplets(2, 2, &[(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0)])?;
/// let mut inverse = coarsen_direct::Dense::default().build(&a)?;
/// let mut x = vec![0.0; 2];
/// inverse.apply(&vec![3.0, -1.0], &mut x);
/// assert_eq!(inverse.rank(), 1);
/// assert!((x[0] - 1.0_f64).abs() < 1e-14 && (x[1] + 1.0).abs() < 1e-14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dense {
    /// Singular values below this, relative to the largest, count as 0: 0 or more and below 1; 1e-12 by default.
    pub tolerance: f64,
}

impl Default for Dense {
    fn default() -> Self {
        Self { tolerance: 1e-12 }
    }
}

impl Dense {
    /// A⁺ of a square matrix of any block size, in `f64`; a zero matrix gives A⁺ = 0.
    ///
    /// # Errors
    /// [`DirectError::Parameter`], [`DirectError::NotSquare`], [`DirectError::NotFinite`], [`DirectError::Memory`], [`DirectError::Spectrum`].
    pub fn build<T: Real>(&self, a: &Bsr<T>) -> Result<PseudoInverse, DirectError> {
        if !(0.0..1.0).contains(&self.tolerance) {
            let (name, value) = ("Dense::tolerance", self.tolerance);
            return Err(DirectError::Parameter { name, value, range: "0 or more and below 1" });
        }
        let (n, columns) = a.shape();
        if n != columns {
            return Err(DirectError::NotSquare { rows: n, columns });
        }
        let request = scratch(n);
        let bytes = n.saturating_mul(n).saturating_mul(32).saturating_add(request.unaligned_bytes_required());
        let mut built = PseudoInverse {
            tolerance: self.tolerance,
            rank: 0,
            class: Class::Symmetric,
            inverse: square(n, bytes)?,
            full: square(n, bytes)?,
            left: square(n, bytes)?,
            right: square(n, bytes)?,
            spectrum: vec![0.0; n],
            sum: vec![0.0; n],
            scratch: MemBuffer::try_new(request).map_err(|_| DirectError::Memory { bytes })?,
        };
        built.update(a)?;
        Ok(built)
    }
}

/// What either decomposition of an n x n matrix needs beside its results.
fn scratch(n: usize) -> StackReq {
    if n == 0 {
        return StackReq::EMPTY;
    }
    let (vectors, both) = (evd::ComputeEigenvectors::Yes, svd::ComputeSvdVectors::Full);
    let eigen = evd::self_adjoint_evd_scratch::<f64>(n, vectors, Par::Seq, Spec::default());
    eigen.or(svd::svd_scratch::<f64>(n, n, both, both, Par::Seq, Spec::default()))
}

/// n² zeros, if there is room for them.
fn square(n: usize, bytes: usize) -> Result<Vec<f64>, DirectError> {
    let mut values = Vec::new();
    values.try_reserve_exact(n.saturating_mul(n)).map_err(|_| DirectError::Memory { bytes })?;
    values.resize(n * n, 0.0);
    Ok(values)
}

/// A⁺ as a dense matrix, made by [`Dense::build`]: a preconditioner that costs one dense product.
pub struct PseudoInverse {
    tolerance: f64,
    rank: usize,
    class: Class,
    /// A⁺ by columns.
    inverse: Vec<f64>,
    /// A by columns.
    full: Vec<f64>,
    /// V of the eigenvectors, or U.
    left: Vec<f64>,
    /// V of the singular vectors.
    right: Vec<f64>,
    /// Λ or Σ.
    spectrum: Vec<f64>,
    sum: Vec<f64>,
    scratch: MemBuffer,
}

impl PseudoInverse {
    /// How many singular values count as nonzero; the size where A is regular.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Eigenvalues in rising order for a symmetric matrix, singular values in falling order for any other.
    pub fn spectrum(&self) -> &[f64] {
        &self.spectrum
    }

    /// A⁺ by columns.
    pub fn values(&self) -> &[f64] {
        &self.inverse
    }

    /// A⁺ of another matrix of the same size; patterns do not matter, and nothing is allocated. After an error the old inverse stays.
    ///
    /// # Errors
    /// As [`Dense::build`], and [`DirectError::Shape`].
    pub fn update<T: Real>(&mut self, a: &Bsr<T>) -> Result<(), DirectError> {
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
                    self.full[(j * c + at % c) * n + i * r + at / c] = v.wide();
                }
            }
        }
        if n == 0 {
            return Ok(());
        }
        products::reserve()?;
        if check_symmetric(a).is_ok() { self.invert_eigenvalues(n) } else { self.invert_singular_values(n) }
    }

    /// A⁺ = V Λ⁺ Vᵀ.
    fn invert_eigenvalues(&mut self, n: usize) -> Result<(), DirectError> {
        let full = MatRef::from_column_major_slice(&self.full, n, n);
        let lambda = ColMut::from_slice_mut(&mut self.spectrum);
        let v = MatMut::from_column_major_slice_mut(&mut self.left, n, n);
        let stack = MemStack::new(&mut self.scratch);
        evd::self_adjoint_evd(full, lambda.as_diagonal_mut(), Some(v), Par::Seq, stack, Spec::default())
            .map_err(|_| DirectError::Spectrum { size: n })?;
        self.right.copy_from_slice(&self.left);
        let largest = self.combine(n);
        let negative = self.spectrum.iter().any(|&l| l < -self.tolerance * largest);
        self.class = if negative { Class::Linear } else { Class::Symmetric };
        Ok(())
    }

    /// A⁺ = V Σ⁺ Uᵀ.
    fn invert_singular_values(&mut self, n: usize) -> Result<(), DirectError> {
        let full = MatRef::from_column_major_slice(&self.full, n, n);
        let sigma = ColMut::from_slice_mut(&mut self.spectrum);
        let u = MatMut::from_column_major_slice_mut(&mut self.left, n, n);
        let v = MatMut::from_column_major_slice_mut(&mut self.right, n, n);
        let stack = MemStack::new(&mut self.scratch);
        svd::svd(full, sigma.as_diagonal_mut(), Some(u), Some(v), Par::Seq, stack, Spec::default())
            .map_err(|_| DirectError::Spectrum { size: n })?;
        self.combine(n);
        self.class = Class::Linear;
        Ok(())
    }

    /// inverse = right · spectrum⁺ · leftᵀ; returns the largest |spectrum|.
    fn combine(&mut self, n: usize) -> f64 {
        let largest = self.spectrum.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
        let floor = self.tolerance * largest;
        self.rank = self.spectrum.iter().filter(|s| s.abs() > floor).count();
        for (k, &s) in self.spectrum.iter().enumerate() {
            let scale = if s.abs() > floor { 1.0 / s } else { 0.0 };
            self.right[k * n..(k + 1) * n].iter_mut().for_each(|v| *v *= scale);
        }
        faer::linalg::matmul::matmul(
            MatMut::from_column_major_slice_mut(&mut self.inverse, n, n),
            faer::Accum::Replace,
            MatRef::from_column_major_slice(&self.right, n, n),
            MatRef::from_column_major_slice(&self.left, n, n).transpose(),
            1.0,
            Par::Seq,
        );
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
            let r = r.wide();
            self.sum.iter_mut().zip(column).for_each(|(z, a)| *z += a * r);
        }
        z.iter_mut().zip(&self.sum).for_each(|(z, &s)| *z = V::of(s));
    }

    /// Symmetric where A is symmetric without negative eigenvalues; linear otherwise.
    fn class(&self) -> Class {
        self.class
    }

    fn size(&self) -> Option<usize> {
        Some(self.sum.len())
    }
}
